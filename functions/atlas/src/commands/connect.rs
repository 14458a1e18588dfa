//! `atlas connect`

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{env, fs};

use clap::Args;

use crate::client_configuration::{Client, Server, Snippet};
use crate::commands::Outcome;
use crate::output;
use crate::vault_location::LocationArguments;

/// Arguments of `atlas connect`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The client to connect
    client: Client,
    #[command(flatten)]
    location: LocationArguments,
    /// The address of a deployment, such as https://atlas.example.org; without it the client starts `atlas mcp` on this machine
    #[arg(long, value_name = "URL", conflicts_with_all = ["root", "store", "vault"])]
    url: Option<String>,
    /// The environment variable with the client's token
    #[arg(long, value_name = "NAME", requires = "url")]
    token_env: Option<String>,
    /// Write it into the client's file, beside its other content, instead of printing it
    #[arg(long)]
    write: bool,
}

/// Runs `atlas connect`.
pub(crate) fn run(arguments: Arguments) -> Outcome {
    let server = match arguments.url {
        Some(url) => {
            let url = format!("{}/mcp", url.trim_end_matches('/').trim_end_matches("/mcp"));
            Server::Address { url, token: arguments.token_env }
        }
        None => program(&arguments.location)?,
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
fn program(location: &LocationArguments) -> Result<Server, Box<dyn std::error::Error>> {
    let found = location.find(None, None)?;
    let command = env::current_exe()?.display().to_string();
    let place = match &found.folder {
        Some(folder) if location.store.is_none() && location.vault.is_none() => {
            vec!["--root".to_owned(), folder.display().to_string()]
        }
        _ => vec!["--store".to_owned(), found.store.value.clone(), "--vault".to_owned(), found.vault.value.to_string()],
    };
    Ok(Server::Program { command, arguments: ["mcp".to_owned()].into_iter().chain(place).collect() })
}

/// Writes the client's file atomically; returns whether it changed.
fn write(snippet: &Snippet) -> Result<bool, String> {
    let there = match fs::read_to_string(&snippet.path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let Some(text) = snippet.written(there.as_deref())? else { return Ok(false) };
    let failed = |error: std::io::Error| format!("cannot be written: {error}");
    // If it is a link, its target is written.
    let path = snippet.path.canonicalize().unwrap_or_else(|_| snippet.path.clone());
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
