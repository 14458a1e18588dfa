//! `atlas connect`

use std::error::Error;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::{env, io};

use atlas_outbound::{AddressError, Origin, Url, is_this_machine};
use clap::Args;

use crate::client_configuration::{Client, Server, Snippet};
use crate::clients::PREFIX;
use crate::commands::Outcome;
use crate::output;
use crate::store::variables;
use crate::vault_location::{GivenBy, LocationArguments, VaultLocation, is_missing};

/// Most bytes of a client's file.
const MAX_BYTES: u64 = 4 << 20;
/// Most links from the client's path to its file, as Linux follows them.
const MAX_LINKS: usize = 40;
/// The path of MCP in a deployment.
const MCP: &str = "mcp";

/// Arguments of `atlas connect`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The client to connect
    client: Client,
    #[command(flatten)]
    location: LocationArguments,
    /// The address of a deployment, such as https://atlas.example.org; without it the client starts `atlas mcp` on this machine
    #[arg(long, value_name = "URL", value_parser = address, conflicts_with_all = ["root", "store", "vault"])]
    url: Option<String>,
    /// The environment variable with the client's token
    #[arg(long, value_name = "NAME", value_parser = variable, requires = "url")]
    token_env: Option<String>,
    /// Write it into the client's file, beside its other content, instead of printing it
    #[arg(long)]
    write: bool,
}

/// Runs `atlas connect`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let server = match arguments.url {
        Some(url) => Server::Address { url, token: arguments.token_env },
        None => program(&arguments.location).await?,
    };
    let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let home = home.ok_or("there is no home folder: set HOME")?;
    let snippet = arguments.client.snippet(&server, &env::current_dir()?, &home)?;
    let path = output::short(&snippet.path);
    if arguments.write {
        let is_new = write(&snippet).map_err(|problem| format!("{path} {problem}"))?;
        let told = if is_new { "now; start the client again" } else { "already" };
        output::note(format_args!("{path} has the server atlas {told}"));
        return Ok(());
    }
    output::note(format_args!("write this into {path}, or add --write:"));
    snippet.written(None)?.unwrap_or_default().lines().for_each(output::line);
    Ok(())
}

/// This program, as the client starts it for the vault.
async fn program(location: &LocationArguments) -> Result<Server, Box<dyn Error>> {
    let found = location.find(None, None)?;
    match found.looked_for().await {
        Ok(()) => {}
        Err(error) if is_missing(&*error) => return Err(error),
        Err(error) => output::note(format_args!("it is unknown whether the store has this vault: {error}")),
    }
    tell_needs(&found);
    let command = env::current_exe()?.display().to_string();
    Ok(Server::Program { command, arguments: program_arguments(&found) })
}

/// Arguments that mean this place in the client's environment too, which has other variables.
fn program_arguments(found: &VaultLocation) -> Vec<String> {
    let absolute = found.to_remember();
    let config = absolute.config.filter(|config| is_from_environment(found) && !is_document(config));
    let named = [
        ("--root", found.folder.as_ref().map(|folder| folder.display().to_string())),
        ("--store", absolute.store),
        ("--vault", absolute.vault),
        ("--config", config),
    ];
    let named = named.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
    ["mcp".to_owned()].into_iter().chain(named.flatten()).collect()
}

/// Whether the configuration is one that the client's environment may not have.
fn is_from_environment(found: &VaultLocation) -> bool {
    found.config.as_ref().is_some_and(|config| config.given_by == GivenBy::Environment)
}

/// Whether it is the configuration itself, which may hold secrets.
fn is_document(config: &str) -> bool {
    config.trim_start().starts_with('{')
}

/// Reports which variables the client has to pass on. Their values are for no file.
fn tell_needs(found: &VaultLocation) {
    let mut needed = Vec::new();
    if found.store.value.starts_with("s3://") {
        let set = variables().filter(|(name, value)| name.starts_with("AWS_") && !value.is_empty());
        needed.extend(set.map(|(name, _)| name));
        needed.sort();
        if needed.is_empty() {
            needed.extend(["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"].map(str::to_owned));
        }
    }
    if is_from_environment(found) && found.config.as_ref().is_some_and(|config| is_document(&config.value)) {
        needed.push("ATLAS_CONFIG".to_owned());
    }
    if !needed.is_empty() {
        let needed = needed.join(", ");
        output::note(format_args!(
            "the client has to be started with these variables, which are not written: {needed}"
        ));
    }
}

/// The address of MCP in the deployment at `text`.
fn address(text: &str) -> Result<String, String> {
    let mut url: Url = text.parse().map_err(|_| AddressError::NoAddress.to_string())?;
    let origin = Origin::of(&url).ok_or_else(|| AddressError::NoAddress.to_string())?;
    let has_more = url.query().is_some() || url.fragment().is_some();
    if has_more || !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::NoAddress.to_string());
    }
    if !origin.is_secure() && !is_this_machine(&url) {
        return Err("notes and tokens are sent to other machines over https:// only".to_owned());
    }
    let is_mcp = url.path().trim_end_matches('/').rsplit('/').next() == Some(MCP);
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty();
        if !is_mcp {
            path.push(MCP);
        }
    }
    Ok(url.into())
}

/// The name of a variable, and no token.
fn variable(text: &str) -> Result<String, String> {
    let is_name = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    match is_name && !text.starts_with(PREFIX) {
        true => Ok(text.to_owned()),
        false => Err("write the name of the variable, such as ATLAS_TOKEN, and not the token".to_owned()),
    }
}

/// Writes the client's file atomically; returns whether it changed.
fn write(snippet: &Snippet) -> Result<bool, String> {
    let path = target(&snippet.path)?;
    let there = read(&path)?;
    let Some(text) = snippet.written(there.as_deref())? else { return Ok(false) };
    let failed = |error: io::Error| format!("cannot be written: {error}");
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    fs::write(new.path(), text).map_err(failed)?;
    if let Ok(metadata) = fs::metadata(&path) {
        fs::set_permissions(new.path(), metadata.permissions()).map_err(failed)?;
    }
    new.persist(&path).map_err(|error| failed(error.error))?;
    Ok(true)
}

/// The file that `path` means, if it is a link; the target need not be there yet.
fn target(path: &Path) -> Result<PathBuf, String> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new(".")).join(next);
    }
    Err("is a link that leads to no file: remove it".to_owned())
}

fn read(path: &Path) -> Result<Option<String>, String> {
    let failed = |error: io::Error| format!("cannot be read: {error}");
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    match text.len() as u64 > MAX_BYTES {
        true => Err("is too large: write the lines into it by hand".to_owned()),
        false => Ok(Some(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault_location::Setting;

    #[test]
    fn an_address_is_one_that_a_client_can_call() {
        for (text, expected) in [
            ("https://notes.example/", "https://notes.example/mcp"),
            ("https://notes.example/mcp/", "https://notes.example/mcp"),
            ("https://notes.example/a/b", "https://notes.example/a/b/mcp"),
            ("http://127.0.0.1:3737", "http://127.0.0.1:3737/mcp"),
            ("http://[::1]:3737/mcp", "http://[::1]:3737/mcp"),
        ] {
            assert_eq!(address(text).as_deref(), Ok(expected));
        }
        for text in
            ["", "example.org", "https://a b", "https://", "ftp://a", "file:///a", "https://u:p@a", "http://a.example"]
        {
            assert!(address(text).unwrap_err().contains("https://"), "{text}");
        }
    }

    #[test]
    fn a_token_is_no_name_of_a_variable() {
        assert!(variable("NOTES_TOKEN").is_ok());
        for text in ["", "a b", "1A", "atlas_0123456789abcdef0123456789abcdef", "eyJh.eyJz.c2ln", "${A}"] {
            assert!(variable(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_client_that_knows_no_variable_of_this_shell_gets_all_of_the_place() {
        let environment = |value: &str| Setting { value: value.to_owned(), given_by: GivenBy::Environment };
        let vault = Setting { value: "work".parse().unwrap(), given_by: GivenBy::Environment };
        let mut found = VaultLocation {
            folder: Some(PathBuf::from("/notes")),
            store: environment("file:///my/store"),
            vault,
            config: Some(environment("store:atlas.json")),
            state: None,
        };
        let expected = [
            "mcp",
            "--root",
            "/notes",
            "--store",
            "file:///my/store",
            "--vault",
            "work",
            "--config",
            "store:atlas.json",
        ];
        assert_eq!(program_arguments(&found), expected);
        found.config = Some(environment(r#"{"acl": {}}"#));
        assert_eq!(program_arguments(&found), expected[..7]);
    }

    #[test]
    fn a_link_is_written_through_also_before_its_target_is_there() {
        let home = tempfile::tempdir().unwrap();
        let place = |name: &str| home.path().join(name);
        fs::create_dir_all(place(".cursor")).unwrap();
        std::os::unix::fs::symlink("../kept/mcp.json", place(".cursor/mcp.json")).unwrap();
        let server = Server::Program { command: "atlas".to_owned(), arguments: vec!["mcp".to_owned()] };
        let snippet = Client::Cursor.snippet(&server, home.path(), home.path()).unwrap();
        assert_eq!((write(&snippet), write(&snippet)), (Ok(true), Ok(false)));
        assert!(place(".cursor/mcp.json").is_symlink());
        assert!(fs::read_to_string(place("kept/mcp.json")).unwrap().contains("\"atlas\""));
        std::os::unix::fs::symlink("round", place("round")).unwrap();
        assert!(target(&place("round")).unwrap_err().contains("remove it"));
    }
}
