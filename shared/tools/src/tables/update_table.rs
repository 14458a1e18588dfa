//! `update_table`: changes cells and rows of a table.

use std::borrow::Cow;
use std::collections::BTreeSet;

use atlas_access::Access;
use atlas_ops::arguments::{Bounded, Given, Text, Versions, WritePath, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::write::editing;
use atlas_ops::write::precondition::Condition;
use atlas_vault::VaultPath;
use atlas_vault::table::{Align, Change, Table};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{TableIndex, column, table};

/// Changes cells and rows of a table.
pub struct UpdateTable;

/// The changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the note.
    path: WritePath,
    /// The index of the table, counted from 0; the first if not given.
    #[serde(default)]
    table_index: TableIndex,
    /// The column whose texts tell rows apart; the first that is not new if not given.
    #[serde(default)]
    key_column: Given<Text<500>>,
    /// Cells to write; none if not given.
    #[serde(default)]
    set: Vec<Cells>,
    /// Rows to add at the end: the text of each column by its name. Missing columns are empty. None if not given.
    #[serde(default)]
    add: Vec<Map<String, Value>>,
    /// Rows to remove, by their text in the key column; none if not given.
    #[serde(default)]
    remove: Vec<String>,
    /// Columns to add before all else is done, so that `set` and `add` can name them; none if not given.
    #[serde(default)]
    add_columns: Vec<NewColumn>,
    /// Sort the rows, once all else is done; they stay in order if not given.
    #[serde(default)]
    sort_by: Given<SortBy>,
    /// Pad all cells to the width of their columns at last. If false, what is not named stays byte for byte.
    #[serde(default)]
    format: bool,
    #[serde(default)]
    if_match: Given<Versions>,
}

/// New cells of a row.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cells {
    /// The row's text in the key column.
    key: String,
    /// The new texts, each by the name of its column: strings, numbers or booleans.
    values: Map<String, Value>,
}

/// A column to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewColumn {
    /// Its name.
    name: Text<500>,
    /// Its place, counted from 0; the last if not given.
    #[serde(default)]
    at: Bounded<0, 1_000_000, 1_000_000>,
    /// Where its texts stand.
    #[serde(default)]
    align: ColumnAlign,
}

/// Where the texts of a column stand.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnAlign {
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

/// How rows are sorted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SortBy {
    /// By their texts in this column.
    column: Text<500>,
    /// From the least, or from the greatest.
    #[serde(default)]
    order: Order,
    /// Sort the texts as numbers; those that are none come last.
    #[serde(default)]
    numeric: bool,
}

/// An order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// From the least.
    #[default]
    Asc,
    /// From the greatest.
    Desc,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note.
    path: String,
    /// The index of the table.
    table_index: usize,
    /// When the note was changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// The number of its rows now.
    rows: usize,
    /// SHA-256 of the note, in hex.
    content_hash: String,
}

/// Most rows that one call changes, adds or removes.
const MAX_ROWS: usize = 1000;
/// Most columns that one call adds.
const MAX_COLUMNS: usize = 50;

impl Operation for UpdateTable {
    const INFO: Info = Info {
        name: "update_table",
        title: "Change a table",
        description: "Writes cells of a markdown table, adds rows to its end and removes rows; rows are named by their text in the key column, columns by their header. Also adds columns, sorts the rows and lays the table out anew. What is not named stays as it is. All is done or nothing. Read the table with read_table. Example: {\"path\": \"Projects/Atlas.md\", \"set\": [{\"key\": \"Mirror\", \"values\": {\"Status\": \"done\"}}], \"add\": [{\"Part\": \"Sync\", \"Status\": \"open\"}]}",
        // The result reveals the table.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["notes"],
        aliases: &[Alias::Name("prev_hash", "if_match")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    fn needs_confirmation(_: &Arguments) -> bool {
        // That depends on the removed text.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { path, table_index, key_column, set, add, remove, add_columns, sort_by, format, if_match } =
            arguments;
        let path = VaultPath::from(path);
        let condition = Condition::of_existing(if_match.as_ref())?;
        for (field, count) in [("set", set.len()), ("add", add.len()), ("remove", remove.len())] {
            if count > MAX_ROWS {
                return Err(invalid_input(field, &format!("at most {MAX_ROWS} rows in one call")));
            }
        }
        if add_columns.len() > MAX_COLUMNS {
            return Err(invalid_input("add_columns", &format!("at most {MAX_COLUMNS} columns in one call")));
        }
        let edit = |text: &str| {
            let text = with_columns(text, table_index, &add_columns)?;
            let text = text.as_ref();
            let (table, _) = table(text, table_index)?;
            let key = match key_column.as_ref() {
                Some(name) => column(&table, "key_column", name.as_str())?,
                None => first_kept(&table, &add_columns),
            };
            let gone =
                remove.iter().map(|name| row(&table, key, "remove", name)).collect::<Result<BTreeSet<_>, _>>()?;
            let mut changes: Vec<Change> = gone.iter().copied().map(Change::Remove).collect();
            let mut written = BTreeSet::new();
            for cells in &set {
                let row = row(&table, key, "set", &cells.key)?;
                for (name, value) in &cells.values {
                    let column = column(&table, "set", name)?;
                    if gone.contains(&row) || !written.insert((row, column)) {
                        let message = format!("{name:?} of the row {:?} is changed twice, or removed too", cells.key);
                        return Err(invalid_input("set", &message));
                    }
                    changes.push(Change::Set(row, column, plain("set", value)?));
                }
            }
            for values in &add {
                let mut texts = vec![String::new(); table.header.len()];
                for (name, value) in values {
                    let text = plain("add", value)?;
                    let at = column(&table, "add", name)?;
                    texts.get_mut(at).into_iter().for_each(|place| place.clone_from(&text));
                }
                changes.push(Change::Add(texts));
            }
            let text = arranged(table.changed(text, &changes), table_index, sort_by.as_ref(), format)?;
            Ok((text, table.rows.len() + add.len() - gone.len()))
        };
        let Answer { value: edited, generation } = editing::edit(context, &Self::INFO, &path, &condition, edit).await?;
        let value = Output {
            path: path.as_str().to_owned(),
            table_index: table_index.get(),
            updated_at: edited.updated_at,
            rows: edited.told,
            content_hash: edited.content_hash.to_string(),
        };
        Ok(Answer { value, generation })
    }
}

/// The note with these columns in its table.
fn with_columns<'a>(text: &'a str, index: TableIndex, new: &[NewColumn]) -> Result<Cow<'a, str>, Error> {
    let mut text = Cow::Borrowed(text);
    for NewColumn { name, at, align } in new {
        let (table, _) = table(&text, index)?;
        let name = name.as_str().trim();
        let is_taken = |header: &String| atlas_vault::fold(header) == atlas_vault::fold(name);
        if name.is_empty() || table.header.iter().any(is_taken) {
            return Err(invalid_input(
                "add_columns",
                &format!("the table has a column {name:?} already, or that is no name"),
            ));
        }
        let align = match align {
            ColumnAlign::None => Align::None,
            ColumnAlign::Left => Align::Left,
            ColumnAlign::Center => Align::Center,
            ColumnAlign::Right => Align::Right,
        };
        text = table.with_column(&text, name, at.get(), align).into();
    }
    Ok(text)
}

/// The first column that is not new.
fn first_kept(table: &Table, new: &[NewColumn]) -> usize {
    let is_new = |header: &String| {
        new.iter().any(|new| atlas_vault::fold(new.name.as_str().trim()) == atlas_vault::fold(header))
    };
    table.header.iter().position(|header| !is_new(header)).unwrap_or(0)
}

/// The note with the rows of its table sorted, and laid out anew.
fn arranged(text: String, index: TableIndex, sort_by: Option<&SortBy>, format: bool) -> Result<String, Error> {
    let mut text = text;
    if let Some(SortBy { column: name, order, numeric }) = sort_by {
        let (table, _) = table(&text, index)?;
        text = table.sorted(&text, column(&table, "sort_by", name.as_str())?, *numeric, *order == Order::Desc);
    }
    if format {
        text = table(&text, index)?.0.formatted(&text);
    }
    Ok(text)
}

/// The only row with this text in the key column.
fn row(table: &Table, key: usize, field: &str, text: &str) -> Result<usize, Error> {
    let is_named = |cells: &[String]| cells.get(key).is_some_and(|cell| cell == text.trim());
    let found: Vec<usize> = (0..).zip(&table.rows).filter(|(_, row)| is_named(&row.cells)).map(|(at, _)| at).collect();
    match found.as_slice() {
        [only] => Ok(*only),
        [] => {
            Err(invalid_input(field, &format!("no row has {text:?} in the key column: read the table with read_table")))
        }
        several => {
            let lines: Vec<u32> =
                several.iter().filter_map(|at| Some(table.rows.get(*at)?.line + 1)).take(20).collect();
            let message =
                format!("several rows have {text:?} in the key column, on lines {lines:?}: name another key_column");
            Err(invalid_input(field, &message))
        }
    }
}

fn plain(field: &str, value: &Value) -> Result<String, Error> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Array(_) | Value::Object(_) => Err(invalid_input(field, "a cell is a string, a number or a boolean")),
    }
}
