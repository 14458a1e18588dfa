//! `atlas read`

use std::io::{self, Write as _};

use clap::Args;

use crate::commands::Outcome;
use crate::local::{Local, whole_reason};
use crate::output;
use crate::vault_location::LocationArguments;

/// Arguments of `atlas read`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The note's path from the root of the vault
    path: String,
    /// The note at this generation [default: the newest]
    #[arg(long, value_name = "GENERATION")]
    generation: Option<u64>,
    #[command(flatten)]
    location: LocationArguments,
}

/// Runs `atlas read`: prints the note's text.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let local = Local::open(&arguments.location.find(None, None)?).await?;
    let print = |text: &str| io::stdout().write_all(text.as_bytes()).is_ok();
    Ok(local.read_pages(&arguments.path, arguments.generation, print).await.map_err(whole_reason)?)
}
