//! A search for lines, and the start of a page.

use atlas_ops::operation::Deadline;
use serde::{Deserialize, Serialize};

use crate::search::listing::Listing;
use crate::search::pattern::Pattern;
use crate::search::plan::Plan;

/// The search.
pub(crate) struct Request<'a> {
    pub(crate) pattern: Pattern,
    pub(crate) plan: Plan,
    pub(crate) context_lines: usize,
    /// Whether to report the position of each match in its line.
    pub(crate) has_places: bool,
    /// Most lines of one file.
    pub(crate) most_of_file: Option<usize>,
    /// Until when text is read.
    pub(crate) deadline: Deadline,
    pub(crate) listing: Listing<'a>,
}

/// The start of a page: after this line of this file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Cursor {
    pub(crate) generation: u64,
    pub(crate) of: u32,
    pub(crate) path: String,
    pub(crate) line: u64,
    /// The number of lines of that file on previous pages.
    #[serde(default)]
    pub(crate) count: usize,
}
