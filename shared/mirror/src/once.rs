//! Small objects below `state/` that are created once: the first writer decides the content, and all others read it.
//! Used for claims, approvals, confirmations and other values that all processes must agree on.

use bytes::Bytes;
use jiff::Timestamp;
use object_store::path::Path;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::MirrorError;
use crate::failure::Failure;
use crate::keys::key_of;
use crate::mirror::Mirror;
use crate::store::ListedObject;

/// Most bytes of one, unless its reader allows more.
const MAX_BYTES: u64 = 4 << 10;

/// An object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateObject {
    /// Its name below the folder that was listed.
    pub name: String,
    /// When it was made, by the store's clock.
    pub written: Timestamp,
}

impl Mirror {
    /// Creates `state/<name>` with `value` unless it exists. Returns whether this call certainly created it: after a
    /// lost answer, another caller seems to have created it.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`]: it may have been created nevertheless.
    pub async fn create_state_if_absent(
        &self,
        name: &str,
        value: &(impl Serialize + Sync),
    ) -> Result<bool, MirrorError> {
        let key = self.state_key(name, "write")?;
        let bytes = serde_json::to_vec(value).map_err(|error| refused("write", &error))?;
        let bytes = Bytes::from(bytes);
        match self.store.retry(|| self.store.create(&key, &bytes)).await {
            Ok(()) => Ok(true),
            Err(Failure::Exists) => Ok(false),
            Err(failure) => Err(failure.into_error("write", &key)),
        }
    }

    /// The content of `state/<name>`, if it exists.
    ///
    /// # Errors
    /// [`MirrorError::Damaged`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn get_state<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, MirrorError> {
        self.get_state_up_to(name, MAX_BYTES).await
    }

    /// Like [`get_state`](Self::get_state), for an object of up to `most` bytes.
    ///
    /// # Errors
    /// As [`get_state`](Self::get_state).
    pub async fn get_state_up_to<T: DeserializeOwned>(&self, name: &str, most: u64) -> Result<Option<T>, MirrorError> {
        let key = self.state_key(name, "read")?;
        let Some(bytes) = self.store.get(&key, most).await? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| MirrorError::damaged(&key, error))
    }

    /// Creates `state/<name>` with `value` unless it exists. If it exists, returns its content, which an earlier try of this call may have written.
    ///
    /// # Errors
    /// As [`create_state_if_absent`](Self::create_state_if_absent) and [`get_state`](Self::get_state). Calling again does no harm.
    pub async fn get_or_create_state<T: Serialize + DeserializeOwned + Sync>(
        &self,
        name: &str,
        value: &T,
    ) -> Result<Option<T>, MirrorError> {
        if self.create_state_if_absent(name, value).await? {
            return Ok(None);
        }
        let gone = || MirrorError::unavailable(format!("state/{name} was deleted meanwhile"));
        self.get_state(name).await?.ok_or_else(gone).map(Some)
    }

    /// Deletes `state/<name>`, if it exists.
    ///
    /// # Errors
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn delete_state(&self, name: &str) -> Result<(), MirrorError> {
        self.store.delete(&self.state_key(name, "delete")?).await
    }

    /// The objects below `state/<folder>/`; with `after` only those with greater names.
    ///
    /// # Errors
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn list_state(&self, folder: &str, after: Option<&str>) -> Result<Vec<StateObject>, MirrorError> {
        let key = self.state_key(folder, "list")?;
        let offset = after.map(|name| self.state_key(&format!("{folder}/{name}"), "list")).transpose()?;
        Ok(below(&key, self.store.list(&key, offset.as_ref()).await?))
    }

    /// The objects below `state/<folder>/`, `most` of them at most; and whether there are more.
    ///
    /// # Errors
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn list_state_up_to(&self, folder: &str, most: usize) -> Result<(Vec<StateObject>, bool), MirrorError> {
        let key = self.state_key(folder, "list")?;
        let (listed, has_more) = self.store.list_up_to(&key, None, most).await?;
        Ok((below(&key, listed), has_more))
    }

    fn state_key(&self, name: &str, action: &'static str) -> Result<Path, MirrorError> {
        self.keys().state(name).map_err(|error| refused(action, &error))
    }
}

/// The listed objects, by their names below `folder`.
fn below(folder: &Path, listed: Vec<ListedObject>) -> Vec<StateObject> {
    let name = |found: &Path| Some(key_of(found).strip_prefix(key_of(folder))?.strip_prefix('/')?.to_owned());
    let made = |found: ListedObject| Some(StateObject { name: name(&found.key)?, written: found.written });
    listed.into_iter().filter_map(made).collect()
}

fn refused(action: &'static str, reason: &impl ToString) -> MirrorError {
    MirrorError::StoreRefused { action, reason: reason.to_string() }
}
