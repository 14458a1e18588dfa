//! Segments of arbitrary parts, with every checksum right.
//!
//! The input is the number of documents, then for each part its section, its framing, its key (the separator before a
//! page of records, the first gram of a page of postings), and its content.
//!
//! The content of an fst is its keys, one a line: the fst crate panics on bytes that it did not build, so only a
//! checksum protects it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use atlas_segment::{FORMAT_VERSION, FormatError, Layout, Part, PartKind, PartRef, SectionName};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use bytes::Bytes;
use serde_json::json;

use crate::input::Input;

/// The sections in the order of the object, and the kind of their parts.
pub(crate) const SECTIONS: [(&str, PartKind); 22] = [
    ("text", PartKind::TextBlock),
    ("grams", PartKind::GramPage),
    ("records", PartKind::RecordPage),
    ("term_postings", PartKind::TermPage),
    ("terms", PartKind::Terms),
    ("text_blocks", PartKind::TextBlocks),
    ("chunks", PartKind::Chunks),
    ("paths", PartKind::Paths),
    ("names", PartKind::Names),
    ("headings", PartKind::Headings),
    ("properties", PartKind::Facts(SectionName::Properties)),
    ("tags", PartKind::Facts(SectionName::Tags)),
    ("tasks", PartKind::Facts(SectionName::Tasks)),
    ("link_lines", PartKind::Facts(SectionName::LinkLines)),
    ("symbols", PartKind::Facts(SectionName::Symbols)),
    ("fields", PartKind::Facts(SectionName::Fields)),
    ("lists", PartKind::Facts(SectionName::Lists)),
    ("code", PartKind::Facts(SectionName::Code)),
    ("passages", PartKind::Passages),
    ("passage_postings", PartKind::PassagePage),
    ("linked", PartKind::Facts(SectionName::Linked)),
    ("anchors", PartKind::Facts(SectionName::Anchors)),
];

thread_local! {
    static COMPRESSOR: RefCell<zstd::bulk::Compressor<'static>> = RefCell::new(zstd::bulk::Compressor::new(1).unwrap());
}

/// The framing of a part's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// As the kind of part requires.
    Right,
    /// With a checksum, but not compressed.
    Sealed,
    /// Without any.
    Raw,
}

impl Framing {
    pub(crate) fn of(byte: u8) -> Self {
        match byte % 8 {
            6 => Self::Sealed,
            7 => Self::Raw,
            _ => Self::Right,
        }
    }
}

/// Whether parts of this kind have a checksum, but are not compressed.
const fn is_sealed(kind: PartKind) -> bool {
    matches!(
        kind,
        PartKind::GramPage
            | PartKind::TermPage
            | PartKind::PassagePage
            | PartKind::Vectors
            | PartKind::ClusterPage
            | PartKind::ClusterList
    )
}

/// The bytes of a part with `content`.
pub(crate) fn frame(kind: PartKind, framing: Framing, content: &[u8]) -> Vec<u8> {
    let mut bytes = match framing {
        Framing::Raw => return content.to_vec(),
        _ if kind == PartKind::Paths => paths(content),
        Framing::Right if !is_sealed(kind) => {
            let mut packed = (content.len() as u32).to_le_bytes().to_vec();
            packed.extend(COMPRESSOR.with_borrow_mut(|compressor| compressor.compress(content)).unwrap());
            packed
        }
        Framing::Right | Framing::Sealed => content.to_vec(),
    };
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// The fst that maps each line of `content` to its rank.
fn paths(content: &[u8]) -> Vec<u8> {
    let keys: BTreeSet<&[u8]> = content.split(|byte| *byte == b'\n').filter(|key| !key.is_empty()).collect();
    let map = fst::Map::from_iter(keys.into_iter().zip(0..)).unwrap();
    map.into_fst().into_inner()
}

/// The content of a valid part.
fn unframe(kind: PartKind, part: &Bytes) -> Vec<u8> {
    let payload = &part[..part.len() - 4];
    if is_sealed(kind) {
        return payload.to_vec();
    }
    if kind == PartKind::Paths {
        let paths = Part::decode(kind, part).unwrap();
        let paths = paths.paths().unwrap();
        let keys: Vec<String> = (0..paths.len()).map(|document| paths.path(document).unwrap()).collect();
        return keys.join("\n").into_bytes();
    }
    let size = u32::from_le_bytes(payload[..4].try_into().unwrap());
    zstd::bulk::decompress(&payload[4..], size as usize).unwrap()
}

/// The segment object that `input` describes.
pub fn forge(input: &[u8]) -> Vec<u8> {
    let mut input = Input(input);
    let documents = input.number();
    let mut sections: [Vec<u8>; SECTIONS.len()] = Default::default();
    // No block is long; for each page, its separator shares nothing with the one before.
    let mut record_pages = vec![0];
    let mut gram_pages = Vec::new();
    while !input.is_empty() {
        let section = usize::from(input.byte()) % SECTIONS.len();
        let framing = Framing::of(input.byte());
        let key_length = input.byte();
        let key = input.take(key_length.into());
        let content = input.bytes();
        let kind = SECTIONS[section].1;
        let part = frame(kind, framing, content);
        match kind {
            PartKind::RecordPage => {
                let separator = if record_pages.len() == 1 { "".into() } else { String::from_utf8_lossy(key) };
                let count = content.first_chunk::<4>().map_or(0, |count| u32::from_le_bytes(*count));
                record_pages.extend([vec![0], varint(separator.len() as u32), separator.as_bytes().to_vec()].concat());
                record_pages.extend([varint(part.len() as u32), varint(count), vec![0]].concat());
            }
            PartKind::GramPage => {
                let gram = &key[..key.len().min(6)];
                gram_pages.push((gram.len() as u8) << 3);
                gram_pages.extend(gram);
                gram_pages.extend(varint(part.len() as u32));
            }
            _ => {}
        }
        sections[section].extend(part);
    }
    let mut object = b"ATLASSEG".to_vec();
    object.extend(FORMAT_VERSION.to_le_bytes());
    let mut table = json!({});
    for ((name, _), bytes) in SECTIONS.iter().zip(sections) {
        table[name] = json!([object.len(), bytes.len()]);
        object.extend(bytes);
    }
    let layout = json!({
        "version": FORMAT_VERSION,
        "bytes": object.len(),
        "documents": documents,
        "notes": documents,
        "chunks": documents,
        "text_bytes": 0,
        "first": "",
        "last": "\u{10FFFF}",
        "sections": table,
        "record_pages": BASE64.encode(record_pages),
        "gram_pages": BASE64.encode(gram_pages),
    });
    let layout = layout.to_string();
    object.extend(layout.as_bytes());
    object.extend(crc32fast::hash(&object).to_le_bytes());
    object.extend((layout.len() as u32).to_le_bytes());
    object.extend(b"ATLASEND");
    object
}

/// An input from which [`forge`] makes a valid segment again.
pub fn unforge(object: &Bytes, layout: &Layout) -> Vec<u8> {
    let mut input = (layout.documents as u16).to_le_bytes().to_vec();
    for (kind, key, content) in contents(object, layout) {
        let section = SECTIONS.iter().position(|(_, other)| *other == kind).unwrap();
        input.extend([section as u8, 0, key.len() as u8]);
        input.extend(key);
        input.extend((content.len() as u16).to_le_bytes());
        input.extend(content);
    }
    input
}

/// Kind, key and content of every part of a valid segment.
pub(crate) fn contents(object: &Bytes, layout: &Layout) -> Vec<(PartKind, Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    for part in parts(object, layout).unwrap() {
        let bytes = object.slice(part.range.start as usize..part.range.end as usize);
        let content = unframe(part.kind, &bytes);
        let key = match part.kind {
            PartKind::GramPage => first_gram(&content),
            // Any text between the last path of the page before and this page's first will do.
            PartKind::RecordPage => {
                let page = Part::decode(part.kind, &bytes).unwrap();
                page.record_page().unwrap().get(0).unwrap().path.into_bytes()
            }
            _ => Vec::new(),
        };
        found.push((part.kind, key, content));
    }
    found
}

/// Every part that `layout` and the segment's own tables refer to.
pub(crate) fn parts(object: &Bytes, layout: &Layout) -> Result<Vec<PartRef>, FormatError> {
    let mut parts = crate::segment::text_parts(object, layout)?;
    parts.extend(layout.parts()?);
    let table = |kind| parts.iter().find(|part| part.kind == kind).map(|part| crate::segment::fetch(object, part));
    let terms = table(PartKind::Terms).transpose()?.map(|part| part.terms()?.pages(layout)).transpose()?;
    let passages = table(PartKind::Passages).transpose()?.map(|part| part.passages()?.pages(layout)).transpose()?;
    parts.extend(terms.into_iter().chain(passages).flatten());
    Ok(parts)
}

/// The first gram of a page, before which are the number of lists and the length of a list with one chunk.
fn first_gram(page: &[u8]) -> Vec<u8> {
    let head = page.iter().position(|byte| byte & 0x80 == 0).unwrap() + 2;
    page[head + 1..][..usize::from(page[head] >> 3 & 7)].to_vec()
}

fn varint(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
