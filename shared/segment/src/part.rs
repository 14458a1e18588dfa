//! Parts: the unit of fetching. A part is a byte range of a segment that is decoded, checked by its own checksum and cached separately.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::candidates::lookups;
use crate::chunk::Chunks;
use crate::clusters::{self, ClusterHead, ClusterList};
use crate::code::CodeTable;
use crate::directories::Directories;
use crate::error::FormatError;
use crate::facts::{
    self, Anchors, Columns, FACTS, FactWriter, Fields, LinkLines, Linked, Lists, Properties, Rows, Symbols, Tags, Tasks,
};
use crate::frame::{self, Packer};
use crate::gram::{GramPage, Probe};
use crate::headings::Headings;
use crate::layout::Layout;
use crate::object;
pub use crate::part_ref::{PartKind, PartRef};
use crate::passage_page::PassagePage;
use crate::passages::Passages;
use crate::paths::{Names, Paths};
use crate::record::{RecordPage, TextSpan};
use crate::section::SectionName;
use crate::terms::{TermPage, Terms};
use crate::text::{self, TextBlocks};
use crate::vectors::VectorTable;

/// A decoded part.
#[derive(Debug)]
pub enum Part {
    /// See [`PartKind::TextBlock`].
    TextBlock(Bytes),
    /// See [`PartKind::GramPage`].
    GramPage(GramPage),
    /// See [`PartKind::RecordPage`].
    RecordPage(RecordPage),
    /// See [`PartKind::TermPage`].
    TermPage(TermPage),
    /// See [`PartKind::Terms`].
    Terms(Terms),
    /// See [`PartKind::TextBlocks`].
    TextBlocks(TextBlocks),
    /// See [`PartKind::Chunks`].
    Chunks(Chunks),
    /// See [`PartKind::Paths`].
    Paths(Paths),
    /// See [`PartKind::Names`].
    Names(Names),
    /// See [`PartKind::Headings`].
    Headings(Headings),
    /// See [`PartKind::Passages`].
    Passages(Passages),
    /// See [`PartKind::PassagePage`].
    PassagePage(PassagePage),
    /// See [`SectionName::Properties`].
    Properties(Properties),
    /// See [`SectionName::Tags`].
    Tags(Tags),
    /// See [`SectionName::Tasks`].
    Tasks(Tasks),
    /// See [`SectionName::LinkLines`].
    LinkLines(LinkLines),
    /// See [`SectionName::Symbols`].
    Symbols(Symbols),
    /// See [`SectionName::Fields`].
    Fields(Fields),
    /// See [`SectionName::Lists`].
    Lists(Lists),
    /// See [`SectionName::Code`].
    Code(CodeTable),
    /// See [`SectionName::Linked`].
    Linked(Linked),
    /// See [`SectionName::Anchors`].
    Anchors(Anchors),
    /// See [`PartKind::VectorTable`].
    VectorTable(VectorTable),
    /// See [`PartKind::Vectors`].
    Vectors(Bytes),
    /// See [`PartKind::ClusterHead`].
    ClusterHead(ClusterHead),
    /// See [`PartKind::ClusterList`].
    ClusterList(ClusterList),
    /// See [`PartKind::Directories`].
    Directories(Arc<Directories>),
}

impl Part {
    /// Decodes the bytes of a part of kind `kind`. Damage is an error, never a panic or an unbounded allocation.
    pub fn decode(kind: PartKind, bytes: &Bytes) -> Result<Self, FormatError> {
        Ok(match kind {
            PartKind::TextBlock => Self::TextBlock(text::decode_block(bytes)?),
            PartKind::GramPage => Self::GramPage(GramPage::decode(bytes)?),
            PartKind::RecordPage => Self::RecordPage(RecordPage::decode(bytes)?),
            PartKind::TermPage => Self::TermPage(TermPage::decode(bytes)?),
            PartKind::Terms => Self::Terms(Terms::decode(bytes)?),
            PartKind::TextBlocks => Self::TextBlocks(TextBlocks::decode(bytes)?),
            PartKind::Chunks => Self::Chunks(Chunks::decode(bytes)?),
            PartKind::Paths => Self::Paths(Paths::decode(bytes)?),
            PartKind::Names => Self::Names(Names::decode(bytes)?),
            PartKind::Headings => Self::Headings(Headings::decode(bytes)?),
            PartKind::Passages => Self::Passages(Passages::decode(bytes)?),
            PartKind::PassagePage => Self::PassagePage(PassagePage::decode(bytes)?),
            PartKind::VectorTable => Self::VectorTable(VectorTable::decode(bytes)?),
            PartKind::Vectors | PartKind::Centroids => Self::Vectors(frame::open(bytes, SectionName::Vectors)?),
            PartKind::ClusterHead => Self::ClusterHead(ClusterHead::decode(bytes)?),
            PartKind::ClusterPage => Self::VectorTable(clusters::page(bytes)?),
            PartKind::ClusterList => Self::ClusterList(ClusterList::decode(bytes)?),
            PartKind::Facts(section) => facts_part(section, bytes)?,
            PartKind::Directories { crc32 } => Self::Directories(Arc::new(object::directories(bytes, crc32)?)),
        })
    }

    /// Approximate memory use of the part, in bytes: its cost in a cache.
    pub fn weight(&self) -> usize {
        match self {
            Self::TextBlock(bytes) | Self::Vectors(bytes) => bytes.len(),
            Self::GramPage(page) => page.weight(),
            Self::RecordPage(page) => page.weight(),
            Self::TermPage(page) => page.weight(),
            Self::Terms(table) => table.weight(),
            Self::TextBlocks(table) => table.weight(),
            Self::Chunks(table) => table.weight(),
            Self::Paths(paths) => paths.weight(),
            Self::Names(names) => names.weight(),
            Self::Headings(headings) => headings.weight(),
            Self::Passages(table) => table.weight(),
            Self::PassagePage(page) => page.weight(),
            Self::Properties(columns) => columns.weight(),
            Self::Tags(columns) => columns.weight(),
            Self::Tasks(rows) => rows.weight(),
            Self::LinkLines(rows) => rows.weight(),
            Self::Symbols(rows) => rows.weight(),
            Self::Fields(columns) => columns.weight(),
            Self::Lists(rows) => rows.weight(),
            Self::Code(table) => table.weight(),
            Self::Linked(columns) | Self::Anchors(columns) => columns.weight(),
            Self::VectorTable(table) => table.weight(),
            Self::ClusterHead(head) => head.weight(),
            Self::ClusterList(list) => list.weight(),
            Self::Directories(directories) => directories.weight(),
        }
    }
}

macro_rules! accessors {
    ($($name:ident: $variant:ident -> $type:ty, $section:ident;)*) => {
        impl Part {
            $(
                #[doc = concat!("The part as [`", stringify!($type), "`]; an error if another kind was asked for.")]
                pub fn $name(&self) -> Result<&$type, FormatError> {
                    match self {
                        Self::$variant(part) => Ok(part),
                        _ => Err(FormatError::damaged(SectionName::$section, "another part was fetched in its place")),
                    }
                }
            )*
        }
    };
}

accessors! {
    text_block: TextBlock -> Bytes, Text;
    gram_page: GramPage -> GramPage, Grams;
    record_page: RecordPage -> RecordPage, Records;
    term_page: TermPage -> TermPage, TermPostings;
    terms: Terms -> Terms, Terms;
    text_blocks: TextBlocks -> TextBlocks, TextBlocks;
    chunks: Chunks -> Chunks, Chunks;
    paths: Paths -> Paths, Paths;
    names: Names -> Names, Names;
    headings: Headings -> Headings, Headings;
    passages: Passages -> Passages, Passages;
    passage_page: PassagePage -> PassagePage, PassagePostings;
    properties: Properties -> Properties, Properties;
    tags: Tags -> Tags, Tags;
    tasks: Tasks -> Tasks, Tasks;
    link_lines: LinkLines -> LinkLines, LinkLines;
    symbols: Symbols -> Symbols, Symbols;
    fields: Fields -> Fields, Fields;
    lists: Lists -> Lists, Lists;
    code: Code -> CodeTable, Code;
    linked: Linked -> Linked, Linked;
    anchors: Anchors -> Anchors, Anchors;
    vector_table: VectorTable -> VectorTable, Vectors;
    vectors: Vectors -> Bytes, Vectors;
    cluster_head: ClusterHead -> ClusterHead, Vectors;
    cluster_list: ClusterList -> ClusterList, Vectors;
    directories: Directories -> Arc<Directories>, Records;
}

/// Decodes a section of facts.
fn facts_part(section: SectionName, part: &Bytes) -> Result<Part, FormatError> {
    Ok(match section {
        SectionName::Properties => Part::Properties(Columns::decode(part, section)?),
        SectionName::Tags => Part::Tags(Columns::decode(part, section)?),
        SectionName::Tasks => Part::Tasks(Rows::decode(part, section)?),
        SectionName::LinkLines => Part::LinkLines(Rows::decode(part, section)?),
        SectionName::Symbols => Part::Symbols(Rows::decode(part, section)?),
        SectionName::Fields => Part::Fields(Columns::decode(part, section)?),
        SectionName::Lists => Part::Lists(Lists::decode(part)?),
        SectionName::Code => Part::Code(CodeTable::decode(part, section)?),
        SectionName::Linked => Part::Linked(Linked::decode(part, section)?),
        SectionName::Anchors => Part::Anchors(Anchors::decode(part, section)?),
        _ => return Err(facts::damaged(section)),
    })
}

impl FactWriter {
    /// The sections, decoded as by a reader.
    ///
    /// # Errors
    /// When a section is too large.
    pub fn into_parts(self) -> Result<Vec<Part>, FormatError> {
        let sections = self.finish(&mut Packer::new()?)?.into_iter();
        sections.map(|(name, bytes)| facts_part(name, &Bytes::from(bytes))).collect()
    }
}

impl TextBlocks {
    /// Cuts `span` out of its blocks, which [`TextBlocks::parts`] names. Copies only if the span lies in several blocks.
    pub fn cut<'a>(&self, span: TextSpan, parts: impl IntoIterator<Item = &'a Part>) -> Result<Bytes, FormatError> {
        self.join(span, parts.into_iter().map(Part::text_block))
    }
}

impl Layout {
    /// The part that consists of a whole section.
    fn whole(&self, kind: PartKind, section: SectionName) -> Result<PartRef, FormatError> {
        Ok(PartRef { kind, range: self.range(section)? })
    }

    /// The table of terms.
    pub fn terms(&self) -> Result<PartRef, FormatError> {
        self.whole(PartKind::Terms, SectionName::Terms)
    }

    /// The text block table.
    pub fn text_blocks(&self) -> Result<PartRef, FormatError> {
        self.whole(PartKind::TextBlocks, SectionName::TextBlocks)
    }

    /// The table of chunks.
    pub fn chunks(&self) -> Result<PartRef, FormatError> {
        self.whole(PartKind::Chunks, SectionName::Chunks)
    }

    /// The fst of paths.
    pub fn paths(&self) -> Result<PartRef, FormatError> {
        self.whole(PartKind::Paths, SectionName::Paths)
    }

    /// The folded names.
    pub fn names(&self) -> Result<PartRef, FormatError> {
        self.whole(PartKind::Names, SectionName::Names)
    }

    /// The headings.
    pub fn headings(&self) -> Result<PartRef, FormatError> {
        self.whole(PartKind::Headings, SectionName::Headings)
    }

    /// A section of facts, or that of code or of links, if the segment has it.
    pub fn facts(&self, section: SectionName) -> Result<Option<PartRef>, FormatError> {
        match self.section(section) {
            Ok(_) => self.whole(PartKind::Facts(section), section).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The table of passages, if the segment has it.
    pub fn passages(&self) -> Result<Option<PartRef>, FormatError> {
        match (self.section(SectionName::Passages), self.section(SectionName::PassagePostings)) {
            (Ok(_), Ok(_)) => self.whole(PartKind::Passages, SectionName::Passages).map(Some),
            _ => Ok(None),
        }
    }

    /// The page of records that can hold `path`, and the id of the page's first document; [`None`] if the path is not between the first
    /// and the last one.
    pub fn record_page(&self, path: &str) -> Result<Option<(PartRef, u32)>, FormatError> {
        if !self.may_hold(path) {
            return Ok(None);
        }
        let section = self.range(SectionName::Records)?;
        self.directories()?
            .records
            .page_of(path)
            .map(|page| {
                Ok((within(&section, &page.range, PartKind::RecordPage, SectionName::Records)?, page.documents.start))
            })
            .transpose()
    }

    /// The pages of records that can hold paths with this `prefix`, each with the id of its first document.
    pub fn record_pages_of(&self, prefix: &str) -> Result<Vec<(PartRef, u32)>, FormatError> {
        let section = self.range(SectionName::Records)?;
        let pages = self.directories()?.records.pages_of_prefix(prefix).map(|page| {
            Ok((within(&section, &page.range, PartKind::RecordPage, SectionName::Records)?, page.documents.start))
        });
        pages.collect()
    }

    /// A range of the object that includes the text blocks of `path`, if the segment has that path. It is known before the record is
    /// fetched.
    pub fn text_near(&self, path: &str) -> Result<Range<u64>, FormatError> {
        let section = self.range(SectionName::Text)?;
        let near = self.directories()?.records.text_of(path);
        let place = |at: u64| section.start.saturating_add(at).min(section.end);
        Ok(place(near.start)..place(near.end))
    }

    /// All pages of records, each with the ids of its documents.
    pub fn record_pages(&self) -> Result<Vec<(PartRef, Range<u32>)>, FormatError> {
        self.record_pages_from("")
    }

    /// The pages of records that can hold `path` or a later one, each with the ids of its documents.
    pub fn record_pages_from(&self, path: &str) -> Result<Vec<(PartRef, Range<u32>)>, FormatError> {
        let section = self.range(SectionName::Records)?;
        self.directories()?
            .records
            .pages_from(path)
            .map(|page| {
                Ok((within(&section, &page.range, PartKind::RecordPage, SectionName::Records)?, page.documents))
            })
            .collect()
    }

    /// The pages that follow each other in `section`, all bytes of the section with records, up to one that is damaged; without the directories.
    pub fn walk_record_pages(&self, section: &Bytes) -> Result<Vec<(PartRef, Range<u32>)>, FormatError> {
        let Range { start, .. } = self.range(SectionName::Records)?;
        let (mut pages, mut at, mut first) = (Vec::new(), 0, 0u32);
        while let Some(length) = section.get(at..).and_then(frame::packed_length) {
            let Ok(page) = RecordPage::decode(&section.slice(at..at + length)) else { break };
            let documents = first..first.saturating_add(u32::try_from(page.len()).unwrap_or(u32::MAX));
            if documents.is_empty() || documents.end > self.documents {
                break;
            }
            let range = start + at as u64..start + (at + length) as u64;
            first = documents.end;
            pages.push((PartRef { kind: PartKind::RecordPage, range }, documents));
            at += length;
        }
        Ok(pages)
    }

    /// Every part except the text blocks and the pages of terms and their passages, whose positions are in their tables.
    pub fn parts(&self) -> Result<Vec<PartRef>, FormatError> {
        let section = self.range(SectionName::Grams)?;
        let directory = &self.directories()?.grams;
        let grams = (0..directory.len()).filter_map(|page| directory.range(page));
        let mut parts: Vec<PartRef> = grams
            .map(|range| within(&section, &range, PartKind::GramPage, SectionName::Grams))
            .collect::<Result<_, _>>()?;
        parts.extend(self.record_pages()?.into_iter().map(|(part, _)| part));
        parts.extend([
            self.terms()?,
            self.text_blocks()?,
            self.chunks()?,
            self.paths()?,
            self.names()?,
            self.headings()?,
        ]);
        for section in FACTS.into_iter().chain([SectionName::Code, SectionName::Linked, SectionName::Anchors]) {
            parts.extend(self.facts(section)?);
        }
        parts.extend(self.passages()?);
        Ok(parts)
    }

    /// The pages of postings that `probe` needs.
    pub fn gram_pages(&self, probe: &Probe) -> Result<Vec<PartRef>, FormatError> {
        if probe.is_impossible() {
            return Ok(Vec::new());
        }
        let section = self.range(SectionName::Grams)?;
        let directory = &self.directories()?.grams;
        let pages: BTreeSet<usize> = lookups(probe, directory).into_iter().flat_map(|(_, pages)| pages).collect();
        pages
            .into_iter()
            .filter_map(|page| directory.range(page))
            .map(|range| within(&section, &range, PartKind::GramPage, SectionName::Grams))
            .collect()
    }
}

fn within(section: &Range<u64>, range: &Range<u64>, kind: PartKind, name: SectionName) -> Result<PartRef, FormatError> {
    let end = section.start.checked_add(range.end).filter(|end| *end <= section.end);
    match end {
        Some(end) => Ok(PartRef { kind, range: section.start + range.start..end }),
        None => Err(FormatError::damaged(name, "a page lies outside the section")),
    }
}
