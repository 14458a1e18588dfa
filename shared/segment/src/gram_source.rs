//! The grams of a segment's documents, from its packed text.

use std::collections::BTreeMap;

use atlas_vault::fold;

use crate::chunk::ChunkWriter;
use crate::directory::GramDirectory;
use crate::error::FormatError;
use crate::gram::MAX_BYTES;
use crate::gram_builder::GramBuilder;
use crate::text::TextWriter;

/// A sample of about this many chunks shows which grams are common.
const SAMPLE: usize = 64;
/// Bytes read of each sampled chunk.
const SAMPLE_BYTES: usize = 64 << 10;

/// Lists of grams are packed when they take about this many bytes.
const LISTS_BYTES: usize = 16 << 20;

/// The text of all documents.
#[derive(Clone, Copy)]
pub(crate) struct GramSource<'a> {
    pub(crate) text: &'a TextWriter,
    pub(crate) chunks: &'a ChunkWriter,
    /// By document: whether its grams are indexed.
    pub(crate) indexed: &'a [bool],
    /// The decoded text of documents in UTF-16, by document id.
    pub(crate) utf16: &'a BTreeMap<u32, String>,
}

impl GramSource<'_> {
    /// The encoded section and the directory of its pages. Reads the text twice: first a sample, which shows the common
    /// grams, then all of it.
    pub(crate) fn grams(self) -> Result<(Vec<u8>, GramDirectory), FormatError> {
        let mut grams = GramBuilder::new();
        let chunks = self.chunks.count();
        let step = (chunks as usize / SAMPLE).max(1);
        let mut sample = Vec::new();
        self.each_piece(step, |chunk, folded| {
            sample.push((chunk, folded.get(..SAMPLE_BYTES).unwrap_or(folded).to_vec()));
        })?;
        // Trigrams first; each round makes the common grams one byte longer.
        for _ in 3..MAX_BYTES {
            for (chunk, folded) in &sample {
                grams.add(*chunk, folded);
            }
            if !grams.split(step, chunks) {
                break;
            }
        }
        grams.clear();
        self.each_piece(1, |chunk, folded| {
            grams.pack_over(LISTS_BYTES);
            grams.add(chunk, folded);
        })?;
        let mut pages = GramDirectory::default();
        let section = grams.finish(chunks, &mut pages);
        Ok((section, pages))
    }

    /// Takes one of every `step` chunks, and calls `each` with the chunk and the folded text of each indexed document in it.
    fn each_piece(self, step: usize, mut each: impl FnMut(u32, &[u8])) -> Result<(), FormatError> {
        let mut text = self.text.read();
        let mut folded = Vec::new();
        let mut before = None;
        for piece in self.chunks.pieces() {
            let is_first = before.replace(piece.document) != Some(piece.document);
            let text = text.take(piece.bytes)?;
            if !(piece.chunk as usize).is_multiple_of(step)
                || !self.indexed.get(piece.document as usize).is_some_and(|is_indexed| *is_indexed)
            {
                continue;
            }
            folded.clear();
            fold::fold_bytes_into(text, &mut folded);
            // The first piece stands for the whole document, since a UTF-16 document is always read whole.
            if let Some(text) = self.utf16.get(&piece.document).filter(|_| is_first) {
                folded.push(b'\n');
                fold::fold_bytes_into(text.as_bytes(), &mut folded);
            }
            each(piece.chunk, &folded);
        }
        Ok(())
    }
}
