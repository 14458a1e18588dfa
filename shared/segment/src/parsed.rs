//! A document's content as the sections need it. Documents are parsed side by side, and added in path order.

use atlas_vault::{Link, Note, VaultPath};

use crate::code::Code;
use crate::record::Kind;
use crate::text;

/// What is found in a document's text before it is added.
#[derive(Debug)]
pub struct Parsed {
    pub(crate) content: Content,
    pub(crate) code: Option<Code>,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// Of a note.
    Note(Box<Note>),
    /// Of another text: its links.
    Links(Vec<Link>),
    /// Neither.
    Other,
}

impl Parsed {
    /// The content of a document, whose text need not be UTF-8.
    #[must_use]
    pub fn of(kind: Kind, path: &VaultPath, text: &[u8]) -> Self {
        let decoded = || text::decoded(text);
        let content = match kind {
            Kind::Note => Content::Note(Box::new(atlas_vault::parse(&decoded()))),
            Kind::Text => Content::Links(atlas_vault::links(path, &decoded())),
            Kind::Attachment | Kind::Config => Content::Other,
        };
        Self { content, code: None }
    }

    /// The same, with what it says as source code.
    #[must_use]
    pub fn with_code(self, code: Option<Code>) -> Self {
        Self { code, ..self }
    }
}
