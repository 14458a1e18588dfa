//! `atlas mcp`: the operations for an agent's client, on standard input and output.

use atlas_web::state::Reach;
use atlas_web::{App, Settings, telemetry};
use clap::Args;

use crate::commands::Outcome;
use crate::repository::Repository;
use crate::store::{DeploymentArguments, variables};

/// Arguments of `atlas mcp`. Without a store it publishes the folder that it is started in into `.atlas/`, and serves that, read-only.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    deployment: DeploymentArguments,
}

/// Runs `atlas mcp`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    if arguments.deployment.names_no_store() {
        if !arguments.deployment.is_empty() {
            return Err("a vault or a configuration is of a store: name that with --store".into());
        }
        return serve_folder().await;
    }
    let settings = Settings::read(arguments.deployment.variables())?;
    telemetry::start(&settings.log, false);
    serve(&settings).await
}

/// Serves the folder that the program is started in.
async fn serve_folder() -> Outcome {
    let mut repository = Repository::here()?;
    let settings = Settings::read(variables().chain(repository.variables()))?;
    telemetry::start(&settings.log, false);
    repository.publish().await?;
    tokio::select! {
        outcome = serve(&settings) => outcome,
        () = repository.follow() => Ok(()),
    }
}

async fn serve(settings: &Settings) -> Outcome {
    // Nobody but the process that started this one reaches it.
    let app = App::open(settings, Reach::Loopback).await?;
    atlas_mcp::stdio::serve(app).await?;
    Ok(())
}
