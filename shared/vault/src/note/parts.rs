//! The parts of a note.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::path::VaultPath;
pub use crate::string_text::Notation;

/// Most headings stored of a note; the same limit applies to links, tags, tasks and block ids.
pub const MAX_ITEMS: usize = 100_000;

/// The parts of a note, each kind in the order of the text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Note {
    /// The YAML block at the very start.
    pub frontmatter: Option<Frontmatter>,
    /// Headings that are not inside a quote, list or footnote, as in Obsidian's outline.
    pub headings: Vec<Heading>,
    /// Links and embeds, those in properties first. Bare and `<…>` URLs are left out.
    pub links: Vec<Link>,
    /// Tags, those in properties first; repeated as often as they are written.
    pub tags: Vec<Tag>,
    /// Other names of the note, from its properties.
    pub aliases: Vec<String>,
    /// List items with a check box.
    pub tasks: Vec<Task>,
    /// Ids at the ends of lines; links can point to them.
    pub block_ids: Vec<BlockId>,
    /// List items, those with a check box too.
    pub items: Vec<Item>,
    /// Lines with `::` outside of list items: they may have fields.
    pub field_lines: Vec<Range<usize>>,
}

/// The YAML block between `---` lines that a note may begin with.
#[derive(Debug, Clone, PartialEq)]
pub struct Frontmatter {
    /// The YAML, without the fences.
    pub range: Range<usize>,
    /// The start of the text after the closing fence.
    pub body_start: usize,
    /// The properties: numbers, booleans, strings, lists and maps. Dates stay strings.
    pub properties: Result<Map<String, Value>, FrontmatterError>,
}

/// Why a note's frontmatter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the frontmatter is not read (line {}): {message}", line + 1)]
pub struct FrontmatterError {
    /// The problem, in one line.
    pub message: String,
    /// The line of the note with the problem.
    pub line: u32,
}

/// A heading, written with `#` or underlined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// The heading's line as written, without its `#`s.
    pub text: String,
    /// The line that it begins on.
    pub line: u32,
    /// Its start.
    pub offset: usize,
    /// Its end, including the underline, before the line break.
    pub end: usize,
}

impl Heading {
    /// The heading as a URL fragment: see [`anchor`].
    #[must_use]
    pub fn anchor(&self) -> String {
        anchor(&self.text)
    }
}

/// `#`, then the heading in lower case. Each run of white space becomes `-`; all other characters that are neither alphanumeric nor `-`
/// are removed. Never empty.
#[must_use]
pub fn anchor(heading: &str) -> String {
    let mut out = String::with_capacity(heading.len() + 1);
    out.push('#');
    for (index, word) in heading.split_whitespace().enumerate() {
        if index > 0 {
            out.push('-');
        }
        let lower = word.chars().flat_map(char::to_lowercase);
        out.extend(lower.filter(|c| c.is_alphanumeric() || *c == '-'));
    }
    out
}

/// How a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// `[[target#subpath|display]]`
    Wikilink,
    /// `![[target#subpath|display]]`
    Embed,
    /// `[display](target#subpath)`, or by reference
    Markdown,
    /// `![display](target#subpath)`, or by reference
    MarkdownEmbed,
    /// The `file` of a node of a canvas, a path from the root of the vault.
    CanvasFile,
}

/// A link or embed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// How it is written.
    pub kind: LinkKind,
    /// The file it points to, without the subpath; empty for the note itself. Markdown links are percent-decoded. An external link keeps its
    /// whole URL as written.
    pub target: String,
    /// The text after the first `#`: a heading, several headings joined with `#`, or `^` and a block id.
    pub subpath: Option<String>,
    /// The text to show instead of the target, as written. For embeds often a size.
    pub display: Option<String>,
    /// The whole link as written.
    pub range: Range<usize>,
    /// The range of target and subpath as written, without `<` and `>`. In the definition if it is a reference link. Empty if it is
    /// unknown.
    pub destination: Range<usize>,
    /// The line that it begins on.
    pub line: u32,
    /// How the string that it is in is written, if it is one of YAML.
    pub notation: Notation,
}

impl Link {
    /// Whether this leads out of the vault: a markdown link with a scheme such as `https:`.
    #[must_use]
    pub fn is_external(&self) -> bool {
        matches!(self.kind, LinkKind::Markdown | LinkKind::MarkdownEmbed) && has_scheme(&self.target)
    }

    /// Whether this is an embed.
    #[must_use]
    pub fn is_embed(&self) -> bool {
        matches!(self.kind, LinkKind::Embed | LinkKind::MarkdownEmbed | LinkKind::CanvasFile)
    }
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The tag as written, without `#`.
    pub name: String,
    /// The range of the tag with its `#`; `None` for a tag from the properties.
    pub range: Option<Range<usize>>,
}

/// A list item with a check box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The character between the brackets: by convention a space for an open task and `x` for a done one.
    pub status: char,
    /// The rest of the item's first line.
    pub text: String,
    /// Its line.
    pub line: u32,
    /// The width of the white space before the list marker, after any `>` and its space; a tab advances to the next multiple of 4.
    pub indent: u16,
    /// The byte offset of the status character.
    pub status_offset: usize,
}

/// A list item, without the items below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// From its marker to the end of its own text.
    pub range: Range<usize>,
    /// The line that it begins on.
    pub line: u32,
    /// The number of its lines.
    pub lines: u32,
    /// The index of the item that it is below.
    pub parent: Option<u32>,
    /// The line that the outermost list around it begins on.
    pub list: u32,
}

/// An id at the end of a line: ` ^name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockId {
    /// The name, without `^`.
    pub name: String,
    /// Its line.
    pub line: u32,
    /// The range of the name with its `^`.
    pub range: Range<usize>,
}

impl Note {
    /// The properties, if there are any and they could be read.
    #[must_use]
    pub fn properties(&self) -> Option<&Map<String, Value>> {
        self.frontmatter.as_ref()?.properties.as_ref().ok()
    }

    /// The note's title: its `title` property, else its first heading of level 1, else the stem of `path`.
    #[must_use]
    pub fn title<'a>(&'a self, path: &'a VaultPath) -> &'a str {
        let property = self.properties().and_then(|properties| properties.get("title")?.as_str());
        let headings = self.headings.iter().filter(|heading| heading.level == 1);
        let names = property.into_iter().chain(headings.map(|heading| heading.text.as_str()));
        names.map(str::trim).find(|name| !name.is_empty()).unwrap_or_else(|| path.stem())
    }
}

/// Whether a link's destination begins with a scheme of two letters or more, or with `//`.
pub(crate) fn has_scheme(destination: &str) -> bool {
    let scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    destination.starts_with("//")
        || destination.split_once(':').is_some_and(|(name, _)| {
            name.len() > 1 && name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(scheme)
        })
}
