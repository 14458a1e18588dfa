//! Runs the system's `git` on one repository, without a shell, hooks, questions or end.

use std::fmt;
use std::io::{ErrorKind, Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use atlas_mirror::secrets::masked;

/// How long one call may take: a fetch of a large repository over a slow connection.
const MAX_TIME: Duration = Duration::from_secs(10 * 60);
/// Most bytes of an output, and of the errors that are read.
const MAX_OUTPUT: u64 = 512 << 20;
const MAX_ERRORS: u64 = 64 << 10;
/// Most characters of a reason.
const MAX_REASON: usize = 300;
/// The first and the longest pause between two looks at the program.
const LOOKS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

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
    pub(super) fn output(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        self.output_of(arguments, &[], &[])
    }

    /// The same, as a text without white space around it.
    pub(super) fn line(&self, arguments: &[&str]) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.output(arguments)?).trim().to_owned())
    }

    /// The output of a call with an `input` and more `variables`, which must end well.
    pub(super) fn output_of(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let (status, output, errors) = self.run(arguments, variables, input)?;
        if status.success() { Ok(output) } else { Err(failed(arguments, &errors)) }
    }

    /// Whether a call ended well; a failure is one of the answers.
    pub(super) fn is_so(&self, arguments: &[&str]) -> Result<bool, GitError> {
        Ok(self.run(arguments, &[], &[])?.0.success())
    }

    fn run(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
        input: &[u8],
    ) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), GitError> {
        let mut child = self.start(arguments, variables)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        thread::scope(|scope| {
            // A program that ends early need not read its input: its status says what happened.
            scope.spawn(|| stdin.map(|mut stdin| stdin.write_all(input)));
            let output = scope.spawn(|| read(stdout, MAX_OUTPUT));
            let errors = scope.spawn(|| read(stderr, MAX_ERRORS));
            let status = wait(&mut child);
            let joined = |read: thread::ScopedJoinHandle<'_, Vec<u8>>| read.join().unwrap_or_default();
            let (output, errors) = (joined(output), joined(errors));
            if output.len() as u64 > MAX_OUTPUT {
                return Err(GitError::new(format!("git answers with more than {MAX_OUTPUT} bytes")));
            }
            Ok((status?, output, errors))
        })
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
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the sync, which ends the call in hand cleanly.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => GitError::new("there is no program `git`: install it, or leave out --git"),
            _ => GitError::new(format!("git cannot be started: {error}")),
        })
    }
}

/// At most `limit` bytes and one more, so that the reader sees that there are too many.
fn read(from: Option<impl Read>, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // A pipe that breaks ends the output; the status tells the rest.
        let _ = from.take(limit + 1).read_to_end(&mut bytes);
    }
    bytes
}

/// Its status; after [`MAX_TIME`] it is killed, with the programs that it started.
fn wait(child: &mut Child) -> Result<ExitStatus, GitError> {
    let unknown = |error: std::io::Error| GitError::new(format!("git cannot be waited for: {error}"));
    let begun = Instant::now();
    let [mut pause, longest] = LOOKS;
    loop {
        if let Some(status) = child.try_wait().map_err(unknown)? {
            return Ok(status);
        }
        if begun.elapsed() > MAX_TIME {
            #[cfg(unix)]
            if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            child.kill().and_then(|()| child.wait()).map_err(unknown)?;
            return Err(GitError::new(format!("git took more than {} s", MAX_TIME.as_secs())));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(longest);
    }
}

/// The failure of a call: its last words.
fn failed(arguments: &[&str], errors: &[u8]) -> GitError {
    let errors = String::from_utf8_lossy(errors);
    let mut said = errors.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let reason =
        said.clone().find(|line| line.starts_with("fatal:") || line.starts_with("error:") || line.starts_with('!'));
    let reason = reason.or_else(|| said.next_back()).unwrap_or("it says no reason");
    let reason: String = masked(reason).chars().take(MAX_REASON).collect();
    GitError::new(format!("git {}: {reason}", arguments.first().copied().unwrap_or_default()))
}
