//! Many documents in one commit: what each path is to have on one state, and the segments that come of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use atlas_mirror::{Derived, Hash, NewSegment, Snapshot, merge};
use atlas_segment::{Body, Builder, Document, Kind};
use atlas_vault::VaultPath;
use bytes::Bytes;
use jiff::Timestamp;

use crate::error::{Code, Error};
use crate::notes::{self, Found};
use crate::writing::{self, MAX_NOTE_BYTES};

/// A document to write.
pub(crate) struct New {
    path: VaultPath,
    path_on_disk: Option<String>,
    kind: Kind,
    content: Content,
    sha256: Hash,
    modified_ms: i64,
}

/// What is in a document.
pub(crate) enum Content {
    /// This text.
    Text(Bytes),
    /// The name of an object, and its size. The vault refers to it already, or it is an upload that is still fresh.
    Blob(String, u64),
}

impl New {
    /// A note with this text, instead of what `was` there.
    pub(crate) fn note(path: VaultPath, text: Bytes, was: Option<&Found>, now: Timestamp) -> Result<Self, Error> {
        if text.len() > MAX_NOTE_BYTES {
            let message = format!("{path} would have more than {MAX_NOTE_BYTES} bytes");
            return Err(Error::new(Code::TooLarge, "note_too_large", message).with("path", path.as_str()));
        }
        let sha256 = Hash::of(&text);
        Ok(Self { kind: Kind::Note, ..Self::written(path, Content::Text(text), sha256, was, now) })
    }

    /// A file that is no note, with this content, instead of what `was` there.
    pub(crate) fn written(
        path: VaultPath,
        content: Content,
        sha256: Hash,
        was: Option<&Found>,
        now: Timestamp,
    ) -> Self {
        let kind = match &content {
            Content::Text(_) => Kind::Text,
            Content::Blob(..) => Kind::Attachment,
        };
        let path_on_disk = was.and_then(|was| was.record.path_on_disk.clone());
        Self { path, path_on_disk, kind, sha256, content, modified_ms: now.as_millisecond() }
    }

    /// The same document at another path.
    pub(crate) fn moved(path: VaultPath, found: &Found) -> Self {
        let record = &found.record;
        let content = match &record.blob {
            Some(name) => Content::Blob(name.clone(), record.bytes),
            None => Content::Text(found.text.clone()),
        };
        let (sha256, modified_ms) = (Hash::from_bytes(record.sha256), record.modified_ms);
        Self { path, path_on_disk: None, kind: record.kind, content, sha256, modified_ms }
    }

    /// SHA-256 of its bytes.
    pub(crate) const fn sha256(&self) -> Hash {
        self.sha256
    }

    fn text(&self) -> &[u8] {
        match &self.content {
            Content::Text(text) => text,
            Content::Blob(..) => &[],
        }
    }

    fn bytes(&self) -> u64 {
        match &self.content {
            Content::Text(text) => text.len() as u64,
            Content::Blob(_, bytes) => *bytes,
        }
    }
}

/// What a commit makes of documents, on one state.
pub(crate) struct Batch<'a> {
    head: &'a Arc<Snapshot>,
    now: Timestamp,
    derived: Derived,
    /// Each with the generation of its path's version that it replaces; 0 if none.
    new: BTreeMap<VaultPath, (New, u64)>,
}

impl<'a> Batch<'a> {
    /// Nothing, on `head`.
    pub(crate) fn on(head: &'a Arc<Snapshot>, now: Timestamp) -> Self {
        let derived = Derived { totals: head.manifest().totals, ..Derived::default() };
        Self { head, now, derived, new: BTreeMap::new() }
    }

    /// Puts a document at its path, instead of the `old` one that is there.
    pub(crate) fn put(&mut self, new: New, old: Option<&Found>) {
        self.derived.changes.added += u64::from(old.is_none());
        self.derived.changes.changed += u64::from(old.is_some());
        self.put_uncounted(new, old);
    }

    /// Whether nothing is to change.
    pub(crate) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.derived.deleted.is_empty()
    }

    /// Takes a document away.
    pub(crate) fn take(&mut self, old: &Found) {
        self.derived.changes.removed += 1;
        writing::remove(&mut self.derived, old);
    }

    fn put_uncounted(&mut self, new: New, old: Option<&Found>) {
        if let Some(old) = old {
            writing::remove(&mut self.derived, old);
        }
        self.derived.totals.add(new.kind, new.bytes());
        self.new.insert(new.path.clone(), (new, old.map_or(0, |old| old.generation)));
    }

    /// Keeps in the trash what goes from `path`. What the trash has there already stays beside it, under a name with the beginning of its
    /// hash: putting something into the trash destroys nothing.
    pub(crate) async fn keep_in_trash(&mut self, path: &VaultPath, found: &Found) -> Result<(), Error> {
        let trash = writing::trash(path)?;
        let old = notes::find(self.head, trash.as_str(), |record| record.sha256 != found.record.sha256).await?;
        if let Some(old) = old.as_ref().filter(|old| old.record.sha256 != found.record.sha256) {
            let name = trash.as_str().strip_suffix(".md").unwrap_or(trash.as_str());
            let sha256 = old.sha256();
            let beside = format!("{name} ({}).md", sha256.get(..8).unwrap_or_default());
            // A name that is too long for it keeps the newest version alone; older generations have the others.
            if let Ok(beside) = VaultPath::parse(&beside) {
                let there = notes::find(self.head, beside.as_str(), |_| false).await?;
                self.put_uncounted(self.in_trash(beside, old), there.as_ref());
            }
        }
        self.put_uncounted(self.in_trash(trash, found), old.as_ref());
        Ok(())
    }

    /// Like configuration it is kept, and never shown.
    fn in_trash(&self, path: VaultPath, found: &Found) -> New {
        New { kind: Kind::Config, modified_ms: self.now.as_millisecond(), ..New::moved(path, found) }
    }

    /// What a commit of it comes to.
    pub(crate) async fn derived(self) -> Result<Derived, Error> {
        let Self { head, mut derived, new, .. } = self;
        derived.segments = segments(new.values())?;
        merge::fold(head, merge::SMALL, &mut derived).await?;
        Ok(derived)
    }
}

/// The segments of documents, which come in path order.
fn segments<'a>(documents: impl Iterator<Item = &'a (New, u64)>) -> Result<Vec<NewSegment>, Error> {
    let mut built = Vec::new();
    let mut builder = Builder::new()?;
    for (new, replaces) in documents {
        if builder.is_full(new.text().len()) {
            built.extend(std::mem::replace(&mut builder, Builder::new()?).finish()?);
        }
        builder.push(&Document {
            path: &new.path,
            path_on_disk: new.path_on_disk.as_deref(),
            kind: new.kind,
            sha256: *new.sha256.as_bytes(),
            modified_ms: new.modified_ms,
            generation: 0,
            replaces: *replaces,
            body: match &new.content {
                Content::Text(text) => Body::Text(text),
                Content::Blob(name, bytes) => Body::Blob { name, bytes: *bytes },
            },
        })?;
    }
    built.extend(builder.finish()?);
    Ok(built.into_iter().map(NewSegment::from).collect())
}
