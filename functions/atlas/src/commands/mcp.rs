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
use crate::newcomer::is_vault;
use crate::output;
use crate::repository::Repository;
use crate::store::variables;
use crate::user_folders::{states, variable_os};
use crate::vault::DeploymentArguments;
use crate::vault_location::GivenBy;

/// Arguments of `atlas mcp`. In a folder that was never synced, and without a store, it publishes that folder into its `.atlas/`, and serves
/// that, read-only. It refuses a vault of Obsidian, which is meant to be synced.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    deployment: DeploymentArguments,
    /// Serve the folder read-only as code, from an index in its `.atlas/`, even if it is a vault
    #[arg(long, conflicts_with_all = ["store", "vault", "config"])]
    code: bool,
}

/// Runs `atlas mcp`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    if !arguments.code {
        if let Ok(location) = arguments.deployment.find()
            && location.store.given_by != GivenBy::Default
        {
            return serve(Settings::read(location.variables())?.near_apps(), None).await;
        }
        // Else nothing says whether the folder was synced.
        states()?;
    }
    let names = ["ATLAS_VAULT", "ATLAS_CONFIG"];
    if !arguments.code && arguments.deployment.variables().any(|(name, _)| names.contains(&name.as_str())) {
        return Err("--vault and --config need a store: name it with --store".into());
    }
    let named = arguments.deployment.place.root.or_else(|| variable_os("ATLAS_VAULT_ROOT").map(PathBuf::from));
    let is_named = named.is_some();
    let root = named.map_or_else(env::current_dir, std::path::absolute)?;
    let shown = root.display();
    if !arguments.code && is_vault(&root) {
        return Err(format!(
            "{shown} is a vault that was not synced before: run `atlas sync {shown}` first, or serve it read-only as code with --code"
        )
        .into());
    }
    if is_named {
        output::note(format_args!("{shown} is served read-only as code; for notes, run `atlas sync {shown}` first"));
    }
    serve_folder(root).await
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
