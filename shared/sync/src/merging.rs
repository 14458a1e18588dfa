//! Merges files that both sides changed, where their changes do not meet.
//!
//! A merge takes two commits. The first has the folder's version at the path, and sets the mirror's version aside in a copy, which never comes into
//! the folder. The second has the merge at the path, and removes the copy. So both versions are in the history, and a sync that is killed in between
//! leaves both in the mirror; the next one goes on with the second commit. Then the folder gets the merge, if its file is still the one that was
//! merged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use atlas_mirror::{Mirror, Snapshot};
use atlas_segment::Kind;
use atlas_vault::VaultPath;
use atlas_vault::merge::{self, Conflict, MAX_BYTES};
use bytes::Bytes;
use jiff::tz::TimeZone;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::blocking::blocking;
use crate::change::{Fingerprint, Write};
use crate::conflict::{copy_path, original_of, writer};
use crate::error::SyncError;
use crate::folder::{Folder, Stamp};
use crate::head::{self, HeadDocument};
use crate::past;
use crate::plan::{PathAction, PathPlan, SyncPlan};
use crate::pull::MAX_COPIES;
use crate::rules::{self, Class};
use crate::scan::File;

/// Most bytes of texts that one sync merges; others wait for the next one.
const MAX_TOTAL: u64 = 64 << 20;

/// A file whose changes on both sides were merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// Its path.
    pub path: String,
    /// SHA-256 of the folder's version, in hex.
    pub ours: String,
    /// SHA-256 of the mirror's version, in hex.
    pub theirs: String,
}

/// The merge of a file.
#[derive(Debug)]
pub(crate) struct Merge {
    /// Commits the folder's version, unless the mirror has it already.
    pub(crate) ours: Option<Write>,
    /// Commits the mirror's version as a copy, unless the mirror has it already.
    pub(crate) aside: Option<Write>,
    /// The path of the copy.
    pub(crate) copy: VaultPath,
    /// SHA-256 of the mirror's version.
    pub(crate) theirs: [u8; 32],
    /// The folder's file.
    pub(crate) file: File,
    /// The folder's version.
    pub(crate) known: Fingerprint,
    /// Commits the merge.
    pub(crate) merged: Write,
}

impl Merge {
    pub(crate) fn described(&self, path: &str) -> Merged {
        let hex = |sha256: &[u8; 32]| sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        Merged { path: path.to_owned(), ours: hex(&self.known.sha256), theirs: hex(&self.theirs) }
    }
}

/// The sources of the texts to merge.
pub(crate) struct Sources<'a> {
    pub(crate) mirror: &'a Mirror,
    pub(crate) folder: &'a Arc<Folder>,
    /// The generation that the last sync saw, if it is still there.
    pub(crate) last: Option<&'a Snapshot>,
    pub(crate) head: &'a Arc<Snapshot>,
    /// The time zone of the names of copies.
    pub(crate) time_zone: &'a TimeZone,
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
    /// The path of the mirror's version, which a killed sync has set aside already.
    copy: Option<(usize, VaultPath)>,
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
    let theirs: BTreeSet<&str> = candidates.iter().map(Candidate::path_of_theirs).collect();
    let theirs = head::texts(sources.head, &theirs.into_iter().collect::<Vec<_>>()).await?;
    for candidate in &candidates {
        let text = |sha256: [u8; 32], found: Option<&(HeadDocument, Bytes)>| {
            let (document, text) = found.filter(|(document, _)| document.sha256 == sha256)?;
            (document.kind != Kind::Attachment).then(|| text.clone())
        };
        let base = text(candidate.ancestor, bases.get(&candidate.path));
        let theirs = text(candidate.theirs.sha256, theirs.get(candidate.path_of_theirs()));
        let (Some(base), Some(theirs), Some(ours)) = (base, theirs, candidate.ours(sources.folder).await?) else {
            continue;
        };
        match candidate.merged(&base, &ours, &theirs) {
            Ok(None) => {}
            Ok(Some(text)) => candidate.apply(plan, sources, &ours, &theirs, text).await?,
            Err(conflict) => drop(plan.overlaps.insert(candidate.path.clone(), told(&conflict))),
        }
    }
    Ok(())
}

/// The conflicts of texts with a known ancestor, and the merges that a killed sync has begun.
fn candidates(plan: &SyncPlan) -> Vec<Candidate> {
    let is_small = |bytes: u64| bytes <= MAX_BYTES as u64;
    let mut found: Vec<Candidate> = Vec::new();
    for (index, path) in plan.paths.iter().enumerate() {
        let (Some(entry), Some(theirs)) = (&path.entry, plan.heads.document(&path.path)) else { continue };
        let PathAction::Conflict(write) = &path.action else { continue };
        let Some(known) = write.known.filter(|known| known.kind != Kind::Attachment) else { continue };
        let is_text = theirs.kind != Kind::Attachment && entry.kind != Kind::Attachment;
        let is_mergeable = is_text && !write.file.is_link && is_small(known.stamp.size) && is_small(theirs.bytes);
        if is_mergeable {
            found.push(Candidate {
                index,
                path: path.path.clone(),
                ancestor: entry.sha256,
                file: write.file.clone(),
                known,
                text: write.text.clone(),
                theirs: theirs.clone(),
                copy: None,
            });
        }
    }
    found.extend(plan.paths.iter().enumerate().filter_map(|(index, path)| begun(plan, index, path)));
    found
}

/// The merge whose first commit a killed sync has made: `path` is the copy, and the original has the folder's version, of the same commit.
fn begun(plan: &SyncPlan, index: usize, path: &PathPlan) -> Option<Candidate> {
    if path.entry.is_some() || !matches!(path.action, PathAction::Pull(_)) {
        return None;
    }
    let theirs = plan.heads.document(&path.path).filter(|document| document.kind != Kind::Attachment)?;
    let original = original_of(&path.path)?;
    let at = plan.paths.binary_search_by(|one| one.path.as_str().cmp(&original)).ok()?;
    let original = plan.paths.get(at)?;
    let (PathAction::Keep(known), Some(entry)) = (&original.action, &original.entry) else { return None };
    let head = plan.heads.document(&original.path)?;
    let is_of_merge =
        head.generation == theirs.generation && head.sha256 == known.sha256 && head.sha256 != entry.sha256;
    let file = VaultPath::parse(&original.path).ok().map(|path| {
        let class = rules::class_of(path.as_str())?;
        Some(File { path, on_disk: None, class, stamp: known.stamp, is_link: false })
    })??;
    is_of_merge.then(|| {
        let copy = VaultPath::parse(&path.path).ok()?;
        Some(Candidate {
            index: at,
            path: original.path.clone(),
            ancestor: entry.sha256,
            file,
            known: *known,
            text: None,
            theirs: theirs.clone(),
            copy: Some((index, copy)),
        })
    })?
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
        let Some(snapshot) = sources.mirror.at(generation).await? else { continue };
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        match head::texts(&snapshot, &paths).await {
            Ok(texts) => bases.extend(texts),
            Err(error) if head::is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bases)
}

impl Candidate {
    fn path_of_theirs(&self) -> &str {
        self.copy.as_ref().map_or(&self.path, |(_, copy)| copy.as_str())
    }

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

    /// The merge; [`None`] if there is none, for another reason than a conflict.
    fn merged(&self, base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Option<String>, Conflict> {
        let [Ok(base), Ok(ours), Ok(theirs)] = [base, ours, theirs].map(str::from_utf8) else { return Ok(None) };
        let text = merge::merge(&self.path, base, ours, theirs)?;
        let is_secret = self.file.class == Class::Config && rules::holds_secret(&self.path, text.as_bytes());
        Ok(Some(text).filter(|_| !is_secret))
    }

    /// Puts the merge into the plan.
    async fn apply(
        &self,
        plan: &mut SyncPlan,
        sources: &Sources<'_>,
        ours: &Bytes,
        theirs: &Bytes,
        text: String,
    ) -> Result<(), SyncError> {
        let Some((copy, class)) = self.free_copy(plan, sources).await? else { return Ok(()) };
        let modified_ms = self.known.stamp.modified_ms().max(self.theirs.modified_ms);
        let merged = {
            let file = File { path: self.file.path.clone(), ..self.file.clone() };
            write_of(file, Some(self.known.sha256), self.known.kind, Bytes::from(text), modified_ms)
        };
        let is_begun = self.copy.is_some();
        let ours = (!is_begun).then(|| Write {
            known: Some(self.known),
            text: Some(ours.clone()),
            beside: Some(copy.clone()),
            ..Write::new(self.file.clone(), Some(self.theirs.sha256))
        });
        let aside = (!is_begun).then(|| {
            let stamp = Stamp { size: 0, mtime_ns: 0 };
            let file = File { path: copy.clone(), on_disk: None, class, stamp, is_link: false };
            let aside = write_of(file, None, self.theirs.kind, theirs.clone(), self.theirs.modified_ms);
            Write { beside: Some(self.file.path.clone()), ..aside }
        });
        if let Some((index, _)) = self.copy
            && let Some(path) = plan.paths.get_mut(index)
        {
            path.action = PathAction::Gone;
        }
        let (theirs, file, known) = (self.theirs.sha256, self.file.clone(), self.known);
        if let Some(path) = plan.paths.get_mut(self.index) {
            path.action = PathAction::Merge(Box::new(Merge { ours, aside, copy, theirs, file, known, merged }));
        }
        Ok(())
    }

    /// A free path for the mirror's version while the merge is committed, named as a conflict copy would be. For a file of the configuration, of
    /// which no copies belong to the vault, it is at the top.
    async fn free_copy(&self, plan: &SyncPlan, sources: &Sources<'_>) -> Result<Option<(VaultPath, Class)>, SyncError> {
        if let Some((_, copy)) = &self.copy {
            return Ok(rules::class_of(copy.as_str()).map(|class| (copy.clone(), class)));
        }
        let (author, time) = writer(sources.mirror, sources.head, self.theirs.generation).await?;
        let time = time.to_zoned(sources.time_zone.clone());
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let free = |of: &str, attempt: u32| {
            let copy = VaultPath::parse(&copy_path(of, &author, &time, attempt)).ok()?;
            let class = rules::class_of(copy.as_str())?;
            (!plan.has(copy.as_str())).then_some((copy, class))
        };
        Ok((1..=MAX_COPIES).find_map(|attempt| free(&self.path, attempt).or_else(|| free(name, attempt))))
    }
}

/// A write of a text in memory.
fn write_of(file: File, ancestor: Option<[u8; 32]>, kind: Kind, text: Bytes, modified_ms: i64) -> Write {
    let stamp = Stamp { size: text.len() as u64, mtime_ns: modified_ms.saturating_mul(1_000_000) };
    let known = Fingerprint { stamp, sha256: Sha256::digest(&text).into(), kind };
    let write = Write::new(File { stamp, ..file }, ancestor);
    Write { known: Some(known), text: Some(text), ..write }
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

/// The message of the commit that merges.
pub(crate) fn message<'a>(merged: impl Iterator<Item = (&'a str, &'a Merge)>) -> String {
    /// Most bytes of a message.
    const MOST: usize = 4000;
    let mut message = String::new();
    for (path, merge) in merged {
        let Merged { path, ours, theirs } = merge.described(path);
        let line = format!("Merge {path}: {ours} of the folder and {theirs} of the mirror\n");
        if message.len() + line.len() > MOST {
            message.push('…');
            break;
        }
        message.push_str(&line);
    }
    message.trim_end().to_owned()
}
