//! Wikilinks: `[[target#subpath|display]]`, and embeds with `!` before them.

use std::ops::Range;

use crate::lines::{is_break, run_length};
use crate::note::parts::{Link, LinkKind, Notation};

/// A wikilink found in a text.
pub(crate) struct FoundWikilink {
    /// The whole link, the `!` of an embed included.
    pub(crate) range: Range<usize>,
    /// The range between the brackets.
    inner: Range<usize>,
    embed: bool,
}

impl FoundWikilink {
    /// The link's parts; `None` if it is empty.
    pub(crate) fn link(&self, text: &str, range: Range<usize>, line: u32) -> Option<Link> {
        let inner = text.get(self.inner.clone())?;
        let (path, display) = match inner.split_once('|') {
            // In a table, the bar is escaped.
            Some((path, display)) => (path.strip_suffix('\\').unwrap_or(path), display.trim()),
            None => (inner, ""),
        };
        let start = range.start + self.inner.start - self.range.start + path.len() - path.trim_start().len();
        let path = path.trim();
        let (target, subpath) = path.split_once('#').unwrap_or((path, ""));
        let (target, subpath) = (target.trim(), subpath.trim());
        if target.is_empty() && subpath.is_empty() {
            return None;
        }
        let some = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        Some(Link {
            kind: if self.embed { LinkKind::Embed } else { LinkKind::Wikilink },
            target: target.to_owned(),
            subpath: some(subpath),
            display: some(display),
            range,
            destination: start..start + path.len(),
            line,
            notation: Notation::Plain,
        })
    }
}

/// The wikilink that begins with the last two of the `run` brackets at `at`, if it ends on the same line. The search stops at the next
/// `[[`, so calling this after every run takes linear time in total.
pub(crate) fn read(text: &str, at: usize, run: usize) -> Option<FoundWikilink> {
    let bytes = text.as_bytes();
    if run < 2 || (run == 2 && is_escaped(bytes, at)) {
        return None;
    }
    let open = at + run;
    let mut at_end = open;
    let mut in_display = false;
    // Brackets in the display text come in pairs: `[[note|[1]]]`.
    let mut unpaired = 0_usize;
    let end = loop {
        match bytes.get(at_end..)? {
            [byte, ..] if is_break(*byte) => return None,
            [b'[', b'[', ..] => return None,
            [b']', b']', b']', ..] if unpaired > 0 => unpaired -= 1,
            [b']', b']', ..] => break at_end + 2,
            [b'[' | b']', ..] if !in_display => return None,
            [b'[', ..] => unpaired += 1,
            [b']', ..] => unpaired = unpaired.saturating_sub(1),
            [b'|', ..] => in_display = true,
            [_, ..] => {}
            [] => return None,
        }
        at_end += 1;
    };
    let before = (open - 2).checked_sub(1);
    let bang = before.filter(|before| bytes.get(*before) == Some(&b'!') && !is_escaped(bytes, *before));
    Some(FoundWikilink { range: bang.unwrap_or(open - 2)..end, inner: open..end - 2, embed: bang.is_some() })
}

/// Whether the number of backslashes before `at` is odd.
pub(crate) fn is_escaped(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// All wikilinks of a text that is not parsed as markdown.
pub(crate) fn all(text: &str) -> impl Iterator<Item = FoundWikilink> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(found) = memchr::memchr(b'[', text.as_bytes().get(at..)?) {
            let start = at + found;
            let run = run_length(text.as_bytes(), start, b'[');
            at = start + run;
            if let Some(link) = read(text, start, run) {
                at = link.range.end;
                return Some(link);
            }
        }
        None
    })
}
