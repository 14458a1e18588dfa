//! Facts of segments that were published without them: built from the texts once, and cached.

use std::sync::Arc;

use atlas_segment::Part;
use atlas_segment::facts::FactWriter;
use atlas_segment::text::decoded;
use atlas_vault::VaultPath;

use crate::error::{Code, Error, Reason};
use crate::read::by_segment::BySegment;
use crate::read::index::{DocumentRef, Index};

/// Most bytes of texts in memory while facts are built of them.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// The cached facts of segments without the sections: those of [`FACTS`], in order.
#[derive(Default)]
pub(crate) struct MadeFacts(BySegment<[Arc<Part>]>);

impl MadeFacts {
    /// Drops all of them.
    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    /// The facts of a segment, from its texts.
    pub(crate) async fn of(&self, index: &Index, segment: usize) -> Result<Arc<[Arc<Part>]>, Error> {
        let missing = || Error::new(Code::Internal, Reason::Internal, "a segment is missing");
        let entry = index.snapshot().segments().get(segment).ok_or_else(missing)?;
        if let Some(made) = self.0.get(entry) {
            return Ok(made);
        }
        let mut writer = FactWriter::default();
        let mut batch = Vec::new();
        let mut bytes = 0;
        let all = index.paths(segment)?.len();
        for document in 0..all {
            let document = DocumentRef { segment, document };
            let length = u64::from(index.span(document)?.length);
            // Files in the trash and configuration have no facts.
            if length > 0 && !index.paths(segment)?.dotted().contains(&document.document) {
                batch.push(document);
                bytes += length;
            }
            if bytes >= MAX_TEXT_BYTES || document.document + 1 == all {
                for (document, text) in batch.iter().zip(index.texts(&batch).await?) {
                    let text = decoded(&text);
                    match VaultPath::parse(&index.path(*document)?) {
                        Ok(path) if path.is_note() => writer.note(document.document, &atlas_vault::parse(&text), &text),
                        Ok(path) => writer.text(document.document, &atlas_vault::links(&path, &text), &text),
                        Err(_) => writer.text(document.document, &[], &text),
                    }
                }
                batch.clear();
                bytes = 0;
            }
        }
        let made = writer.into_parts()?.into_iter().map(Arc::new).collect();
        Ok(self.0.keep(index.snapshot(), entry, made))
    }
}
