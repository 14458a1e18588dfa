//! Changed notes as they look, where nothing that changes is hidden by that.

use std::collections::HashMap;

use atlas_vault::visible::visible;
use maud::{Markup, html};

use super::{Part, side_by_side};
use crate::markdown::{self, Surroundings};

/// The notes before and after, as far as the diff has them: its hunks, each as it looks, or as its lines if a change might not be seen so.
/// [`None`] if that holds for all of them.
pub(super) fn show(parts: &[Part<'_>]) -> Option<Markup> {
    let hides = |part: &Part<'_>| match part {
        Part::Same(.., line) => may_hide(line),
        Part::Changed(old, new) => old.iter().chain(new).any(|line| may_hide(line.text)),
        Part::Gap | Part::More(_) => false,
    };
    if parts.iter().any(hides) {
        return None;
    }
    let hunks = parts.split(|part| matches!(part, Part::Gap | Part::More(_))).filter(|hunk| !hunk.is_empty());
    let is_all = |wanted: fn(&Part<'_>) -> bool| parts.iter().all(wanted);
    let is_new = is_all(|part| matches!(part, Part::Changed(old, _) if old.is_empty()));
    let is_gone = is_all(|part| matches!(part, Part::Changed(_, new) if new.is_empty()));
    Some(html! {
        div.looks {
            @for hunk in hunks {
                @let [old, new] = [true, false].map(|is_old| Side::of(hunk, is_old));
                @if old.hides_some() || new.hides_some() || old.looks_as(&new) {
                    (side_by_side(hunk))
                } @else {
                    div.look {
                        @if !is_new { div.note.before { p.side-name { "Before" } (old.look) } }
                        @if !is_gone { div.note.after { p.side-name { "After" } (new.look) } }
                    }
                }
            }
            @if let Some(Part::More(text)) = parts.last() { p.hint { (text) } }
        }
    })
}

/// Whether a line may look like nothing, or make others look so, where the lines around it are not known: comments, properties, HTML.
fn may_hide(line: &str) -> bool {
    line.contains("%%") || line.contains('<') || ["---", "+++"].iter().any(|fence| line.trim_start().starts_with(fence))
}

/// A hunk before or after the change.
struct Side {
    source: String,
    look: Markup,
    /// The text that is seen.
    text: String,
}

impl Side {
    fn of(hunk: &[Part<'_>], is_old: bool) -> Self {
        let mut source = String::new();
        let mut push = |line: &str| {
            source.push_str(line);
            source.push('\n');
        };
        for part in hunk {
            match part {
                Part::Same(.., line) => push(line),
                Part::Changed(old, new) => (if is_old { old } else { new }).iter().for_each(|line| push(line.text)),
                Part::Gap | Part::More(_) => {}
            }
        }
        let surroundings = Surroundings { is_part: true, ..Surroundings::default() };
        let look = markdown::show(&source, &surroundings).html;
        let text = seen(&look.0);
        Self { source, look, text }
    }

    /// Whether the source has what is not seen: a word, as in the target of a link; something folded; a character.
    fn hides_some(&self) -> bool {
        let mut left: HashMap<&str, usize> = HashMap::new();
        for word in words(&self.text) {
            *left.entry(word).or_default() += 1;
        }
        let mut is_left = |word| match left.get_mut(word) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        };
        self.source.lines().any(folds)
            || visible(&self.source) != self.source
            || !self.source.lines().flat_map(|line| words(unnumbered(line))).all(&mut is_left)
    }

    /// Whether two sources that differ have the same text.
    fn looks_as(&self, other: &Self) -> bool {
        self.source != other.source && self.text.split_whitespace().eq(other.text.split_whitespace())
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// A line without the number or the mark of an item of a list, which is seen, but not as text.
fn unnumbered(line: &str) -> &str {
    let item =
        line.trim_start_matches(|letter: char| letter.is_whitespace() || matches!(letter, '>' | '-' | '*' | '+'));
    let number = item.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let item = number.strip_prefix(". ").or_else(|| number.strip_prefix(") ")).unwrap_or(item);
    ["[x] ", "[X] "].into_iter().find_map(|mark| item.strip_prefix(mark)).unwrap_or(item)
}

/// Whether a line begins a callout that folds.
fn folds(line: &str) -> bool {
    let kind = line.trim_start_matches(|letter: char| !letter.is_alphanumeric() && letter != '[').strip_prefix("[!");
    kind.and_then(|kind| kind.split_once(']')).is_some_and(|(_, rest)| rest.starts_with(['-', '+']))
}

/// The text of sanitised HTML, whose attributes all are in double quotes.
fn seen(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let (mut in_tag, mut in_quotes) = (false, false);
    for letter in html.chars() {
        match letter {
            '"' if in_tag => in_quotes = !in_quotes,
            '<' if !in_tag => in_tag = true,
            '>' if in_tag && !in_quotes => in_tag = false,
            letter if !in_tag => text.push(letter),
            _ => {}
        }
    }
    ["&lt;", "&gt;", "&amp;", "&quot;", "&nbsp;"].iter().fold(text, |text, sign| text.replace(sign, " "))
}

#[cfg(test)]
mod tests {
    use crate::diff::{View, show};

    /// The diff of a line between others, as the notes look.
    fn changed(old: &str, new: &str) -> String {
        show(&format!("@@ -1,3 +1,3 @@\n Bank A evil example\n \n-{old}\n+{new}\n"), View::Rendered, 100).into_string()
    }

    #[test]
    fn a_change_that_is_not_seen_in_a_note_is_shown_as_lines() {
        let cases = [
            ("[[Bank A|the bank]]", "[[Bank B|the bank]]"),
            ("[our bank](https://bank.example)", "[our bank](https://evil.example)"),
            // Beside a change that is seen.
            ("[our bank](https://bank.example) one", "[our bank](https://evil.example) two"),
            ("[ref]: https://bank.example", "[ref]: https://evil.example"),
            ("> [!note]- Folded", "> [!note]- Other"),
            ("![boat](a.png)", "![boat](b.png)"),
            ("~~~rust", "~~~dataview"),
            ("*a*", "**a**"),
            ("&#65;", "&#66;"),
            ("a\\*b", "a*b"),
        ];
        let is_hidden = |(old, new): &(&str, &str)| !changed(old, new).contains("class=\"diff split\"");
        assert_eq!(cases.into_iter().filter(is_hidden).collect::<Vec<_>>(), []);
    }

    #[test]
    fn what_is_seen_is_shown_as_it_looks() {
        for (old, new) in [
            ("see [[Two]]", "see *[[Three]]*"),
            ("1. one", "1. two"),
            ("- [ ] one", "- [x] two"),
            ("| a | b |", "| a | c |"),
            ("## Größe 5 & 6", "## `code` \"quoted\""),
        ] {
            let shown = changed(old, new);
            assert!(shown.contains("class=\"look\"") && !shown.contains("diff split"), "{old}: {shown}");
        }
    }

    #[test]
    fn one_hunk_that_hides_leaves_the_others_as_they_look() {
        let diff = "@@ -1,1 +1,1 @@\n-[a](b)\n+[a](c)\n@@ -9,1 +9,1 @@\n-one\n+two\n... and 7 lines more\n";
        let shown = show(diff, View::Rendered, 100).into_string();
        assert_eq!((shown.matches("diff split").count(), shown.matches("class=\"look\"").count()), (1, 1), "{shown}");
        assert_eq!(shown.matches("7 lines more").count(), 1, "{shown}");
    }
}
