//! `atlas where`

use clap::Args;
use serde_json::json;

use crate::commands::Outcome;
use crate::output;
use crate::remembered::Remembered;
use crate::vault::FolderArguments;
use crate::vault_location::{Setting, VaultLocation};

/// Arguments of `atlas where`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    folder: FolderArguments,
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
    let shown = |path: &Option<std::path::PathBuf>| {
        path.as_ref().map_or_else(|| "none".to_owned(), |path| path.display().to_string())
    };
    let row = |name: &str, value: &str| output::line(format_args!("{name:<11} {value}"));
    row("folder", &shown(folder));
    row("store", &said(store));
    row("vault", &said(vault));
    row("config", &config.as_ref().map_or_else(|| "none".to_owned(), said));
    row("state", &shown(&state));
    row("remembered", &shown(&memory));
    Ok(())
}

fn said<T: std::fmt::Display>(setting: &Setting<T>) -> String {
    format!("{} ({})", setting.value, setting.given_by)
}
