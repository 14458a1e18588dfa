//! A model whose head was read, and some of its rows.

use std::sync::{Mutex, MutexGuard, PoisonError};

use atlas_embeddings::stored::{Rows, StoredModel};

use crate::id::Hash;

#[derive(Debug)]
pub(crate) struct LoadedModel {
    pub(crate) id: Hash,
    pub(crate) model: StoredModel,
    rows: Mutex<Rows>,
}

impl LoadedModel {
    pub(crate) fn new(id: Hash, model: StoredModel) -> Self {
        Self { id, model, rows: Mutex::default() }
    }

    pub(crate) fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
