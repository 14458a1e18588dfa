//! `atlas diff`

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use atlas_ops::Code;
use atlas_sync::{Changed, Side, SyncOptions, sync};
use atlas_tools::notes::read_note::ReadNote;
use clap::Args;
use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use jiff::Timestamp;
use serde_json::json;

use crate::color::Color;
use crate::commands::Outcome;
use crate::local::{Local, whole_reason};
use crate::output::{self, plain};
use crate::runner::options;
use crate::vault_location::LocationArguments;

/// Larger files are only said to differ.
const MAX_BYTES: u64 = 4 << 20;
/// Most pages of one note.
const MOST_PAGES: usize = 100;

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
        let folder = text_in_folder(&location.folder()?.join(path))?;
        let mirror = text_in_mirror(&local, path).await?;
        let (old, new, to) = match side {
            Side::Mirror => (mirror, folder, "mirror"),
            Side::Folder => (folder, mirror, "folder"),
        };
        match (old, new) {
            (Some(old), Some(new)) => print(color, path, to, &old, &new),
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

/// The text of a file; empty if it is not there, none if it is no text or too large.
fn text_in_folder(path: &Path) -> io::Result<Option<String>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(String::new())),
        Err(error) => return Err(error),
        Ok(found) if !found.is_file() || found.len() > MAX_BYTES => return Ok(None),
        Ok(_) => {}
    }
    Ok(String::from_utf8(fs::read(path)?).ok())
}

/// The same of the mirror.
async fn text_in_mirror(local: &Local, path: &str) -> Result<Option<String>, String> {
    let mut text = String::new();
    let mut offset = 0;
    for _ in 0..MOST_PAGES {
        let call = json!({ "path": path, "offset": offset, "include_frontmatter": false });
        let page = match local.try_call(atlas_tools::entry::<ReadNote>(), call).await {
            Ok(page) => page,
            Err(error) if error.code == Code::NotFound => return Ok(Some(text)),
            Err(error) if error.code == Code::BadRequest || error.code == Code::TooLarge => return Ok(None),
            Err(error) => return Err(whole_reason(error)),
        };
        text += page["content"].as_str().unwrap_or_default();
        match page["next_offset"].as_u64() {
            Some(next) if next > offset && text.len() as u64 <= MAX_BYTES => offset = next,
            Some(_) => return Ok(None),
            None => return Ok(Some(text)),
        }
    }
    Ok(None)
}

fn print(color: Color, path: &str, to: &str, old: &str, new: &str) {
    output::painted(&color.path(&format!("{path} (to the {to})")));
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    for line in diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input).to_string().lines() {
        output::painted(&match line.chars().next() {
            Some('+') => color.added(line),
            Some('-') => color.removed(line),
            _ => plain(line),
        });
    }
}
