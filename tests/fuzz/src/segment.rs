//! A whole segment, as a reader uses it: the layout, its parts, and the texts and candidates in these. The input is a
//! text to search for and a place to damage, then the input of [`forge`](crate::forge).

use atlas_segment::candidates;
use atlas_segment::{FormatError, Layout, Part, PartRef, Probe, object};
use bytes::Bytes;

use crate::forge::{self, forge};
use crate::input::Input;
use crate::part;

/// Bytes of a seed before the input of [`forge`].
pub const HEAD: usize = 8;
/// Documents whose texts are read.
const MAX_DOCUMENTS: u32 = 64;

/// Reads a forged segment, and a damaged copy of it.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let length = input.byte() % 16;
    let text = input.take(length.into());
    let (place, bit) = (input.number() as i16, input.byte());
    let object = Bytes::from(forge(input.0));
    let Ok(layout) = object::verify(&object) else { return };
    let _ = read(&object, &layout, text);

    // As often near the beginning or the end, where the frame is, as anywhere else.
    let place = isize::from(place).rem_euclid(object.len() as isize) as usize;
    let mut damaged = object.to_vec();
    damaged[place] ^= 1 << (bit % 8);
    assert!(
        object::verify(&damaged.into()).is_err(),
        "bit {} of byte {place} of {} is altered, and nobody notices",
        bit % 8,
        object.len()
    );
    assert!(object::verify(&object.slice(..place)).is_err(), "a segment that is cut short is verified");
}

/// Reads everything of a segment that was verified.
pub(crate) fn read(object: &Bytes, layout: &Layout, text: &[u8]) -> Result<(), FormatError> {
    for part in forge::parts(object, layout)? {
        if let Ok(part) = fetch(object, &part) {
            part::ask(&part, text, layout.documents);
        }
    }
    let path = String::from_utf8_lossy(text);
    if let Some((page, _)) = layout.record_page(&path)? {
        fetch(object, &page)?.record_page()?.find(&path)?;
    }
    let probe = Probe::new(text, 8);
    let pages: Vec<Part> =
        layout.gram_pages(&probe)?.iter().map(|page| fetch(object, page)).collect::<Result<_, _>>()?;
    let found = candidates(&probe, layout, pages.iter().filter_map(|page| page.gram_page().ok()))?;
    assert!(found.is_sorted_by(|a, b| a < b) && found.last().is_none_or(|last| *last < layout.chunks));

    let blocks = fetch(object, &layout.text_blocks()?)?;
    let chunks = fetch(object, &layout.chunks()?)?;
    let mut wholes = Vec::new();
    for document in 0..layout.documents.min(MAX_DOCUMENTS) {
        let Some(span) = chunks.chunks()?.text(document) else { continue };
        let parts = blocks.text_blocks()?.parts(layout, span)?;
        let parts: Vec<Part> = parts.iter().map(|part| fetch(object, part)).collect::<Result<_, _>>()?;
        let text = blocks.text_blocks()?.cut(span, &parts)?;
        assert_eq!(text.len(), span.length as usize);
        wholes.push(text);
    }
    Ok(())
}

/// The text blocks of the first documents, by the segment's tables.
pub(crate) fn text_parts(object: &Bytes, layout: &Layout) -> Result<Vec<PartRef>, FormatError> {
    let blocks = fetch(object, &layout.text_blocks()?)?;
    let chunks = fetch(object, &layout.chunks()?)?;
    let mut parts = Vec::new();
    for document in 0..layout.documents.min(MAX_DOCUMENTS) {
        if let Some(span) = chunks.chunks()?.text(document) {
            for part in blocks.text_blocks()?.parts(layout, span)? {
                if parts.last() != Some(&part) {
                    parts.push(part);
                }
            }
        }
    }
    Ok(parts)
}

pub(crate) fn fetch(object: &Bytes, part: &PartRef) -> Result<Part, FormatError> {
    Part::decode(part.kind, &object.slice(part.range.start as usize..part.range.end as usize))
}
