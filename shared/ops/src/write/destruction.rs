//! The texts by others that a commit destroys, which a person must confirm before.
//!
//! One rule holds for all operations. It compares a note before and after ([`Loss`]), however it is changed. Before is
//! the note as a person last wrote it at the host or confirmed it, so that many small changes, by however many callers,
//! count as their sum. A note that a caller created is that caller's own, until another changes it. The manifest of a
//! commit stores the origins of its notes ([`Origin`]), so that this takes one look-up.
//!
//! Where history has lost the origin, every loss is asked about. Where it has lost even the commit that wrote the note,
//! the note counts as a person's.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use atlas_mirror::manifest::{MAX_ORIGINS, Manifest, Origin};
use atlas_mirror::{Hash, Snapshot};
use atlas_segment::{Kind, Record};
use atlas_vault::VaultPath;
use atlas_vault::loss::Loss;
use bytes::Bytes;
use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::error::{Code, Error};
use crate::operation::Context;
use crate::pipeline::approvals::PlannedFile;
use crate::read::notes::{self, Found};

/// Manifests or notes fetched at once.
const AT_ONCE: usize = 16;

/// A change of an existing document.
pub struct DocumentChange {
    path: String,
    /// The generation that wrote it, and the one before.
    generation: u64,
    replaces: u64,
    /// Its text; [`None`] if it was not loaded.
    before: Option<Bytes>,
    /// Its path and state after the commit; [`None`] if it is removed.
    after: Option<(VaultPath, NewState)>,
}

/// A document after a commit.
enum NewState {
    /// Unchanged except for links with the same meaning.
    Same,
    /// Unchanged, in the trash.
    Trashed,
    Text(Bytes),
    /// A file without text.
    Blob,
}

impl DocumentChange {
    /// The change of `was` to the text `after`, if it can destroy something.
    pub fn of(was: &Found, after: Option<(&VaultPath, Hash, Option<&Bytes>)>) -> Option<Self> {
        let Found { record, text, generation, replaces, .. } = was;
        let is_same =
            after.is_some_and(|(path, sha256, _)| path.as_str() == record.path && sha256.as_bytes() == &record.sha256);
        if is_same || record.kind == Kind::Config || record.bytes == 0 {
            return None;
        }
        let is_read = record.blob.is_none() && text.len() as u64 == record.bytes;
        Some(Self {
            path: record.path.clone(),
            generation: *generation,
            replaces: *replaces,
            before: is_read.then(|| text.clone()),
            after: after.map(|(path, sha256, text)| {
                let after = match text {
                    _ if sha256.as_bytes() == &record.sha256 => NewState::Same,
                    Some(text) => NewState::Text(text.clone()),
                    None => NewState::Blob,
                };
                (path.clone(), after)
            }),
        })
    }

    /// The move of `was` to `path`, with changes of links only.
    pub fn moved(was: &Found, path: &VaultPath) -> Self {
        Self::placed(was, path, NewState::Same)
    }

    /// The deletion of `was`, which the trash keeps at `path`.
    pub fn trashed(was: &Found, path: &VaultPath) -> Self {
        Self::placed(was, path, if was.record.bytes == 0 { NewState::Same } else { NewState::Trashed })
    }

    fn placed(was: &Found, path: &VaultPath, state: NewState) -> Self {
        let Found { record, generation, replaces, .. } = was;
        let (path, generation, replaces) = ((path.clone(), state), *generation, *replaces);
        Self { path: record.path.clone(), generation, replaces, before: None, after: Some(path) }
    }

    const fn is_of_place(&self) -> bool {
        matches!(self.after, Some((_, NewState::Same | NewState::Trashed)))
    }

    fn as_it_is(&self) -> Origin {
        Origin { path: self.path.clone(), generation: self.generation }
    }

    /// The version that `caller`'s change is compared with, by the manifest of the commit that wrote the document;
    /// generation 0 if the document is the caller's own.
    fn origin(&self, written_by: Option<&Manifest>, caller: &str) -> Origin {
        // Commits of a sync, and of people at the host, name no caller.
        let Some((manifest, by)) = written_by.and_then(|manifest| Some((manifest, manifest.caller.as_deref()?))) else {
            return self.as_it_is();
        };
        let origin = match manifest.origins.get(&self.path) {
            Some(origin) => origin.clone(),
            None if manifest.confirmed => self.as_it_is(),
            None => Origin { path: self.path.clone(), generation: self.replaces },
        };
        // A caller's creation is its own, not every caller's.
        if origin.generation == 0 && by != caller { self.as_it_is() } else { origin }
    }

    /// The origin to store. The record of a note that keeps its path names the version before.
    fn told(&self, origin: Origin) -> Option<Origin> {
        let (path, _) = self.after.as_ref()?;
        (origin != self.as_it_is() || path.as_str() != self.path).then_some(origin)
    }

    fn verdict(&self, origin: &Origin) -> Verdict<'_> {
        let is_own = origin.generation == 0;
        match (&self.before, &self.after) {
            (_, Some((_, NewState::Same))) => Verdict::Known(false),
            (Some(before), Some((_, NewState::Text(after)))) => match loss(&self.path, before, after) {
                Some(loss) if !is_own && !loss.is_none() => match *origin == self.as_it_is() {
                    true => Verdict::Known(loss.is_destruction()),
                    false => Verdict::ByOrigin(after),
                },
                _ => Verdict::Known(false),
            },
            _ => Verdict::Known(!is_own),
        }
    }

    /// Whether the change from the origin's text to `after` destroys it. Nobody can tell where history has lost it.
    fn destroys(&self, origin: Option<&Bytes>, after: &Bytes) -> bool {
        origin.is_none_or(|origin| loss(&self.path, origin, after).is_some_and(|loss| loss.is_destruction()))
    }
}

/// Whether a change destroys a text.
enum Verdict<'a> {
    Known(bool),
    /// It depends on the text of the origin, compared with this one.
    ByOrigin(&'a Bytes),
}

/// The lines that a change removed from a note's text; [`None`] if the texts are equal.
fn loss(path: &str, before: &Bytes, after: &Bytes) -> Option<Loss> {
    (before != after).then(|| Loss::of_file(path, &shown(before), &shown(after)))
}

/// The text for the comparison. Bytes that are not UTF-8 become rare characters instead of U+FFFD, which readers are
/// shown: writing U+FFFD back loses them.
fn shown(text: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(text) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        shown.push_str(chunk.valid());
        shown.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(0x2_0000 + u32::from(*byte))));
    }
    shown.into()
}

/// The data that a permitted commit stores.
#[derive(Default)]
pub struct Judged {
    /// The origins of the changed and created notes; a text that was replaced with a confirmation has none.
    pub origins: BTreeMap<String, Origin>,
    /// Whether a person has confirmed it.
    pub is_confirmed: bool,
}

/// Fails if the call `is_required` to be confirmed, or its `changes` destroy something, and no confirmation is valid.
/// Then a person is asked to approve its `plan`.
pub async fn confirmed(
    context: &Context<'_>,
    head: &Arc<Snapshot>,
    changes: &[DocumentChange],
    created: &BTreeSet<VaultPath>,
    is_required: bool,
    plan: impl FnOnce() -> Vec<PlannedFile> + Send,
) -> Result<Judged, Error> {
    let Some(confirmation) = context.confirmation else { return Ok(Judged::default()) };
    let is_required = is_required || confirmation.is_required;
    let changes: Vec<&DocumentChange> = changes.iter().filter(|change| !is_required || change.is_of_place()).collect();
    if changes.len() + created.len() > MAX_ORIGINS {
        let is_confirmed = is_required || !changes.is_empty();
        if is_confirmed {
            confirmation.confirm(&plan()).await?;
        }
        return Ok(Judged { is_confirmed, ..Judged::default() });
    }
    let commits = commits(context, head, &changes).await?;
    let caller = context.caller.pseudonym();
    let mut judgements = Vec::with_capacity(changes.len());
    for change in &changes {
        let manifest = commits.get(&change.generation).map(|commit| commit.manifest());
        judgements.push(judge(context, change, change.origin(manifest, &caller)).boxed());
    }
    let judged: Vec<(Option<Origin>, bool)> = stream::iter(judgements).buffered(AT_ONCE).try_collect().await?;
    let is_confirmed = is_required || judged.iter().any(|(_, destroys)| *destroys);
    if is_confirmed {
        confirmation.confirm(&plan()).await?;
    }
    let mut origins = BTreeMap::new();
    if is_confirmed {
        let none = |path: &VaultPath| Origin { path: path.as_str().to_owned(), generation: 0 };
        origins.extend(created.iter().map(|path| (path.as_str().to_owned(), none(path))));
    }
    for (change, (origin, _)) in changes.iter().zip(judged).filter(|(change, _)| !is_confirmed || change.is_of_place())
    {
        if let (Some((path, _)), Some(origin)) = (&change.after, origin) {
            origins.insert(path.as_str().to_owned(), origin);
        }
    }
    Ok(Judged { origins, is_confirmed })
}

/// The commits that wrote the changed documents, by generation. Missing and damaged ones are omitted.
async fn commits(
    context: &Context<'_>,
    head: &Arc<Snapshot>,
    changes: &[&DocumentChange],
) -> Result<HashMap<u64, Arc<Snapshot>>, Error> {
    let generations: BTreeSet<u64> = changes.iter().map(|change| change.generation).collect();
    let commits = generations.into_iter().map(|generation| async move {
        match generation == head.generation() {
            true => Ok(Some(head.clone())),
            false => readable(context.vault.mirror.at(generation).await.map_err(Error::from)),
        }
    });
    let commits: Vec<Option<Arc<Snapshot>>> = stream::iter(commits).buffered(AT_ONCE).try_collect().await?;
    Ok(commits.into_iter().flatten().map(|commit| (commit.generation(), commit)).collect())
}

/// The origin of the changed note, if its record does not state it; and whether its text is destroyed.
async fn judge(
    context: &Context<'_>,
    change: &DocumentChange,
    origin: Origin,
) -> Result<(Option<Origin>, bool), Error> {
    context.work.check()?;
    match change.verdict(&origin) {
        Verdict::Known(destroys) => Ok((change.told(origin), destroys)),
        Verdict::ByOrigin(after) => {
            let before = text_of(context, &origin).await?;
            Ok((change.told(origin), change.destroys(before.as_ref(), after)))
        }
    }
}

/// The text of that version, if history has it.
async fn text_of(context: &Context<'_>, origin: &Origin) -> Result<Option<Bytes>, Error> {
    let snapshot = readable(context.vault.mirror.at(origin.generation).await.map_err(Error::from))?;
    let Some(snapshot) = snapshot else { return Ok(None) };
    let has_text = |record: &Record| record.blob.is_none();
    let found = readable(notes::find(&snapshot, &origin.path, has_text).await)?;
    Ok(found.filter(|found| has_text(&found.record)).map(|found| found.text))
}

/// The value; [`None`] if history is damaged: a person can write nevertheless.
fn readable<T>(found: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
    match found {
        Err(error) if error.code == Code::Internal => Ok(None),
        found => found,
    }
}

#[cfg(test)]
mod tests;
