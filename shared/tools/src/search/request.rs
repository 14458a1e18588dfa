//! What a search for lines looks for, and where a page of it begins.

use serde::{Deserialize, Serialize};

use crate::search::Listing;
use crate::search::pattern::Pattern;
use crate::search::plan::Plan;

/// What to look for.
pub(crate) struct Request<'a> {
    pub(crate) pattern: Pattern,
    pub(crate) plan: Plan,
    pub(crate) context_lines: usize,
    /// Whether to tell where in its line each match is.
    pub(crate) has_places: bool,
    /// Most lines of one file.
    pub(crate) most_of_file: Option<usize>,
    pub(crate) listing: Listing<'a>,
}

/// Where a page begins: after this line of this file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Cursor {
    pub(crate) generation: u64,
    pub(crate) of: u32,
    pub(crate) path: String,
    pub(crate) line: u64,
    /// How many lines of that file there were.
    #[serde(default)]
    pub(crate) count: usize,
}
