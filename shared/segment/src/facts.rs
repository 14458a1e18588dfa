//! Facts from the texts of notes, each with its document: properties, tags, tasks, the lines of links, symbols, inline fields, list
//! items. These sections are optional: a [`FactWriter`] can rebuild them from a segment's texts.

mod anchors;
mod columns;
mod encoded;
mod items;
mod lists;
mod rows;
mod targets;

use atlas_vault::{Link, Note, symbol};
use bincode::{Decode, Encode};
use serde_json::Value;

pub(crate) use anchors::AnchorWriter;
pub use columns::{Column, Columns};
pub use items::Lists;
pub use lists::{ItemLink, ListItem};
pub use rows::Rows;
pub use targets::{TargetColumns, Targets};

use crate::error::FormatError;
use crate::facts::columns::ColumnWriter;
use crate::facts::rows::RowWriter;
use crate::frame::Packer;
use crate::section::SectionName;

/// The sections of facts.
pub const FACTS: [SectionName; 7] = [
    SectionName::Properties,
    SectionName::Tags,
    SectionName::Tasks,
    SectionName::LinkLines,
    SectionName::Symbols,
    SectionName::Fields,
    SectionName::Lists,
];

/// Most bytes of one section of facts, decompressed.
pub(crate) const MAX_BYTES: usize = 256 << 20;

/// The properties of notes, by name.
pub type Properties = Columns<Value>;
/// The tags of notes as written, without `#`, and where each occurs.
pub type Tags = Columns<TagPlaces>;
/// The tasks of notes.
pub type Tasks = Rows<Task>;
/// For each link of a record, in order: its line, counted from 0.
pub type LinkLines = Rows<u32>;
/// By the folded name of a file: who links to it, with the folders that the links name.
pub type Linked = TargetColumns;
/// By word: whose links have it in their texts, with the targets of these links, folded.
pub type Anchors = TargetColumns;
/// Symbols that code defines.
pub type Symbols = Rows<Symbol>;
/// The inline fields of notes, by name as it is written: the texts of their values, in order. Those of tasks are the tasks' own.
pub type Fields = Columns<Vec<String>>;

/// Where in a note a tag occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TagPlaces {
    /// In its properties.
    pub in_properties: bool,
    /// In its text.
    pub inline: bool,
}

/// A list item with a check box.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Task {
    /// Its line, counted from 0.
    pub line: u32,
    /// The width of the white space before it.
    pub indent: u16,
    /// The character between the brackets.
    pub status: char,
    /// The rest of its line.
    pub text: String,
}

/// A symbol that code defines.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Symbol {
    /// Its line, counted from 0.
    pub line: u32,
    /// Its name.
    pub name: String,
}

/// Collects the facts of documents, in the order of their ids.
#[derive(Default)]
pub struct FactWriter {
    properties: ColumnWriter,
    tags: ColumnWriter,
    tasks: RowWriter,
    link_lines: RowWriter,
    symbols: RowWriter,
    fields: ColumnWriter,
    lists: RowWriter,
}

impl FactWriter {
    /// Adds a note.
    pub fn note(&mut self, document: u32, note: &Note, text: &str) {
        for (key, value) in note.properties().into_iter().flatten() {
            // Keys are sorted, so that equal values are written alike.
            let mut value = value.clone();
            value.sort_all_objects();
            self.properties.push(key, document, &value.to_string());
        }
        let mut tags: Vec<(&str, u8)> =
            note.tags.iter().map(|tag| (&*tag.name, tag_bit(tag.range.is_some()))).collect();
        tags.sort_unstable();
        for several in tags.chunk_by(|(one, _), (other, _)| one == other) {
            if let Some((name, _)) = several.first() {
                self.tags.push(name, document, &several.iter().fold(0, |bits, (_, bit)| bits | bit));
            }
        }
        for task in &note.tasks {
            let (line, indent, status) = (task.line, task.indent, task.status);
            self.tasks.push(document, &Task { line, indent, status, text: task.text.clone() });
        }
        self.add_links(document, &note.links);
        self.add_symbols(document, symbol::of_note(text));
        let items = lists::items(note, text);
        for (key, values) in lists::fields(note, text, &items) {
            self.fields.push(&key, document, &values);
        }
        for item in items {
            self.lists.push(document, &item);
        }
    }

    /// Adds a text file that is not a note, with its links.
    pub fn text(&mut self, document: u32, links: &[Link], text: &str) {
        self.add_links(document, links);
        self.add_symbols(document, symbol::of_code(text));
    }

    fn add_links(&mut self, document: u32, links: &[Link]) {
        for link in links.iter().filter(|link| !link.is_external()) {
            self.link_lines.push(document, &link.line);
        }
    }

    fn add_symbols<'a>(&mut self, document: u32, symbols: impl Iterator<Item = symbol::Symbol<'a>>) {
        for symbol::Symbol { line, name } in symbols {
            self.symbols.push(document, &Symbol { line, name: name.to_owned() });
        }
    }

    /// The sections, in the order of [`FACTS`].
    pub(crate) fn finish(self, packer: &mut Packer) -> Result<[(SectionName, Vec<u8>); 7], FormatError> {
        Ok([
            (SectionName::Properties, self.properties.finish(packer)?),
            (SectionName::Tags, self.tags.finish(packer)?),
            (SectionName::Tasks, self.tasks.finish(packer)?),
            (SectionName::LinkLines, self.link_lines.finish(packer)?),
            (SectionName::Symbols, self.symbols.finish(packer)?),
            (SectionName::Fields, self.fields.finish(packer)?),
            (SectionName::Lists, self.lists.finish(packer)?),
        ])
    }
}

const IN_PROPERTIES: u8 = 1;
const INLINE: u8 = 2;

const fn tag_bit(is_inline: bool) -> u8 {
    if is_inline { INLINE } else { IN_PROPERTIES }
}

impl columns::Stored for Value {
    type Encoded = String;

    fn of(form: String) -> Option<Self> {
        serde_json::from_str(&form).ok()
    }

    fn weight(&self) -> usize {
        let more = match self {
            Self::String(text) => text.len(),
            Self::Array(items) => items.iter().map(columns::Stored::weight).sum(),
            Self::Object(map) => map.iter().map(|(key, value)| 64 + key.len() + columns::Stored::weight(value)).sum(),
            _ => 0,
        };
        size_of::<Self>() + more
    }
}

impl columns::Stored for TagPlaces {
    type Encoded = u8;

    fn of(form: u8) -> Option<Self> {
        let places = Self { in_properties: form & IN_PROPERTIES != 0, inline: form & INLINE != 0 };
        (places != Self::default() && form <= IN_PROPERTIES | INLINE).then_some(places)
    }

    fn weight(&self) -> usize {
        size_of::<Self>()
    }
}

impl columns::Stored for Vec<String> {
    type Encoded = Self;

    fn of(form: Self) -> Option<Self> {
        Some(form)
    }

    fn weight(&self) -> usize {
        size_of::<Self>() + self.iter().map(|text| size_of::<String>() + text.len()).sum::<usize>()
    }
}

impl rows::Row for Task {
    fn weight(&self) -> usize {
        size_of::<Self>() + self.text.len()
    }
}

impl rows::Row for Symbol {
    fn weight(&self) -> usize {
        size_of::<Self>() + self.name.len()
    }
}

impl rows::Row for u32 {
    fn weight(&self) -> usize {
        size_of::<Self>()
    }
}

/// A packed section with this content.
pub(crate) fn packed(content: &impl Encode, packer: &mut Packer) -> Result<Vec<u8>, FormatError> {
    encoded::section(|bytes| encoded::encode(content, bytes), packer)
}

pub(crate) const fn codec() -> bincode::config::Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    bincode::config::Limit<MAX_BYTES>,
> {
    bincode::config::standard().with_limit::<MAX_BYTES>()
}

pub(crate) const fn damaged(section: SectionName) -> FormatError {
    FormatError::damaged(section, "its content is inconsistent")
}

/// The difference of each number from the one before.
pub(crate) fn differences(numbers: &[u32]) -> Vec<u32> {
    let mut before = 0;
    numbers.iter().map(|number| number.wrapping_sub(std::mem::replace(&mut before, *number))).collect()
}

/// The ascending numbers with these differences; `None` if they overflow.
pub(crate) fn sums(differences: Vec<u32>) -> Option<Vec<u32>> {
    let mut sum = 0_u32;
    let next = |difference| {
        sum = sum.checked_add(difference)?;
        Some(sum)
    };
    differences.into_iter().map(next).collect()
}

#[cfg(test)]
mod tests;
