//! Reading a snapshot as a caller sees it.

pub(crate) mod by_segment;
pub mod code;
pub mod cursor;
pub mod excerpt;
pub mod facts;
pub mod graph;
pub mod index;
pub(crate) mod link_tables;
pub mod links;
pub(crate) mod made_facts;
pub mod merge;
pub mod nearest;
pub mod network;
pub mod notes;
pub mod pages;
pub mod paging;
pub mod passages;
pub mod prefetched;
pub mod settings;
pub mod view;
