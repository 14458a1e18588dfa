//! Many documents in one commit: the new content of each path on one state, and the segments that contain it.

pub mod bookmarks;
mod embedded;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use atlas_access::acl::is_closed_path;
use atlas_mirror::{Derived, Hash, NewSegment, Snapshot, merge};
use atlas_segment::{Body, Document, Kind, SegmentsBuilder};
use atlas_vault::VaultPath;
use atlas_vault::file_kind::MAX_TEXT_BYTES;
use bytes::Bytes;
use jiff::Timestamp;

use crate::error::{Code, Error, Reason};
use crate::operation::Context;
use crate::pipeline::approvals::{FileVersion, MAX_TEXTS, PlannedFile};
use crate::read::notes::{self, Found};
use crate::write::destruction::{self, DocumentChange};

use crate::write::one_name;
use crate::write::writable::{self, MAX_NOTE_BYTES, Version};

/// A document to write.
pub struct NewDocument {
    path: VaultPath,
    path_on_disk: Option<String>,
    kind: Kind,
    content: Content,
    sha256: Hash,
    modified_ms: i64,
}

/// The content of a document.
pub enum Content {
    /// This text.
    Text(Bytes),
    /// The name of an object, its size, and the text extracted from it. The vault refers to the object already, or it
    /// is a fresh upload.
    Blob(String, u64, Bytes),
}

impl NewDocument {
    /// A note or another text file with this text, that replaces `was`.
    ///
    /// # Errors
    /// When it is too large.
    pub fn text(path: VaultPath, text: Bytes, was: Option<&Found>, now: Timestamp) -> Result<Self, Error> {
        let max_bytes = if path.is_note() { MAX_NOTE_BYTES } else { MAX_TEXT_BYTES as usize };
        if text.len() > max_bytes {
            let message = format!("{path} would have more than {max_bytes} bytes");
            return Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", path.as_str()));
        }
        let sha256 = Hash::of(&text);
        let kind = kind_of_text(&path);
        Ok(Self { kind, ..Self::written(path, Content::Text(text), sha256, was, now) })
    }

    /// A file that is not a note, with this content, that replaces `was`.
    pub fn written(path: VaultPath, content: Content, sha256: Hash, was: Option<&Found>, now: Timestamp) -> Self {
        let kind = match &content {
            Content::Text(_) => Kind::Text,
            Content::Blob(..) => Kind::Attachment,
        };
        let path_on_disk = was.and_then(|was| was.record.path_on_disk.clone());
        Self { path, path_on_disk, kind, sha256, content, modified_ms: now.as_millisecond() }
    }

    /// The same document at another path.
    pub fn moved(path: VaultPath, found: &Found) -> Self {
        let record = &found.record;
        let content = match &record.blob {
            Some(name) => Content::Blob(name.clone(), record.bytes, found.text.clone()),
            None => Content::Text(found.text.clone()),
        };
        let (sha256, modified_ms) = (Hash::from_bytes(record.sha256), record.modified_ms);
        Self { path, path_on_disk: None, kind: record.kind, content, sha256, modified_ms }
    }

    /// SHA-256 of its bytes.
    pub const fn sha256(&self) -> Hash {
        self.sha256
    }

    /// The version of the document.
    pub fn version(&self) -> Version {
        Version { sha256: self.sha256, bytes: self.bytes() }
    }

    /// The document after the commit: path, hash, and text if it is one.
    fn after(&self) -> (&VaultPath, Hash, Option<&Bytes>) {
        let text = match &self.content {
            Content::Text(text) => Some(text),
            Content::Blob(..) => None,
        };
        (&self.path, self.sha256, text)
    }

    fn bytes(&self) -> u64 {
        match &self.content {
            Content::Text(text) => text.len() as u64,
            Content::Blob(_, bytes, _) => *bytes,
        }
    }
}

/// The kind of a text file at `path`.
pub(crate) fn kind_of_text(path: &VaultPath) -> Kind {
    match path.is_note() {
        true => Kind::Note,
        false if is_closed_path(path.as_str()) => Kind::Config,
        false => Kind::Text,
    }
}

/// How a document changes that gets another path.
type Move = fn(&Found, &VaultPath) -> DocumentChange;

/// The changes of a commit, on one state. All writes of operations go through it. It fails if destroyed text is not
/// confirmed, or a file and a folder would have one name.
pub struct Batch<'a> {
    context: Context<'a>,
    head: &'a Arc<Snapshot>,
    derived: Derived,
    /// By path: the document, and the generation of the version that it replaces; 0 if none.
    new: BTreeMap<VaultPath, (NewDocument, u64)>,
    /// The paths without a document before.
    created: BTreeSet<VaultPath>,
    /// Paths whose names were checked and are free.
    free: BTreeSet<VaultPath>,
    /// The paths that become free, with their last version.
    left: BTreeMap<String, Version>,
    /// By new path: the old path of a moved document.
    moved: BTreeMap<VaultPath, String>,
    /// The moves that a person's bookmarks follow.
    followed: bookmarks::Followed,
    changes: Vec<DocumentChange>,
    needs_confirmation: bool,
}

impl<'a> Batch<'a> {
    /// An empty batch on `head`.
    pub fn on(head: &'a Arc<Snapshot>, context: &Context<'a>) -> Self {
        let derived = Derived { totals: head.manifest().totals, ..Derived::default() };
        let (new, created, free, left, moved, followed, changes) = Default::default();
        let (context, needs_confirmation) = (*context, false);
        Self { context, head, derived, new, created, free, left, moved, followed, changes, needs_confirmation }
    }

    /// The errors of those `new` paths whose names clash with existing documents. The names of the others are not
    /// checked again.
    pub async fn clashes(&mut self, mut new: BTreeSet<VaultPath>) -> Result<BTreeMap<VaultPath, Error>, Error> {
        let clashes = one_name::clashes(&self.context, self.head, &new, &BTreeSet::new()).await?;
        new.retain(|path| !clashes.contains_key(path));
        self.free = new;
        Ok(clashes)
    }

    /// The error if the name of a `new` path clashes with a document that this batch creates.
    pub fn clash(&self, new: &VaultPath) -> Option<Error> {
        one_name::among(new, &self.created)
    }

    /// The errors of the created paths whose names are taken. The names of the others are not checked again.
    pub async fn taken(&mut self) -> Result<BTreeMap<VaultPath, Error>, Error> {
        let mut taken: BTreeMap<VaultPath, Error> =
            self.created.iter().filter_map(|path| Some((path.clone(), self.clash(path)?))).collect();
        let left = self.left.keys().map(String::as_str);
        let left: BTreeSet<&str> = left.filter(|path| !self.new.contains_key(*path)).collect();
        let unknown: BTreeSet<VaultPath> = self.created.difference(&self.free).cloned().collect();
        for (path, error) in one_name::clashes(&self.context, self.head, &unknown, &left).await? {
            taken.entry(path).or_insert(error);
        }
        self.free.extend(unknown.into_iter().filter(|path| !taken.contains_key(path)));
        Ok(taken)
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.derived.deleted.is_empty()
    }

    /// Requires a person's confirmation, whatever it destroys.
    pub const fn require_confirmation(&mut self) {
        self.needs_confirmation = true;
    }

    /// Puts a document at its path, replacing `old`. The latter must have its text, unless it is a blob.
    pub fn put(&mut self, new: NewDocument, old: Option<&Found>) {
        self.changes.extend(old.and_then(|old| DocumentChange::of(old, Some(new.after()))));
        self.put_counted(new, old);
    }

    /// Puts the document `from`, which moved from another path, replacing `there`, which moved elsewhere.
    pub fn put_moved(&mut self, new: NewDocument, from: &Found, there: Option<&Found>) {
        self.note_move(from, &new.path, DocumentChange::moved);
        self.follow(&from.record.path, &new.path);
        self.put_counted(new, there);
    }

    /// Puts a note in which only links changed, with the same meaning.
    pub fn put_relinked(&mut self, new: NewDocument, old: &Found) {
        self.changes.push(DocumentChange::moved(old, &new.path));
        self.put_counted(new, Some(old));
    }

    /// Removes a document that was put at another path.
    pub fn take_moved(&mut self, old: &Found) {
        self.derived.changes.removed += 1;
        self.remove(old);
    }

    /// Deletes a document permanently.
    pub fn destroy(&mut self, old: &Found) {
        self.changes.extend(DocumentChange::of(old, None));
        self.take_moved(old);
    }

    /// Moves a document to the trash.
    pub async fn trash(&mut self, path: &VaultPath, found: &Found) -> Result<(), Error> {
        self.take_moved(found);
        self.keep(path, found, DocumentChange::trashed).await
    }

    /// Restores `kept` from the trash to `path`, replacing `old`.
    pub fn take_from_trash(&mut self, path: VaultPath, kept: &Found, old: Option<&Found>) {
        let modified_ms = self.context.now.as_millisecond();
        let moved = NewDocument::moved(path, kept);
        let kind = match &moved.content {
            Content::Text(_) => kind_of_text(&moved.path),
            Content::Blob(..) => Kind::Attachment,
        };
        let new = NewDocument { kind, modified_ms, ..moved };
        self.changes.extend(old.and_then(|old| DocumentChange::of(old, Some(new.after()))));
        self.note_move(kept, &new.path, DocumentChange::moved);
        self.put_counted(new, old);
        self.remove(kept);
    }

    fn note_move(&mut self, from: &Found, to: &VaultPath, change: Move) {
        self.changes.push(change(from, to));
        self.moved.insert(to.clone(), from.record.path.clone());
    }

    fn put_counted(&mut self, new: NewDocument, old: Option<&Found>) {
        self.derived.changes.added += u64::from(old.is_none());
        self.derived.changes.changed += u64::from(old.is_some());
        if old.is_none() {
            self.created.insert(new.path.clone());
        }
        self.put_uncounted(new, old);
    }

    fn put_uncounted(&mut self, new: NewDocument, old: Option<&Found>) {
        if let Some(old) = old {
            self.remove(old);
        }
        self.derived.totals.add(new.kind, new.bytes());
        self.new.insert(new.path.clone(), (new, old.map_or(0, |old| old.generation)));
    }

    /// A document in the trash may be restored and make room for another at once: it is removed once.
    fn remove(&mut self, old: &Found) {
        if self.left.contains_key(&old.record.path) {
            return;
        }
        self.derived.deleted.push((old.document.0, vec![old.document.1]));
        self.derived.totals.remove(old.record.kind, old.record.bytes);
        self.left.insert(old.record.path.clone(), Version::of(old));
    }

    /// Adds a copy of the document at `path` to the trash. An existing document of that name in the trash gets a name
    /// with the beginning of its hash: the trash loses nothing.
    pub async fn keep_in_trash(&mut self, path: &VaultPath, found: &Found) -> Result<(), Error> {
        self.keep(path, found, DocumentChange::moved).await
    }

    async fn keep(&mut self, path: &VaultPath, found: &Found, change: Move) -> Result<(), Error> {
        let trash = writable::trash(path)?;
        let old = notes::find(self.head, trash.as_str(), |record| record.sha256 != found.record.sha256).await?;
        if let Some(old) = old.as_ref().filter(|old| old.record.sha256 != found.record.sha256) {
            self.put_beside(&trash, old).await?;
        }
        self.note_move(found, &trash, change);
        self.put_uncounted(self.in_trash(trash, found), old.as_ref());
        Ok(())
    }

    /// Gives the document at `trash` a free name beside it.
    async fn put_beside(&mut self, trash: &VaultPath, old: &Found) -> Result<(), Error> {
        for beside in writable::beside(trash, &old.sha256()) {
            let there = notes::find(self.head, beside.as_str(), |_| false).await?;
            let is_free = there.as_ref().is_none_or(|there| there.record.sha256 == old.record.sha256);
            if is_free && !self.new.contains_key(&beside) {
                self.note_move(old, &beside, DocumentChange::moved);
                self.put_uncounted(self.in_trash(beside, old), there.as_ref());
                return Ok(());
            }
        }
        let message =
            format!("the trash has another {trash} and no name left for it: restore that first, or delete hard");
        Err(Error::new(Code::Conflict, Reason::TrashFull, message).with("path", trash.as_str()))
    }

    /// Stored like configuration, and never shown.
    fn in_trash(&self, path: VaultPath, found: &Found) -> NewDocument {
        NewDocument {
            kind: Kind::Config,
            modified_ms: self.context.now.as_millisecond(),
            ..NewDocument::moved(path, found)
        }
    }

    /// The change of the commit.
    pub async fn derived(self) -> Result<Derived, Error> {
        self.derived_with(None).await
    }

    /// Like [`derived`](Self::derived), with a segment that was built before and may be the only one.
    pub async fn derived_with(mut self, early: Option<&(Hash, NewSegment)>) -> Result<Derived, Error> {
        // First, since a confirmation is used up.
        if let Some((_, clash)) = self.taken().await?.pop_first() {
            return Err(clash);
        }
        let bookmarks = self.new_bookmarks().await?;
        let mut moved = std::mem::take(&mut self.moved);
        let (changes, created) = (std::mem::take(&mut self.changes), std::mem::take(&mut self.created));
        let (plan, is_required) = (|| planned(&self.new, &self.left, &mut moved), self.needs_confirmation);
        let judged = destruction::confirmed(&self.context, self.head, &changes, &created, is_required, plan).await?;
        // No part of the plan: they are a setting of the whole vault, and only follow what a person agrees to.
        if let Some((new, was)) = bookmarks {
            self.put_counted(new, Some(&was));
        }
        let Self { context, head, mut derived, new, .. } = self;
        (derived.origins, derived.confirmed) = (judged.origins, judged.is_confirmed);
        derived.segments = match early.and_then(|early| made_early(early, &new)) {
            Some(segment) => vec![segment],
            None => segments(new.values())?,
        };
        embedded::add(&context, head, &new, &mut derived.segments).await;
        merge::compact(head, merge::SMALL, &mut derived).await?;
        Ok(derived)
    }
}

/// The files before and after, by path.
fn planned(
    new: &BTreeMap<VaultPath, (NewDocument, u64)>,
    left: &BTreeMap<String, Version>,
    moved: &mut BTreeMap<VaultPath, String>,
) -> Vec<PlannedFile> {
    let version = |&Version { sha256, bytes }: &Version, text| FileVersion { sha256, bytes, text };
    let known: HashSet<Hash> = left.values().map(|left| left.sha256).collect();
    let mut room = MAX_TEXTS;
    let mut shown = |new: &NewDocument| {
        let Content::Text(text) = &new.content else { return None };
        let less = room.checked_sub(text.len()).filter(|_| !known.contains(&new.sha256))?;
        let text = std::str::from_utf8(text).ok()?;
        room = less;
        Some(text.to_owned())
    };
    let mut files: BTreeMap<&str, PlannedFile> = BTreeMap::new();
    for (path, before) in left {
        let file = PlannedFile { path: path.clone(), before: Some(version(before, None)), after: None, from: None };
        files.insert(path, file);
    }
    for (path, (new, _)) in new {
        let none = || PlannedFile { path: path.as_str().to_owned(), before: None, after: None, from: None };
        let file = files.entry(path.as_str()).or_insert_with(none);
        file.after = Some(version(&new.version(), shown(new)));
        file.from = moved.remove(path);
    }
    files.into_values().collect()
}

/// The segment that was built `early`, if it equals what is written.
fn made_early(
    (sha256, segment): &(Hash, NewSegment),
    new: &BTreeMap<VaultPath, (NewDocument, u64)>,
) -> Option<NewSegment> {
    let (only, replaces) = new.values().next().filter(|_| new.len() == 1)?;
    let is_it = only.sha256 == *sha256 && only.path_on_disk.is_none() && matches!(only.content, Content::Text(_));
    is_it.then(|| NewSegment { replaces: *replaces, ..segment.clone() })
}

/// The segments of documents, which are in path order.
fn segments<'a>(documents: impl Iterator<Item = &'a (NewDocument, u64)>) -> Result<Vec<NewSegment>, Error> {
    let mut segments = SegmentsBuilder::default();
    for (new, replaces) in documents {
        segments.push(&Document {
            path: &new.path,
            path_on_disk: new.path_on_disk.as_deref(),
            kind: new.kind,
            sha256: *new.sha256.as_bytes(),
            modified_ms: new.modified_ms,
            generation: 0,
            replaces: *replaces,
            body: match &new.content {
                Content::Text(text) => Body::Text(text),
                Content::Blob(name, bytes, text) => Body::Blob { name, bytes: *bytes, text },
            },
        })?;
    }
    Ok(segments.finish()?.into_iter().map(NewSegment::from).collect())
}
