//! Merges files that both sides changed, where their changes do not meet.
//!
//! A merge takes two commits. The first sets the folder's version aside, at a path below `.trash` that belongs to no folder; the mirror's version keeps
//! its path. The second has the merge at the path, and removes what was set aside. So both versions are in the history, and at no time does the path
//! lose what somebody wrote. After a kill in between, folder and mirror differ as before, and the next sync merges them. Then the folder gets the
//! merge, if its file is still the one that was merged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use atlas_mirror::set_aside::{ASIDE, path_aside};
use atlas_mirror::{Mirror, Snapshot};
use atlas_segment::Kind;
use atlas_vault::VaultPath;
use atlas_vault::merge::{self, Conflict, MAX_BYTES};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::blocking::blocking;
use crate::error::SyncError;
use crate::folder::{Folder, Stamp};
use crate::head::{self, HeadDocument, Heads};
use crate::merged::{Merge, Merged};
use crate::past;
use crate::plan::{PathAction, PathPlan, SyncPlan};
use crate::rules::{self, Class};
use crate::scan::File;
use crate::write::{Fingerprint, Write};

/// Most bytes of texts that one sync merges; others wait for the next one.
const MAX_TOTAL: u64 = 64 << 20;

/// The sources of the texts to merge.
pub(crate) struct Sources<'a> {
    pub(crate) mirror: &'a Mirror,
    pub(crate) folder: &'a Arc<Folder>,
    /// The generation that the last sync saw, if it is still there.
    pub(crate) last: Option<&'a Snapshot>,
    pub(crate) head: &'a Arc<Snapshot>,
}

/// A conflict that may be merged.
struct Candidate {
    /// Its index in the plan.
    index: usize,
    path: String,
    ancestor: [u8; 32],
    file: File,
    known: Fingerprint,
    text: Option<Bytes>,
    theirs: HeadDocument,
}

/// Replaces the conflicts of `plan` that can be merged cleanly by merges. The others keep their action, and [`SyncPlan::overlaps`] says why.
///
/// # Errors
/// Those of reading the mirror.
pub(crate) async fn plan_merges(plan: &mut SyncPlan, sources: &Sources<'_>) -> Result<(), SyncError> {
    let mut candidates = candidates(plan);
    if candidates.is_empty() {
        return Ok(());
    }
    let mut room = MAX_TOTAL;
    candidates.retain(|candidate| {
        let bytes = candidate.known.stamp.size + candidate.theirs.bytes;
        let fits = bytes <= room;
        if fits {
            room -= bytes;
        } else if let Some(path) = plan.paths.get_mut(candidate.index) {
            path.action = PathAction::Leave;
            plan.waiting += 1;
        }
        fits
    });
    let bases = bases(&candidates, sources).await?;
    let paths: Vec<&str> = candidates.iter().map(|candidate| candidate.path.as_str()).collect();
    let theirs = head::texts(sources.head, &paths).await?;
    for candidate in &candidates {
        let text = |sha256: [u8; 32], found: Option<&(HeadDocument, Bytes)>| {
            let (document, text) = found.filter(|(document, _)| document.sha256 == sha256)?;
            (document.kind != Kind::Attachment).then(|| text.clone())
        };
        let base = text(candidate.ancestor, bases.get(&candidate.path));
        let theirs = text(candidate.theirs.sha256, theirs.get(&candidate.path));
        let (Some(base), Some(theirs), Some(ours)) = (base, theirs, candidate.ours(sources.folder).await?) else {
            continue;
        };
        let (path, class) = (candidate.path.clone(), candidate.file.class);
        let merged = {
            let ours = ours.clone();
            blocking(move || Ok(merged(&path, class, [&base, &ours, &theirs]))).await?
        };
        match merged {
            Ok(None) => {}
            Ok(Some(text)) => candidate.apply(plan, ours, text),
            Err(conflict) => drop(plan.overlaps.insert(candidate.path.clone(), told(&conflict))),
        }
    }
    Ok(())
}

/// The conflicts of texts with a known ancestor.
fn candidates(plan: &SyncPlan) -> Vec<Candidate> {
    let is_small = |bytes: u64| bytes <= MAX_BYTES as u64;
    let candidate = |(index, path): (usize, &PathPlan)| {
        let (entry, theirs) = (path.entry.as_ref()?, plan.heads.document(&path.path)?);
        let PathAction::Conflict(write) = &path.action else { return None };
        let known = write.known().filter(|known| known.kind != Kind::Attachment)?;
        let is_text = theirs.kind != Kind::Attachment && entry.kind != Kind::Attachment;
        let is_mergeable = is_text && !write.file.is_link && is_small(known.stamp.size) && is_small(theirs.bytes);
        is_mergeable.then(|| Candidate {
            index,
            path: path.path.to_string(),
            ancestor: entry.sha256,
            file: write.file.clone(),
            known,
            text: write.text().cloned(),
            theirs: theirs.clone(),
        })
    };
    plan.paths.iter().enumerate().filter_map(candidate).collect()
}

/// The texts of the ancestors, by path.
async fn bases(
    candidates: &[Candidate],
    sources: &Sources<'_>,
) -> Result<BTreeMap<String, (HeadDocument, Bytes)>, SyncError> {
    let mut bases = BTreeMap::new();
    if let Some(last) = sources.last {
        let paths: BTreeSet<&str> = candidates.iter().map(|candidate| candidate.path.as_str()).collect();
        match head::texts(last, &paths.into_iter().collect::<Vec<_>>()).await {
            Ok(texts) => bases = texts,
            Err(error) if head::is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let is_known = |candidate: &&Candidate| {
        bases
            .get(&candidate.path)
            .is_some_and(|(document, _): &(HeadDocument, _)| document.sha256 == candidate.ancestor)
    };
    let unknown: Vec<&Candidate> = candidates.iter().filter(|candidate| !is_known(candidate)).collect();
    let mut wanted = past::Wanted::default();
    for Candidate { path, ancestor, theirs, .. } in unknown {
        wanted.add(theirs, path.clone(), *ancestor);
    }
    for (generation, paths) in past::generations_with(sources.mirror, wanted).await? {
        let Some(snapshot) = sources.mirror.at_if_readable(generation).await? else { continue };
        let paths: Vec<&str> = paths.keys().map(String::as_str).collect();
        match head::texts(&snapshot, &paths).await {
            Ok(texts) => bases.extend(texts),
            Err(error) if head::is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bases)
}

impl Candidate {
    /// The folder's version; [`None`] if the file has changed meanwhile.
    async fn ours(&self, folder: &Arc<Folder>) -> Result<Option<Bytes>, SyncError> {
        if let Some(text) = &self.text {
            return Ok(Some(text.clone()));
        }
        let (folder, file) = (folder.clone(), self.file.clone());
        let read = blocking(move || Ok(folder.read(file.disk_path(), file.class, file.is_link)));
        let same = read.await?.ok().filter(|content| content.sha256 == self.known.sha256);
        Ok(same.and_then(|content| content.text).map(Bytes::from))
    }

    /// Puts the merge into the plan.
    fn apply(&self, plan: &mut SyncPlan, ours: Bytes, text: String) {
        let Some(at) = path_aside(&self.path, &self.known.sha256) else { return };
        let modified_ms = self.known.stamp.modified_ms();
        let aside = File { path: at, on_disk: None, ..self.file.clone() };
        let aside = write_of(aside, None, self.known.kind, ours, modified_ms);
        let modified_ms = modified_ms.max(self.theirs.modified_ms);
        let merged = write_of(self.file.clone(), Some(self.theirs.sha256), self.known.kind, text.into(), modified_ms);
        let (theirs, file, known) = (self.theirs.sha256, self.file.clone(), self.known);
        if let Some(path) = plan.paths.get_mut(self.index) {
            path.action = PathAction::Merge(Box::new(Merge { aside, merged, theirs, file, known }));
        }
    }
}

/// The merge of the base, the folder's and the mirror's version; [`None`] if there is none for another reason than a conflict.
fn merged(path: &str, class: Class, texts: [&[u8]; 3]) -> Result<Option<String>, Conflict> {
    let [Ok(base), Ok(ours), Ok(theirs)] = texts.map(str::from_utf8) else { return Ok(None) };
    let text = merge::merge(path, base, ours, theirs)?;
    let is_secret = class == Class::Config && rules::holds_secret(path, text.as_bytes());
    Ok(Some(text).filter(|_| !is_secret))
}

/// A write of a text in memory. It is done if the mirror has the text already.
fn write_of(file: File, ancestor: Option<[u8; 32]>, kind: Kind, text: Bytes, modified_ms: i64) -> Write {
    let stamp = Stamp { size: text.len() as u64, mtime_ns: modified_ms.saturating_mul(1_000_000) };
    let known = Fingerprint { stamp, sha256: Sha256::digest(&text).into(), kind };
    let mut write = Write::new(File { stamp, ..file }, ancestor).with(known, Some(text));
    write.may_be_there = true;
    write
}

/// Why two versions were not merged, for a person: lines count from 1, and are those of the folder's version.
fn told(conflict: &Conflict) -> String {
    /// Most places that are named.
    const MOST: usize = 5;
    let Conflict::Overlaps(overlaps) = conflict else { return conflict.to_string() };
    let lines = |range: &std::ops::Range<u32>| match range.end.saturating_sub(range.start) {
        0 | 1 => format!("{}", range.start.saturating_add(1)),
        _ => format!("{}–{}", range.start.saturating_add(1), range.end),
    };
    let mut named: Vec<String> = overlaps.iter().take(MOST).map(|overlap| lines(&overlap.ours)).collect();
    if overlaps.len() > MOST {
        named.push("…".to_owned());
    }
    format!("both sides changed line {}", named.join(", "))
}

/// The versions that earlier syncs have set aside, by path.
pub(crate) fn set_aside(heads: &Heads) -> impl Iterator<Item = (&str, &HeadDocument)> {
    let below = heads.documents.range(ASIDE.to_owned()..).take_while(|(path, _)| path.starts_with(ASIDE));
    below.filter_map(|(path, documents)| Some((path.as_str(), documents.first()?)))
}

/// The versions of the file at `path` that were set aside in `snapshot` and are still there.
///
/// # Errors
/// Those of loading parts of segments.
pub async fn set_aside_of(snapshot: &Snapshot, path: &str) -> Result<Vec<VaultPath>, SyncError> {
    let heads = Heads { is_complete: true, documents: head::all(snapshot).await? };
    let of_path =
        |(at, document): (&str, &HeadDocument)| path_aside(path, &document.sha256).filter(|aside| aside.as_str() == at);
    Ok(set_aside(&heads).filter_map(of_path).collect())
}

/// The message of the commit that merges.
pub(crate) fn message<'a>(merged: impl Iterator<Item = (&'a str, &'a Merge)>) -> String {
    /// Most bytes of a message.
    const MOST: usize = 4000;
    let mut message = String::new();
    for (path, merge) in merged {
        let Merged { path, ours, theirs, .. } = merge.described(path);
        let line = format!("Merge {path}: {ours} of the folder and {theirs} of the mirror\n");
        if message.len() + line.len() > MOST {
            message.push('…');
            break;
        }
        message.push_str(&line);
    }
    message.trim_end().to_owned()
}
