//! Tables of GitHub Flavored Markdown: read, and changed cell by cell. All other bytes stay, except spaces that keep a
//! changed cell as wide as before.

mod layout;

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::lines::{Lines, line_end, line_start, next_line};
use crate::note::{self, MAX_BODY_BYTES};
use crate::{block_id, mask, note::parts::MAX_ITEMS};

pub use layout::Align;

/// Greatest width, in characters, to which the cells of new rows are padded.
const MAX_WIDTH: usize = 200;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The names of its columns.
    pub header: Vec<String>,
    /// Its rows below the header.
    pub rows: Vec<Row>,
    /// The line of its header, counted from 0.
    pub line: u32,
    /// The row of the header, and the row of dashes below it.
    head: (Row, Row),
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its texts, without escapes; there may be fewer or more than in the header.
    pub cells: Vec<String>,
    /// Its line, counted from 0.
    pub line: u32,
    /// The ranges between its pipes.
    spans: Vec<Range<usize>>,
    /// The range from its first pipe or cell to the end of its line.
    range: Range<usize>,
    /// Whether it ends with a pipe.
    is_closed: bool,
}

/// A change of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Writes a text into a cell: row, column, text.
    Set(usize, usize, String),
    /// Adds a row with these texts at the end.
    Add(Vec<String>),
    /// Removes a row.
    Remove(usize),
}

/// The tables of a note, in order.
#[must_use]
pub fn tables(text: &str) -> Vec<Table> {
    let parsed = note::parse(text);
    let start = parsed.frontmatter.as_ref().map_or(0, |frontmatter| frontmatter.body_start);
    let end = text.floor_char_boundary(start.saturating_add(MAX_BODY_BYTES));
    let masked = mask::mask(text.get(start..end).unwrap_or_default());
    let lines = Lines::new(text);
    let mut tables = Vec::new();
    // The rows of the current table, with the header first.
    let mut rows: Vec<Row> = Vec::new();
    let mut is_row_open = false;
    let options = Options::ENABLE_FOOTNOTES | Options::ENABLE_TABLES;
    for (event, range) in Parser::new_ext(&masked, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Table(_)) => rows.clear(),
            Event::Start(Tag::TableHead | Tag::TableRow) => is_row_open = true,
            Event::Start(Tag::TableCell) if is_row_open => {
                is_row_open = false;
                rows.push(Row::read(text, range.start + start, &lines));
            }
            Event::End(pulldown_cmark::TagEnd::Table) if tables.len() < MAX_ITEMS => {
                tables.extend(table(text, &mut rows, &lines))
            }
            _ => {}
        }
    }
    tables
}

fn table(text: &str, rows: &mut Vec<Row>, lines: &Lines) -> Option<Table> {
    let mut rows = rows.drain(..);
    let head = rows.next()?;
    let mut rows: Vec<Row> = rows.collect();
    rows.pop_if(|row| row.is_block_id(text));
    // The dashes are on the line below the header.
    let below = next_line(text, line_end(text, head.range.end));
    let indent = text.get(below..line_end(text, below))?.find(['|', '-', ':'])?;
    let dashes = Row::read(text, below + indent, lines);
    Some(Table { header: head.cells.clone(), rows, line: head.line, head: (head, dashes) })
}

impl Row {
    /// The row whose first cell, or the pipe before it, is at `at`.
    fn read(text: &str, at: usize, lines: &Lines) -> Self {
        let line_start = line_start(text, at);
        let before = text.get(line_start..at).unwrap_or_default();
        let start = match before.trim_end_matches([' ', '\t']).strip_suffix('|') {
            Some(before) => line_start + before.len(),
            None => at,
        };
        let end = start + text.get(start..line_end(text, start)).unwrap_or_default().trim_end().len();
        let row = text.get(start..end).unwrap_or_default();
        let (mut spans, mut is_closed) = (Vec::new(), false);
        let opened = usize::from(row.starts_with('|'));
        let mut from = opened;
        let mut is_escaped = false;
        for (at, c) in row.char_indices().filter(|(at, _)| *at >= opened) {
            if c == '|' && !is_escaped {
                spans.push(start + from..start + at);
                from = at + 1;
                is_closed = from == row.len();
            }
            is_escaped = c == '\\' && !is_escaped;
        }
        if !is_closed {
            spans.push(start + from..end);
        }
        let cell = |span: &Range<usize>| text.get(span.clone()).unwrap_or_default().trim().replace("\\|", "|");
        Self { cells: spans.iter().map(cell).collect(), line: lines.at(start), spans, range: start..end, is_closed }
    }

    /// Whether its line has only a block id, which is the table's.
    fn is_block_id(&self, text: &str) -> bool {
        block_id::read(text, self.range.start) == Some(self.range.end)
    }
}

impl Table {
    /// The column with this name, in any case; [`None`] unless there is exactly one.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        let name = crate::fold(name.trim());
        let mut found = self.header.iter().enumerate().filter(|(_, header)| crate::fold(header) == name);
        found.next().filter(|_| found.next().is_none()).map(|(at, _)| at)
    }

    /// `text`, whose table this is, with changes: at most one of each cell, and none of a removed row.
    #[must_use]
    pub fn changed(&self, text: &str, changes: &[Change]) -> String {
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        // The cells to append to rows that have too few.
        let mut missing: Vec<Vec<(usize, &str)>> = vec![Vec::new(); self.rows.len()];
        let mut added = String::new();
        let widths: Vec<usize> = match changes.iter().any(|change| matches!(change, Change::Add(_))) {
            true => (0..self.header.len()).map(|column| self.width(column)).collect(),
            false => Vec::new(),
        };
        for change in changes {
            match change {
                Change::Set(row, column, new) => match self.rows.get(*row).and_then(|row| row.spans.get(*column)) {
                    Some(span) => edits.push((span.clone(), fitted(text.get(span.clone()).unwrap_or_default(), new))),
                    None => missing.get_mut(*row).into_iter().for_each(|missing| missing.push((*column, new))),
                },
                Change::Add(cells) => added.push_str(&self.new_row(text, cells, &widths)),
                Change::Remove(row) => {
                    if let Some(row) = self.rows.get(*row) {
                        edits.push((self.whole_line(text, row), String::new()));
                    }
                }
            }
        }
        for (row, mut missing) in self.rows.iter().zip(missing) {
            missing.sort_unstable();
            let last = missing.last().map(|(column, _)| *column);
            let mut end = if row.is_closed || last.is_none() { String::new() } else { " |".to_owned() };
            for column in row.spans.len()..last.map_or(0, |last| last + 1) {
                let new = missing.iter().find(|(missing, _)| *missing == column).map_or("", |(_, new)| new);
                end.push_str(&format!(" {} |", escaped(new)));
            }
            edits.push((row.range.end..row.range.end, end));
        }
        let end = self.rows.last().map_or(self.head.1.range.end, |row| row.range.end);
        edits.push((end..end, added));
        edits.retain(|(range, new)| !range.is_empty() || !new.is_empty());
        edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(text.len() + 256);
        let mut at = 0;
        for (range, new) in edits {
            // Text that follows the end of a removed row's line stays.
            out.push_str(text.get(at..range.start).unwrap_or_default());
            out.push_str(&new);
            at = at.max(range.end);
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }

    /// The line of a row, with the break before it.
    fn whole_line(&self, text: &str, row: &Row) -> Range<usize> {
        let start = line_start(text, row.range.start);
        start - break_before(text, start).len()..line_end(text, row.range.end)
    }

    /// The width of a column's widest text, in characters.
    fn width(&self, column: usize) -> usize {
        let all = self.rows.iter().map(|row| &row.cells).chain([&self.header]);
        let widths = all.filter_map(|cells| cells.get(column)).map(|cell| escaped(cell).chars().count());
        widths.max().unwrap_or_default().min(MAX_WIDTH)
    }

    /// A new row, with the break before it, in the style of the header's.
    fn new_row(&self, text: &str, cells: &[String], widths: &[usize]) -> String {
        let (head, dashes) = &self.head;
        let line_start = line_start(text, dashes.range.start);
        let line_break = break_before(text, line_start);
        let prefix = text.get(line_start..dashes.range.start).unwrap_or_default();
        let begins = text.get(head.range.start..).is_some_and(|row| row.starts_with('|'));
        let cell = |(column, width): (usize, &usize)| {
            let new = escaped(cells.get(column).map_or("", String::as_str));
            format!("{new:<width$}")
        };
        let joined = widths.iter().enumerate().map(cell).collect::<Vec<_>>().join(" | ");
        let (open, close) = match (begins, head.is_closed) {
            (true, true) => ("| ", " |"),
            (true, false) => ("| ", ""),
            (false, true) => ("", " |"),
            (false, false) => ("", ""),
        };
        format!("{line_break}{prefix}{open}{joined}{close}")
    }
}

/// The line break before the line that begins at `start`.
fn break_before(text: &str, start: usize) -> &str {
    let before = text.get(..start).unwrap_or_default();
    let line = before.strip_suffix("\r\n").or_else(|| before.strip_suffix(['\n', '\r'])).unwrap_or(before);
    before.get(line.len()..).unwrap_or_default()
}

/// A text as written in a cell: pipes and a backslash at its end escaped, breaks as HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_escaped = false;
    for c in text.trim().replace("\r\n", "\n").chars() {
        match c {
            '\n' => out.push_str("<br>"),
            '|' if !is_escaped => out.push_str("\\|"),
            '|' => out.push_str("\\\\|"),
            c => out.push(c),
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    // It would escape the pipe after the cell.
    if is_escaped {
        out.push('\\');
    }
    out
}

/// A new text for the range between two pipes, as wide as the old one if it fits.
fn fitted(old: &str, new: &str) -> String {
    let new = escaped(new);
    let is_blank = old.trim().is_empty();
    let lead = if is_blank { " " } else { old.get(..old.len() - old.trim_start().len()).unwrap_or_default() };
    let least = usize::from(is_blank || old.ends_with([' ', '\t']));
    let used = lead.chars().count() + new.chars().count();
    let trail = old.chars().count().saturating_sub(used).max(least);
    format!("{lead}{new}{}", " ".repeat(trail))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOTE: &str = "---\na: 1\n---\n# Tides\n\n| Port  | High \\| low | Note |\n|:------|------------:|------|\n| Aster | 3.1         | [[A\\|a]] |\n| Bell  | 2           |\n\n> a | b\n> --|--\n> 1 | 2\n\n```\n| x | y |\n|---|---|\n```\nno | table\n";

    #[test]
    fn tables_are_found_with_their_texts() {
        let found = tables(NOTE);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].header.as_slice(), found[0].line),
            (&["Port", "High | low", "Note"].map(str::to_owned)[..], 5)
        );
        let rows: Vec<_> = found[0].rows.iter().map(|row| (row.cells.join("/"), row.line)).collect();
        assert_eq!(rows, [("Aster/3.1/[[A|a]]".to_owned(), 7), ("Bell/2".to_owned(), 8)]);
        assert_eq!(found[1].rows[0].cells, ["1", "2"]);
        assert_eq!((found[0].column("PORT"), found[0].column("none")), (Some(0), None));
    }

    #[test]
    fn cells_change_and_rows_come_and_go() {
        let table = &tables(NOTE)[0];
        let set = |row, column, text: &str| Change::Set(row, column, text.to_owned());
        let changed = table.changed(NOTE, &[set(0, 1, "a|b"), set(0, 0, "Asterholm"), set(1, 2, "new")]);
        let expected = NOTE
            .replace("| Aster | 3.1         |", "| Asterholm | a\\|b        |")
            .replace("| Bell  | 2           |\n", "| Bell  | 2           | new |\n");
        assert_eq!(changed, expected);
        let row = Change::Add(vec!["Cove".to_owned(), "two\nlines".to_owned()]);
        let changed = table.changed(NOTE, &[Change::Remove(0), row]);
        let expected = NOTE.replace("| Aster | 3.1         | [[A\\|a]] |\n", "");
        let expected = expected
            .replace("| Bell  | 2           |\n", "| Bell  | 2           |\n| Cove  | two<br>lines |          |\n");
        assert_eq!(changed, expected);
        let quoted = &tables(NOTE)[1];
        let changed = quoted.changed(NOTE, &[Change::Add(vec!["3".to_owned(), "4".to_owned()])]);
        assert_eq!(changed, NOTE.replace("> 1 | 2\n", "> 1 | 2\n> 3 | 4\n"));
        let last = "|a|\r\n|-|\r\n|1|";
        assert_eq!(tables(last)[0].changed(last, &[Change::Remove(0)]), "|a|\r\n|-|");
        assert_eq!(tables(last)[0].changed(last, &[Change::Add(vec!["2".to_owned()])]), "|a|\r\n|-|\r\n|1|\r\n| 2 |");
    }

    #[test]
    fn a_lone_carriage_return_ends_a_line() {
        let text = "```\r|x|\r|-|\r```\r\r> |a|\r> |-|\r> |1|\r> |2|\r\rtext - |\nno |\n";
        let found = tables(text);
        let [table] = &found[..] else { panic!("{found:?}") };
        assert_eq!(table.rows.iter().map(|row| row.cells.concat()).collect::<Vec<_>>(), ["1", "2"]);
        let changes = [Change::Set(1, 0, "3".to_owned()), Change::Remove(0), Change::Add(vec!["4".to_owned()])];
        assert_eq!(table.changed(text, &changes), text.replace("> |1|\r> |2|", "> |3|\r> | 4 |"));
    }

    #[test]
    fn a_block_id_below_a_table_is_none_of_its_rows() {
        let add = [Change::Add(vec!["3".to_owned(), "4".to_owned()])];
        for (text, rows) in [
            ("| a | b |\n|---|---|\n| 1 | 2 |\n^tbl\n", 1),
            ("> | a | b |\n> |---|---|\n> ^tbl\n", 0),
            ("| a | b |\n|---|---|\n| ^tbl |\n", 1),
            ("| a | b |\n|---|---|\n^tbl x\n", 1),
        ] {
            let table = &tables(text)[0];
            assert_eq!(table.rows.len(), rows, "{text}");
            let changed = table.changed(text, &add);
            assert_eq!(tables(&changed)[0].rows.len(), rows + 1, "{changed}");
            assert_eq!(changed.ends_with("^tbl\n"), text.ends_with("^tbl\n"), "{changed}");
        }
    }

    #[test]
    fn very_long_tables_are_changed_in_time() {
        let text = format!("|a|b|\n|-|-|\n{}", "|1|2|\n".repeat(100_000));
        let table = &tables(&text)[0];
        let rows = vec![Change::Add(vec!["x".to_owned()]); 1000];
        assert_eq!(tables(&table.changed(&text, &rows))[0].rows.len(), 101_000);
    }

    fn any_cell() -> impl Strategy<Value = String> {
        "[ab\\\\| 潮\n]{0,4}"
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_and_the_rest_stays(
            cells in prop::collection::vec(prop::collection::vec("[a-c潮]{0,3}", 1..4), 0..4),
            row in 0..4usize, column in 0..3usize, new in any_cell(), is_added in any::<bool>(), is_padded in any::<bool>(),
        ) {
            let written = |cells: &[String]| match is_padded {
                true => format!("| {} |", cells.join(" | ")),
                false => format!("|{}|", cells.join("|")),
            };
            let rows: Vec<String> = cells.iter().map(|cells| written(cells)).collect();
            let text = format!("x\n\n|p|q|r|\n|-|-|-|\n{}\n\nafter\n", rows.join("\n"));
            let Some(table) = tables(&text).into_iter().next() else { return Ok(()) };
            if is_added {
                let changed = table.changed(&text, &[Change::Add(vec![new.clone(); 3])]);
                let after = &tables(&changed)[0];
                prop_assert_eq!(&after.rows[..table.rows.len()].iter().map(|row| &row.cells).collect::<Vec<_>>(), &table.rows.iter().map(|row| &row.cells).collect::<Vec<_>>());
                prop_assert_eq!(after.rows.len(), table.rows.len() + 1);
            } else if let Some(old) = table.rows.get(row) {
                let changed = table.changed(&text, &[Change::Set(row, column, new.clone())]);
                let after = &tables(&changed)[0];
                for (index, (before, now)) in table.rows.iter().zip(&after.rows).enumerate() {
                    for (at, cell) in before.cells.iter().enumerate() {
                        prop_assert!((index, at) == (row, column) || now.cells.get(at) == Some(cell), "{changed}");
                    }
                }
                prop_assert_eq!(after.rows.len(), table.rows.len());
                prop_assert!(after.rows[row].cells.len() == old.cells.len().max(column + 1));
            }
        }

        #[test]
        fn any_text_is_read(text in "[|\\-: \n>a\\\\]{0,60}") {
            for table in tables(&text) {
                for index in 0..table.rows.len() {
                    drop(table.changed(&text, &[Change::Remove(index)]));
                }
            }
        }
    }
}
