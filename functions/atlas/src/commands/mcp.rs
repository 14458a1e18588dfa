//! `atlas mcp`: the operations for an agent's client, on standard input and output.

use atlas_web::state::Reach;
use atlas_web::{App, Settings, telemetry};
use clap::Args;

use crate::commands::Outcome;
use crate::store::DeploymentArguments;

/// Arguments of `atlas mcp`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    deployment: DeploymentArguments,
}

/// Runs `atlas mcp`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let settings = Settings::read(arguments.deployment.variables())?;
    telemetry::start(&settings.log, false);
    // Nobody but the process that started this one reaches it.
    let app = App::open(&settings, Reach::Loopback).await?;
    atlas_mcp::stdio::serve(app).await?;
    Ok(())
}
