//! `atlas where`

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::commands::Outcome;
use crate::output;
use crate::remembered::Remembered;
use crate::vault::FolderArguments;
use crate::vault_location::VaultLocation;

/// Arguments of `atlas where`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    folder: FolderArguments,
    /// Print only one value, for scripts
    #[arg(long, value_name = "NAME", conflicts_with = "json", value_parser = ["folder", "store", "vault", "config", "state"])]
    only: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `atlas where`.
pub(crate) fn run(arguments: Arguments) -> Outcome {
    let location = arguments.folder.find(None, None)?;
    let state = location.folder.as_ref().map(|_| location.state()).transpose()?;
    let memory = location.folder.as_deref().and_then(Remembered::path).filter(|path| path.exists());
    let VaultLocation { folder, store, vault, config, .. } = &location;
    if arguments.json {
        return output::json(&json!({
            "config": config, "folder": folder, "remembered": memory, "state": state, "store": store, "vault": vault,
        }));
    }
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let rows = [
        ("folder", path(folder), None),
        ("store", Some(store.value.clone()), Some(store.given_by)),
        ("vault", Some(vault.value.to_string()), Some(vault.given_by)),
        ("config", config.as_ref().map(|config| config.value.clone()), config.as_ref().map(|config| config.given_by)),
        ("state", path(&state), None),
        ("remembered", path(&memory), None),
    ];
    for (name, value, given_by) in rows {
        match (&arguments.only, value, given_by) {
            (Some(only), _, _) if only != name => {}
            (Some(_), Some(value), _) => output::line(value),
            (Some(_), None, _) => return Err(format!("there is no {name}").into()),
            (None, Some(value), Some(given_by)) => output::line(format_args!("{name:<11} {value} ({given_by})")),
            (None, value, _) => output::line(format_args!("{name:<11} {}", value.as_deref().unwrap_or("none"))),
        }
    }
    Ok(())
}
