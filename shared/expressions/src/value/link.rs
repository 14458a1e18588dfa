//! Links to notes, to headings and to blocks.

use std::sync::Arc;

use crate::emoji;

/// The place in a note that a link points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A block, by its id.
    Block,
    /// The whole file.
    File,
    /// A heading.
    Header,
}

impl Target {
    /// Dataview's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::File => "file",
            Self::Header => "header",
        }
    }
}

/// A link, as it was written or as it was resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The path as it is written, without a heading or block; or the address of something outside (Bases).
    pub path: Arc<str>,
    /// The text shown instead of the path.
    pub display: Option<Arc<str>>,
    /// The heading or the block's id.
    pub subpath: Option<Arc<str>>,
    /// Whether it is an embed.
    pub embed: bool,
    /// The place it points to.
    pub target: Target,
}

impl Link {
    /// A link to a whole file.
    #[must_use]
    pub fn file(path: impl Into<Arc<str>>) -> Self {
        Self { path: path.into(), display: None, subpath: None, embed: false, target: Target::File }
    }

    /// A link from what stands between `[[` and `]]`.
    #[must_use]
    pub fn inner(raw: &str) -> Self {
        let mut from = 0;
        let pipe = loop {
            let Some(at) = raw.get(from..).and_then(|rest| rest.find('|')).map(|at| from + at) else { break None };
            if at > 0 && raw.as_bytes().get(at - 1) == Some(&b'\\') {
                from = at + 1;
            } else {
                break Some(at);
            }
        };
        let (path, display) = match pipe {
            Some(at) => (raw.get(..at).unwrap_or_default(), raw.get(at + 1..)),
            None => (raw, None),
        };
        let path = path.replace("\\|", "|");
        let mut link = Self::at(&path);
        link.display = display.filter(|display| !display.is_empty()).map(Arc::from);
        link
    }

    /// A link to `path`, which may end with `#Heading` or `#^block`.
    #[must_use]
    pub fn at(path: &str) -> Self {
        if let Some((path, rest)) = path.split_once("#^") {
            let block = rest.split("#^").next().unwrap_or_default();
            return Self { subpath: Some(block.into()), target: Target::Block, ..Self::file(path) };
        }
        if let Some((path, rest)) = path.split_once('#') {
            let heading = heading(rest.split('#').next().unwrap_or_default());
            return Self { subpath: Some(heading.into()), target: Target::Header, ..Self::file(path) };
        }
        Self::file(path)
    }

    /// The link as markdown, as Dataview writes it: always with something shown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let bang = if self.embed { "!" } else { "" };
        format!("{bang}[[{}|{}]]", self.written(), self.shown())
    }

    /// The text shown for it.
    #[must_use]
    pub fn shown(&self) -> String {
        match (&self.display, &self.subpath) {
            (Some(display), _) if !display.is_empty() => display.to_string(),
            (_, Some(subpath)) => format!("{} > {subpath}", title(&self.path)),
            _ => title(&self.path).to_owned(),
        }
    }

    /// The text between `[[` and the pipe.
    #[must_use]
    pub fn written(&self) -> String {
        let path = self.path.replace('|', "\\|");
        let subpath = self.subpath.as_deref().unwrap_or_default().replace('|', "\\|");
        match self.target {
            Target::File => path,
            Target::Header => format!("{path}#{subpath}"),
            Target::Block => format!("{path}#^{subpath}"),
        }
    }
}

/// The name of a note: its path without folders and without `.md`.
pub(crate) fn title(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".md").unwrap_or(name)
}

/// A heading as links name it: letters, digits, `_`, `-` and emoji; all else is a space, and spaces are one.
fn heading(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let emoji = emoji::prefix(rest);
        let length = if emoji > 0 { emoji } else { next.len_utf8() };
        if emoji > 0 || next.is_ascii_digit() || next == '_' || next == '-' || emoji::is_letter(next) {
            kept.push_str(rest.get(..length).unwrap_or_default());
        } else {
            kept.push(' ');
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}
