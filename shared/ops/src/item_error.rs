//! Errors of single items in calls for several.

use atlas_access::Caller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::pipeline::redact::redact_for;

/// Why one of several items failed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ItemError {
    /// The code.
    code: String,
    /// The advice.
    message: String,
    /// Facts for programs.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    details: Map<String, Value>,
}

impl ItemError {
    /// `error` with what `caller` may see.
    pub fn of(error: Error, caller: &Caller) -> Self {
        let code = error.reason().to_owned();
        let Error { message, mut details, .. } = redact_for(error, caller);
        details.shift_remove("reason");
        Self { code, message, details: *details }
    }
}
