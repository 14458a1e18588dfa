//! The embedding model that a vault's configuration names, for a sync.

use std::sync::Arc;

use atlas_mirror::Embeddings;
use atlas_provider::SyncModel;
use atlas_sync::Chosen;
use atlas_web::config::embeddings::ChosenModel;
use atlas_web::{App, Settings};

use crate::vault_location::VaultLocation;

/// The model, if a configuration names one. A configuration that cannot be read stops no sync: then notes wait for their vectors, and the error
/// says why.
pub(crate) async fn chosen(location: &VaultLocation) -> Result<Option<Chosen>, String> {
    if location.config.is_none() {
        return Ok(None);
    }
    read(location).await.map_err(|error| format!("the configuration's embedding model cannot be used: {error}"))
}

async fn read(location: &VaultLocation) -> Result<Option<Chosen>, String> {
    let environment = Settings::read(location.variables()).map_err(|error| error.to_string())?;
    let settings = App::settings(&environment).await.map_err(|error| error.to_string())?;
    let model = settings.services.chosen_model().map_err(|error| error.to_string())?;
    Ok(model.map(|model| match model {
        ChosenModel::Stored(name) => Chosen::Stored(name),
        ChosenModel::Service(remote, spending) => {
            let shape = remote.shape();
            let embeddings = Embeddings::of_service(remote.protocol().name(), &shape.model, shape.dimensions);
            Chosen::Service { embeddings, model: Arc::new(SyncModel::new(remote, spending)) }
        }
    }))
}
