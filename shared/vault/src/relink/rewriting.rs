//! Rewrites the links of one note, and checks that each then means what it must.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{MAX_TARGETS_BYTES, Moves, Relinked, Unlinkable, edit, is_internal, replaced, targets};
use crate::links::LinkSyntax;
use crate::note::Link;
use crate::path::VaultPath;
use crate::resolve::resolve;

/// Most times that the links of one note are tried in parts, to find those that cannot be written, and most bytes read for that.
const MAX_TRIES: usize = 200;
const MAX_TRIED_BYTES: usize = 64 << 20;

/// Like [`relink`](super::relink), for moves that have happened: leaves the links that cannot be written, and returns them.
#[must_use]
pub fn relink_possible(text: &str, path: &VaultPath, moves: &Moves) -> (Option<Relinked>, Vec<Unlinkable>) {
    let here = moves.destination(path);
    let form = LinkSyntax::assumed(path);
    let written = form.links(text);
    let Edits { mut of_links, mut left } = Edits::of(text, form, &written, path, here, moves);
    let starts: Vec<usize> = of_links.keys().copied().collect();
    let mut parts: Vec<&[usize]> = Some(starts.as_slice()).filter(|starts| !starts.is_empty()).into_iter().collect();
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    let mut out = None;
    for _ in 0..(MAX_TRIED_BYTES / text.len().max(1)).clamp(1, MAX_TRIES) {
        let Some(part) = parts.pop() else { break };
        let tried: BTreeSet<usize> = kept.iter().chain(part).copied().collect();
        let others = of_links.keys().filter(|start| !tried.contains(start));
        let others = left.keys().chain(others).copied().collect();
        let edits = of_links.iter().filter(|(start, _)| tried.contains(start)).map(|(_, edit)| edit.of_text());
        let new = replaced(text, edits);
        if verify(&written, &new, path, here, moves, &others).is_ok() {
            (kept, out) = (tried, Some(new));
        } else if part.len() > 1 {
            let (first, second) = part.split_at(part.len() / 2);
            parts.extend([second, first]);
        }
    }
    for start in starts.iter().filter(|start| !kept.contains(start)) {
        let links = of_links.remove(start).map_or_else(Vec::new, |edit| edit.links);
        let links = links.into_iter().map(|(_, line, meant)| Unlinkable { note: path.clone(), line, meant });
        left.insert(*start, links.collect());
    }
    let meant = meant(of_links);
    let relinked = out.filter(|_| !kept.is_empty()).map(|text| Relinked { text, meant });
    (relinked, left.into_values().flatten().collect())
}

/// Rewrites the links of the note that was at `path`, for a note at `here`.
pub(super) fn rewrite(
    text: &str,
    path: &VaultPath,
    here: &VaultPath,
    moves: &Moves,
) -> Result<Option<Relinked>, Unlinkable> {
    let form = LinkSyntax::assumed(path);
    let written = form.links(text);
    let Edits { of_links, left } = Edits::of(text, form, &written, path, here, moves);
    if let Some(unlinkable) = left.into_values().flatten().next() {
        return Err(unlinkable);
    }
    if of_links.is_empty() {
        return Ok(None);
    }
    let out = replaced(text, of_links.values().map(Edit::of_text));
    verify(&written, &out, path, here, moves, &BTreeSet::new())?;
    Ok(Some(Relinked { text: out, meant: meant(of_links) }))
}

/// The files that the rewritten links mean, in the order of the links.
fn meant(of_links: BTreeMap<usize, Edit>) -> Vec<VaultPath> {
    let mut links: Vec<_> = of_links.into_values().flat_map(|edit| edit.links).collect();
    links.sort_unstable_by_key(|(index, ..)| *index);
    links.into_iter().map(|(.., meant)| meant).collect()
}

/// The change of a destination. Reference links with the same definition share one.
struct Edit {
    range: Range<usize>,
    new: String,
    /// The index and the line of each of its links, and the file that it must mean.
    links: Vec<(usize, u32, VaultPath)>,
}

impl Edit {
    fn of_text(&self) -> (Range<usize>, String) {
        (self.range.clone(), self.new.clone())
    }
}

/// What becomes of the links that would mean something else after the moves.
#[derive(Default)]
struct Edits {
    /// By the start of the destination.
    of_links: BTreeMap<usize, Edit>,
    /// By the start of the destination, the links that cannot be written.
    left: BTreeMap<usize, Vec<Unlinkable>>,
}

impl Edits {
    fn of(text: &str, form: LinkSyntax, links: &[Link], path: &VaultPath, here: &VaultPath, moves: &Moves) -> Self {
        let mut all = Self::default();
        let mut bytes = 0;
        for (index, link) in links.iter().enumerate() {
            let Some(meant) = moves.wanted(link, path) else { continue };
            if resolve(&link.target, here, &moves.after) == Some(meant) {
                continue;
            }
            let start = link.destination.start;
            let before = resolve(&link.target, path, &moves.before).unwrap_or(meant);
            let edit = targets(link, before, meant, here, &moves.after).find_map(|target| edit(text, link, &target));
            let edit = edit.map(|(range, new)| (range, form.written(new)));
            bytes += edit.as_ref().map_or(0, |(_, new)| new.len());
            match edit.filter(|_| bytes <= MAX_TARGETS_BYTES) {
                Some((range, new)) => {
                    let edit = all.of_links.entry(start).or_insert_with(|| Edit { range, new, links: Vec::new() });
                    edit.links.push((index, link.line, meant.clone()));
                }
                None => all.left.entry(start).or_default().push(unlinkable(link, path, meant)),
            }
        }
        all.of_links.retain(|start, _| !all.left.contains_key(start));
        all
    }
}

pub(super) fn unlinkable(link: &Link, note: &VaultPath, meant: &VaultPath) -> Unlinkable {
    Unlinkable { note: note.clone(), line: link.line, meant: meant.clone() }
}

/// Fails unless `text` has the same links as before and each means what it must; those with a destination at a start in `left` are as
/// before. This check is needed because the text around a link decides whether it is a link.
pub(super) fn verify(
    before: &[Link],
    text: &str,
    path: &VaultPath,
    here: &VaultPath,
    moves: &Moves,
    left: &BTreeSet<usize>,
) -> Result<(), Unlinkable> {
    let links = LinkSyntax::assumed(path).links(text);
    for (index, old) in before.iter().enumerate() {
        let wanted = moves.wanted(old, path).filter(|_| !left.contains(&old.destination.start));
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
