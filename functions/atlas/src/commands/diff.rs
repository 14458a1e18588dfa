//! `atlas diff`

use std::io;
use std::sync::Arc;

use atlas_ops::Code;
use atlas_sync::{Changed, Side, SyncOptions, sync};
use clap::Args;
use jiff::Timestamp;

use crate::color::Color;
use crate::commands::Outcome;
use crate::compared;
use crate::local::{Local, whole_reason};
use crate::output;
use crate::runner::options;
use crate::vault_location::LocationArguments;

/// Arguments of `atlas diff`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only this file, or the files in this folder, from the root of the vault
    path: Option<String>,
    #[command(flatten)]
    location: LocationArguments,
}

/// Runs `atlas diff`: what the next sync would change, on both sides.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let location = arguments.location.find(None, None)?;
    let options = SyncOptions { dry_run: true, ..options(&location, Timestamp::now())? };
    let summary = sync(&location.open()?, &options, Arc::new(())).await?;
    let local = Local::open(&location)?;
    let color = Color::of(&io::stdout());
    let wanted = arguments.path.as_deref().map(|path| path.trim_end_matches('/'));
    let is_wanted = |path: &str| {
        wanted
            .is_none_or(|wanted| path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    for Changed { path, side, .. } in summary.changed.iter().filter(|changed| is_wanted(&changed.path)) {
        let folder = compared::text_of(&location.folder()?.join(path))?;
        let mirror = text_in_mirror(&local, path).await?;
        let (old, new, to) = match side {
            Side::Mirror => (mirror, folder, "mirror"),
            Side::Folder => (folder, mirror, "folder"),
        };
        match (old, new) {
            (Some(old), Some(new)) => compared::print(color, &format!("{path} (to the {to})"), &old, &new),
            _ => output::line(format_args!("{path}: differs (to the {to}), and is no text that is compared here")),
        }
    }
    for conflict in summary.conflicts.iter().filter(|conflict| is_wanted(&conflict.path)) {
        output::note(format_args!("{}: it changed on both sides", conflict.path));
    }
    let left = (summary.pushed.sum() + summary.pulled.sum()).saturating_sub(summary.changed.len() as u64);
    if left > 0 && wanted.is_none() {
        output::note(format_args!("and {left} files more"));
    }
    Ok(())
}

/// The text that the mirror has at a path; empty if it has nothing there, none if it is no text or too large.
async fn text_in_mirror(local: &Local, path: &str) -> Result<Option<String>, String> {
    let mut text = String::new();
    let mut is_whole = true;
    let take = |page: &str| {
        text += page;
        is_whole = text.len() as u64 <= compared::MAX_BYTES;
        is_whole
    };
    match local.read_pages(path, None, take).await {
        Ok(()) => Ok(is_whole.then_some(text)),
        Err(error) if error.code == Code::NotFound => Ok(Some(String::new())),
        Err(error) if error.code == Code::BadRequest || error.code == Code::TooLarge => Ok(None),
        Err(error) => Err(whole_reason(error)),
    }
}
