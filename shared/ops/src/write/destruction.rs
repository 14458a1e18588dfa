//! The texts by others that a commit destroys, which a person must confirm before.
//!
//! One rule holds for all operations. It compares a note before and after ([`Loss`]), however it is changed. Before is
//! the note as last written by anybody but this caller, or as last confirmed by a person, so that many small changes
//! count as their sum. The manifest of a commit stores the origins of its notes ([`Origin`]), so that this takes one
//! look-up.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use atlas_mirror::manifest::{MAX_ORIGINS, Origin};
use atlas_mirror::{Hash, Snapshot};
use atlas_segment::{Kind, Record};
use atlas_vault::VaultPath;
use atlas_vault::excalidraw::unpacked;
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
        let Found { record, generation, replaces, .. } = was;
        let (path, generation, replaces) = ((path.clone(), NewState::Same), *generation, *replaces);
        Self { path: record.path.clone(), generation, replaces, before: None, after: Some(path) }
    }

    const fn is_of_place(&self) -> bool {
        matches!(self.after, Some((_, NewState::Same)))
    }
}

/// The lines that a change removed from a note's text; [`None`] if the texts are equal.
fn loss(before: &Bytes, after: &Bytes) -> Option<Loss> {
    // A small change of what is compressed is one of all its digits.
    (before != after).then(|| Loss::between(&unpacked(&shown(before)), &unpacked(&shown(after))))
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
    let own = own_commits(context, head, &changes).await?;
    let mut judgements = Vec::with_capacity(changes.len());
    for change in &changes {
        judgements.push(judge(context, change, &own).boxed());
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

/// The manifests of this caller's commits that wrote the changed documents, by generation. Missing and damaged ones are
/// omitted.
async fn own_commits(
    context: &Context<'_>,
    head: &Arc<Snapshot>,
    changes: &[&DocumentChange],
) -> Result<HashMap<u64, Arc<Snapshot>>, Error> {
    let caller = context.caller.pseudonym();
    let generations: BTreeSet<u64> = changes.iter().map(|change| change.generation).collect();
    let commits = generations.into_iter().map(|generation| async move {
        match generation == head.generation() {
            true => Ok(Some(head.clone())),
            false => readable(context.vault.mirror.at(generation).await.map_err(Error::from)),
        }
    });
    let commits: Vec<Option<Arc<Snapshot>>> = stream::iter(commits).buffered(AT_ONCE).try_collect().await?;
    let is_own = |commit: &Arc<Snapshot>| commit.manifest().caller.as_ref() == Some(&caller);
    Ok(commits.into_iter().flatten().filter(is_own).map(|commit| (commit.generation(), commit)).collect())
}

/// The origin of the changed note, if its record does not state it; and whether its text is destroyed.
async fn judge(
    context: &Context<'_>,
    change: &DocumentChange,
    own: &HashMap<u64, Arc<Snapshot>>,
) -> Result<(Option<Origin>, bool), Error> {
    context.work.check()?;
    let DocumentChange { path, generation, replaces, before, after } = change;
    let as_it_is = || Origin { path: path.clone(), generation: *generation };
    let manifest = own.get(generation).map(|commit| commit.manifest());
    let origin = match manifest.map(|manifest| (manifest.origins.get(path), manifest.confirmed)) {
        Some((Some(origin), _)) => origin.clone(),
        Some((None, false)) => Origin { path: path.clone(), generation: *replaces },
        Some((None, true)) | None => as_it_is(),
    };
    let Some((after_path, after)) = after else { return Ok((None, origin.generation != 0)) };
    // The record of a note that keeps its path names the version before.
    let told = |origin: Origin| (origin != as_it_is() || after_path.as_str() != path).then_some(origin);
    let (before, after) = match (before, after) {
        (_, NewState::Same) => return Ok((told(origin), false)),
        (Some(before), NewState::Text(after)) => (before, after),
        (None, NewState::Text(_)) | (_, NewState::Blob) => return Ok((None, origin.generation != 0)),
    };
    let loss_now = loss(before, after);
    if origin.generation == 0 || loss_now.is_none_or(|loss| loss.is_none()) {
        return Ok((told(origin), false));
    }
    let is_destruction = |loss: Option<Loss>| loss.is_some_and(|loss| loss.is_destruction());
    if origin == as_it_is() {
        return Ok((told(origin), is_destruction(loss_now)));
    }
    match text_of(context, &origin).await? {
        Some(before) => Ok((Some(origin), is_destruction(loss(&before, after)))),
        // History does not reach that far: the current text has been visible for that long.
        None => Ok((Some(as_it_is()), is_destruction(loss_now))),
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
