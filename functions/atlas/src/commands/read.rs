//! `atlas read`

use std::io::{self, Write as _};

use atlas_tools::notes::read_note::ReadNote;
use clap::Args;
use serde_json::{Value, json};

use crate::commands::Outcome;
use crate::local::Local;
use crate::output;
use crate::vault_location::LocationArguments;

/// Most pages of one note: notes are read in pages of what an answer may hold.
const MOST_PAGES: usize = 10_000;

/// Arguments of `atlas read`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The note's path from the root of the vault
    path: String,
    /// The note as it was at this generation [default: as it is]
    #[arg(long, value_name = "GENERATION")]
    generation: Option<u64>,
    #[command(flatten)]
    location: LocationArguments,
}

/// Runs `atlas read`: the note's text, as it is.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let local = Local::open(&arguments.location.find(None, None)?)?;
    let mut offset = 0;
    for _ in 0..MOST_PAGES {
        let mut call = json!({ "path": arguments.path, "offset": offset, "include_frontmatter": false });
        if let Some(generation) = arguments.generation {
            call["generation"] = Value::from(generation);
        }
        let page = local.call(atlas_tools::entry::<ReadNote>(), call).await?;
        let text = page["content"].as_str().unwrap_or_default();
        if io::stdout().write_all(text.as_bytes()).is_err() {
            return Ok(());
        }
        match page["next_offset"].as_u64() {
            Some(next) if next > offset => offset = next,
            _ => return Ok(()),
        }
    }
    Ok(())
}
