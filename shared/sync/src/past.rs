//! Looks up earlier versions in the mirror's history, for paths without an ancestor in the sync state. If the folder has an earlier version of the
//! path, it is out of date, not in conflict.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use atlas_mirror::Mirror;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::compare::{InFolder, Item};
use crate::error::SyncError;
use crate::head::{self, HeadDocument, HeadDocuments, Heads};
use crate::reading;

/// Generations that are read at once.
const PAGE: usize = 16;

/// Most generations that are looked at because nothing says in which one a path had an earlier version: it was deleted in between.
const MAX_BLIND: usize = 256;

/// A content that is looked for at a path.
#[derive(Clone, Copy, Debug)]
struct Sought {
    sha256: [u8; 32],
    /// The content at which to stop: what came before it does not count.
    until: Option<[u8; 32]>,
}

/// By path.
type Versions = BTreeMap<String, Sought>;

/// Sets the ancestor of items that differ and have none: the folder's version, if the mirror's history has it at that path. `contents` are the
/// items' contents, by index. Only these paths are read in the history. If a sync `was_killed`, it may have brought later versions
/// without a record: so items with an ancestor are looked up too, in the versions after it.
///
/// # Errors
/// Those of reading the mirror. Versions that are not kept any more are unknown.
pub(crate) async fn recall(
    mirror: &Mirror,
    heads: &Heads,
    items: &mut [Item],
    contents: &reading::Contents,
    was_killed: bool,
) -> Result<(), SyncError> {
    // A content that the folder had elsewhere was moved here by a person.
    let moved: HashSet<[u8; 32]> = {
        let vanished = items.iter().filter(|item| matches!(item.found, InFolder::Nothing));
        vanished.filter_map(|item| item.entry.as_ref()).map(|entry| entry.sha256).collect()
    };
    let mut rivals = Wanted::default();
    let mut found = BTreeMap::new();
    for (index, content) in contents {
        let (Some(item), Ok(content)) = (items.get(*index), content) else { continue };
        let sha256 = content.sha256;
        let differs = item.head.is_some_and(|head| head != sha256);
        let until = item.entry.as_ref().map(|entry| entry.sha256);
        let may_be_old = until.is_none_or(|until| was_killed && until != sha256 && item.head != Some(until));
        if let Some(document) = heads.document(&item.path).filter(|_| differs && may_be_old && !moved.contains(&sha256))
        {
            rivals.add_before(document, document.generation, item.path.to_string(), Sought { sha256, until });
            found.insert(item.path.to_string(), *index);
        }
    }
    for path in generations_with(mirror, rivals).await?.into_values().flatten() {
        let index = found.get(&path).copied();
        if let Some((index, item)) = index.and_then(|index| Some((index, items.get_mut(index)?))) {
            item.past = contents.get(&index).and_then(|content| content.as_ref().ok()).map(|content| content.sha256);
        }
    }
    Ok(())
}

/// Contents that are looked for at paths, from a generation on backwards.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    due: BTreeMap<u64, Versions>,
    /// Looks at generations of which nothing says that they have a version.
    blind: usize,
}

impl Wanted {
    /// Looks for a content of `path` in the versions before `document`, its version of the mirror.
    pub(crate) fn add(&mut self, document: &HeadDocument, path: String, sha256: [u8; 32]) {
        self.add_before(document, document.generation, path, Sought { sha256, until: None });
    }

    /// The version before `document`, which the generation `newer` has.
    fn add_before(&mut self, document: &HeadDocument, newer: u64, path: String, sought: Sought) {
        match document.replaces {
            0 => self.add_blind(document.generation.saturating_sub(1), newer, path, sought),
            generation => self.add_at(generation, newer, path, sought),
        }
    }

    fn add_blind(&mut self, generation: u64, newer: u64, path: String, sought: Sought) {
        self.blind += 1;
        if self.blind <= MAX_BLIND {
            self.add_at(generation, newer, path, sought);
        }
    }

    fn add_at(&mut self, generation: u64, newer: u64, path: String, sought: Sought) {
        if (1..newer).contains(&generation) {
            self.due.entry(generation).or_default().insert(path, sought);
        }
    }
}

/// The generations that have the wanted contents, each with the paths that have them there.
///
/// # Errors
/// Those of reading the mirror. Versions that are not kept any more are unknown.
pub(crate) async fn generations_with(
    mirror: &Mirror,
    mut wanted: Wanted,
) -> Result<BTreeMap<u64, BTreeSet<String>>, SyncError> {
    let mut known: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    while !wanted.due.is_empty() {
        let page: Vec<(u64, Versions)> = std::iter::from_fn(|| wanted.due.pop_last()).take(PAGE).collect();
        let read = page.into_iter().map(|(generation, versions)| async move {
            let documents = documents_at(mirror, generation, &versions).await?;
            Ok::<_, SyncError>((generation, versions, documents))
        });
        let read: Vec<_> = stream::iter(read).buffered(PAGE).try_collect().await?;
        for (generation, versions, documents) in read {
            for (path, sought) in versions {
                match documents.get(&path).and_then(|documents| documents.first()) {
                    Some(document) if document.sha256 == sought.sha256 => {
                        known.entry(generation).or_default().insert(path);
                    }
                    Some(document) if Some(document.sha256) == sought.until => {}
                    Some(document) => wanted.add_before(document, generation, path, sought),
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
