//! `atlas mcp`: the operations for an agent's client, on standard input and output.

use std::env;
use std::path::PathBuf;

use atlas_mcp::indexing::Indexing;
use atlas_web::state::Reach;
use atlas_web::{App, Settings, telemetry};
use clap::Args;

use crate::commands::Outcome;
use crate::features;
use crate::local;
use crate::repository::Repository;
use crate::store::variables;
use crate::vault::DeploymentArguments;
use crate::vault_location::GivenBy;

/// Arguments of `atlas mcp`. In a folder that was never synced, and without a store, it publishes that folder into its `.atlas/`, and serves
/// that, read-only.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    deployment: DeploymentArguments,
}

/// Runs `atlas mcp`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let location = match arguments.deployment.find() {
        Ok(location) if location.store.given_by != GivenBy::Default => location,
        found => return serve_code(&arguments.deployment, found.ok().and_then(|found| found.folder)).await,
    };
    serve(Settings::read(location.variables())?.near_apps(), None).await
}

/// Serves the folder of code at `root`, or the current one.
async fn serve_code(deployment: &DeploymentArguments, root: Option<PathBuf>) -> Outcome {
    let names = ["ATLAS_VAULT", "ATLAS_CONFIG"];
    if deployment.variables().any(|(name, _)| names.contains(&name.as_str())) {
        return Err("--vault and --config need a store: name it with --store".into());
    }
    serve_folder(root.map_or_else(env::current_dir, Ok)?).await
}

/// Serves a folder. The client is answered at once; its calls wait for the index.
async fn serve_folder(root: PathBuf) -> Outcome {
    let (repository, indexing) = Repository::at(root)?;
    let settings = Settings::read(variables().chain(repository.variables()))?;
    tokio::select! {
        outcome = serve(settings, Some(indexing)) => outcome,
        () = repository.follow() => Ok(()),
    }
}

async fn serve(settings: Settings, indexing: Option<Indexing>) -> Outcome {
    let settings = Settings { scale_picture: features::SCALE_PICTURE, current: local::current(), ..settings };
    telemetry::start(&settings.log, false);
    // Only the process that started this one can reach it.
    let app = App::open(&settings, Reach::Loopback).await?;
    local::ask_who_writes(&app.atlas).await;
    atlas_mcp::stdio::serve(app, indexing).await?;
    Ok(())
}
