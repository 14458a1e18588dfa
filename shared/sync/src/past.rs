//! Looks up earlier versions in the mirror's history, for paths without an ancestor in the sync state. If the folder has an earlier version of the
//! path, it is out of date, not in conflict.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use atlas_mirror::Mirror;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::compare::{InFolder, Item};
use crate::error::SyncError;
use crate::head::{self, HeadDocuments, Heads};
use crate::reading;

/// Generations that are read at once.
const PAGE: usize = 16;

/// Contents by path.
type Versions = BTreeMap<String, [u8; 32]>;

/// Sets the ancestor of items that differ and have none: the folder's version, if the mirror's history has it at that path. `contents` are the
/// items' contents, by index. Only these paths are read in the history.
///
/// # Errors
/// Those of reading the mirror. Versions that are not kept any more are unknown.
pub(crate) async fn recall(
    mirror: &Mirror,
    heads: &Heads,
    items: &mut [Item],
    contents: &reading::Contents,
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
        let differs = item.entry.is_none() && item.head.is_some_and(|head| head != sha256);
        if let Some(document) = heads.document(&item.path).filter(|_| differs && !moved.contains(&sha256)) {
            rivals.add(document.replaces, document.generation, item.path.clone(), sha256);
            found.insert(item.path.clone(), *index);
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
pub(crate) struct Wanted(BTreeMap<u64, Versions>);

impl Wanted {
    /// Looks for a content of `path` at `generation`, where the version before `newer` is, if there is one.
    pub(crate) fn add(&mut self, generation: u64, newer: u64, path: String, sha256: [u8; 32]) {
        if (1..newer).contains(&generation) {
            self.0.entry(generation).or_default().insert(path, sha256);
        }
    }
}

/// The generations that have the wanted contents, each with the paths that have them there.
///
/// # Errors
/// Those of reading the mirror. Versions that are not kept any more are unknown.
pub(crate) async fn generations_with(
    mirror: &Mirror,
    mut due: Wanted,
) -> Result<BTreeMap<u64, BTreeSet<String>>, SyncError> {
    let mut known: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    while !due.0.is_empty() {
        let page: Vec<(u64, Versions)> = std::iter::from_fn(|| due.0.pop_last()).take(PAGE).collect();
        let read = page.into_iter().map(|(generation, wanted)| async move {
            let documents = documents_at(mirror, generation, &wanted).await?;
            Ok::<_, SyncError>((generation, wanted, documents))
        });
        let read: Vec<_> = stream::iter(read).buffered(PAGE).try_collect().await?;
        for (generation, wanted, documents) in read {
            for (path, sha256) in wanted {
                match documents.get(&path).and_then(|documents| documents.first()) {
                    Some(document) if document.sha256 == sha256 => {
                        known.entry(generation).or_default().insert(path);
                    }
                    Some(document) => due.add(document.replaces, generation, path, sha256),
                    None => {}
                }
            }
        }
    }
    Ok(known)
}

async fn documents_at(mirror: &Mirror, generation: u64, wanted: &Versions) -> Result<HeadDocuments, SyncError> {
    let paths: Vec<&str> = wanted.keys().map(String::as_str).collect();
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
