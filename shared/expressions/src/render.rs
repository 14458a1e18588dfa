//! Results of queries as markdown, for people and agents.

use indexmap::IndexMap;

use crate::Dialect;
use crate::base;
use crate::dql::{Output, Ran};
use crate::error::{Kind, Result};
use crate::show::text_within;
use crate::value::{Link, Object, Value};

/// The result of a Dataview query: a table, a list, tasks below their notes, or dates and their notes. Rows beyond `room` bytes are counted.
///
/// # Errors
/// As [`show::text`](crate::show::text).
pub fn dataview(ran: &Ran, room: usize) -> Result<String> {
    let text = |value: &Value, room: &mut usize| cell_text(value, Dialect::Dataview, room);
    let mut page = Page::new(room);
    match &ran.output {
        Output::Table { columns, rows } => {
            page.head(columns);
            page.rows(rows, |row, room| {
                Ok(table_row(row.iter().map(|value| text(value, room)).collect::<Result<Vec<_>>>()?))
            })?;
        }
        Output::List(items) => page.rows(items, |item, room| Ok(list_item(&text(item, room)?)))?,
        Output::Calendar(dates) => {
            page.rows(dates, |(date, note), room| {
                Ok(list_item(&format!("{}: {}", text(date, room)?, text(note, room)?)))
            })?;
        }
        Output::Tasks(tasks) => page.tasks(tasks, 0)?,
    }
    page.notes(&ran.warnings);
    Ok(page.done())
}

/// The result of a view of a base: its rows as a list if `kind` is `list`, else as a table for each group, then what its summaries say. Rows beyond
/// `room` bytes are counted.
///
/// # Errors
/// As [`show::text`](crate::show::text).
pub fn base(ran: &base::Ran, kind: &str, room: usize) -> Result<String> {
    let titles: Vec<&str> = ran.columns.iter().map(|column| column.title.as_str()).collect();
    let cells = |row: &base::Row, room: &mut usize| {
        let cells = ran.columns.iter().zip(&row.cells).map(|(column, cell)| match cell {
            Ok(value) => base_cell(&column.property, value, &row.path, room),
            Err(error) => Ok(format!("⚠ {error}")),
        });
        cells.collect::<Result<Vec<String>>>()
    };
    let mut page = Page::new(room);
    for group in &ran.groups {
        if let Some(key) = &group.key {
            let key = page.shown(key, Dialect::Bases)?;
            page.title(if key.is_empty() { "(none)" } else { &key });
        }
        if kind == "list" {
            page.rows(&group.rows, |row, room| {
                let mut cells = cells(row, room)?;
                cells.retain(|cell| !cell.is_empty());
                Ok(list_item(&cells.join(", ")))
            })?;
        } else {
            page.head(&titles);
            page.rows(&group.rows, |row, room| Ok(table_row(cells(row, room)?)))?;
        }
    }
    let mut told = Vec::new();
    for (property, name, value) in &ran.summaries {
        let value = match value {
            Ok(value) => page.shown(value, Dialect::Bases)?,
            Err(error) => format!("⚠ {error}"),
        };
        told.push(format!("{property}, {name}: {value}"));
    }
    page.notes(&told);
    page.notes(&ran.warnings);
    Ok(page.done())
}

/// A cell of a base. The name of a file leads to it, as in the app.
fn base_cell(property: &base::Property, value: &Value, path: &str, room: &mut usize) -> Result<String> {
    let text = cell_text(value, Dialect::Bases, room)?;
    let is_name = matches!(property, base::Property::File(name) if name == "name" || name == "basename");
    Ok(if is_name { format!("[[{}|{}]]", Link::file(path).written(), text) } else { text })
}

/// The text of a cell, which takes from the room of its row.
fn cell_text(value: &Value, dialect: Dialect, room: &mut usize) -> Result<String> {
    let text = text_within(value, dialect, *room)?;
    *room -= text.len();
    Ok(text)
}

/// How deep groups of tasks may nest.
const MAX_GROUPS: usize = 10;

/// Markdown that is being written.
struct Page {
    text: String,
    room: usize,
    /// How many rows had no room.
    left_out: usize,
    /// How many rows there were.
    count: usize,
}

impl Page {
    const fn new(room: usize) -> Self {
        Self { text: String::new(), room, left_out: 0, count: 0 }
    }

    /// Whether the text still has room for `line`.
    fn fits(&self, line: &str) -> bool {
        self.left_out == 0 && self.text.len() + line.len() <= self.room
    }

    /// The head of a table.
    fn head(&mut self, columns: &[impl AsRef<str>]) {
        let head = table_row(columns);
        let rule = table_row(columns.iter().map(|_| "---"));
        if self.fits(&head) {
            self.text.push_str(&head);
            self.text.push_str(&rule);
        }
    }

    /// The name of a group.
    fn title(&mut self, name: &str) {
        let line = format!("{}**{}**\n\n", if self.text.is_empty() { "" } else { "\n" }, one_line(name));
        if self.fits(&line) {
            self.text.push_str(&line);
        }
    }

    /// Bytes that the page has left.
    const fn left(&self) -> usize {
        self.room.saturating_sub(self.text.len())
    }

    /// The value as text, or `…` if the page has no room for it.
    fn shown(&self, value: &Value, dialect: Dialect) -> Result<String> {
        match text_within(value, dialect, self.left()) {
            Err(error) if error.kind == Kind::Limit => Ok("…".to_owned()),
            text => text,
        }
    }

    /// Rows, each written into the room that is left.
    fn rows<T>(&mut self, rows: &[T], written: impl Fn(&T, &mut usize) -> Result<String>) -> Result<()> {
        for row in rows {
            self.count += 1;
            let line = match self.left_out {
                0 => written(row, &mut self.left()).map(Some),
                _ => Ok(None),
            };
            match line {
                Ok(Some(line)) if self.fits(&line) => self.text.push_str(&line),
                Err(error) if error.kind != Kind::Limit => return Err(error),
                _ => self.left_out += 1,
            }
        }
        Ok(())
    }

    /// Tasks below what they are grouped by, or else below the names of their notes, in the order in which these come first.
    fn tasks(&mut self, tasks: &[Value], depth: usize) -> Result<()> {
        let mut notes: IndexMap<&str, Vec<&Object>> = IndexMap::new();
        for task in tasks {
            let Value::Object(task) = task else { continue };
            match (task.get("rows"), task.get("key")) {
                (Some(Value::List(rows)), Some(key)) if depth < MAX_GROUPS => {
                    let key = self.shown(key, Dialect::Dataview)?;
                    self.title(&key);
                    self.tasks(rows, depth + 1)?;
                }
                _ => {
                    let path = task.get("path").and_then(Value::as_text).unwrap_or_default();
                    notes.entry(path).or_default().push(task);
                }
            }
        }
        for (path, tasks) in notes {
            if !path.is_empty() {
                self.title(&Link::file(path).markdown());
            }
            self.rows(&tasks, |task, _| Ok(task_line(task)))?;
        }
        Ok(())
    }

    /// The notes below the rows.
    fn notes(&mut self, notes: &[String]) {
        for note in notes {
            let line = format!("\n*{}*\n", one_line(note));
            if self.text.len() + line.len() <= self.room {
                self.text.push_str(&line);
            }
        }
    }

    fn done(mut self) -> String {
        if self.count == 0 {
            self.text.insert_str(0, "*no rows*\n");
        }
        if self.left_out > 0 {
            self.text.push_str(&format!("\n*… and {} more rows*\n", self.left_out));
        }
        self.text
    }
}

fn task_line(task: &Object) -> String {
    let text = task.get("text").and_then(Value::as_text).unwrap_or_default();
    let status = task.get("status").and_then(Value::as_text);
    status.map_or_else(|| list_item(text), |status| list_item(&format!("[{status}] {text}")))
}

fn list_item(text: &str) -> String {
    format!("- {}\n", text.trim().replace("\r\n", "\n").replace('\n', "\n  "))
}

/// A row of a table. Cells keep their markdown, line breaks become `<br>`, and a `|` ends no cell.
#[must_use]
pub fn table_row(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut row = String::from("|");
    for cell in cells {
        let mut before = ' ';
        row.push(' ');
        for char in one_line(cell.as_ref()).chars() {
            if char == '|' && before != '\\' {
                row.push('\\');
            }
            row.push(char);
            before = char;
        }
        row.push_str(" |");
    }
    row.push('\n');
    row
}

/// The text on one line.
fn one_line(text: &str) -> String {
    text.trim().replace("\r\n", "\n").replace(['\n', '\r'], "<br>")
}
