//! `atlas mcp`: the operations for an agent's client, on standard input and output.

use std::env;
use std::path::PathBuf;

use atlas_mcp::indexing::Indexing;
use atlas_web::state::Reach;
use atlas_web::{App, Settings, telemetry};
use clap::Args;

use crate::commands::Outcome;
use crate::repository::Repository;
use crate::store::{DeploymentArguments, variables};

/// Arguments of `atlas mcp`. Without a store it publishes a folder into its `.atlas/`, and serves that, read-only.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    deployment: DeploymentArguments,
    /// The folder to serve if no store is named [default: the current folder]
    #[arg(long, value_name = "DIR", env = "ATLAS_VAULT_ROOT")]
    root: Option<PathBuf>,
}

/// Runs `atlas mcp`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    if arguments.deployment.names_no_store() {
        if !arguments.deployment.is_empty() {
            return Err("--vault and --config need a store: name it with --store".into());
        }
        return serve_folder(arguments.root.map_or_else(env::current_dir, Ok)?).await;
    }
    let settings = Settings::read(arguments.deployment.variables())?;
    telemetry::start(&settings.log, false);
    serve(&settings, None).await
}

/// Serves a folder. The client is answered at once; its calls wait for the index.
async fn serve_folder(root: PathBuf) -> Outcome {
    let (repository, indexing) = Repository::at(root)?;
    let settings = Settings::read(variables().chain(repository.variables()))?;
    telemetry::start(&settings.log, false);
    tokio::select! {
        outcome = serve(&settings, Some(indexing)) => outcome,
        () = repository.follow() => Ok(()),
    }
}

async fn serve(settings: &Settings, indexing: Option<Indexing>) -> Outcome {
    // Nobody but the process that started this one reaches it.
    let app = App::open(settings, Reach::Loopback).await?;
    atlas_mcp::stdio::serve(app, indexing).await?;
    Ok(())
}
