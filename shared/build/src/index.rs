//! Indexes files into segments, on a thread of its own.

use atlas_segment::{Body, Built, Document, SegmentsBuilder};

use crate::error::BuildError;
use crate::read::{Content, New};
use crate::records::Push;

/// The segments of a shard.
pub(crate) struct Index {
    segments: SegmentsBuilder,
    /// The place of the next document.
    segment: u32,
    document: u32,
    pushes: Vec<Push>,
}

impl Index {
    /// No documents. A segment is full at about `full_bytes` bytes.
    pub(crate) const fn new(full_bytes: usize) -> Self {
        Self { segments: SegmentsBuilder::of(full_bytes), segment: 0, document: 0, pushes: Vec::new() }
    }

    /// Adds documents, which are in path order and after all before. Returns the segments that are full.
    pub(crate) async fn add(mut self, documents: Vec<New>) -> Result<(Self, Vec<Built>), BuildError> {
        blocking(move || {
            let mut full = Vec::new();
            for document in &documents {
                full.extend(self.push(document)?);
            }
            Ok((self, full))
        })
        .await
    }

    /// The documents, and the last segments.
    pub(crate) async fn finish(self) -> Result<(Vec<Push>, Vec<Built>), BuildError> {
        blocking(move || Ok((self.pushes, self.segments.finish()?))).await
    }

    fn push(&mut self, new: &New) -> Result<Option<Built>, BuildError> {
        let body = match &new.content {
            Content::Text(text) => Body::Text(text),
            Content::Blob(name) => Body::Blob { name, bytes: new.entry.bytes, text: &[] },
        };
        let (Body::Text(text) | Body::Blob { text, .. }) = body;
        let mut full = None;
        if let Some(segment) = self.segments.take_full(text.len()) {
            full = segment.finish()?;
            (self.segment, self.document) = (self.segment + 1, 0);
        }
        let path = new.path.as_str();
        self.segments.push(&Document {
            path: &new.path,
            path_on_disk: Some(new.entry.key.as_str()).filter(|key| *key != path),
            kind: new.kind,
            sha256: *new.entry.sha256.as_bytes(),
            modified_ms: new.modified_ms,
            generation: 0,
            replaces: new.replaces.map_or(0, |seen| seen.generation),
            body,
        })?;
        self.pushes.push(Push {
            path: path.to_owned(),
            segment: self.segment,
            document: self.document,
            kind: new.kind,
            bytes: new.entry.bytes,
            sha256: new.entry.sha256,
            replaces: new.replaces,
        });
        self.document += 1;
        Ok(full)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BuildError> + Send + 'static,
) -> Result<T, BuildError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| BuildError::Broken(error.to_string()))?
}
