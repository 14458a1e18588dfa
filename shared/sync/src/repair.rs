//! `sync --repair`: publishes again, from the folder, what the store has lost.
//!
//! First the mirror is made readable, with the folder's contents of lost files whose path is known. Then a sync pushes
//! the rest: a file of the last sync that the mirror lacks, or has only in an older version, was lost there. Every
//! other host's next sync does the same.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atlas_mirror::manifest::REPAIR;
use atlas_mirror::repair::{ContentSource, KnownGeneration, Pieces, Repaired};
use atlas_mirror::{CommitInfo, Flaw, Hash, Mirror, MirrorError, Snapshot};
use futures::{StreamExt as _, TryStreamExt as _};
use sha2::{Digest as _, Sha256};

use crate::attachments::pieces;
use crate::blocking::blocking;
use crate::error::SyncError;
use crate::folder::Folder;
use crate::head::{Heads, is_gone};
use crate::options::SyncOptions;
use crate::progress::Progress;
use crate::rules::Tree;
use crate::session::{Session, seen};
use crate::state::Entry;
use crate::summary::Summary;

/// The time limit of a repair's commit, with all its uploads.
const TIME: Duration = Duration::from_secs(3600);

/// Files are read in pieces of this many bytes.
const PIECE: usize = 1 << 20;

/// The folder's files, by their content when they were last equal to the mirror's.
struct Files<'a> {
    folder: Arc<Folder>,
    tree: Tree,
    /// All of the folder's files at a generation, by path, if known.
    settled: Option<(u64, &'a [Arc<Entry>])>,
    paths: HashMap<[u8; 32], Vec<String>>,
    /// Lost files that the folder has changed since.
    changed: Mutex<HashSet<String>>,
    progress: Arc<dyn Progress>,
}

impl ContentSource for Files<'_> {
    async fn open(&self, path: &str, sha256: Hash) -> Option<Pieces> {
        let others = self.paths.get(sha256.as_bytes()).into_iter().flatten().filter(|other| *other != path);
        let paths: Vec<String> = std::iter::once(path.to_owned()).chain(others.cloned()).collect();
        let folder = self.folder.clone();
        let find = move || Ok(paths.iter().find_map(|path| opened(&folder, path, sha256)));
        let Some(file) = blocking(find).await.ok().flatten() else {
            let was_it = self.paths.get(sha256.as_bytes()).is_some_and(|paths| paths.iter().any(|one| one == path));
            if was_it && self.folder.stamp(path).is_some() {
                self.changed.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
            }
            return None;
        };
        Some(pieces(file, self.progress.clone()).map_err(|error| error.to_string()).boxed())
    }

    fn is_gone(&self, path: &str, generation: u64) -> bool {
        let Some((seen, entries)) = self.settled else { return false };
        let is_entry = || entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).is_ok();
        generation <= seen && self.tree.class_of(path).is_some() && !is_entry()
    }
}

/// The entries of the last sync, if the mirror had no other files then, and is still the same.
async fn settled<'a>(mirror: &Mirror, session: &'a Session) -> Result<Option<(u64, &'a [Arc<Entry>])>, SyncError> {
    let Some(before) = session.before.as_ref().filter(|before| before.settled) else { return Ok(None) };
    match mirror.at(before.seen.generation).await.map_err(SyncError::from) {
        Ok(found) => {
            let is_same = found.is_some_and(|found| seen(&found) == before.seen);
            Ok(is_same.then_some((before.seen.generation, &*before.entries)))
        }
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file at `path`, if it has the hash.
fn opened(folder: &Folder, path: &str, sha256: Hash) -> Option<File> {
    let mut file = folder.open_file(path, false).ok()?;
    let mut hasher = Sha256::new();
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece).ok()? {
            0 => break,
            read => hasher.update(piece.get(..read)?),
        }
    }
    let is_it = Hash::from_bytes(hasher.finalize().into()) == sha256;
    file.rewind().ok().filter(|()| is_it).map(|()| file)
}

/// Makes the mirror readable.
pub(crate) async fn repair(
    mirror: &Mirror,
    session: &Session,
    options: &SyncOptions,
    progress: &Arc<dyn Progress>,
) -> Result<Repaired, SyncError> {
    mirror.check_writes().await?;
    let mut paths: HashMap<[u8; 32], Vec<String>> = HashMap::new();
    for entry in session.before.iter().flat_map(|before| &before.entries) {
        paths.entry(entry.sha256).or_default().push(entry.path.clone());
    }
    let (folder, progress) = (session.folder.clone(), progress.clone());
    let settled = settled(mirror, session).await?;
    let files = Files { folder, tree: options.tree, settled, paths, changed: Mutex::default(), progress };
    let info = CommitInfo {
        author: options.author.clone(),
        caller: None,
        operation: REPAIR.to_owned(),
        message: options.message.clone(),
        session: None,
        key: None,
        time: options.began,
        deadline: TIME,
    };
    let last = session.before.as_ref().map(|before| &before.seen);
    let known = last.and_then(|seen| {
        let (lineage, manifest) = (seen.lineage.parse().ok()?, Hash::from_bytes(seen.manifest));
        Some(KnownGeneration { lineage, generation: seen.generation, manifest })
    });
    let mut repaired = mirror.repair(&info, known, &files).await?;
    // The folder has a newer text of them.
    let changed = files.changed.into_inner().unwrap_or_else(PoisonError::into_inner);
    repaired.lost.retain(|path| !changed.contains(path));
    Ok(repaired)
}

/// Whether the mirror was repaired since the last sync, so that missing files may have been lost.
pub(crate) async fn is_later(mirror: &Mirror, session: &Session, head: Option<&Snapshot>) -> Result<bool, SyncError> {
    let (Some(before), Some(head)) = (&session.before, head.map(seen)) else { return Ok(false) };
    if before.seen == head || before.seen.lineage != head.lineage {
        return Ok(false);
    }
    Ok(mirror.was_repaired_since(before.seen.generation, Hash::from_bytes(before.seen.manifest)).await?)
}

/// The newest generation of the mirror that an earlier sync saw unchanged, if the last sync left nothing to do; 0 if
/// none is known.
///
/// A mirror that silently lost its newest manifests gives their numbers to new ones.
pub(crate) async fn last_common(mirror: &Mirror, session: &Session, head: Option<&Snapshot>) -> Result<u64, SyncError> {
    let before = session.before.as_ref().filter(|before| before.settled);
    let (Some(before), Some(head)) = (before, head) else { return Ok(0) };
    for known in std::iter::once(&before.seen).chain(before.earlier.iter().rev()) {
        if known.generation > head.generation() {
            continue;
        }
        match mirror.at(known.generation).await.map_err(SyncError::from) {
            Ok(Some(found)) if seen(&found) == *known || found.manifest().is_rewound() => return Ok(known.generation),
            Ok(Some(_)) => {}
            // It was collected.
            Ok(None) => return Ok(known.generation),
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(0)
}

/// The ancestors for a mirror that was repaired since. Lost files have none. A version of generation `common` or
/// earlier is an ancestor of the folder's. A later version is none, since it may come from another folder's old files.
pub(crate) fn ancestors(entries: Vec<Arc<Entry>>, heads: &Heads, common: u64) -> Vec<Arc<Entry>> {
    let ancestor = |entry: Arc<Entry>| match heads.document(&entry.path) {
        Some(document) if document.sha256 == entry.sha256 => Some(entry),
        Some(document) if document.generation <= common => {
            Some(Arc::new(Entry { sha256: document.sha256, mtime_ns: None, ..Arc::unwrap_or_clone(entry) }))
        }
        _ => None,
    };
    entries.into_iter().filter_map(ancestor).collect()
}

/// Fails, after all possible work was done, when damage is known, so that nobody takes the mirror for sound.
pub(crate) async fn tell(mirror: &Mirror, options: &SyncOptions, summary: &Summary) -> Result<(), SyncError> {
    if options.dry_run || summary.generation == 0 || summary.repaired.is_some() {
        return Ok(());
    }
    match mirror.noted_damage().await? {
        Some(Flaw { object, reason }) => Err(MirrorError::Damaged { object, reason }.into()),
        None => Ok(()),
    }
}
