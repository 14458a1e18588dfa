//! Builds the segments of the files that a sync writes.

use std::sync::Arc;

use atlas_mirror::NewSegment;
use atlas_segment::{Body, Builder, Document, Kind, Parsed, SegmentsBuilder};

use crate::code_reader::CodeReader;
use crate::error::SyncError;
use crate::folder::Folder;
use crate::progress::{Phase, Progress};
use crate::readahead;
use crate::report::Reason;
use crate::write::{Chosen, Fingerprint, SMALL, Write, WrittenDocument};

/// The segments, and the result of each write.
pub(crate) type Indexed = (Vec<NewSegment>, Vec<Result<WrittenDocument, Reason>>);

/// The files to index, and how.
pub(crate) struct Indexing<'a> {
    pub(crate) folder: &'a Folder,
    pub(crate) writes: &'a [Arc<Write>],
    pub(crate) chosen: &'a [Chosen],
    pub(crate) code: Option<&'a dyn CodeReader>,
    /// Segments are full when they reach about this many bytes.
    pub(crate) full_bytes: usize,
    pub(crate) progress: &'a dyn Progress,
}

/// Builds segments in path order. Files are read and parsed side by side. Full segments go to `full`; returned is the
/// last one, which is not.
pub(crate) fn build(
    indexing: &Indexing<'_>,
    mut full: impl FnMut(Builder) -> Result<(), SyncError>,
) -> Result<Indexed, SyncError> {
    let Indexing { folder, writes, chosen, code, full_bytes, progress } = *indexing;
    let write_of = |chosen: &Chosen| writes.get(chosen.write).map(|write| &**write);
    let size_of = |chosen: &Chosen| write_of(chosen).map_or(0, |write| write.file.stamp.size);
    progress.begin(Phase::Index, Some(chosen.iter().map(size_of).sum()));
    let mut segments = SegmentsBuilder::of(full_bytes);
    let mut results = Vec::with_capacity(chosen.len());
    readahead::in_order(
        chosen,
        |chosen| size_of(chosen) <= SMALL,
        |chosen| {
            let write = write_of(chosen).ok_or(Reason::Overtaken)?;
            let read = ReadWrite::of(folder, write)?;
            Ok(if chosen.head.as_deref() == Some(&read.known.sha256) { read } else { read.parsed(write, code) })
        },
        |chosen, source| {
            progress.advance(size_of(chosen));
            let (mut source, write) =
                match source.and_then(|source| Ok((source, write_of(chosen).ok_or(Reason::Overtaken)?))) {
                    Ok(read) => read,
                    Err(reason) => {
                        results.push(Err(reason));
                        return Ok(());
                    }
                };
            let known = source.known;
            let Some(parsed) = source.parsed.take() else {
                results.push(Ok(WrittenDocument { known, equal: true }));
                return Ok(());
            };
            let text = source.text(write);
            let body = match &write.blob {
                Some(blob) => Body::Blob { name: &blob.name, bytes: known.stamp.size, text: &[] },
                None => Body::Text(text),
            };
            let document = Document {
                path: &write.file.path,
                path_on_disk: write.file.on_disk.as_deref(),
                kind: known.kind,
                sha256: known.sha256,
                modified_ms: known.stamp.modified_ms(),
                generation: 0,
                replaces: chosen.replaces,
                body,
            };
            let (Body::Text(text) | Body::Blob { text, .. }) = body;
            if let Some(segment) = segments.take_full(text.len()) {
                full(segment)?;
            }
            segments.push_parsed(&document, parsed)?;
            results.push(Ok(WrittenDocument { known, equal: false }));
            Ok::<_, SyncError>(())
        },
    )?;
    Ok((segments.finish()?.into_iter().map(NewSegment::from).collect(), results))
}

/// The inputs of a document.
struct ReadWrite {
    known: Fingerprint,
    /// The bytes read just now.
    read: Option<Vec<u8>>,
    /// What is in its text; [`None`] if the mirror has it already.
    parsed: Option<Parsed>,
}

impl ReadWrite {
    fn of(folder: &Folder, write: &Write) -> Result<Self, Reason> {
        if let Some(known) = write.known().filter(|_| write.text().is_some() || write.blob.is_some()) {
            return Ok(Self { known, read: None, parsed: None });
        }
        let content = folder.read(write.file.disk_path(), write.file.class, write.file.is_link)?;
        let known = content.fingerprint();
        // It was a text before, or was to become one, so nothing was uploaded.
        let read = Some(content.text.ok_or(Reason::Unsteady)?);
        Ok(Self { known, read, parsed: None })
    }

    /// Reads its text, and what it says as source code, if it is some.
    fn parsed(mut self, write: &Write, reader: Option<&dyn CodeReader>) -> Self {
        let (path, kind) = (&write.file.path, self.known.kind);
        let text = if write.blob.is_some() { &[] } else { self.text(write) };
        let reader = reader.filter(|reader| kind == Kind::Text && reader.reads(path.as_str()));
        let code = reader.and_then(|reader| reader.read(path.as_str(), str::from_utf8(text).ok()?));
        self.parsed = Some(Parsed::of(kind, path, text).with_code(code));
        self
    }

    fn text<'a>(&'a self, write: &'a Write) -> &'a [u8] {
        self.read.as_deref().or_else(|| write.text().map(|text| &**text)).unwrap_or_default()
    }
}
