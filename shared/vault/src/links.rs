//! The links of a file of any kind.

use crate::note::{Link, parse};
use crate::path::VaultPath;
use crate::{canvas, frontmatter, json_text};

/// The syntax of a file's links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkSyntax {
    /// As in a note.
    Note,
    /// In a canvas.
    Canvas,
    /// As wikilinks in the strings of a base.
    Base,
}

impl LinkSyntax {
    /// The syntax for the file at `path`; [`None`] if it can have no links.
    pub(crate) fn of(path: &VaultPath) -> Option<Self> {
        let extension = path.extension()?;
        let forms = [("md", Self::Note), ("canvas", Self::Canvas), ("base", Self::Base)];
        forms.into_iter().find(|(known, _)| extension.eq_ignore_ascii_case(known)).map(|(_, form)| form)
    }

    /// The syntax for rewriting the links of the file at `path`: as in a note if the kind is unknown.
    pub(crate) fn assumed(path: &VaultPath) -> Self {
        Self::of(path).unwrap_or(Self::Note)
    }

    /// The links of a text with this syntax.
    pub(crate) fn links(self, text: &str) -> Vec<Link> {
        match self {
            Self::Note => parse(text).links,
            Self::Canvas => canvas::links(text),
            Self::Base => frontmatter::links_of_yaml(text),
        }
    }

    /// A link's target as written in such a file.
    pub(crate) fn written(self, target: String) -> String {
        match self {
            Self::Canvas => json_text::escaped(&target),
            Self::Note | Self::Base => target,
        }
    }
}

/// Whether the file at `path` is of a kind that has links: a note, a canvas or a base.
#[must_use]
pub fn has_links(path: &VaultPath) -> bool {
    LinkSyntax::of(path).is_some()
}

/// The links of the file at `path`, in the order of the text; those in a note's properties first.
#[must_use]
pub fn links(path: &VaultPath, text: &str) -> Vec<Link> {
    LinkSyntax::of(path).map(|form| form.links(text)).unwrap_or_default()
}
