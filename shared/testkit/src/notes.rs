//! Changes that put, delete and merge notes, and readers of a snapshot: enough to test the mirror.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use atlas_mirror::manifest::{Changes, Totals};
use atlas_mirror::{
    Attempt, BlobKey, ChangeSet, CommitInfo, Derived, DroppedSegment, MirrorError, NewSegment, SegmentId, Snapshot,
};
use atlas_segment::{Body, Builder, Document, Kind, Part, PartRef, Record};
use atlas_vault::VaultPath;

use crate::time::minute;

/// A commit by `author`, with a deadline of a minute.
pub fn by(author: &str) -> CommitInfo {
    CommitInfo {
        author: author.to_owned(),
        caller: None,
        operation: "test".to_owned(),
        message: None,
        session: None,
        key: None,
        time: minute(0),
        deadline: Duration::from_secs(60),
    }
}

/// A segment of notes, given in path order.
pub fn segment<'a>(notes: impl IntoIterator<Item = (&'a str, &'a str)>) -> NewSegment {
    let mut builder = Builder::new().unwrap();
    for (path, text) in notes {
        let path = VaultPath::parse(path).unwrap();
        let document = Document {
            path: &path,
            path_on_disk: None,
            kind: Kind::Note,
            sha256: *atlas_mirror::Hash::of(text.as_bytes()).as_bytes(),
            modified_ms: minute(0).as_millisecond(),
            generation: 0,
            replaces: 0,
            body: Body::Text(text.as_bytes()),
        };
        builder.push(&document).unwrap();
    }
    builder.finish().unwrap().expect("at least one note").into()
}

/// Puts notes, over existing ones.
#[derive(Clone, Debug, Default)]
pub struct Put {
    notes: BTreeMap<String, String>,
    /// The same on every state.
    segment: OnceLock<NewSegment>,
}

impl Put {
    /// Puts one note.
    pub fn note(path: &str, text: &str) -> Self {
        Self::default().and(path, text)
    }

    /// Puts another note as well.
    #[must_use]
    pub fn and(mut self, path: &str, text: &str) -> Self {
        self.notes.insert(path.to_owned(), text.to_owned());
        self
    }
}

impl ChangeSet for Put {
    type Error = MirrorError;
    type Outcome = ();

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<()>, MirrorError> {
        let (mut derived, replaces) = delete(head, self.notes.keys()).await?;
        let replaced = derived.changes.removed;
        let put = self.notes.len() as u64;
        let built = || segment(self.notes.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        let replaces = if self.notes.len() == 1 { replaces } else { 0 };
        derived.segments.push(NewSegment { replaces, ..self.segment.get_or_init(built).clone() });
        derived.changes = Changes { added: put - replaced, changed: replaced, removed: 0 };
        derived.totals = totals(derived.totals.notes + put);
        derived.result = Some(serde_json::json!({ "put": put }));
        Ok(Some(derived).into())
    }
}

/// Puts an attachment, over an existing one.
#[derive(Clone, Debug)]
pub struct Attach(pub String, pub BlobKey);

impl ChangeSet for Attach {
    type Error = MirrorError;
    type Outcome = ();

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<()>, MirrorError> {
        let (mut derived, _) = delete(head, [&self.0]).await?;
        let mut builder = Builder::new().unwrap();
        builder
            .push(&Document {
                path: &VaultPath::parse(&self.0).unwrap(),
                path_on_disk: None,
                kind: Kind::Attachment,
                sha256: *self.1.sha256.as_bytes(),
                modified_ms: minute(0).as_millisecond(),
                generation: 0,
                replaces: 0,
                body: Body::Blob { name: &self.1.to_string(), bytes: 7, text: &[] },
            })
            .unwrap();
        derived.segments.push(builder.finish().unwrap().expect("an attachment").into());
        derived.changes = Changes { added: 1, ..Changes::default() };
        derived.totals = totals(derived.totals.notes + 1);
        Ok(Some(derived).into())
    }
}

/// Deletes a note.
#[derive(Clone, Debug)]
pub struct Delete(pub String);

impl ChangeSet for Delete {
    type Error = MirrorError;
    type Outcome = ();

    /// Does nothing if the note does not exist.
    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<()>, MirrorError> {
        let (derived, _) = delete(head, [&self.0]).await?;
        Ok(Some(derived).filter(|derived| derived.changes.removed > 0).into())
    }
}

/// Merges all segments that were live when it was created into one.
#[derive(Debug)]
pub struct Merge {
    merged: NewSegment,
    /// The original position of each document of `merged`.
    origins: Vec<(SegmentId, u32)>,
    inputs: Vec<SegmentId>,
    /// Whether to carry over the tombstones that came since.
    pub carries_over: bool,
}

impl Merge {
    /// The merge of all segments of `snapshot`.
    pub async fn of(snapshot: &Snapshot) -> Self {
        let documents = documents(snapshot, |_| true).await.unwrap();
        let origin = |(segment, id): (usize, u32)| (snapshot.segments()[segment].id, id);
        Self {
            origins: documents.values().map(|(at, _)| origin(*at)).collect(),
            merged: segment(documents.iter().map(|(path, (_, text))| (path.as_str(), text.as_str()))),
            inputs: snapshot.segments().iter().map(|entry| entry.id).collect(),
            carries_over: true,
        }
    }
}

impl ChangeSet for Merge {
    type Error = MirrorError;
    type Outcome = ();

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<()>, MirrorError> {
        let head = head.expect("a state to merge");
        let mut derived = Derived { totals: head.manifest().totals, ..Derived::default() };
        let mut merged = self.merged.clone();
        for input in &self.inputs {
            let Some((index, entry)) = head.manifest().segment(*input) else {
                // The mirror must refuse it.
                derived.dropped.push(DroppedSegment { segment: *input, deleted: 0 });
                continue;
            };
            let deleted = head.deleted(index).await?;
            if self.carries_over {
                let dead = |(_, (segment, id)): &(usize, &(SegmentId, u32))| segment == input && deleted.contains(*id);
                let dead = self.origins.iter().enumerate().filter(dead);
                merged.deleted.extend(dead.map(|(document, _)| document as u32));
            }
            let seen = if self.carries_over { entry.deleted.count() } else { 0 };
            derived.dropped.push(DroppedSegment { segment: *input, deleted: seen });
        }
        derived.segments.push(merged);
        Ok(Some(derived).into())
    }
}

/// The live notes of `snapshot` and their texts.
///
/// # Errors Those of loading.
pub async fn contents(snapshot: &Snapshot) -> Result<BTreeMap<String, String>, MirrorError> {
    contents_where(snapshot, |_| true).await
}

/// The live notes of `snapshot` at wanted paths, and their texts.
///
/// # Errors Those of loading.
pub async fn contents_where(
    snapshot: &Snapshot,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, String>, MirrorError> {
    let documents = documents(snapshot, is_wanted).await?;
    Ok(documents.into_iter().map(|(path, (_, text))| (path, text)).collect())
}

/// The record of each live file of `snapshot`.
///
/// # Errors Those of loading.
pub async fn records(snapshot: &Snapshot) -> Result<BTreeMap<String, Record>, MirrorError> {
    let mut records = BTreeMap::new();
    for segment in 0..snapshot.segments().len() {
        let layout = &snapshot.segments()[segment].layout;
        let paths = layout.paths().map_err(|error| snapshot.fault(segment, error))?;
        let (live, _) = live(snapshot, segment, paths).await?;
        records.extend(live.into_iter().map(|(_, record)| (record.path.clone(), record)));
    }
    Ok(records)
}

/// The position of a live document: its segment's index, and its id there.
type At = (usize, u32);

async fn documents(
    snapshot: &Snapshot,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, (At, String)>, MirrorError> {
    let mut documents = BTreeMap::new();
    for (segment, entry) in snapshot.segments().iter().enumerate() {
        let layout = &entry.layout;
        let fault = |error| snapshot.fault(segment, error);
        // In one wave, as readers do.
        let (live, table) = live(snapshot, segment, layout.text_blocks().map_err(fault)?).await?;
        let blocks = table.text_blocks().map_err(fault)?;
        for (id, record) in live.into_iter().filter(|(_, record)| is_wanted(&record.path)) {
            let wants = blocks.parts(layout, record.text).map_err(fault)?;
            let wants: Vec<_> = wants.into_iter().map(|part| (segment, part)).collect();
            let parts = snapshot.load(&wants).await?;
            let text = blocks.cut(record.text, parts.iter().map(|part| -> &Part { part })).map_err(fault)?;
            let text = String::from_utf8(text.to_vec()).expect("notes of tests are UTF-8");
            let twice = documents.insert(record.path.clone(), ((segment, id), text));
            assert!(twice.is_none(), "{} is live twice", record.path);
        }
    }
    Ok(documents)
}

/// The live documents of a segment, with their ids; and another part of it.
async fn live(
    snapshot: &Snapshot,
    segment: usize,
    other: PartRef,
) -> Result<(Vec<(u32, Record)>, Arc<Part>), MirrorError> {
    let fault = |error| snapshot.fault(segment, error);
    snapshot.open(|other, _| other == segment).await?;
    let pages = snapshot.segments()[segment].layout.record_pages().map_err(fault)?;
    let mut wants = vec![(segment, other)];
    wants.extend(pages.iter().map(|(part, _)| (segment, part.clone())));
    let mut parts = snapshot.load(&wants).await?;
    let other = parts.remove(0);
    let mut records = Vec::new();
    for (part, (_, ids)) in parts.iter().zip(pages) {
        let page = part.record_page().map_err(fault)?;
        for (index, id) in ids.enumerate().filter(|(_, id)| snapshot.is_live(segment, *id)) {
            records.push((id, page.get(index).map_err(fault)?));
        }
    }
    Ok((records, other))
}

/// The tombstones for `paths`, and the newest generation that wrote one of them; a segment without live documents is dropped.
async fn delete(
    head: Option<&Arc<Snapshot>>,
    paths: impl IntoIterator<Item = &String>,
) -> Result<(Derived, u64), MirrorError> {
    let Some(head) = head else { return Ok((Derived::default(), 0)) };
    let mut newest = 0;
    let mut dead: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for path in paths {
        head.open_for(&[path]).await?;
        for (segment, entry) in head.segments().iter().enumerate() {
            let fault = |error| head.fault(segment, error);
            let Some((part, first)) = entry.layout.record_page(path).map_err(fault)? else { continue };
            let parts = head.load(&[(segment, part)]).await?;
            if let Some((index, record)) = parts[0].record_page().and_then(|page| page.find(path)).map_err(fault)? {
                let document = first + index as u32;
                if head.is_live(segment, document) {
                    newest = newest.max(entry.written_at(&record));
                    dead.entry(segment).or_default().push(document);
                }
            }
        }
    }
    let mut derived = Derived::default();
    derived.changes.removed = dead.values().map(|documents| documents.len() as u64).sum();
    derived.totals = totals(head.manifest().totals.notes - derived.changes.removed);
    for (segment, documents) in dead {
        let entry = &head.segments()[segment];
        let deleted = entry.deleted.count();
        if deleted + documents.len() as u32 == entry.layout.documents {
            derived.dropped.push(DroppedSegment { segment: entry.id, deleted });
        } else {
            derived.deleted.push((entry.id, documents));
        }
    }
    Ok((derived, newest))
}

fn totals(notes: u64) -> Totals {
    Totals { notes, documents: notes, ..Totals::default() }
}
