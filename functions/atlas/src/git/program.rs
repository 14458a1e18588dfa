//! Runs the system's `git` on one repository, without a shell, hooks or questions, and not for ever.

use std::env;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use atlas_mirror::secrets::masked;
use futures::future::join3;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long one call may take: a fetch of a large repository over a slow connection.
const MAX_TIME: Duration = Duration::from_secs(10 * 60);
/// Most bytes of an output, and of the errors that are read.
const MAX_OUTPUT: u64 = 512 << 20;
const MAX_ERRORS: u64 = 64 << 10;
/// Most characters of a reason.
const MAX_REASON: usize = 300;
/// The last words of `git` where ssh failed, which has said why.
const UNREAD: &str = "fatal: Could not read from remote repository.";

/// The program, for the bare repository in a folder.
#[derive(Debug)]
pub(super) struct Git {
    folder: PathBuf,
}

/// Why a call failed.
#[derive(Debug)]
pub(super) struct GitError(String);

impl std::error::Error for GitError {}

impl fmt::Display for GitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl GitError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl Git {
    pub(super) const fn of(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The output of a call that must end well.
    pub(super) async fn output(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        self.output_of(arguments, &[], &[]).await
    }

    /// The same, as a text without white space around it.
    pub(super) async fn line(&self, arguments: &[&str]) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.output(arguments).await?).trim().to_owned())
    }

    /// The output of a call with an `input` and more `variables`, which must end well.
    pub(super) async fn output_of(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let (status, output, errors) = self.run(arguments, variables, input).await?;
        if status.success() { Ok(output) } else { Err(failed(arguments, &errors)) }
    }

    /// Whether a call ended well; a failure is one of the answers.
    pub(super) async fn is_so(&self, arguments: &[&str]) -> Result<bool, GitError> {
        Ok(self.run(arguments, &[], &[]).await?.0.success())
    }

    /// Status, output and errors of a call. A call that takes too long, or that nobody waits for any more, is killed.
    async fn run(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
        input: &[u8],
    ) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), GitError> {
        let mut child = self.start(arguments, variables)?;
        let stdin = child.stdin.take();
        let write = async move {
            // A program that ends early need not read its input: its status says what happened.
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(input).await;
            }
        };
        let (output, errors) = (read(child.stdout.take(), MAX_OUTPUT), read(child.stderr.take(), MAX_ERRORS));
        let done = async {
            let ((), output, errors) = join3(write, output, errors).await;
            (child.wait().await, output, errors)
        };
        let late = |_| GitError::new(format!("git took more than {} s", MAX_TIME.as_secs()));
        let (status, output, errors) = timeout(MAX_TIME, done).await.map_err(late)?;
        let status = status.map_err(|error| GitError::new(format!("git cannot be waited for: {error}")))?;
        if output.len() as u64 > MAX_OUTPUT {
            return Err(GitError::new(format!("git answers with more than {MAX_OUTPUT} bytes")));
        }
        Ok((status, output, errors))
    }

    fn start(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Child, GitError> {
        let mut command = Command::new("git");
        // The repository is not trusted: no hook of it runs, and its address starts no other program.
        let settings =
            ["core.hooksPath=/dev/null", "gc.autoDetach=false", "protocol.ext.allow=never", "fetch.fsckObjects=true"];
        settings.iter().for_each(|setting| {
            command.args(["-c", setting]);
        });
        for inherited in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"] {
            command.env_remove(inherited);
        }
        command.arg("--git-dir").arg(&self.folder).args(arguments);
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").envs(variables.iter().copied());
        // Nobody answers what ssh asks on a terminal, where it would wait for ever.
        command.env("SSH_ASKPASS_REQUIRE", "force");
        if env::var_os("SSH_ASKPASS").is_none() {
            command.env("SSH_ASKPASS", "false");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // Ctrl-C is for the sync, which ends the call in hand cleanly.
        #[cfg(unix)]
        command.process_group(0);
        command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => GitError::new("there is no program `git`: install it, or leave out --git"),
            _ => GitError::new(format!("git cannot be started: {error}")),
        })
    }
}

/// At most `limit` bytes and one more, so that the reader sees that there are too many.
async fn read(from: Option<impl AsyncRead + Unpin>, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // A pipe that breaks ends the output; the status tells the rest.
        let _ = from.take(limit + 1).read_to_end(&mut bytes).await;
    }
    bytes
}

/// The failure of a call: its last words.
fn failed(arguments: &[&str], errors: &[u8]) -> GitError {
    let errors = String::from_utf8_lossy(errors);
    let mut said = errors.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let of_ssh =
        said.clone().take_while(|line| *line != UNREAD).last().filter(|_| said.clone().any(|line| line == UNREAD));
    let is_reason = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:") || line.starts_with('!');
    let reason = of_ssh.or_else(|| said.clone().find(is_reason)).or_else(|| said.next_back());
    let reason = reason.unwrap_or("it says no reason");
    let reason: String = masked(reason).chars().take(MAX_REASON).collect();
    GitError::new(format!("git {}: {reason}", arguments.first().copied().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_failure_is_told() {
        for (errors, reason) in [
            ("Cloning\nfatal: repository '/x' not found\nhint: look\n", "fatal: repository '/x' not found"),
            (
                "kim@127.0.0.1: Permission denied (publickey).\r\nfatal: Could not read from remote repository.\n\nPlease make sure you have\n",
                "kim@127.0.0.1: Permission denied (publickey).",
            ),
            ("fatal: Could not read from remote repository.\n\nPlease make sure\n", UNREAD),
            ("odd\n", "odd"),
            ("", "it says no reason"),
        ] {
            assert_eq!(failed(&["fetch"], errors.as_bytes()).to_string(), format!("git fetch: {reason}"));
        }
    }
}
