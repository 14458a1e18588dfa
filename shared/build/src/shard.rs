//! Builds one shard: compares its part of the source with the run before and with the mirror, and uploads segments of what is new.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use atlas_mirror::{Hash, Mirror, Snapshot};
use atlas_segment::Built;
use atlas_sync::decide::Action;
use atlas_sync::head::{self, HeadDocument, HeadDocuments};
use atlas_sync::newest;
use atlas_sync::report::Reason;
use atlas_sync::rules::{Class, class_of};
use atlas_vault::VaultPath;
use bytes::Bytes;
use futures::future::{OptionFuture, try_join};
use jiff::Timestamp;
use tokio::sync::Semaphore;

use crate::decision::{action, reason_to_keep};
use crate::error::BuildError;
use crate::index::Index;
use crate::plan::check_rules;
use crate::publish::last_run;
use crate::read::{Fetched, New, Reader, UPLOADS, Wanted};
use crate::records::{Entry, Left, Records, Remove, Seen, Shard, ShardResult, UploadedPart};
use crate::source::{Object, Source};

/// Most objects that are read before they are indexed, and most bytes of their text.
const BATCH: usize = 256;
const BATCH_BYTES: u64 = 16 << 20;

/// A file of the source.
struct File {
    path: VaultPath,
    class: Class,
    object: Object,
}

/// Builds `shard` of `source`, or finds the result of an earlier call. A segment is full at about `full_bytes` bytes.
///
/// # Errors [`BuildError`]; repeating it is harmless.
pub async fn build(
    mirror: &Mirror,
    source: &Source,
    shard: &Shard,
    full_bytes: usize,
    now: Timestamp,
) -> Result<ShardResult, BuildError> {
    let records = Records::of(mirror, &shard.run)?;
    let plan = records.plan().await?.unwrap_or_default();
    if plan.get(shard.shard as usize) != Some(shard) {
        return Err(BuildError::Invalid(format!(
            "the shard {} is not as the plan of the run {} has it",
            shard.shard, shard.run
        )));
    }
    if let Some(built) = records.result(shard.shard).await? {
        return Ok(built);
    }
    let mut before = entries_before(mirror, shard, now).await?;
    let (files, mut left, spelled) = files(source, shard).await?;
    let head = newest(mirror).await?;
    let heads = heads(head.as_deref(), &files, &before).await?;
    let version = |path: &str| heads.get(path).and_then(|documents| documents.first());
    let files_before = before.len() as u64;
    let mut entries = Vec::with_capacity(files.len());
    let mut wanted = Vec::new();
    let found = files.len() as u64;
    for File { path, class, object } in files {
        let last = before.remove(path.as_str());
        let head = version(path.as_str()).map(seen);
        let ancestor = last.as_ref().filter(|last| !last.differs).map(|last| last.sha256);
        let is_same = |last: &&Entry| {
            !object.etag.is_empty() && last.key == object.key && last.etag == object.etag && last.bytes == object.bytes
        };
        // An object with the same tag has the same content, so that it need not be read unless it is to be published.
        let action = last.as_ref().filter(is_same).map(|same| (same, action(ancestor, Some(same.sha256), head)));
        match action {
            Some((same, action)) if action != Action::Push => {
                left.extend(reason_to_keep(action).map(|reason| left_at(path.as_str(), reason)));
                entries.push(Entry { differs: same.differs && action != Action::Keep, ..same.clone() });
            }
            _ => wanted.push(Wanted { path, class, object, ancestor, last, head }),
        }
    }
    let mut removes = Vec::new();
    let mut kept = Vec::new();
    for (path, last) in before {
        // Another spelling of it may be in another shard, which publishes it.
        if last.key != path && source.has(&path).await? {
            entries.push(again(last));
            continue;
        }
        let head = version(&path).map(seen);
        let ancestor = Some(last.sha256).filter(|_| !last.differs);
        match (action(ancestor, None, head), head) {
            (Action::Push, Some(seen)) => removes.push(Remove { path, seen }),
            (Action::Pull, Some(_)) => {
                kept.push(left_at(&path, "the source does not have it any more, and the mirror has changed it since"))
            }
            _ => {}
        }
    }
    left.append(&mut kept);
    let parent = head.as_deref().map(Snapshot::hash);
    let reader = Reader { mirror, source, parent, now, uploads: Semaphore::new(UPLOADS) };
    let mut segments = Vec::new();
    let mut index = Index::new(full_bytes);
    let mut batches = batches(wanted).into_iter();
    let mut fetched = OptionFuture::from(batches.next().map(|batch| reader.fetch(batch))).await.transpose()?;
    while let Some(batch) = fetched {
        let next = OptionFuture::from(batches.next().map(|batch| reader.fetch(batch)));
        let next = async { next.await.transpose() };
        let documents = take(batch, &mut entries, &mut left);
        let full;
        ((index, full), fetched) = try_join(index.add(documents), next).await?;
        upload(&reader, full, &mut segments).await?;
    }
    let (pushes, last) = index.finish().await?;
    upload(&reader, last, &mut segments).await?;
    entries.sort_unstable_by(|one: &Entry, other| one.key.cmp(&other.key));
    let entries = records.keep_entries(shard.shard, &entries).await?;
    let history_from = head.as_deref().map_or(0, |head| head.manifest().history_from);
    let result =
        ShardResult { entries, segments, pushes, removes, spelled, left, files: found, files_before, history_from };
    records.keep_result(shard.shard, result).await
}

/// The entries of the run before that are in the shard's range, by path.
async fn entries_before(mirror: &Mirror, shard: &Shard, now: Timestamp) -> Result<BTreeMap<String, Entry>, BuildError> {
    let Some(base) = &shard.base else { return Ok(BTreeMap::new()) };
    let records = Records::of(mirror, base)?;
    let unbuilt = |shard| BuildError::Unbuilt { run: base.clone(), shard };
    let plan = records.plan().await?.ok_or_else(|| unbuilt(0))?;
    let range = shard.range();
    // The mirror did not take these versions, so that they are nothing that both sides had.
    let last = last_run(mirror, now).await?.filter(|last| last.run == *base);
    let overtaken: HashSet<String> =
        last.into_iter().flat_map(|last| last.overtaken).map(|overtaken| overtaken.path).collect();
    let mut before = BTreeMap::new();
    for part in plan.iter().filter(|part| part.range().meets(&range)) {
        let result = records.result(part.shard).await?.ok_or_else(|| unbuilt(part.shard))?;
        for entry in records.entries(part.shard, &result.entries).await? {
            if let Some(path) = VaultPath::parse(&entry.key).ok().filter(|_| range.has(&entry.key)) {
                let is_overtaken = overtaken.contains(path.as_str());
                let entry = if is_overtaken { Entry { differs: true, ..again(entry) } } else { entry };
                before.insert(path.as_str().to_owned(), entry);
            }
        }
    }
    Ok(before)
}

/// The files of the shard in the order of their paths; what cannot be one; and the paths whose key is spelled otherwise.
async fn files(source: &Source, shard: &Shard) -> Result<(Vec<File>, Vec<Left>, Vec<String>), BuildError> {
    let mut files: Vec<File> = Vec::new();
    let mut left = Vec::new();
    source
        .walk(&shard.range(), |object| {
            check_rules(&object.key)?;
            if let Some(class) = class_of(&object.key) {
                match VaultPath::parse(&object.key) {
                    Ok(path) => files.push(File { path, class, object }),
                    Err(error) => left.push(left_at(&object.key, Reason::from(error))),
                }
            }
            Ok(())
        })
        .await?;
    // Of several spellings of a path, the usual one counts.
    let is_usual = |file: &File| file.object.key == file.path.as_str();
    files.sort_by(|one, other| one.path.cmp(&other.path).then_with(|| is_usual(other).cmp(&is_usual(one))));
    let mut spelled = Vec::new();
    let mut kept: Vec<File> = Vec::with_capacity(files.len());
    for file in files {
        let is_twin = kept.last().is_some_and(|last| last.path == file.path);
        if is_twin || (!is_usual(&file) && source.has(file.path.as_str()).await?) {
            left.push(left_at(&file.object.key, Reason::SameName));
            continue;
        }
        if !is_usual(&file) {
            spelled.push(file.path.as_str().to_owned());
        }
        kept.push(file);
    }
    Ok((kept, left, spelled))
}

/// The mirror's documents at the paths of `files` and of `before`.
async fn heads(
    head: Option<&Snapshot>,
    files: &[File],
    before: &BTreeMap<String, Entry>,
) -> Result<HeadDocuments, BuildError> {
    let Some(head) = head else { return Ok(HeadDocuments::new()) };
    let paths: BTreeSet<&str> =
        files.iter().map(|file| file.path.as_str()).chain(before.keys().map(String::as_str)).collect();
    let paths: Vec<&str> = paths.into_iter().collect();
    Ok(head::at(head, &paths).await?)
}

fn seen(document: &HeadDocument) -> Seen {
    Seen { sha256: Hash::from_bytes(document.sha256), generation: document.generation }
}

/// The entry of a file that the next run decides about: it is read again, or missed then.
fn again(last: Entry) -> Entry {
    Entry { etag: String::new(), ..last }
}

fn left_at(path: &str, reason: impl ToString) -> Left {
    Left { path: path.to_owned(), reason: reason.to_string() }
}

fn batches(wanted: Vec<Wanted>) -> Vec<Vec<Wanted>> {
    let mut batches: Vec<Vec<Wanted>> = Vec::new();
    let mut bytes = 0;
    for wanted in wanted {
        let size = wanted.text_bytes();
        match batches.last_mut().filter(|batch| batch.len() < BATCH && bytes + size <= BATCH_BYTES) {
            Some(batch) => {
                bytes += size;
                batch.push(wanted);
            }
            None => {
                bytes = size;
                batches.push(vec![wanted]);
            }
        }
    }
    batches
}

/// Adds the entries of what was fetched, and what is left. Returns what is to be indexed.
fn take(batch: Vec<Fetched>, entries: &mut Vec<Entry>, left: &mut Vec<Left>) -> Vec<New> {
    let mut new = Vec::new();
    for fetched in batch {
        match fetched {
            Fetched::New(one) => {
                entries.push(one.entry.clone());
                new.push(one);
            }
            Fetched::Known { path, entry, action } => {
                left.extend(reason_to_keep(action).map(|reason| left_at(&path, reason)));
                entries.push(entry);
            }
            Fetched::Unread { path, reason, last } => {
                left.push(left_at(&path, reason));
                entries.extend(last.map(again));
            }
            Fetched::Vanished { last } => entries.extend(last.map(again)),
        }
    }
    new
}

async fn upload(reader: &Reader<'_>, built: Vec<Built>, segments: &mut Vec<UploadedPart>) -> Result<(), BuildError> {
    let Reader { mirror, parent, now, .. } = *reader;
    for built in built {
        let bytes = Bytes::from(built.bytes);
        let sha256 = Hash::of(&bytes);
        let uploaded = match mirror.left_segment(parent, sha256, bytes.len() as u64, now).await? {
            Some(left) => left,
            None => mirror.put_segment(parent, sha256, &bytes).await?,
        };
        segments.push(UploadedPart { id: uploaded.segment(), bytes: uploaded.bytes(), layout: built.layout });
    }
    Ok(())
}
