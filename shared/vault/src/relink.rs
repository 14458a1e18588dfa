//! Keeps the meaning of links when files move: [`relink`] rewrites those targets of a note that would mean something else, and no other
//! byte.
//!
//! A target keeps its style. A bare name stays a bare name if it can mean only that one file; a path from the note's folder (`./`, `../`)
//! or from the root (`/`) stays one; every other target becomes the path from the root. `.md` stays present or omitted, and markdown
//! targets stay percent-encoded or in `<>`. [`resolve`](mod@crate::resolve) says what a link means.

mod retarget;
mod rewriting;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode_byte, utf8_percent_encode};
use unicode_normalization::UnicodeNormalization;

use crate::frontmatter::MAX_YAML_BYTES;
use crate::inline::decode;
use crate::json_text::{escaped, escaped_to_ascii};
use crate::links::LinkSyntax;
use crate::note::parts::has_scheme;
use crate::note::{Link, LinkKind, MAX_BODY_BYTES};
use crate::path::VaultPath;
use crate::resolve::{Files, is_whole_name, meanings, names, resolve};

use rewriting::{rewrite, unlinkable, verify};

pub use retarget::Retarget;
pub use rewriting::relink_possible;

/// Most bytes of new targets in one note. With more, the last of them would be beyond the part of a note that is parsed.
const MAX_TARGETS_BYTES: usize = MAX_BODY_BYTES + MAX_YAML_BYTES;

/// A set of file moves that happen at once.
#[derive(Clone, Debug)]
pub struct Moves {
    /// The new path of each moved file.
    to: BTreeMap<VaultPath, VaultPath>,
    before: Files,
    after: Files,
    /// Whether links that mean a file after the moves stay as they are.
    only_broken: bool,
}

/// A note whose links were rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relinked {
    /// The note.
    pub text: String,
    /// The file that each rewritten link means afterwards, in the order of the links.
    pub meant: Vec<VaultPath>,
}

/// Why a note's links cannot be rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the link on line {} of {note} cannot be written so that it means {meant}", line + 1)]
pub struct Unlinkable {
    /// The note.
    pub note: VaultPath,
    /// The line of the link, counted from 0.
    pub line: u32,
    /// The target that the link must have.
    pub meant: VaultPath,
}

impl Moves {
    /// The moves, as pairs of old and new path. `files` must contain all files that share a name with one of these
    /// paths and, for [`relink`] of a moved note, all files that its links can mean. A file at a new path is
    /// overwritten, unless it is moved too.
    #[must_use]
    pub fn new(moves: impl IntoIterator<Item = (VaultPath, VaultPath)>, files: Files) -> Self {
        let to: BTreeMap<VaultPath, VaultPath> = moves.into_iter().collect();
        let mut before = files;
        to.keys().cloned().for_each(|from| before.insert(from));
        let mut after = before.clone();
        to.keys().for_each(|from| after.remove(from));
        to.values().cloned().for_each(|to| after.insert(to));
        Self { to, before, after, only_broken: false }
    }

    /// The same moves, for a note that somebody may have written after them: a link that means a file is left as it is.
    #[must_use]
    pub fn only_broken(&self) -> Self {
        Self { only_broken: true, ..self.clone() }
    }

    /// The path after the moves of the file at `path`.
    fn destination<'a>(&'a self, path: &'a VaultPath) -> &'a VaultPath {
        self.to.get(path).unwrap_or(path)
    }

    /// The file that a link in the note that was at `path` must mean after the moves.
    fn wanted<'a>(&'a self, link: &Link, path: &'a VaultPath) -> Option<&'a VaultPath> {
        let meant = is_internal(link).then(|| resolve(&link.target, path, &self.before))??;
        let is_left = self.only_broken && resolve(&link.target, self.destination(path), &self.after).is_some();
        (!is_left).then(|| self.destination(meant))
    }
}

/// The folded names of the files that the links of the file at `path` can mean. A name is repeated for each link with it.
pub fn names_meant(path: &VaultPath, text: &str) -> impl Iterator<Item = String> {
    LinkSyntax::assumed(path)
        .links(text)
        .into_iter()
        .filter(is_internal)
        .flat_map(|link| names(&link.target).collect::<Vec<_>>())
}

/// The spellings that links use for the name of the file at `path`: as it is, without `.md`; percent-encoded as by Obsidian, browsers and
/// [`relink`]; escaped; composed and decomposed. Other mixtures of these are not included.
#[must_use]
pub fn written_names(path: &VaultPath) -> BTreeSet<String> {
    let name = if path.is_note() { path.stem() } else { path.file_name() };
    let mut written = BTreeSet::new();
    for name in [name.to_owned(), name.nfd().collect()] {
        for (is_plain, is_ascii) in [(true, false), (false, false), (false, true)] {
            written.insert(Style { is_plain, is_ascii }.encode(&name));
        }
        for encoded in [&IN_URIS, &IN_COMPONENTS] {
            written.insert(utf8_percent_encode(&name, encoded).to_string());
        }
        written.insert(name.replace(' ', "%20"));
        written.insert(name.replace('(', "\\(").replace(')', "\\)"));
        written.insert(name.replace('&', "&amp;"));
        // In properties and canvases.
        written.insert(name.replace('\'', "''"));
        written.insert(escaped(&name));
        written.insert(escaped_to_ascii(&name));
        written.insert(name);
    }
    written
}

/// The characters that JavaScript's `encodeURIComponent` and `encodeURI` encode.
const IN_COMPONENTS: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');
const IN_URIS: AsciiSet = IN_COMPONENTS
    .remove(b';')
    .remove(b',')
    .remove(b'/')
    .remove(b'?')
    .remove(b':')
    .remove(b'@')
    .remove(b'&')
    .remove(b'=')
    .remove(b'+')
    .remove(b'$')
    .remove(b'#');

/// Rewrites the links of the note that was at `path` before the moves. [`None`] if they still mean the same files.
///
/// # Errors
/// When a link cannot be written: a wikilink cannot name a file with `#`, `|`, `[` or `]` in its name.
pub fn relink(text: &str, path: &VaultPath, moves: &Moves) -> Result<Option<Relinked>, Unlinkable> {
    rewrite(text, path, moves.destination(path), moves)
}

/// Rewrites the links for a copy at `to` of the note at `from`, so that they mean the same files as in the original.
/// [`None`] if they already do. `files` must contain all files that the links can mean.
///
/// # Errors As [`relink`].
pub fn relink_copy(text: &str, from: &VaultPath, to: &VaultPath, files: Files) -> Result<Option<Relinked>, Unlinkable> {
    let mut moves = Moves::new([], files);
    moves.after.insert(to.clone());
    rewrite(text, from, to, &moves)
}

/// The files meant by the links that `other` writes differently from `text`, the note that was at `path` before the moves. [`None`] if
/// the texts differ in anything else, or if a link of `other` does not mean what it must after the moves.
#[must_use]
pub fn rewording(text: &str, other: &str, path: &VaultPath, moves: &Moves) -> Option<Vec<VaultPath>> {
    let form = LinkSyntax::assumed(path);
    let written = form.links(text);
    verify(&written, other, path, moves.destination(path), moves, &BTreeSet::new()).ok()?;
    let others = form.links(other);
    if without_targets(text, &written) != without_targets(other, &others) {
        return None;
    }
    let differing = written.iter().zip(&others).filter(|(one, other)| one.target != other.target);
    Some(differing.filter_map(|(link, _)| moves.wanted(link, path).cloned()).collect())
}

/// A note without the targets of its links.
fn without_targets(text: &str, links: &[Link]) -> String {
    let targets: BTreeMap<usize, usize> =
        links.iter().map(|link| (link.destination.start, link.destination.end)).collect();
    replaced(text, targets.into_iter().map(|(start, end)| (start..end, String::new())))
}

/// `text` with some ranges replaced. The ranges are in order.
fn replaced(text: &str, edits: impl IntoIterator<Item = (Range<usize>, String)>) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for (range, new) in edits {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Whether a link means a file, and not the note itself or something outside of the vault.
fn is_internal(link: &Link) -> bool {
    !link.target.is_empty() && !link.is_external()
}

/// The target for a new wikilink in the note at `here` that means the file `meant`, as Obsidian writes it: the file's
/// name if that is unambiguous, else its path from the root. [`None`] if a wikilink cannot refer to the file. `files`
/// must contain all files with its name, with or without `.md`.
#[must_use]
pub fn shortest_target(meant: &VaultPath, here: &VaultPath, files: &Files) -> Option<String> {
    let shown = |path: &str| match path.len().checked_sub(".md".len()) {
        Some(end) if meant.is_note() => path.get(..end).unwrap_or(path).to_owned(),
        _ => path.to_owned(),
    };
    let (name, path) = (shown(meant.file_name()), shown(meant.as_str()));
    let name = (files.only(&name) == Some(meant)).then_some(name);
    let others = [path.clone(), meant.as_str().to_owned(), format!("/{path}"), format!("/{meant}")];
    let mut targets = name.into_iter().chain(others);
    targets.find(|target| is_writable(target) && resolve(target, here, files) == Some(meant))
}

/// Whether a wikilink can have this target.
fn is_writable(target: &str) -> bool {
    !target.contains(['#', '|', '[', ']']) && target.trim() == target
}

/// Targets that mean `meant` in the note at `here`. The one most similar to the target of `link`, which meant `before`, comes first.
fn targets<'a>(
    link: &'a Link,
    before: &VaultPath,
    meant: &'a VaultPath,
    here: &'a VaultPath,
    files: &'a Files,
) -> impl Iterator<Item = String> + 'a {
    let old = link.target.as_str();
    let has_extension = is_whole_name(old, before);
    let shown = move |path: &'a str| match path.len().checked_sub(".md".len()) {
        Some(end) if meant.is_note() && !has_extension => path.get(..end).unwrap_or(path),
        _ => path,
    };
    let path = shown(meant.as_str());
    let alike = if old.starts_with("./") || old.starts_with("../") {
        Some(relative(here.folder().unwrap_or_default(), path))
    } else if old.starts_with('/') {
        Some(format!("/{path}"))
    } else {
        let name = shown(meant.file_name());
        let is_only = || matches!(meanings(name, here, files).as_slice(), [only] if *only == meant);
        (!old.contains('/') && is_only()).then(|| name.to_owned())
    };
    let others = [path.to_owned(), meant.as_str().to_owned(), format!("/{path}"), format!("/{meant}")];
    let targets = alike.into_iter().chain(others);
    targets.filter(move |target| resolve(target, here, files) == Some(meant))
}

/// The relative path from `folder` to `path`.
fn relative(folder: &str, path: &str) -> String {
    let mut names = folder.split('/').filter(|name| !name.is_empty()).peekable();
    let mut rest = path;
    while let Some((name, below)) = rest.split_once('/')
        && names.next_if_eq(&name).is_some()
    {
        rest = below;
    }
    match names.count() {
        0 => format!("./{rest}"),
        up => format!("{}{rest}", "../".repeat(up)),
    }
}

/// The bytes of `text` to replace, and the replacement, to give `link` another `target`. [`None`] if the link cannot have that target.
fn edit(text: &str, link: &Link, target: &str) -> Option<(Range<usize>, String)> {
    let start = link.destination.start;
    if link.kind == LinkKind::CanvasFile {
        return target.strip_prefix('/').map(|path| (link.destination.clone(), path.to_owned()));
    }
    let written = text.get(link.destination.clone()).filter(|written| !written.is_empty())?;
    let old = written.split_once('#').map_or(written, |(old, _)| old).trim_end();
    if matches!(link.kind, LinkKind::Wikilink | LinkKind::Embed) {
        return is_writable(target).then(|| (start..start + old.len(), link.notation.escaped(target)));
    }
    if has_scheme(target) {
        return None;
    }
    let is_bracketed = text.get(..start).is_some_and(|before| before.ends_with('<'));
    let style = Style { is_plain: is_bracketed && decode(old) == old, is_ascii: has_encoded_letters(old) };
    let target = style.encode(target);
    if decode(old) == link.target {
        return Some((start..start + old.len(), target));
    }
    // Escapes or entities hide where the target ends.
    let subpath = link.subpath.as_ref().map(|subpath| format!("#{}", style.encode(subpath)));
    Some((link.destination.clone(), target + &subpath.unwrap_or_default()))
}

/// Whether letters outside ASCII are percent-encoded.
fn has_encoded_letters(written: &str) -> bool {
    let is_high = |pair: &[u8]| matches!(pair, [b'%', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', ..]);
    written.as_bytes().windows(2).any(is_high)
}

/// The style of a markdown target.
#[derive(Clone, Copy)]
struct Style {
    /// Written in `<>`, with nothing encoded unnecessarily.
    is_plain: bool,
    /// Everything outside ASCII is encoded.
    is_ascii: bool,
}

impl Style {
    fn encode(self, target: &str) -> String {
        // An ampersand begins an entity only if a semicolon follows.
        let is_literal = |c: char| match c {
            '<' | '>' | '%' | '#' | '`' | '$' | '|' | '[' | ']' | '\\' => false,
            ' ' | '"' | '(' | ')' | '?' | '^' | '{' | '}' => self.is_plain,
            '&' => !target.contains(';'),
            c => !c.is_control() && (c.is_ascii() || self.is_plain || !self.is_ascii),
        };
        let mut out = String::with_capacity(target.len());
        for c in target.chars() {
            if is_literal(c) {
                out.push(c);
            } else {
                out.extend(c.encode_utf8(&mut [0; 4]).bytes().map(percent_encode_byte));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests;
