//! What a sync is asked for.

use std::path::PathBuf;
use std::sync::Arc;

use atlas_mirror::Retention;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::code_reader::CodeReader;
use crate::rules::Tree;
use crate::text_reader::Reading;

/// What to sync, and how.
#[derive(Clone, Debug)]
pub struct SyncOptions {
    /// The vault's folder.
    pub root: PathBuf,
    /// The folder for the sync state: one for each root, vault and store.
    pub state: PathBuf,
    /// Who commits.
    pub author: String,
    /// Why.
    pub message: Option<String>,
    /// When the sync begins.
    pub began: Timestamp,
    /// Of the times in the names of conflict copies.
    pub time_zone: TimeZone,
    /// Read all files, also those whose size and time are as they were.
    pub checksum: bool,
    /// Of what the folder is.
    pub tree: Tree,
    /// Change nothing.
    pub dry_run: bool,
    /// Go on when many files vanished.
    pub allow_mass_delete: bool,
    /// Go on when the folder, of which there is no state, has little in common with the mirror.
    pub join: bool,
    /// Publish again from the folder what is unreadable or missing in the store.
    pub repair: bool,
    /// The folder is the truth and never written to: whatever the mirror has becomes what the folder has.
    pub push_only: bool,
    /// Read the text of attachments, so that a search finds it.
    pub reading: Option<Reading>,
    /// Find the symbols of source code, so that they are in the index.
    pub code: Option<Arc<dyn CodeReader>>,
    /// Delete from the store what is older and not needed any more.
    pub collect: Option<Retention>,
}

impl SyncOptions {
    /// A plain sync.
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
            dry_run: false,
            allow_mass_delete: false,
            join: false,
            repair: false,
            push_only: false,
            reading: None,
            code: None,
            collect: None,
        }
    }
}
