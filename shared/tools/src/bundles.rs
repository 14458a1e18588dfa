//! Bundles: the texts of several notes in one text, in obsidian-tc's form.

pub mod bundle_files;
pub mod bundle_folder;

use std::borrow::Cow;

use atlas_ops::arguments::Bounded;
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::pipeline::response_limit::{AROUND_TEXT, json_bytes};
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_segment::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most bytes of a bundle: the default and the maximum.
type MaxBytes = Bounded<1, 1_000_000, 500_000>;
/// Bytes of a listed file in a JSON answer besides its path.
const AROUND_FILE: usize = 40;

/// The format of a bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// Each text below a heading with its path.
    #[default]
    Markdown,
    /// Each text in an element `document` with its path.
    Xml,
}

/// A file of a bundle.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BundledFile {
    /// Its path.
    path: String,
    /// Bytes of its text in the bundle.
    bytes: usize,
}

/// A bundle under construction.
struct Bundle {
    format: Format,
    frontmatter: bool,
    text: String,
    /// Most bytes of it, including its end.
    max_bytes: usize,
    /// The remaining space in a JSON answer.
    json_room: usize,
    files: Vec<BundledFile>,
    /// Whether something did not fit.
    truncated: bool,
}

impl Format {
    const fn frame(self) -> [&'static str; 2] {
        match self {
            Self::Markdown => ["", ""],
            Self::Xml => ["<documents>\n", "</documents>\n"],
        }
    }

    /// One file of a bundle.
    fn piece(self, path: &str, text: &str) -> String {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        match self {
            Self::Markdown => format!("# {path}\n\n{text}{end}\n"),
            Self::Xml => format!("<document path=\"{}\">\n{}{end}</document>\n", escaped(path), escaped(text)),
        }
    }
}

/// `text` escaped for XML, without characters that XML cannot represent.
fn escaped(text: &str) -> Cow<'_, str> {
    let is_special = |c: char| matches!(c, '&' | '<' | '>' | '"') || is_unwritable(c);
    if !text.contains(is_special) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if is_unwritable(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn is_unwritable(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\u{E}'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}')
}

impl Bundle {
    fn new(context: &Context<'_>, format: Format, frontmatter: bool, max_bytes: MaxBytes) -> Self {
        let max_bytes = max_bytes.get();
        let json_room = context.limits.max_response_bytes.saturating_sub(AROUND_TEXT);
        Self { format, frontmatter, text: String::new(), max_bytes, json_room, files: Vec::new(), truncated: false }
    }

    /// Adds a file, if it fits; after the first that does not, nothing is added.
    fn add(&mut self, path: &str, text: &str) {
        if self.truncated {
            return;
        }
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let below = (!self.frontmatter).then(|| atlas_vault::parse(text).frontmatter).flatten();
        let text = below.and_then(|frontmatter| text.get(frontmatter.body_start..)).unwrap_or(text);
        let piece = self.format.piece(path, text);
        let [open, close] = self.format.frame();
        let opened = if self.files.is_empty() { open } else { "" };
        let bytes = self.text.len() + opened.len() + piece.len() + close.len();
        let json = json_bytes(opened) + json_bytes(&piece) + json_bytes(path) + AROUND_FILE;
        if bytes > self.max_bytes || json > self.json_room {
            self.truncated = true;
            return;
        }
        self.text.push_str(opened);
        self.text.push_str(&piece);
        self.json_room -= json;
        self.files.push(BundledFile { path: path.to_owned(), bytes: text.len() });
    }

    /// Adds `documents` in their order, until one does not fit. Skips and returns those that are not text.
    async fn add_all(&mut self, index: &Index, documents: &[DocumentRef]) -> Result<Vec<DocumentRef>, Error> {
        // A document without text is empty, not text, or too large for any bundle.
        let mut without = Vec::new();
        for document in documents {
            if index.span(*document)?.length == 0 {
                without.push(*document);
            }
        }
        let records = index.records(&without).await?;
        let is_text = |kind: Kind| matches!(kind, Kind::Note | Kind::Text);
        let other: Vec<DocumentRef> =
            without.iter().zip(&records).filter(|(_, record)| !is_text(record.kind)).map(|(of, _)| *of).collect();
        let too_large = without.iter().zip(&records).find(|(_, record)| is_text(record.kind) && record.bytes > 0);
        let too_large = too_large.map(|(document, _)| *document);
        let mut wanted = Vec::new();
        let mut bytes = 0;
        let left_out = if self.frontmatter { 0 } else { atlas_vault::frontmatter::MAX_YAML_BYTES };
        for document in documents.iter().filter(|document| !other.contains(document)) {
            bytes += (index.span(*document)?.length as usize).saturating_sub(left_out);
            if Some(*document) == too_large || bytes > self.max_bytes {
                break;
            }
            wanted.push(*document);
        }
        let mut rest = wanted.as_slice();
        while !rest.is_empty() && !self.truncated {
            let (count, _) = index.wave(rest, |document| *document)?;
            let (wave, behind) = rest.split_at(count.min(rest.len()));
            for (document, text) in wave.iter().zip(index.texts(wave).await?) {
                self.add(&index.path(*document)?, &String::from_utf8_lossy(&text));
            }
            rest = behind;
        }
        self.truncated |= wanted.len() + other.len() < documents.len();
        Ok(other)
    }

    /// The bundle's text.
    fn finish(&mut self) -> String {
        let [_, close] = self.format.frame();
        if !self.files.is_empty() {
            self.text.push_str(close);
        }
        std::mem::take(&mut self.text)
    }
}
