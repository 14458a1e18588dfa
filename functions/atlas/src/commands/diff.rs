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
use crate::output::{self, Ended};
use crate::report;
use crate::runner::{MergeRules, options};
use crate::vault_location::LocationArguments;

/// Arguments of `atlas diff`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only this file, or the files in this folder, from the root of the vault
    path: Option<String>,
    #[command(flatten)]
    location: LocationArguments,
    #[command(flatten)]
    merges: MergeRules,
}

/// Runs `atlas diff`: shows what the next sync would change, on both sides.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let location = arguments.location.find(None, None)?;
    let merge = arguments.merges.are_merged();
    let options = SyncOptions { dry_run: true, merge, ..options(&location, Timestamp::now())? };
    let mirror = location.open_to_look()?;
    let summary = sync(&mirror, &options, Arc::new(())).await?;
    let local = Local::of(mirror);
    let color = Color::of(&io::stdout());
    let wanted = arguments.path.as_deref().map(|path| path.trim_end_matches('/'));
    let is_wanted = |path: &str| {
        wanted
            .is_none_or(|wanted| path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    let is_merged = |path: &str| summary.merged.iter().any(|merged| merged.path == path);
    let changed = summary.changed.iter().filter(|changed| !is_merged(&changed.path));
    let changed = changed.map(|Changed { path, side, .. }| match side {
        Side::Mirror => (path.as_str(), "to the mirror".to_owned(), Shown::ToMirror),
        Side::Folder => (path.as_str(), "to the folder".to_owned(), Shown::ToFolder),
    });
    let merged = summary.merged.iter().map(|merged| {
        let what = "both sides changed it: a merge, which goes to both; against the folder".to_owned();
        (merged.path.as_str(), what, Shown::Merge(&merged.text))
    });
    let conflicts = summary.conflicts.iter().map(|conflict| {
        let what = format!("on both sides: folder -, mirror +; {}", report::fate(conflict));
        (conflict.path.as_str(), what, Shown::ToFolder)
    });
    let waiting: Vec<_> = changed.chain(merged).chain(conflicts).filter(|(path, ..)| is_wanted(path)).collect();
    for (path, what, shown) in &waiting {
        let folder = compared::text_of(&location.folder()?.join(path))?;
        let (old, new) = match shown {
            Shown::ToMirror => (text_in_mirror(&local, path).await?, folder),
            Shown::ToFolder => (folder, text_in_mirror(&local, path).await?),
            Shown::Merge(text) => (folder, String::from_utf8(text.to_vec()).ok()),
        };
        match (old, new) {
            (Some(old), Some(new)) => compared::print(color, &format!("{path} ({what})"), &old, &new),
            _ => output::line(format_args!("{path}: differs ({what}), and is no text that is compared here")),
        }
    }
    let left = (summary.pushed.sum() + summary.pulled.sum()).saturating_sub(summary.changed.len() as u64);
    if left > 0 && wanted.is_none() {
        output::note(format_args!("and {left} files more"));
    }
    if let Some(path) = wanted.filter(|_| waiting.is_empty())
        && location.folder()?.join(path).symlink_metadata().is_err()
    {
        return Err(
            format!("neither the folder nor the mirror has {path}: write its path from the root of the vault").into()
        );
    }
    Ended::waiting(!waiting.is_empty())
}

/// Which two texts are compared.
enum Shown<'a> {
    ToMirror,
    ToFolder,
    /// The folder's, and this merge.
    Merge(&'a [u8]),
}

/// The mirror's text at a path; empty if there is none, [`None`] if it is not text or too large.
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
