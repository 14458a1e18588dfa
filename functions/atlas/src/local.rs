//! Operations as the person at this terminal calls them: trusted, over the vault that the command's location names.

use std::error::Error;

use atlas_access::{Acl, Caller};
use atlas_ops::{Atlas, Call, Entry, Limits, Vault, dispatch};
use jiff::Timestamp;
use serde_json::Value;

use crate::vault::author;
use crate::vault_location::VaultLocation;

/// A vault, for the person at this terminal.
pub(crate) struct Local(Atlas);

impl Local {
    /// The vault at `location`.
    ///
    /// # Errors
    /// When its store cannot be opened.
    pub(crate) fn open(location: &VaultLocation) -> Result<Self, Box<dyn Error>> {
        let vault = Vault::new(location.vault.value.to_string(), location.open()?, Acl::default());
        Ok(Self(Atlas::new([vault], Limits::default())))
    }

    /// Calls `operation`.
    ///
    /// # Errors
    /// As the operation.
    pub(crate) async fn try_call(
        &self,
        operation: &'static Entry,
        arguments: Value,
    ) -> Result<Value, atlas_ops::Error> {
        let call = Call::new(operation, arguments, Caller::trusted(&author()), Timestamp::now);
        Ok(dispatch(&self.0, call).await?.value)
    }

    /// Calls `operation`.
    ///
    /// # Errors
    /// As the operation, with its whole reason.
    pub(crate) async fn call(&self, operation: &'static Entry, arguments: Value) -> Result<Value, Box<dyn Error>> {
        Ok(self.try_call(operation, arguments).await.map_err(whole_reason)?)
    }
}

/// The sentence for the one who sees the program's log as well.
pub(crate) fn whole_reason(error: atlas_ops::Error) -> String {
    error.internal.unwrap_or(error.message)
}
