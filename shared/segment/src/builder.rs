//! Builds a segment from documents in path order. Equal documents give equal bytes.

use std::collections::{BTreeMap, HashSet};
use std::thread;

use atlas_vault::{Note, VaultPath, fold};

use crate::chunk::ChunkWriter;
use crate::code::CodeWriter;
use crate::directories::Directories;
use crate::directory::KeyDirectory;
use crate::error::FormatError;
use crate::facts::{AnchorWriter, FactWriter};
use crate::frame::{self, Packer};
use crate::gram_source::GramSource;
use crate::growing;
use crate::headings::HeadingWriter;
use crate::layout::{FORMAT_VERSION, Layout, Section, SectionName};
use crate::object;
use crate::parsed::{Content, Parsed};
use crate::record::{self, Kind, Link, LinkKind, Record};
use crate::term_writer::TermWriter;
use crate::text::{self, MAX_TEXT_BYTES, TextWriter};

/// A writer starts a new segment when one reaches about this many bytes.
pub const FULL_BYTES: usize = 64 << 20;

/// Segments with at least this many bytes of text are finished by two threads.
const LARGE_BYTES: u32 = 1 << 20;

/// A document to add.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// Vault path.
    pub path: &'a VaultPath,
    /// The path as spelled in the folder, if that differs.
    pub path_on_disk: Option<&'a str>,
    /// The kind of document.
    pub kind: Kind,
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// Modification time, milliseconds since 1970 UTC.
    pub modified_ms: i64,
    /// The generation that wrote this version; 0 for the generation that first lists this segment.
    pub generation: u64,
    /// The generation that wrote the version of this path that this one replaces; 0 if none.
    pub replaces: u64,
    /// The document's bytes, or the object that holds them.
    pub body: Body<'a>,
}

/// A document's bytes.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// Text that the segment stores and indexes. It need not be UTF-8.
    Text(&'a [u8]),
    /// Bytes that are kept in a separate object.
    Blob {
        /// The object's name.
        name: &'a str,
        /// Size in bytes.
        bytes: u64,
        /// Text extracted from the bytes, which is indexed; empty for none.
        text: &'a [u8],
    },
}

/// A finished segment.
#[derive(Clone, Debug)]
pub struct Built {
    /// The object.
    pub bytes: Vec<u8>,
    /// Its table of contents, for the manifest.
    pub layout: Layout,
}

/// Collects documents.
pub struct Builder {
    packer: Packer,
    text: TextWriter,
    chunks: ChunkWriter,
    terms: TermWriter,
    /// By document: whether its grams are indexed.
    indexed: Vec<bool>,
    /// The decoded text of documents in UTF-16, by document id.
    utf16: BTreeMap<u32, String>,
    records: Vec<u8>,
    record_page: record::PageWriter,
    record_pages: KeyDirectory,
    /// The first path of the open page of records, and the text block that was open before it.
    page_first: Option<(String, u32)>,
    page_before: Option<String>,
    paths: fst::MapBuilder<Vec<u8>>,
    names: Vec<u8>,
    headings: HeadingWriter,
    facts: FactWriter,
    anchors: AnchorWriter,
    code: CodeWriter,
    documents: u32,
    notes: u32,
    first: Option<String>,
    last: Option<String>,
}

impl Builder {
    /// An empty builder. Fails only if there is not enough memory for the compressor.
    pub fn new() -> Result<Self, FormatError> {
        Ok(Self {
            packer: Packer::new()?,
            text: TextWriter::new(),
            chunks: ChunkWriter::default(),
            terms: TermWriter::default(),
            indexed: Vec::new(),
            utf16: BTreeMap::new(),
            records: Vec::new(),
            record_page: record::PageWriter::new(),
            record_pages: KeyDirectory::default(),
            page_first: None,
            page_before: None,
            paths: fst::MapBuilder::memory(),
            names: Vec::new(),
            headings: HeadingWriter::new(),
            facts: FactWriter::default(),
            anchors: AnchorWriter::default(),
            code: CodeWriter::default(),
            documents: 0,
            notes: 0,
            first: None,
            last: None,
        })
    }

    /// Number of documents so far.
    pub const fn len(&self) -> u32 {
        self.documents
    }

    /// Whether no document has been added.
    pub const fn is_empty(&self) -> bool {
        self.documents == 0
    }

    /// Whether it has reached about `full_bytes` bytes, or has no room for a document with `next` bytes of text.
    pub fn is_full(&self, full_bytes: usize, next: usize) -> bool {
        // Postings take about a quarter of the text.
        let size = self.text.packed.len() + self.records.len() + self.text.length() as usize / 4;
        size >= full_bytes || self.text.length() as usize + next > MAX_TEXT_BYTES as usize
    }

    /// Adds the next document in path order.
    pub fn push(&mut self, document: &Document<'_>) -> Result<(), FormatError> {
        let (Body::Text(text) | Body::Blob { text, .. }) = document.body;
        self.push_parsed(document, Parsed::of(document.kind, document.path, text))
    }

    /// Adds the next document in path order, which was parsed before.
    pub fn push_parsed(&mut self, document: &Document<'_>, parsed: Parsed) -> Result<(), FormatError> {
        let path = document.path.as_str();
        if self.last.as_deref().is_some_and(|last| last >= path) {
            return Err(FormatError::OutOfOrder { path: path.to_owned() });
        }
        let id = self.documents;
        let (text, bytes, blob) = match document.body {
            Body::Text(text) => (text, text.len() as u64, None),
            Body::Blob { name, bytes, text } => (text, bytes, Some(name.to_owned())),
        };
        let block = self.text.closed() as u32;
        let span = self.text.push(text, &mut self.packer)?;
        self.paths.insert(path, u64::from(id)).map_err(|_| FormatError::OutOfOrder { path: path.to_owned() })?;
        self.names.extend_from_slice(fold::fold(document.path.file_name()).as_bytes());
        self.names.push(b'\n');
        let has_found_text = document.kind == Kind::Attachment && !text.is_empty();
        let is_indexed = has_found_text || matches!(document.kind, Kind::Note | Kind::Text);
        let decoded = text::decoded(text);
        self.chunks.push(text);
        self.indexed.push(is_indexed);
        let mut record = Record {
            path: path.to_owned(),
            path_on_disk: document.path_on_disk.map(str::to_owned),
            kind: document.kind,
            sha256: document.sha256,
            bytes,
            modified_ms: document.modified_ms,
            generation: document.generation,
            replaces: document.replaces,
            text: span,
            blob,
            aliases: Vec::new(),
            tags: Vec::new(),
            links: Vec::new(),
        };
        match parsed.content {
            Content::Note(note) => {
                self.notes += 1;
                self.add_note(id, document.path, &decoded, *note, &mut record);
            }
            Content::Links(links) => {
                self.terms.push(document.path, &decoded, [].into_iter(), [].into_iter(), [].into_iter());
                self.facts.text(id, &links, &decoded);
                self.anchors.push(id, &links);
                record.links = inner_links(links);
            }
            Content::Other if has_found_text => {
                self.terms.push(document.path, &decoded, [].into_iter(), [].into_iter(), [].into_iter());
            }
            Content::Other => self.terms.skip(),
        }
        if let Some(code) = parsed.code.filter(|_| document.kind == Kind::Text) {
            self.code.push(id, &code);
        }
        if text::is_utf16(text) {
            self.utf16.insert(id, decoded.into_owned());
        }
        self.add_record(&record, block)?;
        self.documents = id.checked_add(1).ok_or(FormatError::TooLarge { what: "the number of documents" })?;
        self.first.get_or_insert_with(|| path.to_owned());
        self.last = Some(record.path);
        Ok(())
    }

    fn add_note(&mut self, id: u32, path: &VaultPath, text: &str, note: Note, record: &mut Record) {
        for heading in &note.headings {
            self.headings.push(id, heading.level, heading.line, &heading.text);
        }
        let mut known = HashSet::new();
        let tags = note.tags.iter().map(|tag| tag.name.as_str()).filter(|name| known.insert(*name));
        record.tags = tags.map(str::to_owned).collect();
        let title = note.properties().and_then(|properties| properties.get("title")?.as_str());
        let aliases = note.aliases.iter().map(String::as_str);
        let headings = note.headings.iter().map(|heading| (heading.line, heading.text.as_str()));
        self.terms.push(path, text, title.into_iter().chain(aliases), headings, record.tags.iter().map(String::as_str));
        self.facts.note(id, &note, text);
        self.anchors.push(id, &note.links);
        record.aliases = note.aliases;
        record.links = inner_links(note.links);
    }

    fn add_record(&mut self, record: &Record, block: u32) -> Result<(), FormatError> {
        self.page_first.get_or_insert_with(|| (record.path.clone(), block));
        if let Some(page) = self.record_page.push(record, &mut self.packer)? {
            self.add_record_page(&page, &record.path);
        }
        Ok(())
    }

    fn add_record_page(&mut self, (count, bytes): &record::Page, last: &str) {
        if let Some((first, block)) = self.page_first.take() {
            self.record_pages.push(self.page_before.as_deref(), &first, bytes.len() as u32, *count, block);
            growing::append(&mut self.records, bytes);
            self.page_before = Some(last.to_owned());
        }
    }

    /// The finished segment; `None` if no document was added.
    pub fn finish(mut self) -> Result<Option<Built>, FormatError> {
        let (Some(first), Some(last)) = (self.first.take(), self.last.take()) else {
            return Ok(None);
        };
        self.text.close(&mut self.packer)?;
        if let Some(page) = self.record_page.take(&mut self.packer)? {
            self.add_record_page(&page, &last);
        }
        self.record_pages.place(self.text.packed_lengths());
        let source = GramSource { text: &self.text, chunks: &self.chunks, indexed: &self.indexed, utf16: &self.utf16 };
        let (terms, facts, anchors, packer) = (self.terms, self.facts, self.anchors, &mut self.packer);
        let others = || {
            let terms = terms.finish(packer)?;
            Ok::<_, FormatError>((terms, facts.finish(packer)?, anchors.finish(packer)?))
        };
        let (grams, others) = side_by_side(self.text.length() >= LARGE_BYTES, &|| source.grams(), others);
        let ((grams, gram_pages), (terms, facts, anchors)) = (grams?, others?);
        let blocks = self.text.blocks(&mut self.packer)?;
        let chunk_count = self.chunks.count();
        let chunks = self.chunks.finish(&mut self.packer)?;
        let paths = self.paths.into_inner().map_err(|_| FormatError::TooLarge { what: "the fst of paths" })?;
        let names = self.packer.pack(&self.names)?;
        let headings = self.headings.finish(&mut self.packer)?;
        let code = self.code.finish(&mut self.packer)?.map(|code| (SectionName::Code, code));
        let text_bytes = u64::from(self.text.length());
        let mut object = object::Writer::new();
        let sections =
            [(SectionName::Text, self.text.packed), (SectionName::Grams, grams), (SectionName::Records, self.records)]
                .into_iter()
                .chain(terms)
                .chain([
                    (SectionName::TextBlocks, blocks),
                    (SectionName::Chunks, chunks),
                    (SectionName::Paths, frame::seal(paths)),
                    (SectionName::Names, names),
                    (SectionName::Headings, headings),
                ])
                .chain(facts)
                .chain(code)
                .chain(anchors)
                .map(|(name, bytes)| {
                    let (offset, length) = object.append(&bytes);
                    (name.as_str().to_owned(), Section { offset, length })
                })
                .collect();
        let layout = Layout {
            version: FORMAT_VERSION,
            bytes: object.len(),
            documents: self.documents,
            notes: self.notes,
            chunks: chunk_count,
            text_bytes,
            first,
            last,
            sections,
            directories: Directories { records: self.record_pages, grams: gram_pages }.into(),
        };
        Ok(Some(Built { bytes: object.finish(&layout)?, layout }))
    }
}

/// The results of both; the first runs in a thread of its own, if that `is_worth_it` and there is one.
fn side_by_side<A: Send, B>(is_worth_it: bool, aside: &(impl Fn() -> A + Sync), here: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let started = is_worth_it.then(|| thread::Builder::new().spawn_scoped(scope, aside).ok()).flatten();
        let here = here();
        let aside = started.and_then(|thread| thread.join().ok()).unwrap_or_else(aside);
        (aside, here)
    })
}

/// Those links that lead into the vault.
fn inner_links(links: Vec<atlas_vault::Link>) -> Vec<Link> {
    let inner = links.into_iter().filter(|link| !link.is_external());
    inner.map(|link| Link { kind: link_kind(link.kind), target: link.target, subpath: link.subpath }).collect()
}

const fn link_kind(kind: atlas_vault::LinkKind) -> LinkKind {
    match kind {
        atlas_vault::LinkKind::Wikilink => LinkKind::Wikilink,
        atlas_vault::LinkKind::Markdown => LinkKind::Markdown,
        atlas_vault::LinkKind::Embed | atlas_vault::LinkKind::CanvasFile => LinkKind::Embed,
        atlas_vault::LinkKind::MarkdownEmbed => LinkKind::MarkdownEmbed,
    }
}
