//! Tables as a whole: sorted, laid out anew, and with more columns.

use std::cmp::Ordering;
use std::ops::Range;

use super::{MAX_WIDTH, Row, Table, escaped};
use crate::lines::spliced;

/// Where the texts of a column stand in their cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Align {
    /// Nothing is said.
    #[default]
    None,
    /// To the left.
    Left,
    /// In the middle.
    Center,
    /// To the right.
    Right,
}

impl Align {
    /// The alignment in the delimiter row.
    fn of(dashes: &str) -> Self {
        match (dashes.starts_with(':'), dashes.ends_with(':')) {
            (true, true) => Self::Center,
            (true, false) => Self::Left,
            (false, true) => Self::Right,
            (false, false) => Self::None,
        }
    }

    /// A cell of dashes, `width` wide.
    fn dashes(self, width: usize) -> String {
        let (start, end) = match self {
            Self::None => ("", ""),
            Self::Left => (":", ""),
            Self::Center => (":", ":"),
            Self::Right => ("", ":"),
        };
        format!("{start}{}{end}", "-".repeat(width.saturating_sub(start.len() + end.len())))
    }

    fn padded(self, cell: &str, width: usize) -> String {
        match self {
            Self::None | Self::Left => format!("{cell:<width$}"),
            Self::Center => format!("{cell:^width$}"),
            Self::Right => format!("{cell:>width$}"),
        }
    }
}

impl Table {
    /// `text`, of which this is a table, with its rows by their texts in a column: as numbers, or in any case. Rows without a number come last,
    /// and those that are equal stay in order.
    #[must_use]
    pub fn sorted(&self, text: &str, column: usize, is_numeric: bool, is_descending: bool) -> String {
        let cell = |row: &Row| row.cells.get(column).cloned().unwrap_or_default();
        let keys: Vec<(Option<f64>, String)> = self
            .rows
            .iter()
            .map(|row| {
                let cell = cell(row);
                let number =
                    cell.replace(',', "").parse::<f64>().ok().filter(|number| is_numeric && number.is_finite());
                (number, crate::fold(&cell))
            })
            .collect();
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        let turned = |ordering: Ordering| if is_descending { ordering.reverse() } else { ordering };
        order.sort_by(|one, other| match (keys.get(*one), keys.get(*other)) {
            (Some((Some(one), _)), Some((Some(other), _))) => turned(one.total_cmp(other)),
            (Some((Some(_), _)), Some((None, _))) => Ordering::Less,
            (Some((None, _)), Some((Some(_), _))) => Ordering::Greater,
            (Some((_, one)), Some((_, other))) if !is_numeric => turned(one.cmp(other)),
            _ => Ordering::Equal,
        });
        let moved = self.rows.iter().zip(&order).filter_map(|(row, from)| Some((row, self.rows.get(*from)?)));
        spliced(
            text,
            moved
                .map(|(row, from)| (row.range.clone(), text.get(from.range.clone()).unwrap_or_default().to_owned()))
                .collect(),
        )
    }

    /// `text`, of which this is a table, with its cells padded to the width of their columns, and a pipe at both ends of each row.
    #[must_use]
    pub fn formatted(&self, text: &str) -> String {
        let (head, dashes) = &self.head;
        let columns = self.header.len();
        let widths: Vec<usize> = (0..columns).map(|column| self.width(column).max(3)).collect();
        let aligns: Vec<Align> =
            (0..columns).map(|column| Align::of(dashes.cells.get(column).map_or("", String::as_str))).collect();
        let padded = |row: &Row, align: &dyn Fn(usize) -> Align| {
            let cells = row.cells.len().max(columns);
            let cell = |column: usize| {
                let cell = escaped(row.cells.get(column).map_or("", String::as_str));
                align(column).padded(&cell, widths.get(column).copied().unwrap_or(0))
            };
            format!("| {} |", (0..cells).map(cell).collect::<Vec<_>>().join(" | "))
        };
        let of_column = |column: usize| aligns.get(column).copied().unwrap_or_default();
        let line =
            aligns.iter().zip(&widths).map(|(align, width)| align.dashes(*width)).collect::<Vec<_>>().join(" | ");
        let mut edits: Vec<(Range<usize>, String)> =
            vec![(head.range.clone(), padded(head, &|_| Align::None)), (dashes.range.clone(), format!("| {line} |"))];
        edits.extend(self.rows.iter().map(|row| (row.range.clone(), padded(row, &of_column))));
        spliced(text, edits)
    }

    /// `text`, of which this is a table, with a column before the one at `at`, or behind the last; its cells are empty.
    #[must_use]
    pub fn with_column(&self, text: &str, name: &str, at: usize, align: Align) -> String {
        let (head, dashes) = &self.head;
        let at = at.min(self.header.len());
        let width = escaped(name).chars().count().clamp(3, MAX_WIDTH);
        let empty = " ".repeat(width);
        let rows = self.rows.iter().map(|row| (row, empty.as_str()));
        let (name, line) = (format!("{:<width$}", escaped(name)), align.dashes(width));
        let cells = [(head, name.as_str()), (dashes, line.as_str())].into_iter().chain(rows);
        spliced(text, cells.flat_map(|(row, cell)| inserted(text, row, at, cell)).collect())
    }
}

/// Edits that put a cell into a row.
fn inserted(text: &str, row: &Row, at: usize, cell: &str) -> Vec<(Range<usize>, String)> {
    let is_opened = text.get(row.range.clone()).is_some_and(|row| row.starts_with('|'));
    match row.spans.get(at) {
        // Without a pipe before it, an empty cell would not be one.
        Some(span) if at == 0 && !is_opened => vec![(span.start..span.start, format!("| {cell} | "))],
        Some(span) => vec![(span.start..span.start, format!(" {cell} |"))],
        None => {
            let missing = " |".repeat(at - row.spans.len());
            let open = if row.is_closed { "" } else { " |" };
            vec![(row.range.end..row.range.end, format!("{open}{missing} {cell} |"))]
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tables;
    use super::*;

    const NOTE: &str =
        "before\n\n> | Part | Cost |\n> |---|--:|\n> | b\\|c | 10 |\n> | A | 9 | more |\n> | é | none |\n\nafter\n";

    fn table(text: &str) -> Table {
        tables(text).remove(0)
    }

    #[test]
    fn rows_are_sorted_by_a_column() {
        let sorted = |column, is_numeric, is_descending| table(NOTE).sorted(NOTE, column, is_numeric, is_descending);
        let rows =
            |rows: [&str; 3]| format!("before\n\n> | Part | Cost |\n> |---|--:|\n> {}\n\nafter\n", rows.join("\n> "));
        let [b, a, e] = ["| b\\|c | 10 |", "| A | 9 | more |", "| é | none |"];
        assert_eq!(sorted(0, false, false), rows([a, b, e]));
        assert_eq!(sorted(0, false, true), rows([e, b, a]));
        assert_eq!(sorted(1, false, false), rows([b, a, e]));
        assert_eq!(sorted(1, true, false), rows([a, b, e]));
        assert_eq!(sorted(1, true, true), rows([b, a, e]));
    }

    #[test]
    fn cells_are_padded_to_their_columns() {
        let expected = "before\n\n> | Part | Cost |\n> | ---- | ---: |\n> | b\\|c |   10 |\n> | A    |    9 | more |\n> | é    | none |\n\nafter\n";
        assert_eq!(table(NOTE).formatted(NOTE), expected);
        assert_eq!(table(expected).formatted(expected), expected);
        assert_eq!(table("a|b\n:-:|-\n1").formatted("a|b\n:-:|-\n1"), "| a   | b   |\n| :-: | --- |\n|  1  |     |");
    }

    #[test]
    fn a_column_comes_where_it_is_said() {
        let with = |text: &str, at, align| table(text).with_column(text, "No|w", at, align);
        let expected = "before\n\n> | No\\|w | Part | Cost |\n> | ----: |---|--:|\n> |       | b\\|c | 10 |\n> |       | A | 9 | more |\n> |       | é | none |\n\nafter\n";
        assert_eq!(with(NOTE, 0, Align::Right), expected);
        assert_eq!(with("a|b\n-|-\n1", 0, Align::None), "| No\\|w | a|b\n| ----- | -|-\n|       | 1");
        assert_eq!(with("a|b\n-|-\n1", 9, Align::None), "a|b | No\\|w |\n-|- | ----- |\n1 | |       |");
    }

    proptest! {
        #[test]
        fn the_texts_of_cells_stay(
            rows in prop::collection::vec(prop::collection::vec("[a-c|é\\\\]{0,3}", 1..4), 1..4), is_open in any::<bool>(), at in 0..4_usize, new in "[x-z]{1,3}",
        ) {
            let row = |cells: &[String]| {
                let row = cells.iter().map(|cell| escaped(cell)).collect::<Vec<_>>().join(" | ");
                if is_open { format!("x | {row}") } else { format!("| x | {row} |") }
            };
            let rows: Vec<String> = rows.iter().map(|cells| row(cells)).collect();
            let text = format!("t\n\n| h1 | h2 |\n|---|---|\n{}\n\nend\n", rows.join("\n"));
            let before = table(&text);
            let formatted = before.formatted(&text);
            let after = table(&formatted);
            prop_assert_eq!(&after.header, &before.header);
            for (after, before) in after.rows.iter().zip(&before.rows) {
                let mut cells = before.cells.clone();
                cells.resize(cells.len().max(2), String::new());
                prop_assert_eq!(&after.cells, &cells);
            }
            let wider = before.with_column(&text, &new, at, Align::Left);
            let after = table(&wider);
            let at = at.min(2);
            prop_assert_eq!(after.column(&new), Some(at));
            for (after, before) in after.rows.iter().zip(&before.rows) {
                let mut cells = before.cells.clone();
                cells.resize(cells.len().max(at), String::new());
                cells.insert(at, String::new());
                prop_assert_eq!(&after.cells, &cells);
            }
            let sorted = table(&before.sorted(&text, 0, false, true));
            let mut one: Vec<_> = sorted.rows.iter().map(|row| row.cells.clone()).collect();
            let mut other: Vec<_> = before.rows.iter().map(|row| row.cells.clone()).collect();
            one.sort();
            other.sort();
            prop_assert_eq!(one, other);
        }
    }
}
