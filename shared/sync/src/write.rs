//! A file that a sync writes to the mirror.

use atlas_segment::Kind;
use bytes::Bytes;

use crate::decide::Version;
use crate::folder::{Content, Stamp};
use crate::rules::Class;
use crate::scan::File;

/// Files up to this many bytes are read ahead.
pub(crate) const SMALL: u64 = 1 << 20;

/// A file to write to the mirror.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) file: File,
    /// The last version that was equal on both sides. Boxed, since a new file has none.
    ancestor: Option<Box<[u8; 32]>>,
    /// What was read of it, once it was read. Boxed, since most of a large folder's new files are not read before they
    /// are indexed.
    read: Option<Box<ReadFile>>,
    /// The object of an attachment's bytes.
    pub(crate) blob: Option<Box<Blob>>,
    /// Whether it is done if the mirror has its content already.
    pub(crate) may_be_there: bool,
}

/// What was read of a file.
#[derive(Clone, Debug)]
struct ReadFile {
    known: Fingerprint,
    /// Its text, if it was kept in memory.
    text: Option<Bytes>,
}

/// A file's metadata and hash when it was read: enough to see whether it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) stamp: Stamp,
    pub(crate) sha256: [u8; 32],
    pub(crate) kind: Kind,
}

/// The object of an attachment.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    /// Its name.
    pub(crate) name: String,
    /// The path of the mirror's document that has the object, if this sync did not upload it.
    pub(crate) of: Option<String>,
}

impl Content {
    /// Its fingerprint.
    pub(crate) const fn fingerprint(&self) -> Fingerprint {
        Fingerprint { stamp: self.stamp, sha256: self.sha256, kind: self.kind }
    }
}

impl Write {
    pub(crate) fn new(file: File, ancestor: Version) -> Self {
        Self { file, ancestor: ancestor.map(Box::new), read: None, blob: None, may_be_there: false }
    }

    /// The last version that was equal on both sides.
    pub(crate) fn ancestor(&self) -> Version {
        self.ancestor.as_deref().copied()
    }

    /// The same write, of a file whose content is known, and the text if it is in memory.
    pub(crate) fn with(self, known: Fingerprint, text: Option<Bytes>) -> Self {
        Self { read: Some(Box::new(ReadFile { known, text })), ..self }
    }

    /// Its fingerprint, once it was read.
    pub(crate) fn known(&self) -> Option<Fingerprint> {
        self.read.as_ref().map(|read| read.known)
    }

    /// Its text, if it was kept in memory.
    pub(crate) fn text(&self) -> Option<&Bytes> {
        self.read.as_ref()?.text.as_ref()
    }

    /// A write of a file that was read.
    pub(crate) fn read(file: File, ancestor: Version, content: Content) -> Self {
        let mut write = Self::new(file, ancestor);
        write.learn(content);
        write
    }

    /// The hash of an attachment.
    pub(crate) fn attachment(&self) -> Option<[u8; 32]> {
        self.known().filter(|known| known.kind == Kind::Attachment).map(|known| known.sha256)
    }

    /// Whether it is a note by its name, but an attachment because of its size.
    pub(crate) fn is_large_note(&self) -> bool {
        self.file.class == Class::Note && self.attachment().is_some()
    }

    /// Adds what was read.
    pub(crate) fn learn(&mut self, content: Content) {
        let known = content.fingerprint();
        self.read = Some(Box::new(ReadFile { known, text: content.text.map(Bytes::from) }));
    }
}

/// A write that fits the mirror's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// Its index.
    pub(crate) write: usize,
    /// The mirror's version. Boxed, since a new file has none.
    pub(crate) head: Option<Box<[u8; 32]>>,
    /// The generation of that version; 0 if none.
    pub(crate) replaces: u64,
}

/// A write whose content is in the mirror, or will be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenDocument {
    pub(crate) known: Fingerprint,
    /// Whether the mirror already had it.
    pub(crate) equal: bool,
}
