//! A text that is appended to a note, and the separator between them.

use super::joint::gaps;
use super::splice::{fit, line_break, text_start};

/// `note` with `added` below it: every byte of the note, a separator, and the text with the note's line breaks. An empty note has no line
/// that needs a separator, and properties must be its first line.
#[must_use]
pub fn added_below(note: &[u8], added: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(note);
    if text.len() == text_start(&text) {
        return [note, added.as_bytes()].concat();
    }
    let added = fit(&text, added);
    let line_break = line_break(&text)
        .or_else(|| memchr::memchr(b'\r', note).map(|_| "\r"))
        .or_else(|| line_break(&added))
        .unwrap_or("\n");
    let between = between(note, &added).replace('\n', line_break);
    [note, between.as_bytes(), added.as_bytes()].concat()
}

/// The separator, with `\n` for each line break. A table row goes right below a table, since a
/// blank line would end the table; and a line of a quote right below the quote. Other text that would become part of the last block gets
/// a blank line before it.
fn between(note: &[u8], added: &str) -> String {
    let first = added.lines().next().unwrap_or_default().trim();
    let is_ended = note.ends_with(b"\n");
    if is_ended && first.starts_with('|') && ends_in_table(note) {
        return String::new();
    }
    let gaps = std::str::from_utf8(note).map(|note| gaps(note, note.len(), added)).unwrap_or_default();
    match (is_ended, gaps.above) {
        (true, gap) if gaps.is_quoted => gap.map_or_else(String::new, |gap| gap + "\n"),
        (false, Some(gap)) => format!("\n{gap}\n"),
        _ => "\n".to_owned(),
    }
}

/// Whether the last lines are a table whose rows begin with `|`.
fn ends_in_table(note: &[u8]) -> bool {
    let note = note.strip_suffix(b"\n").unwrap_or(note);
    let mut above =
        note.rsplit(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).take_while(|line| line.starts_with(b"|"));
    let is_rule = |line: &[u8]| line.contains(&b'-') && line.iter().all(|byte| b"|:- \t".contains(byte));
    // The line with the column names stands above the rule.
    above.any(is_rule) && above.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(note: &str, text: &str) -> String {
        String::from_utf8(added_below(note.as_bytes(), text)).unwrap()
    }

    const TABLE: &str = "# T\n\n| a | b |\n| --- | :-: |\n| 1 | 2 |";

    #[test]
    fn a_line_of_a_quote_goes_on_with_the_quote() {
        for (note, added, expected) in [
            ("> [!info] A\n> one", "> two", "> [!info] A\n> one\n> two"),
            ("> [!info] A\n> one\n", "> two", "> [!info] A\n> one\n> two"),
            ("> - a\n", "> two", "> - a\n>\n> two"),
            ("> - a", "> two", "> - a\n>\n> two"),
            ("> [!info] A\n> one\n", "> [!tip] B", "> [!info] A\n> one\n\n> [!tip] B"),
            ("> [!info] A\n> one", "> [!tip] B", "> [!info] A\n> one\n\n> [!tip] B"),
            ("> one\n", "two", "> one\n\ntwo"),
        ] {
            assert_eq!([note, &between(note.as_bytes(), added), added].concat(), expected);
        }
    }

    #[test]
    fn a_row_goes_on_with_the_table_and_other_text_ends_it() {
        let (row, ended, crlf) = ("| 3 | 4 |", format!("{TABLE}\n"), format!("{TABLE}\n").replace('\n', "\r\n"));
        assert_eq!(added(TABLE, row), format!("{TABLE}\n{row}"));
        assert_eq!(added(&ended, row), format!("{ended}{row}"));
        assert_eq!(added(&crlf, row), format!("{crlf}{row}"));
        assert_eq!(added(TABLE, "text"), format!("{TABLE}\n\ntext"));
        assert_eq!(added(&ended, "text"), format!("{ended}\ntext"));
        // Not tables by the specification: the separator is a plain line break.
        for note in ["a", "a\n", "| a |\n", "| --- |\n", "| a |\n| --- |\n\n"] {
            assert_eq!(added(note, row), format!("{note}\n{row}"), "{note:?}");
        }
    }

    #[test]
    fn the_text_and_its_separator_have_the_line_breaks_of_the_note() {
        for (note, text, expected) in [
            ("one\r\ntwo", "three\nfour\n", "one\r\ntwo\r\nthree\r\nfour\r\n"),
            ("one\r\n", "two\n", "one\r\n\r\ntwo\r\n"),
            ("- one\r\n- two", "text\n", "- one\r\n- two\r\n\r\ntext\r\n"),
            ("> one\r\n", "> two\n", "> one\r\n> two\r\n"),
            ("one\n", "two\r\nthree", "one\n\ntwo\nthree"),
            ("one\rtwo", "three", "one\rtwo\rthree"),
            // A note of one line has no breaks of its own.
            ("one", "two\r\nthree", "one\r\ntwo\r\nthree"),
        ] {
            assert_eq!(added(note, text), expected, "{note:?}");
        }
        assert_eq!(added_below(b"caf\xe9\r\nbar", "x\ny"), b"caf\xe9\r\nbar\r\nx\r\ny");
    }

    #[test]
    fn nothing_goes_before_the_first_line_of_an_empty_note() {
        let properties = "---\na: 1\n---\ntext\n";
        for note in ["", "\u{feff}"] {
            let whole = added(note, properties);
            assert_eq!(whole, format!("{note}{properties}"));
            assert!(crate::parse(&whole).frontmatter.is_some(), "{whole:?}");
        }
    }
}
