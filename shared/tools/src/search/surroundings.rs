//! Additions to found lines: neighbouring lines, and page numbers.

use std::borrow::Cow;
use std::collections::HashMap;

use atlas_ops::error::Error;
use atlas_ops::read::excerpt::{TextLines, cut_at};
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_segment::text::in_utf8;
use atlas_vault::pages;
use bytes::Bytes;

use crate::search::Line;

/// Most bytes of a line beside one that matched.
const BESIDE_BYTES: usize = 400;
/// Most bytes of text in which pages are counted. Later lines have no page.
const MAX_PAGED_BYTES: u64 = 32 << 20;

/// Adds to `lines`, whose documents are `documents`, this many lines before and after each.
pub(crate) async fn add_context(
    index: &Index,
    lines: &mut [Line],
    documents: &[DocumentRef],
    count: usize,
) -> Result<(), Error> {
    let mut several = documents.to_vec();
    several.dedup();
    let texts = index.texts(&several).await?;
    // Lines are those of the decoded text, in which they were found.
    let texts: Vec<Cow<'_, [u8]>> = texts.iter().map(|text| in_utf8(text)).collect();
    let mut texts = several.iter().zip(&texts).map(|(document, text)| (document, TextLines::new(text)));
    let mut current = texts.next();
    for (line, document) in lines.iter_mut().zip(documents) {
        while current.as_ref().is_some_and(|(of, _)| *of != document) {
            current = texts.next();
        }
        let range = |from: usize, to: usize| -> Vec<String> {
            let lines = current.iter().flat_map(|(_, lines)| (from..to).filter_map(|line| lines.get(line)));
            lines.map(|line| cut_at(line, 0, BESIDE_BYTES)).collect()
        };
        let number = line.line as usize;
        line.before = range((number - 1).saturating_sub(count), number - 1);
        line.after = range(number, number + count);
    }
    Ok(())
}

/// Adds the page number to those of `lines` that are in files with pages.
pub(crate) async fn add_pages(index: &Index, lines: &mut [Line], documents: &[DocumentRef]) -> Result<(), Error> {
    let mut paged: Vec<DocumentRef> = Vec::new();
    let mut bytes = 0;
    for (line, document) in lines.iter().zip(documents) {
        if paged.last() == Some(document) || !has_pages(&line.path) {
            continue;
        }
        bytes += u64::from(index.span(*document)?.length);
        if bytes > MAX_PAGED_BYTES {
            break;
        }
        paged.push(*document);
    }
    if paged.is_empty() {
        return Ok(());
    }
    let texts = index.texts(&paged).await?;
    let texts: HashMap<&DocumentRef, &Bytes> = paged.iter().zip(&texts).collect();
    for (line, document) in lines.iter_mut().zip(documents) {
        let number = line.line.saturating_sub(1) as usize;
        line.page = texts.get(document).map(|text| pages::page_of_line(text, number));
    }
    Ok(())
}

/// Whether the extracted text of the file at `path` has pages.
pub(crate) fn has_pages(path: &str) -> bool {
    pages::has_pages(path.rsplit('/').next().unwrap_or_default())
}
