//! The results of `find`.

use schemars::JsonSchema;
use serde::Serialize;

/// One note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundTerm {
    /// Its path.
    pub(crate) path: String,
    /// The heading that matches or is nearest above the match, as `#anchor`; null if there is none.
    pub(crate) anchor: Option<String>,
    /// The matching line and a line on either side; null if only the file name matches.
    pub(crate) quote: Option<String>,
}
