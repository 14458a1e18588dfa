//! Tables in notes.

pub mod read_table;
pub mod update_table;

use atlas_ops::arguments::{Bounded, invalid_input};
use atlas_ops::error::Error;
use atlas_vault::table::{Table, tables};

/// The index of a note's table, counted from 0.
type TableIndex = Bounded<0, 100_000>;

/// The table with this index, and the number of tables of the note.
fn table(text: &str, index: TableIndex) -> Result<(Table, usize), Error> {
    let mut all = tables(text);
    let count = all.len();
    if index.get() >= count {
        let message = match count {
            0 => "the note has no table".to_owned(),
            _ => format!("the note has {count} tables: the first is 0, the last {}", count - 1),
        };
        return Err(invalid_input("table_index", &message));
    }
    Ok((all.swap_remove(index.get()), count))
}

/// The column in argument `field`.
fn column(table: &Table, field: &str, name: &str) -> Result<usize, Error> {
    table.column(name).ok_or_else(|| {
        let message = format!("the table has no column {name:?}, or several; its columns are {:?}", table.header);
        invalid_input(field, &message)
    })
}
