//! Looks up earlier versions in the mirror's history. If the folder has an earlier version of the mirror's that it never had by a sync, it is out
//! of date, not in conflict: its state was lost, or something else carried the file over from another synced folder.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use atlas_mirror::{Mirror, Snapshot};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::blocking::blocking;
use crate::compare::{InFolder, Item};
use crate::error::SyncError;
use crate::folder::Folder;
use crate::head::{self, HeadDocument, HeadDocuments, Heads};
use crate::reading;

/// Generations that are read at once.
const PAGE: usize = 16;

/// Most generations that are looked at because nothing says in which one a path had an earlier version: it was deleted in between.
const MAX_BLIND: usize = 256;

/// The generations before those that removed something, with the times of these in milliseconds since 1970 UTC.
pub(crate) type Removals = BTreeMap<u64, i64>;

/// A content that is looked for at a path.
#[derive(Clone, Copy, Debug)]
struct Sought {
    sha256: [u8; 32],
    /// The content at which to stop: what came before it does not count.
    until: Option<[u8; 32]>,
    /// The generation at which to stop, likewise.
    after: u64,
    /// The newest generation that is known to have the path.
    newest: Option<u64>,
}

/// By path.
type Versions = BTreeMap<String, Sought>;

/// The versions that the folder may have without a record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reach {
    /// Those after this generation, of which the last sync knew everything. An older text is a person's edit.
    After(u64),
    /// Of paths without an ancestor, all.
    New,
    /// Also those after a path's ancestor.
    SinceAncestor,
}

/// The history of the mirror before `head`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past<'a> {
    pub(crate) mirror: &'a Mirror,
    pub(crate) head: &'a Snapshot,
    pub(crate) reach: Reach,
}

impl Past<'_> {
    /// The generations before those that removed something, each with the time of that in milliseconds since 1970 UTC, as far as they tell which paths the mirror had for a while
    /// that the last sync knew nothing of, in case a file of `items` is at one.
    ///
    /// # Errors
    /// Those of reading the mirror. Manifests that are not kept any more are unknown.
    pub(crate) async fn before_removals(&self, items: &[Item]) -> Result<Removals, SyncError> {
        let Reach::After(seen) = self.reach else { return Ok(Removals::new()) };
        let newest = self.head.generation();
        let is_wanted = |item: &Item| {
            matches!(item.found, InFolder::Touched(_)) && (item.head.is_none() || item.ancestor() != item.head)
        };
        // A file that one commit brings and removes was never there.
        if newest < seen.saturating_add(2) || !items.iter().any(is_wanted) {
            return Ok(Removals::new());
        }
        let count = usize::try_from(newest.saturating_sub(seen)).unwrap_or(MAX_BLIND).min(MAX_BLIND);
        let chain = match self.mirror.chain(newest, count).await.map_err(SyncError::from) {
            Err(error) if head::is_gone(&error) => return Ok(Removals::new()),
            chain => chain?,
        };
        let removing = chain.iter().map(|snapshot| snapshot.manifest()).filter(|manifest| manifest.changes.removed > 0);
        let timed = removing.map(|manifest| (manifest.generation.saturating_sub(1), manifest.time.as_millisecond()));
        Ok(timed.filter(|(before, _)| *before > seen).collect())
    }

    /// Sets the ancestor of items that differ: the folder's version, if the mirror's history has it at that path within
    /// reach. `contents` are the items' contents, by index. Only these paths are read in the history. A file that came
    /// into the `folder` after the mirror had removed it is a person's: a restored backup, say.
    ///
    /// # Errors
    /// Those of reading the mirror. Versions that are not kept any more are unknown.
    pub(crate) async fn recall(
        &self,
        folder: &Arc<Folder>,
        heads: &Heads,
        items: &mut [Item],
        contents: &reading::Contents,
        before_removals: Removals,
    ) -> Result<(), SyncError> {
        // A content that the folder had elsewhere was moved here by a person.
        let moved: HashSet<[u8; 32]> = {
            let vanished = items.iter().filter(|item| matches!(item.found, InFolder::Nothing));
            vanished.filter_map(|item| item.entry.as_ref()).map(|entry| entry.sha256).collect()
        };
        let is_bounded = matches!(self.reach, Reach::After(_));
        let mut rivals = Wanted { before_removals: is_bounded.then(|| before_removals.clone()), ..Wanted::default() };
        let mut found = BTreeMap::new();
        for (index, content) in contents {
            let (Some(item), Ok(content)) = (items.get(*index), content) else { continue };
            let sha256 = content.sha256;
            let entry = item.entry.as_ref().map(|entry| entry.sha256);
            if item.head == Some(sha256) || entry == Some(sha256) || moved.contains(&sha256) {
                continue;
            }
            let (until, after) = match self.reach {
                Reach::After(seen) => (None, seen),
                Reach::New if entry.is_some() => continue,
                Reach::SinceAncestor if entry.is_some() && item.head == entry => continue,
                Reach::New | Reach::SinceAncestor => (entry, 0),
            };
            let (path, sought) = (item.path.to_string(), Sought { sha256, until, after, newest: None });
            match heads.document(&item.path) {
                Some(document) if document.generation > after => {
                    rivals.add_before(document, document.generation, path.clone(), sought);
                }
                // The mirror had it only for a while. An empty text may be anybody's.
                None if is_bounded && item.head.is_none() && content.stamp.size > 0 => {
                    let newest = self.head.generation();
                    rivals.add_blind(newest.saturating_sub(1), newest, path.clone(), sought);
                }
                _ => continue,
            }
            found.insert(path, *index);
        }
        let mut recalled = Vec::new();
        for paths in generations_with(self.mirror, rivals).await?.into_values() {
            for (path, newest) in paths {
                // Not after the generation of this content: other versions may have come between.
                let removed_ms = before_removals.get(&newest).copied();
                let Some(index) = found.get(&path) else { continue };
                let Some(Item { found: InFolder::Touched(file), head, .. }) = items.get(*index) else { continue };
                recalled.push((*index, file.disk_path().to_owned(), removed_ms.filter(|_| head.is_none())));
            }
        }
        let folder = folder.clone();
        let recalled = blocking(move || {
            let is_restored = |path: &str, removed_ms: Option<i64>| {
                removed_ms.is_some_and(|removed| folder.placed_ms(path).is_some_and(|placed| placed > removed))
            };
            recalled.retain(|(_, path, removed_ms)| !is_restored(path, *removed_ms));
            Ok(recalled)
        });
        for (index, ..) in recalled.await? {
            let content = contents.get(&index).and_then(|content| content.as_ref().ok());
            if let (Some(item), Some(content)) = (items.get_mut(index), content) {
                item.past = Some(content.sha256);
            }
        }
        Ok(())
    }
}

/// Contents that are looked for at paths, from a generation on backwards.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    due: BTreeMap<u64, Versions>,
    /// Generations that are looked at though nothing says that they have a version.
    blind: usize,
    /// The generations among which such a one is, if known.
    before_removals: Option<Removals>,
}

impl Wanted {
    /// Looks for a content of `path` in the versions before `document`, its version of the mirror.
    pub(crate) fn add(&mut self, document: &HeadDocument, path: String, sha256: [u8; 32]) {
        self.add_before(document, document.generation, path, Sought { sha256, until: None, after: 0, newest: None });
    }

    /// The version before `document`, which the generation `newer` has.
    fn add_before(&mut self, document: &HeadDocument, newer: u64, path: String, sought: Sought) {
        match document.replaces {
            0 => self.add_blind(document.generation.saturating_sub(1), newer, path, sought),
            generation => self.add_at(generation, newer, path, sought),
        }
    }

    fn add_blind(&mut self, generation: u64, newer: u64, path: String, sought: Sought) {
        let generation = match &self.before_removals {
            Some(known) => known.range(..=generation).next_back().map_or(0, |(before, _)| *before),
            None => generation,
        };
        if generation <= sought.after {
            return;
        }
        self.blind += usize::from(!self.due.contains_key(&generation));
        if self.blind <= MAX_BLIND {
            self.add_at(generation, newer, path, sought);
        }
    }

    fn add_at(&mut self, generation: u64, newer: u64, path: String, sought: Sought) {
        if (sought.after + 1..newer).contains(&generation) {
            self.due.entry(generation).or_default().insert(path, sought);
        }
    }
}

/// The generations that have the wanted contents, each with the paths that have them there, and with the newest generation looked at that has the
/// path: if the mirror does not have it any more, the one before its removal.
///
/// # Errors
/// Those of reading the mirror. Versions that are not kept any more are unknown.
pub(crate) async fn generations_with(
    mirror: &Mirror,
    mut wanted: Wanted,
) -> Result<BTreeMap<u64, BTreeMap<String, u64>>, SyncError> {
    let mut known: BTreeMap<u64, BTreeMap<String, u64>> = BTreeMap::new();
    while !wanted.due.is_empty() {
        let page: Vec<(u64, Versions)> = std::iter::from_fn(|| wanted.due.pop_last()).take(PAGE).collect();
        let read = page.into_iter().map(|(generation, versions)| async move {
            let documents = documents_at(mirror, generation, &versions).await?;
            Ok::<_, SyncError>((generation, versions, documents))
        });
        let read: Vec<_> = stream::iter(read).buffered(PAGE).try_collect().await?;
        for (generation, versions, documents) in read {
            for (path, sought) in versions {
                let newest = sought.newest.unwrap_or(generation);
                match documents.get(&path).and_then(|documents| documents.first()) {
                    Some(document) if document.sha256 == sought.sha256 => {
                        known.entry(generation).or_default().insert(path, newest);
                    }
                    Some(document) if Some(document.sha256) == sought.until => {}
                    Some(document) => {
                        wanted.add_before(document, generation, path, Sought { newest: Some(newest), ..sought });
                    }
                    None => wanted.add_blind(generation.saturating_sub(1), generation, path, sought),
                }
            }
        }
    }
    Ok(known)
}

async fn documents_at(mirror: &Mirror, generation: u64, versions: &Versions) -> Result<HeadDocuments, SyncError> {
    let paths: Vec<&str> = versions.keys().map(String::as_str).collect();
    let read = async {
        match mirror.at(generation).await? {
            Some(snapshot) => head::at(&snapshot, &paths).await,
            None => Ok(HeadDocuments::new()),
        }
    };
    match read.await {
        // Without an ancestor, both versions are kept.
        Err(error) if head::is_gone(&error) => {
            tracing::warn!(generation, %error, "a part of the history was not read");
            Ok(HeadDocuments::new())
        }
        read => read,
    }
}
