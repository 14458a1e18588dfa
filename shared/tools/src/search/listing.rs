//! The common part of all listings of results.

use atlas_ops::arguments::Root;
use atlas_ops::atlas::Limits;
use atlas_ops::operation::Deadline;

use crate::search::filter::Filter;

const TOO_MUCH: &str =
    "there is more text than one call searches: continue with the cursor, or narrow the paths or the query";
pub(super) const TOO_LARGE: &str = "the answer is full: continue with the cursor";
const TOO_LONG: &str =
    "the time limit of one call was reached: continue with the cursor, or narrow the paths or the query";

/// The common parts of listings.
pub(crate) struct Listing<'a> {
    pub(super) filter: Option<Filter>,
    pub(super) limit: usize,
    pub(super) explain: bool,
    /// A hash of the listing's arguments.
    pub(super) of: u32,
    pub(super) limits: &'a Limits,
}

impl<'a> Listing<'a> {
    /// A listing of `limit` items in a folder, whose arguments have the hash `of`.
    pub(super) const fn in_root(root: Root, limit: usize, of: u32, limits: &'a Limits) -> Self {
        Self { filter: Some(Filter::Root(root)), limit, explain: false, of, limits }
    }

    /// The limit that is reached, if any, after so many bytes of text, whose reading has this deadline.
    pub(super) fn reached(&self, bytes: u64, deadline: Deadline) -> Option<&'static str> {
        if bytes >= self.limits.max_scanned_bytes { Some(TOO_MUCH) } else { deadline.has_passed().then_some(TOO_LONG) }
    }
}
