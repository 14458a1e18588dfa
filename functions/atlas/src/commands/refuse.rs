//! `atlas refuse`

use clap::Args;

use crate::commands::Outcome;
use crate::commands::approvals::REFUSED;
use crate::local::Local;
use crate::output;
use crate::vault_location::LocationArguments;
use crate::waiting;

/// Arguments of `atlas refuse`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The id of a call that waits, or was approved and not made yet; or its beginning, as `atlas approvals` shows it
    id: String,
    /// The reason, for the agent
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    location: LocationArguments,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `atlas refuse`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let local = Local::open(&arguments.location.find(None, None)?).await?;
    let id = waiting::whole_id(&local, &arguments.id, &["pending", "approved"]).await?;
    let refused = waiting::refuse(&local, &id, arguments.reason.as_deref()).await?;
    if arguments.json {
        return output::json(&refused);
    }
    output::line(REFUSED);
    Ok(())
}
