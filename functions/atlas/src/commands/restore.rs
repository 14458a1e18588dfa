//! `atlas restore`

use atlas_ops::Code;
use atlas_tools::history::restore_note::RestoreNote;
use clap::Args;
use serde_json::Value;

use crate::commands::Outcome;
use crate::local::{Local, given, whole_reason};
use crate::output;
use crate::vault_location::LocationArguments;

/// Arguments of `atlas restore`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The note's path from the root of the vault
    path: String,
    #[command(flatten)]
    location: LocationArguments,
    /// The generation whose text to restore [default: take the note out of the trash]
    #[arg(long, value_name = "GENERATION")]
    generation: Option<u64>,
    /// The reason, for the log
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `atlas restore`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let local = Local::open(&arguments.location.find(None, None)?).await?;
    let mut call = given([
        ("path", Some(arguments.path.as_str().into())),
        ("generation", arguments.generation.map(Value::from)),
        ("message", arguments.message.map(Value::from)),
    ]);
    let operation = atlas_tools::entry::<RestoreNote>();
    let restored = match local.try_call(operation, call.clone()).await {
        // A person at the host need not know the current version: it stays in the note's history.
        Err(error) if error.code == Code::PreconditionRequired => {
            call["if_match"] = "*".into();
            local.call(operation, call).await?
        }
        // The message for agents names their tool.
        restored => restored.map_err(|error| whole_reason(error).replace("note_history lists", "`atlas log` lists"))?,
    };
    if arguments.json {
        return output::json(&restored);
    }
    let (bytes, generation) = (&restored["bytes"], &restored["generation"]);
    output::line(format_args!("{}: {bytes} bytes, generation {generation}", arguments.path));
    Ok(())
}
