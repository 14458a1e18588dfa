//! The options of a sync.

use std::path::PathBuf;
use std::sync::Arc;

use atlas_mirror::Retention;
use atlas_segment::FULL_BYTES;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::code_reader::CodeReader;
use crate::embedding::{Background, Chosen};
use crate::only::Only;
use crate::rules::Tree;
use crate::text_reader::Reading;

/// The options of a sync.
#[derive(Clone, Debug)]
pub struct SyncOptions {
    /// The vault's folder.
    pub root: PathBuf,
    /// The folder for the sync state: one for each root, vault and store.
    pub state: PathBuf,
    /// The author of the commit.
    pub author: String,
    /// The reason for the commit.
    pub message: Option<String>,
    /// The start time of the sync.
    pub began: Timestamp,
    /// The time zone of the names of conflict copies.
    pub time_zone: TimeZone,
    /// Read all files, even with unchanged size and time.
    pub checksum: bool,
    /// The kind of folder.
    pub tree: Tree,
    /// Only these files, on both sides.
    pub only: Option<Only>,
    /// Change nothing.
    pub dry_run: bool,
    /// Continue when many files vanished.
    pub allow_mass_delete: bool,
    /// Continue when a folder without state has little in common with the mirror.
    pub join: bool,
    /// Publish unreadable or missing objects of the store again from the folder.
    pub repair: bool,
    /// The folder always wins and is never written to.
    pub push_only: bool,
    /// Read the text of attachments, so that searches find it.
    pub reading: Option<Reading>,
    /// Find the symbols of source code, so that they are in the index.
    pub code: Option<Arc<dyn CodeReader>>,
    /// Merge files that both sides changed, where the changes do not meet; else they are conflicts.
    pub merge: bool,
    /// The model by which notes are to be found; if none is chosen, the one that the mirror has.
    pub embeddings: Option<Chosen>,
    /// Embed beside this sync and the next ones, so that these wait for no model.
    pub background: Option<Arc<Background>>,
    /// Collect garbage in the store.
    pub collect: Option<Retention>,
    /// A segment of the index is full when it reaches about this many bytes.
    pub full_bytes: usize,
}

impl SyncOptions {
    /// The default options.
    pub fn new(root: PathBuf, state: PathBuf, author: String, began: Timestamp) -> Self {
        Self {
            root,
            state,
            author,
            message: None,
            began,
            time_zone: TimeZone::UTC,
            checksum: false,
            tree: Tree::Vault,
            only: None,
            dry_run: false,
            allow_mass_delete: false,
            join: false,
            repair: false,
            push_only: false,
            reading: None,
            code: None,
            merge: true,
            embeddings: None,
            background: None,
            collect: None,
            full_bytes: FULL_BYTES,
        }
    }
}
