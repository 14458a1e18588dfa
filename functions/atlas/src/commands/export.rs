//! `atlas export`

use std::path::{Path, PathBuf};

use atlas_sync::{Conflicted, ExportOptions, Exported, export};
use clap::Args;
use indicatif::DecimalBytes;

use crate::bar;
use crate::commands::Outcome;
use crate::output;
use crate::vault_location::LocationArguments;

/// Arguments of `atlas export`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder to write to
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    location: LocationArguments,
    /// The generation to write [default: the newest]
    #[arg(long, value_name = "GENERATION")]
    at: Option<u64>,
    /// Write into a folder that is not empty, and replace files there
    #[arg(long)]
    force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Whether `to`, which need not be there yet, is `folder` or lies in it.
fn is_inside(to: &Path, folder: &Path) -> bool {
    let Ok(to) = std::path::absolute(to) else { return false };
    let there = to.ancestors().find_map(|above| above.canonicalize().ok());
    there.is_some_and(|there| there.starts_with(folder))
}

/// Runs `atlas export`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let location = arguments.location.find(None, None)?;
    if let Some(folder) = location.folder.as_deref().filter(|folder| is_inside(&arguments.to, folder)) {
        let (to, folder) = (arguments.to.display(), folder.display());
        return Err(format!(
            "{to} lies in the vault's folder {folder}, which would publish it: name a folder outside of it"
        )
        .into());
    }
    let mirror = location.published().await?;
    let options = ExportOptions { to: arguments.to, generation: arguments.at, force: arguments.force };
    let exported = export(&mirror, &options, bar::start(arguments.json)).await?;
    let Exported { generation, files, bytes, skipped, renamed } = &exported;
    if arguments.json {
        output::json(&exported)?;
    } else {
        skipped.iter().for_each(output::note);
        for Conflicted { path, copy, .. } in renamed {
            output::note(format_args!(
                "{path}: a folder has this name, so it is {}",
                copy.as_deref().unwrap_or_default()
            ));
        }
        output::line(format_args!("generation {generation}: {files} files, {} written", DecimalBytes(*bytes)));
    }
    match skipped.len() {
        0 => Ok(()),
        count => Err(format!("{count} of {} files were not written", *files + count as u64).into()),
    }
}
