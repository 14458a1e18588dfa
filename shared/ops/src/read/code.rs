//! Symbols of source code, where the host's program had grammars. Segments that others wrote have none.

use std::sync::Arc;

use atlas_segment::code::{CodeTable, Defined, File};
use atlas_segment::{Part, SectionName};

use crate::error::Error;
use crate::read::index::{DocumentRef, Index, Wave};
use crate::read::view::View;

/// The symbols of a snapshot's segments.
pub struct Symbols {
    parts: Vec<Option<Arc<Part>>>,
}

/// A definition, and the segment that has it.
#[derive(Clone, Copy, Debug)]
pub struct SymbolRef<'s> {
    /// The segment.
    pub segment: usize,
    /// The definition.
    pub defined: Defined<'s>,
}

impl SymbolRef<'_> {
    /// Its document.
    #[must_use]
    pub const fn document(&self) -> DocumentRef {
        DocumentRef { segment: self.segment, document: self.defined.document }
    }

    /// Its key among all definitions.
    #[must_use]
    pub const fn key(&self) -> (usize, u32) {
        (self.segment, self.defined.number)
    }
}

impl Symbols {
    /// Fetches them, in one wave.
    pub async fn fetch(view: &View) -> Result<Self, Error> {
        let snapshot = view.snapshot().clone();
        let mut wave = Wave::default();
        let mut slots = Vec::new();
        for (segment, entry) in snapshot.segments().iter().enumerate() {
            slots.push(entry.layout.facts(SectionName::Code)?.map(|part| wave.add(segment, part)));
        }
        let fetched = wave.fetch(&snapshot).await?;
        let parts = slots.into_iter().map(|slot| slot.map(|slot| fetched.get(slot)).transpose());
        Ok(Self { parts: parts.collect::<Result<_, _>>()? })
    }

    /// Whether there are none at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(Option::is_none)
    }

    /// Those of a segment, if it has some.
    pub fn table(&self, segment: usize) -> Option<&CodeTable> {
        self.parts.get(segment)?.as_ref()?.code().ok()
    }

    /// The code of a document, if it is known.
    pub fn file(&self, document: DocumentRef) -> Option<File<'_>> {
        self.table(document.segment)?.file(document.document)
    }

    /// Where the functions and types of a document begin, by line, with their names. None is within another's first line.
    pub fn parts_of(&self, document: DocumentRef) -> impl Iterator<Item = (u32, &str)> {
        let table = self.table(document.segment);
        let file = table.and_then(|table| table.file(document.document));
        let numbers = file.map(|file| file.definitions()).into_iter().flatten();
        let mut next = 0;
        numbers.filter_map(move |number| table?.get(number)).filter_map(move |defined| {
            let line = defined.lines.0;
            let begins = (defined.kind.is_function() || defined.kind.is_type()) && line >= next;
            begins.then(|| {
                next = line + 1;
                (line, defined.name)
            })
        })
    }

    fn tables(&self) -> impl Iterator<Item = (usize, &CodeTable)> {
        (0..self.parts.len()).filter_map(|segment| Some((segment, self.table(segment)?)))
    }

    /// The definitions of this name, in documents that the caller may read.
    pub fn named<'s>(&'s self, index: &'s Index, name: &'s str) -> impl Iterator<Item = SymbolRef<'s>> {
        let all = self
            .tables()
            .flat_map(move |(segment, table)| table.named(name).map(move |defined| SymbolRef { segment, defined }));
        all.filter(|place| index.shows(place.document()))
    }

    /// The same, at most so many, whatever becomes of the name.
    pub fn named_once<'s>(&'s self, index: &Index, name: &str, most: usize) -> Vec<SymbolRef<'s>> {
        let mut places = Vec::new();
        for (segment, table) in self.tables() {
            let all = table.named(name).map(|defined| SymbolRef { segment, defined });
            let left = most.saturating_sub(places.len());
            places.extend(all.filter(|place| index.shows(place.document())).take(left));
        }
        places
    }

    /// The documents that are known, also those that the caller does not see.
    pub fn documents(&self) -> impl Iterator<Item = DocumentRef> {
        self.tables().flat_map(|(segment, table)| {
            table.files().map(move |file| DocumentRef { segment, document: file.document })
        })
    }

    /// The definitions that use this name, in documents that the caller sees.
    pub fn users<'s>(&'s self, index: &'s Index, name: &'s str) -> impl Iterator<Item = SymbolRef<'s>> {
        let all = self
            .tables()
            .flat_map(move |(segment, table)| table.users(name).map(move |defined| SymbolRef { segment, defined }));
        all.filter(|place| index.shows(place.document()))
    }

    /// The documents that use this name outside of all definitions, and that the caller sees.
    pub fn using_files<'s>(&'s self, index: &'s Index, name: &'s str) -> impl Iterator<Item = DocumentRef> {
        let all = self.tables().flat_map(move |(segment, table)| {
            table.using_files(name).map(move |document| DocumentRef { segment, document })
        });
        all.filter(|document| index.shows(*document))
    }

    /// The definitions that have one of these shapes, in documents that the caller sees.
    pub fn shaped<'s>(&'s self, index: &'s Index, shapes: &'s [u64]) -> impl Iterator<Item = SymbolRef<'s>> {
        let all = self
            .tables()
            .flat_map(move |(segment, table)| table.shaped(shapes).map(move |defined| SymbolRef { segment, defined }));
        all.filter(|place| index.shows(place.document()))
    }

    /// All names that are defined; one may come several times, also from documents that the caller does not see.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables().flat_map(|(_, table)| table.defined_names().map(|(name, _)| name))
    }

    /// The names that a definition uses.
    pub fn uses<'s>(&'s self, place: &SymbolRef<'_>) -> impl Iterator<Item = &'s str> + use<'s> {
        let number = place.defined.number;
        self.table(place.segment).into_iter().flat_map(move |table| table.uses(number))
    }
}
