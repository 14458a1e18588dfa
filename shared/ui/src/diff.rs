//! Changed lines, one below the other or side by side, with the words that differ within a line.

mod looks;

use std::ops::Range;

use atlas_vault::diff::words;
use atlas_vault::visible::{piece, visible};
use maud::{Markup, html};

/// How lines are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// One below the other.
    Unified,
    /// Side by side.
    Split,
    /// Side by side, as the notes look.
    Rendered,
}

impl View {
    /// The view with this name in an address.
    pub(crate) fn named(name: &str) -> Self {
        [Self::Split, Self::Rendered].into_iter().find(|view| view.name() == name).unwrap_or(Self::Unified)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Unified => "unified",
            Self::Split => "split",
            Self::Rendered => "rendered",
        }
    }

    /// The same for files that have no other look than their lines.
    pub(crate) const fn of_source(self) -> Self {
        if matches!(self, Self::Rendered) { Self::Split } else { self }
    }
}

/// A line of one version.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    number: u32,
    text: &'a str,
    /// The words that the other version does not have.
    marks: Vec<Range<usize>>,
}

/// A part of a diff.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    /// Lines that are not shown.
    Gap,
    /// A line that stays, with its numbers before and after.
    Same(u32, u32, &'a str),
    /// Lines that go, and lines that come instead.
    Changed(Vec<Line<'a>>, Vec<Line<'a>>),
    /// That there is more.
    More(&'a str),
}

/// How many lines come and go.
pub(crate) fn counts(diff: &str) -> (u64, u64) {
    let of = |sign: char| diff.lines().filter(|line| line.starts_with(sign)).count() as u64;
    (of('+'), of('-'))
}

/// Shows a unified diff; at most `most` lines of it.
pub(crate) fn show(diff: &str, view: View, most: usize) -> Markup {
    let all = diff.lines().count();
    // A line that ends as on Windows keeps its sign for that, until it is known whether its end changes.
    let shown: Vec<&str> = diff.split_terminator('\n').take(most).collect();
    let parts = parts(&shown);
    let left = all.saturating_sub(shown.len());
    html! {
        div.scroll tabindex="0" role="group" aria-label="Changed lines" {
            @match view {
                View::Unified => table.diff.unified { tbody { @for part in &parts { (unified(part)) } } },
                View::Split => (side_by_side(&parts)),
                View::Rendered => (looks::show(&parts).unwrap_or_else(|| side_by_side(&parts))),
            }
        }
        @if left > 0 { p.hint { (crate::words::count(left as u64, "more line", "more lines")) } }
    }
}

fn unified(part: &Part<'_>) -> Markup {
    html! {
        @match part {
            Part::Gap => tr.gap { td {} td {} td {} td { "⋯" } },
            Part::Same(old, new, text) => tr { td.n { (old) } td.n { (new) } td.sign {} td.line { (visible(text)) } },
            Part::Changed(removed, added) => {
                @for line in removed { tr.del { td.n { (line.number) } td.n {} td.sign { "−" } td.line { (marked(line.text, &line.marks)) } } }
                @for line in added { tr.ins { td.n {} td.n { (line.number) } td.sign { "+" } td.line { (marked(line.text, &line.marks)) } } }
            }
            Part::More(text) => tr.gap { td {} td {} td {} td { (text) } },
        }
    }
}

fn side_by_side(parts: &[Part<'_>]) -> Markup {
    html! {
        table.diff.split {
            colgroup { col.n; col; col.n; col; }
            thead { tr { th colspan="2" scope="colgroup" { "Before" } th colspan="2" scope="colgroup" { "After" } } }
            tbody { @for part in parts { (split(part)) } }
        }
    }
}

fn split(part: &Part<'_>) -> Markup {
    html! {
        @match part {
            Part::Gap => tr.gap { td {} td { "⋯" } td {} td {} },
            Part::Same(old, new, text) => tr { td.n { (old) } td.line { (visible(text)) } td.n { (new) } td.line { (visible(text)) } },
            Part::Changed(removed, added) => {
                @for row in 0..removed.len().max(added.len()) {
                    tr {
                        @match removed.get(row) {
                            Some(line) => { td.n.del { (line.number) } td.line.del { (marked(line.text, &line.marks)) } }
                            None => { td.n.none {} td.line.none {} }
                        }
                        @match added.get(row) {
                            Some(line) => { td.n.ins { (line.number) } td.line.ins { (marked(line.text, &line.marks)) } }
                            None => { td.n.none {} td.line.none {} }
                        }
                    }
                }
            }
            Part::More(text) => tr.gap { td {} td { (text) } td {} td {} },
        }
    }
}

/// A line with these parts of it marked.
pub(crate) fn marked(text: &str, marks: &[Range<usize>]) -> Markup {
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let shown = |range: Range<usize>| piece(part(0..range.start), part(range.clone()), part(range.end..text.len()));
    let mut pieces = Vec::new();
    let mut end = 0;
    for mark in marks {
        pieces.push((shown(end..mark.start), false));
        pieces.push((shown(mark.clone()), true));
        end = mark.end;
    }
    pieces.push((shown(end..text.len()), false));
    html! { @for (text, is_mark) in pieces { @if is_mark { mark { (text) } } @else { (text) } } }
}

/// The parts of the lines of a unified diff.
fn parts<'a>(lines: &[&'a str]) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let (mut old, mut new) = (1_u32, 1_u32);
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for line in lines {
        let is_change = line.starts_with(['-', '+']);
        // A line that goes after one that came begins another change.
        if !is_change || (line.starts_with('-') && !added.is_empty()) {
            flush(&mut parts, &mut removed, &mut added);
        }
        let text = line.get(1..).unwrap_or_default();
        match line.as_bytes().first() {
            Some(b'-') => {
                removed.push(Line { number: old, text, marks: Vec::new() });
                old = old.saturating_add(1);
            }
            Some(b'+') => {
                added.push(Line { number: new, text, marks: Vec::new() });
                new = new.saturating_add(1);
            }
            Some(b'@') => {
                (old, new) = places(line).unwrap_or((old, new));
                if !parts.is_empty() || old > 1 {
                    parts.push(Part::Gap);
                }
            }
            Some(b'.') => parts.push(Part::More(line)),
            _ => {
                parts.push(Part::Same(old, new, text.strip_suffix('\r').unwrap_or(text)));
                (old, new) = (old.saturating_add(1), new.saturating_add(1));
            }
        }
    }
    flush(&mut parts, &mut removed, &mut added);
    parts
}

fn flush<'a>(parts: &mut Vec<Part<'a>>, removed: &mut Vec<Line<'a>>, added: &mut Vec<Line<'a>>) {
    if removed.is_empty() && added.is_empty() {
        return;
    }
    if removed.iter().chain(added.iter()).all(|line| line.text.ends_with('\r')) {
        for line in removed.iter_mut().chain(added.iter_mut()) {
            line.text = line.text.strip_suffix('\r').unwrap_or(line.text);
        }
    }
    for (old, new) in removed.iter_mut().zip(added.iter_mut()) {
        if let Some((of_old, of_new)) = words(old.text, new.text) {
            (old.marks, new.marks) = (of_old, of_new);
        }
    }
    parts.push(Part::Changed(std::mem::take(removed), std::mem::take(added)));
}

/// The line numbers in the head of a hunk: `@@ -1,3 +1,4 @@`.
fn places(head: &str) -> Option<(u32, u32)> {
    let number = |text: &str| text.split(',').next()?.parse().ok();
    let (old, new) = head.strip_prefix("@@ -")?.split_once(" +")?;
    Some((number(old)?, number(new.split(' ').next()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "@@ -3,4 +3,4 @@\n keep\n-the red boat\n+the blue boat\n last\n@@ -20,1 +20,2 @@\n x\n+<script>\n... and 7 lines more\n";

    #[test]
    fn a_diff_has_numbers_marks_and_gaps() {
        let lines: Vec<&str> = DIFF.lines().collect();
        let line = |number, text, mark: Option<Range<usize>>| Line { number, text, marks: mark.into_iter().collect() };
        assert_eq!(
            parts(&lines),
            vec![
                Part::Gap,
                Part::Same(3, 3, "keep"),
                Part::Changed(vec![line(4, "the red boat", Some(4..7))], vec![line(4, "the blue boat", Some(4..8))]),
                Part::Same(5, 5, "last"),
                Part::Gap,
                Part::Same(20, 20, "x"),
                Part::Changed(vec![], vec![line(21, "<script>", None)]),
                Part::More("... and 7 lines more"),
            ]
        );
        assert_eq!(counts(DIFF), (2, 1));
    }

    #[test]
    fn what_cannot_be_seen_is_marked_in_every_view() {
        let diff = "@@ -1,3 +1,3 @@\n a\u{AD}b\n-pay ada now\n+pay \u{202E}ada now\n";
        for view in [View::Unified, View::Split, View::Rendered] {
            let shown = show(diff, view, 100).into_string();
            assert!(shown.contains("⟨U+202E⟩") && shown.contains("a⟨U+00AD⟩b"), "{shown}");
            assert!(!shown.contains('\u{202E}'), "{shown}");
        }
        // Other ends of lines are a change; the same ones are none.
        let shown = show("@@ -1,1 +1,1 @@\n-a\r\n+a\n", View::Split, 100).into_string();
        assert!(shown.contains("⟨U+000D⟩"), "{shown}");
        let shown = show("@@ -1,2 +1,2 @@\n x\r\n-a\r\n+b\r\n", View::Split, 100).into_string();
        assert!(!shown.contains("U+000D"), "{shown}");
    }

    #[test]
    fn what_a_line_has_is_text_in_both_views() {
        for view in [View::Unified, View::Split] {
            let shown = show(DIFF, view, 100).into_string();
            assert!(shown.contains("&lt;script&gt;") && !shown.contains("<script"), "{shown}");
            assert!(shown.contains("the <mark>blue</mark> boat"), "{shown}");
            assert!(show(DIFF, view, 3).into_string().contains("6 more lines"));
            assert_eq!(View::named(view.name()), view);
        }
        // A comment's end alone would hide what follows.
        let hidden = show("@@ -1,2 +1,2 @@\n %%\n-Pay 123\n+Pay 999\n", View::Rendered, 100).into_string();
        assert!(hidden.contains("123") && hidden.contains("999"), "{hidden}");
        let shown =
            show("@@ -1,2 +1,2 @@\n # One\n-see [[Two]]\n+see *[[Three]]*\n", View::Rendered, 100).into_string();
        for part in [
            "One</h1>",
            "Before",
            "<em><span class=\"elsewhere\">Three</span></em>",
            "<span class=\"elsewhere\">Two</span>",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let shown = show("@@ -0,0 +1,2 @@\n+# New\n+x\n", View::Rendered, 100).into_string();
        assert!(shown.contains("New</h1>") && !shown.contains("Before"), "{shown}");
        let shown = show("@@ -0,0 +1,2 @@\n+<script>alert(1)</script>\n+x\n", View::Rendered, 100).into_string();
        assert!(shown.contains("&lt;script&gt;") && !shown.contains("<script"), "{shown}");
    }
}
