//! Facts of segments that were published without them: made of the texts once, and kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atlas_mirror::SegmentId;
use atlas_segment::Part;
use atlas_segment::facts::FactWriter;
use atlas_segment::text::decoded;
use atlas_vault::VaultPath;

use crate::error::{Code, Error, Reason};
use crate::read::index::{DocumentRef, Index};

/// Segments of which made facts are kept besides those of the newest snapshot.
const MAX_OLD_SEGMENTS: usize = 16;
/// Most bytes of texts that are held at once while facts are made of them.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// The facts of segments without the sections, as far as they were asked for: those of [`FACTS`], in order.
#[derive(Default)]
pub(crate) struct MadeFacts(Mutex<HashMap<SegmentId, Arc<[Arc<Part>]>>>);

impl MadeFacts {
    /// The facts of a segment, from its texts.
    pub(crate) async fn of(&self, index: &Index, segment: usize) -> Result<Arc<[Arc<Part>]>, Error> {
        let segments = index.snapshot().segments();
        let id = segments.get(segment).map(|entry| entry.id);
        let id = id.ok_or_else(|| Error::new(Code::Internal, Reason::Internal, "a segment is missing"))?;
        if let Some(made) = self.kept().get(&id) {
            return Ok(made.clone());
        }
        let mut writer = FactWriter::default();
        let mut batch = Vec::new();
        let mut bytes = 0;
        let all = index.paths(segment)?.len();
        for document in 0..all {
            let document = DocumentRef { segment, document };
            let length = u64::from(index.span(document)?.length);
            // What is in the trash, and configuration, says nothing.
            if length > 0 && !index.paths(segment)?.dotted().contains(&document.document) {
                batch.push(document);
                bytes += length;
            }
            if bytes >= MAX_TEXT_BYTES || document.document + 1 == all {
                for (document, text) in batch.iter().zip(index.texts(&batch).await?) {
                    let text = decoded(&text);
                    match VaultPath::parse(&index.path(*document)?) {
                        Ok(path) if path.is_note() => writer.note(document.document, &atlas_vault::parse(&text), &text),
                        _ => writer.text(document.document, &text),
                    }
                }
                batch.clear();
                bytes = 0;
            }
        }
        let made: Arc<[Arc<Part>]> = writer.into_parts()?.into_iter().map(Arc::new).collect();
        let mut kept = self.kept();
        if kept.len() > segments.len() + MAX_OLD_SEGMENTS {
            kept.retain(|id, _| segments.iter().any(|entry| entry.id == *id));
        }
        kept.insert(id, made.clone());
        Ok(made)
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<SegmentId, Arc<[Arc<Part>]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
