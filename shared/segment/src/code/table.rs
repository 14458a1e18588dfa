//! Reads the section.

use std::ops::Range;

use bytes::Bytes;

use super::writer::{DefinitionForm, FileForm, Form};
use super::{Code, Definition, SymbolKind};
use crate::error::FormatError;
use crate::facts::{MAX_BYTES, codec, damaged, sums};
use crate::frame;
use crate::section::SectionName;

/// The definitions, uses and imports of a segment's source files. A definition is named by its number, counted over all files.
#[derive(Debug)]
pub struct CodeTable {
    names: Vec<String>,
    documents: Vec<u32>,
    files: Vec<Held>,
    definitions: Vec<DefinitionForm>,
    /// Definitions by the rank of their name, and users by that of what they use; files that use it outside of definitions likewise, by their place.
    by_name: Vec<(u32, u32)>,
    by_use: Vec<(u32, u32)>,
    by_file_use: Vec<(u32, u32)>,
}

#[derive(Debug)]
struct Held {
    definitions: Range<u32>,
    uses: Vec<u32>,
    imports: Vec<String>,
}

/// A file of a segment.
#[derive(Clone, Copy, Debug)]
pub struct File<'t> {
    /// Its document.
    pub document: u32,
    /// Its imports.
    pub imports: &'t [String],
    definitions: (u32, u32),
}

impl File<'_> {
    /// The numbers of its definitions, in the order of the text.
    #[must_use]
    pub const fn definitions(&self) -> Range<u32> {
        self.definitions.0..self.definitions.1
    }
}

/// A definition in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defined<'t> {
    /// Its number.
    pub number: u32,
    /// The document that it stands in.
    pub document: u32,
    /// See [`Definition::name`].
    pub name: &'t str,
    /// See [`Definition::kind`].
    pub kind: SymbolKind,
    /// See [`Definition::container`].
    pub container: &'t str,
    /// See [`Definition::line`].
    pub line: u32,
    /// See [`Definition::lines`].
    pub lines: (u32, u32),
    /// See [`Definition::signature`].
    pub signature: &'t str,
    /// See [`Definition::shape`].
    pub shape: u64,
}

impl CodeTable {
    pub(crate) fn decode(part: &Bytes, section: SectionName) -> Result<Self, FormatError> {
        let damage = || damaged(section);
        let bytes = frame::unpack(part, section, MAX_BYTES)?;
        let (form, used): (Form, usize) = bincode::decode_from_slice(&bytes, codec()).map_err(|_| damage())?;
        let Form { names, documents, files } = form;
        let documents = sums(documents).ok_or_else(damage)?;
        let is_sound = used == bytes.len()
            && documents.len() == files.len()
            && documents.is_sorted_by(|one, other| one < other)
            && names.is_sorted_by(|one, other| one < other);
        if !is_sound {
            return Err(damage());
        }
        let mut table = Self {
            names,
            documents,
            files: Vec::with_capacity(files.len()),
            definitions: Vec::new(),
            by_name: Vec::new(),
            by_use: Vec::new(),
            by_file_use: Vec::new(),
        };
        for file in files {
            table.add(file).ok_or_else(damage)?;
        }
        table.by_name.sort_unstable();
        table.by_use.sort_unstable();
        table.by_file_use.sort_unstable();
        Ok(table)
    }

    /// Adds a file; `None` if it names what is not there.
    fn add(&mut self, file: FileForm) -> Option<()> {
        let known = self.names.len();
        let ranks =
            |differences: Vec<u32>| sums(differences).filter(|ranks| ranks.iter().all(|rank| (*rank as usize) < known));
        let first = u32::try_from(self.definitions.len()).ok()?;
        for mut definition in file.definitions {
            let number = u32::try_from(self.definitions.len()).ok()?;
            definition.uses = ranks(definition.uses)?;
            if definition.name as usize >= known || definition.container as usize > known {
                return None;
            }
            self.by_name.push((definition.name, number));
            self.by_use.extend(definition.uses.iter().map(|rank| (*rank, number)));
            self.definitions.push(definition);
        }
        let definitions = first..u32::try_from(self.definitions.len()).ok()?;
        let (at, uses) = (u32::try_from(self.files.len()).ok()?, ranks(file.uses)?);
        self.by_file_use.extend(uses.iter().map(|rank| (*rank, at)));
        self.files.push(Held { definitions, uses, imports: file.imports });
        Some(())
    }

    pub(crate) fn weight(&self) -> usize {
        let names: usize = self.names.iter().map(|name| size_of::<String>() + name.len()).sum();
        let of = |definition: &DefinitionForm| {
            size_of::<DefinitionForm>() + definition.signature.len() + 4 * definition.uses.len()
        };
        let definitions: usize = self.definitions.iter().map(of).sum();
        let of = |file: &Held| {
            let imports: usize = file.imports.iter().map(|import| size_of::<String>() + import.len()).sum();
            size_of::<Held>() + 4 * file.uses.len() + imports
        };
        let files: usize = self.files.iter().map(of).sum();
        names
            + definitions
            + files
            + 4 * self.documents.len()
            + 8 * (self.by_name.len() + self.by_use.len() + self.by_file_use.len())
    }

    fn name(&self, rank: u32) -> &str {
        self.names.get(rank as usize).map_or("", String::as_str)
    }

    fn rank(&self, name: &str) -> Option<u32> {
        let rank = self.names.binary_search_by(|other| other.as_str().cmp(name)).ok()?;
        u32::try_from(rank).ok()
    }

    /// The files, by their documents.
    pub fn files(&self) -> impl Iterator<Item = File<'_>> {
        (0..self.files.len()).filter_map(|at| self.file_at(at))
    }

    /// The file of a document, if the section has it.
    #[must_use]
    pub fn file(&self, document: u32) -> Option<File<'_>> {
        self.file_at(self.documents.binary_search(&document).ok()?)
    }

    fn file_at(&self, at: usize) -> Option<File<'_>> {
        let held = self.files.get(at)?;
        let definitions = (held.definitions.start, held.definitions.end);
        Some(File { document: *self.documents.get(at)?, imports: &held.imports, definitions })
    }

    /// A definition, by its number.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<Defined<'_>> {
        let definition = self.definitions.get(number as usize)?;
        let file = self.files.partition_point(|file| file.definitions.end <= number);
        Some(Defined {
            number,
            document: *self.documents.get(file)?,
            name: self.name(definition.name),
            kind: definition.kind,
            container: definition.container.checked_sub(1).map_or("", |rank| self.name(rank)),
            line: definition.line,
            lines: definition.lines,
            signature: &definition.signature,
            shape: definition.shape,
        })
    }

    /// All names that are defined, ascending, each once, with how many definitions it has.
    pub fn defined_names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.by_name.chunk_by(|one, other| one.0 == other.0).filter_map(|several| {
            let (rank, _) = several.first()?;
            Some((self.name(*rank), several.len()))
        })
    }

    /// The definitions of this name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = Defined<'_>> {
        self.rank(name).into_iter().flat_map(|rank| of(&self.by_name, rank)).filter_map(|number| self.get(number))
    }

    /// The definitions that use this name.
    pub fn users(&self, name: &str) -> impl Iterator<Item = Defined<'_>> {
        self.rank(name).into_iter().flat_map(|rank| of(&self.by_use, rank)).filter_map(|number| self.get(number))
    }

    /// The documents that use this name outside of all definitions: tests, routes, scripts.
    pub fn using_files(&self, name: &str) -> impl Iterator<Item = u32> {
        let files = self.rank(name).into_iter().flat_map(|rank| of(&self.by_file_use, rank));
        files.filter_map(|at| self.documents.get(at as usize).copied())
    }

    /// The names that a definition uses.
    pub fn uses(&self, number: u32) -> impl Iterator<Item = &str> {
        let uses = self.definitions.get(number as usize).map_or(&[][..], |definition| definition.uses.as_slice());
        uses.iter().map(|rank| self.name(*rank))
    }

    /// The definitions that have one of these shapes, of which none is 0.
    pub fn shaped<'t>(&'t self, shapes: &'t [u64]) -> impl Iterator<Item = Defined<'t>> {
        let has = |definition: &DefinitionForm| definition.shape != 0 && shapes.contains(&definition.shape);
        let found = (0..).zip(&self.definitions).filter(move |(_, definition)| has(definition));
        found.filter_map(|(number, _)| self.get(number))
    }

    /// The code of a document's file, as it was given.
    #[must_use]
    pub fn code(&self, document: u32) -> Option<Code> {
        let file = self.file(document)?;
        let held = self.files.get(self.documents.binary_search(&document).ok()?)?;
        let one = |number| {
            let defined = self.get(number)?;
            Some(Definition {
                name: defined.name.to_owned(),
                kind: defined.kind,
                container: defined.container.to_owned(),
                line: defined.line,
                lines: defined.lines,
                signature: defined.signature.to_owned(),
                shape: defined.shape,
                uses: self.uses(number).map(str::to_owned).collect(),
            })
        };
        Some(Code {
            definitions: file.definitions().filter_map(one).collect(),
            uses: held.uses.iter().map(|rank| self.name(*rank).to_owned()).collect(),
            imports: held.imports.clone(),
        })
    }
}

/// The numbers that stand by `rank`.
fn of(pairs: &[(u32, u32)], rank: u32) -> impl Iterator<Item = u32> {
    let from = pairs.partition_point(|(other, _)| *other < rank);
    let to = pairs.partition_point(|(other, _)| *other <= rank);
    pairs.get(from..to).unwrap_or_default().iter().map(|(_, number)| *number)
}
