//! Keeps links meaning what they meant when files move: [`relink`] rewrites the targets of a note that would mean
//! something else, and no other byte.
//!
//! A target stays as short as it was: a bare name stays one if only the one file can be meant by it, a path from the
//! note's folder (`./`, `../`) or from the root (`/`) stays one; all others become the path from the root. `.md` stays
//! left out or not, markdown targets stay percent-encoded or in `<>`. What a link means is said in
//! [`resolve`](mod@crate::resolve).

mod retarget;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode_byte, utf8_percent_encode};
use unicode_normalization::UnicodeNormalization;

use crate::frontmatter::MAX_YAML_BYTES;
use crate::inline::decode;
use crate::note::parts::has_scheme;
use crate::note::{Link, LinkKind, MAX_BODY_BYTES, parse};
use crate::path::VaultPath;
use crate::resolve::{Files, is_whole_name, meanings, names, resolve};

pub use retarget::Retarget;

/// Most bytes of new targets in one note: with more, the last of them would stand where a note is not looked into.
const MAX_TARGETS_BYTES: usize = MAX_BODY_BYTES + MAX_YAML_BYTES;

/// Files' ways from one path to another, all at once.
#[derive(Clone, Debug)]
pub struct Moves {
    /// Where each file that is moved goes.
    to: BTreeMap<VaultPath, VaultPath>,
    before: Files,
    after: Files,
}

/// A note whose links were rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relinked {
    /// The note.
    pub text: String,
    /// What each rewritten link means after it, in the order of the links.
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
    /// What the link must mean.
    pub meant: VaultPath,
}

impl Moves {
    /// The moves of files, each from one path to another, where there are `files`: all that have the name of one of the paths, and for
    /// [`relink`] of a moved note all that its own links can mean. A file that another is moved over is gone after it, unless it is moved too.
    #[must_use]
    pub fn new(moves: impl IntoIterator<Item = (VaultPath, VaultPath)>, files: Files) -> Self {
        let to: BTreeMap<VaultPath, VaultPath> = moves.into_iter().collect();
        let mut before = files;
        to.keys().cloned().for_each(|from| before.insert(from));
        let mut after = before.clone();
        to.keys().for_each(|from| after.remove(from));
        to.values().cloned().for_each(|to| after.insert(to));
        Self { to, before, after }
    }

    /// Where the file at `path` is after them.
    fn destination<'a>(&'a self, path: &'a VaultPath) -> &'a VaultPath {
        self.to.get(path).unwrap_or(path)
    }

    /// What a link in the note that was at `path` must mean after them.
    fn wanted<'a>(&'a self, link: &Link, path: &'a VaultPath) -> Option<&'a VaultPath> {
        is_internal(link).then(|| resolve(&link.target, path, &self.before))?.map(|meant| self.destination(meant))
    }
}

/// The folded names of the files that the links of a note can mean, each as often as there are links with it.
pub fn names_meant(text: &str) -> impl Iterator<Item = String> {
    parse(text).links.into_iter().filter(is_internal).flat_map(|link| names(&link.target).collect::<Vec<_>>())
}

/// The ways in which links write the name of the file at `path`: as it is, without `.md`; percent-encoded as Obsidian, as
/// browsers and as [`relink`] do it; escaped; composed and decomposed. Any other mixture of these is not among them.
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
        written.insert(name);
    }
    written
}

/// What JavaScript's `encodeURIComponent` encodes, and what its `encodeURI` does.
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

/// Rewrites the links of the note that was at `path` before the moves; [`None`] if they mean what they meant.
///
/// # Errors
/// When there is no way to write one of them: wikilinks have none for a name with `#`, `|`, `[` or `]`.
pub fn relink(text: &str, path: &VaultPath, moves: &Moves) -> Result<Option<Relinked>, Unlinkable> {
    rewrite(text, path, moves.destination(path), moves)
}

/// Rewrites the links of a copy of the note at `from` that will be at `to`, so that they mean what they mean in the note; [`None`] if they do.
/// `files` are all that its links can mean.
///
/// # Errors
/// As [`relink`].
pub fn relink_copy(text: &str, from: &VaultPath, to: &VaultPath, files: Files) -> Result<Option<Relinked>, Unlinkable> {
    let mut moves = Moves::new([], files);
    moves.after.insert(to.clone());
    rewrite(text, from, to, &moves)
}

/// What the links mean that `other` writes otherwise than `text`, the note that was at `path` before the moves, if that is all in which it differs
/// from it and they mean what they must after them.
#[must_use]
pub fn rewording(text: &str, other: &str, path: &VaultPath, moves: &Moves) -> Option<Vec<VaultPath>> {
    let links = parse(text).links;
    verify(&links, other, path, moves.destination(path), moves).ok()?;
    let others = parse(other).links;
    if without_targets(text, &links) != without_targets(other, &others) {
        return None;
    }
    let differing = links.iter().zip(&others).filter(|(one, other)| one.target != other.target);
    Some(differing.filter_map(|(link, _)| moves.wanted(link, path).cloned()).collect())
}

/// A note without what its links lead to.
fn without_targets(text: &str, links: &[Link]) -> String {
    let targets: BTreeMap<usize, usize> =
        links.iter().map(|link| (link.destination.start, link.destination.end)).collect();
    replaced(text, targets.into_iter().map(|(start, end)| (start..end, String::new())))
}

/// `text` with something else in some places, which are in order.
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

/// Rewrites the links of the note that was at `path`, for one at `here`.
fn rewrite(text: &str, path: &VaultPath, here: &VaultPath, moves: &Moves) -> Result<Option<Relinked>, Unlinkable> {
    let links = parse(text).links;
    let mut edits: BTreeMap<usize, (Range<usize>, String)> = BTreeMap::new();
    let mut rewritten = Vec::new();
    let mut bytes = 0;
    for link in &links {
        let Some(meant) = moves.wanted(link, path) else { continue };
        if resolve(&link.target, here, &moves.after) == Some(meant) {
            continue;
        }
        let before = resolve(&link.target, path, &moves.before).unwrap_or(meant);
        let edit = targets(link, before, meant, here, &moves.after).find_map(|target| edit(text, link, &target));
        let (range, new) = edit.ok_or_else(|| unlinkable(link, path, meant))?;
        bytes += new.len();
        if bytes > MAX_TARGETS_BYTES {
            return Err(unlinkable(link, path, meant));
        }
        rewritten.push(meant.clone());
        // Links by reference share one.
        edits.insert(range.start, (range, new));
    }
    if edits.is_empty() {
        return Ok(None);
    }
    let out = replaced(text, edits.into_values());
    verify(&links, &out, path, here, moves)?;
    Ok(Some(Relinked { text: out, meant: rewritten }))
}

fn unlinkable(link: &Link, note: &VaultPath, meant: &VaultPath) -> Unlinkable {
    Unlinkable { note: note.clone(), line: link.line, meant: meant.clone() }
}

/// Fails unless the links of `text` are those that were there before, and mean what they must: what is a link depends on
/// all that stands around it.
fn verify(before: &[Link], text: &str, path: &VaultPath, here: &VaultPath, moves: &Moves) -> Result<(), Unlinkable> {
    let links = parse(text).links;
    for (index, old) in before.iter().enumerate() {
        let wanted = moves.wanted(old, path);
        let is_as_wanted = |new: &Link| {
            let is_meant = match wanted {
                Some(wanted) => is_internal(new) && resolve(&new.target, here, &moves.after) == Some(wanted),
                None => new.target == old.target,
            };
            is_meant && new.kind == old.kind && new.subpath == old.subpath
        };
        if links.len() != before.len() || !links.get(index).is_some_and(is_as_wanted) {
            return Err(unlinkable(old, path, wanted.unwrap_or(here)));
        }
    }
    Ok(())
}

/// Whether a link means a file, and not the note itself or something outside of the vault.
fn is_internal(link: &Link) -> bool {
    !link.target.is_empty() && !link.is_external()
}

/// The target of a new wikilink in the note at `here` that means the file `meant`, as Obsidian writes it: its name if only it can be meant
/// so, else its path from the root. [`None`] if a wikilink cannot name it. `files` are all that have its name, or that without `.md`.
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

/// The targets that mean `meant` in the note that is `here`, the one most like that of `link`, which meant `before`, first.
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

/// The way from `folder` to `path`.
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

/// The bytes of `text` to replace, and with what, so that `link` has another `target`; [`None`] if it cannot have that.
fn edit(text: &str, link: &Link, target: &str) -> Option<(Range<usize>, String)> {
    let start = link.destination.start;
    let written = text.get(link.destination.clone()).filter(|written| !written.is_empty())?;
    let old = written.split_once('#').map_or(written, |(old, _)| old).trim_end();
    if matches!(link.kind, LinkKind::Wikilink | LinkKind::Embed) {
        return is_writable(target).then(|| (start..start + old.len(), target.to_owned()));
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

/// How a markdown target is written.
#[derive(Clone, Copy)]
struct Style {
    /// In `<>`, and nothing encoded that need not be.
    is_plain: bool,
    /// Everything outside ASCII encoded.
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
