//! A model whose head was read, its network if it has one, and some of its rows.

use std::sync::{Mutex, MutexGuard, PoisonError};

use atlas_embeddings::contextual::Network;
use atlas_embeddings::stored::{Rows, StoredModel};

use crate::id::Hash;

#[derive(Debug)]
pub(crate) struct LoadedModel {
    pub(crate) id: Hash,
    pub(crate) model: StoredModel,
    pub(crate) network: Option<Network>,
    rows: Mutex<Rows>,
}

impl LoadedModel {
    pub(crate) fn new(id: Hash, model: StoredModel, network: Option<Network>) -> Self {
        Self { id, model, network, rows: Mutex::default() }
    }

    pub(crate) fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
