//! The folder that the program is started in, published into its own `.atlas/` for an agent that works there. The folder itself is never
//! changed: what is served is read-only.

use std::env;
use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::Mirror;
use atlas_sync::{SyncError, SyncOptions, sync};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::output;
use crate::store::open_mirror;
use crate::vault::author;
use crate::watch::Watch;

/// What is kept below the folder.
const KEPT: &str = ".atlas";
/// The folder is looked at after so long, also if nothing was seen to change.
const PAUSE: Duration = Duration::from_secs(60);
/// The id of the vault.
const VAULT: &str = "main";

/// A folder and what is kept of it.
pub(crate) struct Repository {
    root: PathBuf,
    mirror: Mirror,
    store: String,
    generation: Option<u64>,
}

impl Repository {
    /// The folder that the program was started in.
    pub(crate) fn here() -> Result<Self, Box<dyn Error>> {
        const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');
        let root = env::current_dir()?;
        let kept = root.join(KEPT);
        fs::create_dir_all(&kept)?;
        // It is no part of what is kept in Git.
        match fs::File::create_new(kept.join(".gitignore")) {
            Ok(mut file) => std::io::Write::write_all(&mut file, b"*\n")?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        let path = kept.join("store");
        let path = path.to_str().ok_or("the folder's path is not UTF-8: start it in another folder")?;
        let store = format!("file://{}", utf8_percent_encode(path, PATH));
        let mirror = open_mirror(&store, &VAULT.parse()?)?;
        Ok(Self { root, mirror, store, generation: None })
    }

    /// What serves it.
    pub(crate) fn variables(&self) -> [(String, String); 3] {
        let read_only = r#"{"acl": {"readOnly": true}}"#;
        [("ATLAS_STORE", self.store.as_str()), ("ATLAS_VAULT", VAULT), ("ATLAS_CONFIG", read_only)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    }

    /// Publishes it as it is now.
    pub(crate) async fn publish(&mut self) -> Result<(), Box<dyn Error>> {
        let is_first = self.generation.is_none();
        if is_first {
            output::note("[INFO] Starting indexing...");
        }
        let base = SyncOptions::new(self.root.clone(), self.root.join(KEPT).join("state"), author(), Timestamp::now());
        // The folder is what counts; nothing comes back from the mirror.
        let options = SyncOptions { gitignore: true, allow_mass_delete: true, join: true, ..base };
        let summary = match sync(&self.mirror, &options, Arc::new(())).await {
            // Another agent's server publishes it.
            Err(SyncError::Locked { .. }) => return Ok(()),
            result => result?,
        };
        if self.generation.replace(summary.generation) != Some(summary.generation) {
            for skipped in &summary.skipped {
                output::note(format_args!("[WARN] Skipping file... {skipped}"));
            }
            output::note(format_args!(
                "[INFO] Indexing complete: {} notes and {} other files",
                summary.notes, summary.attachments
            ));
        }
        Ok(())
    }

    /// Publishes it whenever it changed, for good.
    pub(crate) async fn follow(mut self) {
        let mut watch = Watch::new(PAUSE);
        loop {
            watch.begin(&self.root);
            watch.wait(None).await;
            if let Err(error) = self.publish().await {
                output::note(format_args!("[WARN] Indexing failed: {error}"));
            }
        }
    }
}
