//! The separator between a note and a text that is appended to it.

use super::joint::needs_gap;

/// The separator between `note` and a text appended to it: line breaks. A table row goes right below a table, since a
/// blank line would end the table. Other text that would become part of the last block gets a blank line before it.
#[must_use]
pub fn between(note: &[u8], added: &str) -> &'static str {
    let first = added.lines().next().unwrap_or_default().trim();
    match (note.ends_with(b"\n"), first.starts_with('|')) {
        (true, true) if ends_in_table(note) => "",
        (false, _) if std::str::from_utf8(note).is_ok_and(|note| needs_gap(note, added)) => "\n\n",
        _ => "\n",
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

    const TABLE: &str = "# T\n\n| a | b |\n| --- | :-: |\n| 1 | 2 |";

    #[test]
    fn a_row_goes_on_with_the_table_and_other_text_ends_it() {
        let added = |note: &str, added: &str| [note, between(note.as_bytes(), added), added].concat();
        let (row, ended, crlf) = ("| 3 | 4 |", format!("{TABLE}\n"), format!("{TABLE}\n").replace('\n', "\r\n"));
        assert_eq!(added(TABLE, row), format!("{TABLE}\n{row}"));
        assert_eq!(added(&ended, row), format!("{ended}{row}"));
        assert_eq!(added(&crlf, row), format!("{crlf}{row}"));
        assert_eq!(added(TABLE, "text"), format!("{TABLE}\n\ntext"));
        assert_eq!(added(&ended, "text"), format!("{ended}\ntext"));
        // Not tables by the specification: the separator is a plain line break.
        for note in ["", "a", "a\n", "| a |\n", "| --- |\n", "| a |\n| --- |\n\n"] {
            assert_eq!(added(note, row), format!("{note}\n{row}"), "{note:?}");
        }
    }
}
