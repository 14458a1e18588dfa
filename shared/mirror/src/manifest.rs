//! The manifest: the whole state of a vault at one generation.

use std::collections::BTreeMap;

use atlas_segment::{FORMAT_VERSION, Kind, Layout, Record};
use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::{Hash, Id, SegmentId};
use crate::keys::VaultId;
use crate::tombstones::Tombstones;
use crate::vectors::{ClusterEntry, Embeddings, VectorEntry};

/// The newest manifest format that this crate reads. It writes 1; or 2 where there are vectors: a program that would lose them must not
/// extend it; or 3 where layouts leave their directories in the segments: a program that needs them cannot read it.
pub const FORMAT: u32 = 3;
/// Most bytes of a manifest.
pub const MAX_BYTES: usize = 1 << 20;
/// Most segments of a vault.
const MAX_SEGMENTS: usize = 4096;
/// Most bytes of a segment object.
pub const MAX_SEGMENT_BYTES: u64 = 256 << 20;
/// Longest author, operation and session, in bytes.
const MAX_NAME: usize = 256;
/// Most origins of notes in a manifest.
pub const MAX_ORIGINS: usize = 256;
/// Longest message, in bytes.
const MAX_MESSAGE: usize = 4096;

/// The text before the checksum at a manifest's end.
const CHECKSUM_KEY: &[u8] = b",\"crc32\":\"";
/// Bytes of the checksum's digits, and of the quote and brace that close the manifest.
const CHECKSUM_TAIL: usize = 8 + 2;

/// The whole state of a vault at one generation.
///
/// In the store it is one JSON object that ends in its checksum, since JSON alone does not reveal an altered digit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format.
    pub format: u32,
    /// The vault.
    pub vault: VaultId,
    /// Drawn at random by generation 1 and never changed: two mirrors with one id but different lineages have nothing
    /// in common.
    pub lineage: Id,
    /// Counts from 1.
    pub generation: u64,
    /// SHA-256 of the parent manifest's bytes; null for generation 1.
    pub parent: Option<Hash>,
    /// Distinguishes this writer's manifest from any other's of the same generation.
    pub nonce: Id,
    /// When it was committed, by the writer's clock.
    pub time: Timestamp,
    /// Milliseconds from the beginning of the commit, if it lost a race before: how long others who want to commit will have to wait.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_ms: u64,
    /// The author.
    pub author: String,
    /// Distinguishes the author from others of the same name, if callers are distinguished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Whether a person has confirmed the commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
    /// By path: the origin of each note that callers changed before, or that `caller` moved.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub origins: BTreeMap<String, Origin>,
    /// The operation.
    pub operation: String,
    /// The reason, in the author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The author's name for the work that this commit belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The oldest generation that may be read: a purge ended history there. 0 if there was no purge.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub history_from: u64,
    /// The keyed request that this commit answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency: Option<KeyedResult>,
    /// How many documents the commit changed.
    pub changes: Changes,
    /// The totals of the vault.
    pub totals: Totals,
    /// The model of the vectors, if there are any. Only a manifest of format 2 has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embeddings: Option<Embeddings>,
    /// The clusters of the vectors, if there are many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<ClusterEntry>,
    /// The live segments, in order.
    pub segments: Vec<SegmentEntry>,
}

/// The version of a note before the changes of callers, or the last that a person confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Its path.
    pub path: String,
    /// The generation that wrote it; 0 if there was none, since the caller created the note.
    pub generation: u64,
}

/// The answer to a keyed request. A repeated request gets it again instead of running again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyedResult {
    /// Hash of the idempotency key (and of whatever else binds it: caller, operation, arguments).
    pub key_hash: Hash,
    /// The answer.
    pub result: serde_json::Value,
}

/// The operation of manifests that repairs write.
pub const REPAIR: &str = "repair";

/// Numbers of documents that a commit changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Documents that did not exist before.
    pub added: u64,
    /// Documents whose content differs from before.
    pub changed: u64,
    /// Documents that do not exist any more.
    pub removed: u64,
}

impl Changes {
    /// How many documents.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.added.saturating_add(self.changed).saturating_add(self.removed)
    }
}

/// Totals of a vault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Markdown notes.
    pub notes: u64,
    /// Other files.
    pub attachments: u64,
    /// Notes and attachments.
    pub documents: u64,
    /// Bytes of the notes' text.
    pub text_bytes: u64,
}

impl Totals {
    /// Counts a document that is added. Configuration is never shown, so it does not count.
    pub fn add(&mut self, kind: Kind, bytes: u64) {
        self.count(kind, bytes, u64::saturating_add);
    }

    /// Counts a document that is removed.
    pub fn remove(&mut self, kind: Kind, bytes: u64) {
        self.count(kind, bytes, u64::saturating_sub);
    }

    fn count(&mut self, kind: Kind, bytes: u64, change: fn(u64, u64) -> u64) {
        match kind {
            Kind::Note => {
                self.notes = change(self.notes, 1);
                self.text_bytes = change(self.text_bytes, bytes);
            }
            Kind::Text | Kind::Attachment => self.attachments = change(self.attachments, 1),
            Kind::Config => return,
        }
        self.documents = change(self.documents, 1);
    }
}

/// A live segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentEntry {
    /// The object's id, below `segments/`.
    pub id: SegmentId,
    /// The generation that listed it first.
    pub generation: u64,
    /// Bytes of the object: its sections, and the frame around them.
    pub bytes: u64,
    /// Its table of contents.
    pub layout: Layout,
    /// The generation of the version that its one document replaced, if its record does not state it; 0 for none. So a
    /// segment can be uploaded before it is known which version it replaces.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replaces: u64,
    /// The vectors of its notes, if they have some. All are of the manifest's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<VectorEntry>,
    /// Documents of it that are replaced or deleted.
    #[serde(default = "Tombstones::none", skip_serializing_if = "Tombstones::is_empty")]
    pub deleted: Tombstones,
}

/// Bytes that are not a manifest of a format that this version reads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// The bytes are damaged.
    #[error("{0}")]
    Damaged(String),
    /// A newer version of Atlas Mirror wrote it.
    #[error("format {0} is newer than {FORMAT}")]
    Newer(u32),
    /// A part of it, or the whole, exceeds its limit.
    #[error("{what} is over {limit}")]
    TooLarge {
        /// The thing that is too large.
        what: &'static str,
        /// The limit, with its unit.
        limit: String,
    },
}

impl Manifest {
    /// Whether a repair made it from the manifest before, since its own was damaged.
    #[must_use]
    pub fn is_rewound(&self) -> bool {
        self.operation == REPAIR && self.changes == Changes::default()
    }

    /// The bytes of the manifest's object.
    ///
    /// # Errors
    /// [`ManifestError`] when a reader would refuse them.
    pub fn encode(&self) -> Result<Bytes, ManifestError> {
        self.validate()?;
        let json = serde_json::to_vec(self).map_err(|error| ManifestError::Damaged(error.to_string()))?;
        let bytes = sealed(json);
        at_most("the manifest", bytes.len(), MAX_BYTES, "bytes")?;
        Ok(bytes.into())
    }

    /// Reads a manifest's object.
    ///
    /// # Errors
    /// [`ManifestError`] when the bytes are damaged, or are of a newer format.
    pub fn decode(bytes: &[u8]) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }

        at_most("the manifest", bytes.len(), MAX_BYTES, "bytes")?;
        let damaged = |error: serde_json::Error| ManifestError::Damaged(error.to_string());
        let mut json = checked(bytes)?.to_vec();
        json.push(b'}');
        // The format is read on its own only when the whole is invalid, as a newer one may be.
        let newer = |format: u32| if format > FORMAT { Err(ManifestError::Newer(format)) } else { Ok(()) };
        let manifest: Self = match serde_json::from_slice(&json) {
            Ok(manifest) => manifest,
            Err(error) => {
                let Format { format } = serde_json::from_slice(&json).map_err(damaged)?;
                newer(format)?;
                return Err(damaged(error));
            }
        };
        newer(manifest.format)?;
        manifest.validate()?;
        Ok(manifest)
    }

    /// The live segment `id`, and its index.
    pub fn segment(&self, id: SegmentId) -> Option<(usize, &SegmentEntry)> {
        self.segments.iter().enumerate().find(|(_, entry)| entry.id == id)
    }

    fn validate(&self) -> Result<(), ManifestError> {
        let damaged = |reason: &str| Err(ManifestError::Damaged(reason.to_owned()));
        at_most("the author's name", self.author.len(), MAX_NAME, "bytes")?;
        at_most("the caller's distinction", self.caller.as_ref().map_or(0, String::len), MAX_NAME, "bytes")?;
        at_most("the number of origins", self.origins.len(), MAX_ORIGINS, "origins")?;
        at_most("the operation's name", self.operation.len(), MAX_NAME, "bytes")?;
        at_most("the session's name", self.session.as_ref().map_or(0, String::len), MAX_NAME, "bytes")?;
        at_most("the message", self.message.as_ref().map_or(0, String::len), MAX_MESSAGE, "bytes")?;
        at_most("the number of segments", self.segments.len(), MAX_SEGMENTS, "segments")?;
        if self.format != format_of(self.embeddings.as_ref(), &self.segments) {
            return damaged("its format does not exist, or is not that of what it has");
        }
        match &self.embeddings {
            Some(embeddings) => embeddings.check().or_else(damaged)?,
            None if self.segments.iter().any(|entry| entry.vectors.is_some()) => {
                return damaged("it has vectors of no model");
            }
            None => {}
        }
        let dimensions = self.embeddings.as_ref().map(|embeddings| embeddings.dimensions);
        if self.segments.iter().any(|entry| entry.vectors.is_some_and(|vectors| !vectors.is_sound(dimensions))) {
            return damaged("it has vectors that are not of its model");
        }
        if self.clusters.is_some_and(|clusters| !clusters.is_sound(dimensions)) {
            return damaged("it has clusters that are not of its vectors");
        }
        if self.generation == 0 || (self.generation == 1) != self.parent.is_none() {
            return damaged("its generation and its parent do not agree");
        }
        let mut ids: Vec<SegmentId> = self.segments.iter().map(|entry| entry.id).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair.first() == pair.last()) {
            return damaged("it lists a segment twice");
        }
        self.segments.iter().try_for_each(|entry| entry.validate(self.generation))
    }
}

impl SegmentEntry {
    /// The generation that wrote the document version of `record`, which is in this segment.
    pub fn written_at(&self, record: &Record) -> u64 {
        if record.generation == 0 { self.generation } else { record.generation }
    }

    /// The generation of the version that this one replaced; 0 if there was none.
    pub fn replaced_by(&self, record: &Record) -> u64 {
        if record.replaces == 0 { self.replaces } else { record.replaces }
    }

    fn validate(&self, generation: u64) -> Result<(), ManifestError> {
        if self.layout.version > FORMAT_VERSION {
            return Err(ManifestError::Newer(self.layout.version));
        }
        let damaged = |reason: &str| Err(ManifestError::Damaged(format!("segment {}: {reason}", self.id)));
        if self.generation == 0 || self.generation > generation {
            return damaged("it is listed since a generation that is not before this one");
        }
        if self.replaces >= self.generation || (self.replaces != 0 && self.layout.documents != 1) {
            return damaged("the generation that it replaces is impossible");
        }
        if self.bytes > MAX_SEGMENT_BYTES {
            return Err(ManifestError::TooLarge { what: "a segment", limit: format!("{MAX_SEGMENT_BYTES} bytes") });
        }
        if self.layout.sections.values().any(|section| section.range(self.bytes).is_none()) {
            return damaged("a section lies outside the object");
        }
        let fits = match &self.deleted {
            Tombstones::Inline(set) => set.last().is_none_or(|last| last < self.layout.documents),
            Tombstones::Stored(stored) => {
                (1..=self.layout.documents).contains(&stored.count) && u64::from(stored.bytes) <= MAX_SEGMENT_BYTES
            }
        };
        if fits { Ok(()) } else { damaged("its tombstones are of documents that it does not have") }
    }
}

/// The format of a manifest with this model and these segments.
pub(crate) fn format_of(embeddings: Option<&Embeddings>, segments: &[SegmentEntry]) -> u32 {
    match embeddings {
        _ if segments.iter().any(|entry| entry.layout.leaves_directories()) => 3,
        Some(_) => 2,
        None => 1,
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The JSON object `json` with its checksum in place of the closing brace.
pub(crate) fn sealed(mut json: Vec<u8>) -> Vec<u8> {
    json.pop();
    let crc32 = crc32fast::hash(&json);
    json.extend_from_slice(CHECKSUM_KEY);
    json.extend_from_slice(format!("{crc32:08x}\"}}").as_bytes());
    json
}

/// The bytes before the checksum, if the checksum matches.
pub(crate) fn checked(bytes: &[u8]) -> Result<&[u8], ManifestError> {
    let damaged = |reason: &str| ManifestError::Damaged(reason.to_owned());
    let cut = || damaged("it is cut short, or not a manifest: it does not end in its checksum");
    let (json, end) = bytes
        .len()
        .checked_sub(CHECKSUM_KEY.len() + CHECKSUM_TAIL)
        .and_then(|at| bytes.split_at_checked(at))
        .ok_or_else(cut)?;
    let digits = end
        .strip_prefix(CHECKSUM_KEY)
        .and_then(|end| end.strip_suffix(b"\"}"))
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .ok_or_else(cut)?;
    if format!("{:08x}", crc32fast::hash(json)) == digits {
        Ok(json)
    } else {
        Err(damaged("its checksum does not match"))
    }
}

fn at_most(what: &'static str, size: usize, limit: usize, unit: &str) -> Result<(), ManifestError> {
    if size <= limit { Ok(()) } else { Err(ManifestError::TooLarge { what, limit: format!("{limit} {unit}") }) }
}

#[cfg(test)]
mod tests;
