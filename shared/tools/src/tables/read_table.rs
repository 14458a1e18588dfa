//! `read_table`: a table of a note, by columns and rows.

use atlas_access::Access;
use atlas_ops::arguments::{Bounded, ReadPath};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use atlas_ops::write::writable::text_of;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TableIndex, table};

/// Reads a table.
pub struct ReadTable;

/// The table, and the page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the note.
    path: ReadPath,
    /// The index of the table, counted from 0; the first if not given.
    #[serde(default)]
    table_index: TableIndex,
    /// Number of rows to skip; none if not given.
    #[serde(default)]
    offset: Bounded<0, 1_000_000>,
    /// Most rows to return; 200 if not given.
    #[serde(default)]
    limit: Bounded<1, 5000, 200>,
}

/// The table.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note.
    path: String,
    /// The index of the table.
    table_index: usize,
    /// The number of tables of the note.
    table_count: usize,
    /// The line of its header, counted from 1.
    line: u32,
    /// The names of its columns.
    headers: Vec<String>,
    /// The texts of its rows, in the order of the columns. A row may have fewer.
    rows: Vec<Vec<String>>,
    /// The number of its rows, including those not returned.
    row_count: usize,
    /// SHA-256 of the note, in hex.
    content_hash: String,
}

impl Operation for ReadTable {
    const INFO: Info = Info {
        name: "read_table",
        title: "Read a table",
        description: "Returns a markdown table of a note as columns and rows. Change its cells with update_table. Example: {\"path\": \"Projects/Atlas.md\", \"table_index\": 0}",
        scopes: &[Scope::ReadVault],
        tags: &["notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { path, table_index, offset, limit } = arguments;
        let path = VaultPath::from(path);
        let read = |view: View| {
            let path = &path;
            async move {
                let found = notes::find(view.snapshot(), path.as_str(), |_| true).await?;
                let found = found.ok_or_else(|| notes::missing(path.as_str()))?;
                if found.record.blob.is_some() || !path.is_note() {
                    let message = format!("{path} is not a note, or too large to be read in parts");
                    return Err(Error::new(Code::BadRequest, Reason::PathInvalid, message).with("path", path.as_str()));
                }
                let (table, table_count) = table(text_of(&found)?, table_index)?;
                let row_count = table.rows.len();
                let rows = table.rows.into_iter().skip(offset.get()).take(limit.get()).map(|row| row.cells).collect();
                Ok(Output {
                    path: path.as_str().to_owned(),
                    table_index: table_index.get(),
                    table_count,
                    line: table.line + 1,
                    headers: table.header,
                    rows,
                    row_count,
                    content_hash: found.sha256(),
                })
            }
        };
        context.read(read).await
    }
}
