//! Kinds of requests to a store.

use object_store::{GetOptions, PutMode, PutOptions};

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A whole object.
    Get,
    /// A byte range of an object.
    Range,
    /// An object's size.
    Head,
    /// Write, over any object.
    Put,
    /// Write if no object exists.
    Create,
    /// A listing.
    List,
    /// Anything else: deletes, copies, uploads in parts.
    Other,
}

impl Op {
    pub(crate) fn of_get(options: &GetOptions) -> Self {
        match options.range {
            _ if options.head => Self::Head,
            Some(_) => Self::Range,
            None => Self::Get,
        }
    }

    pub(crate) fn of_put(options: &PutOptions) -> Self {
        match options.mode {
            PutMode::Create => Self::Create,
            _ => Self::Put,
        }
    }
}
