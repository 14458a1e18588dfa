//! Bases: documents that show notes as tables, cards and lists.

pub mod create_base;
pub mod definition;
pub mod query_base;
pub mod read_base;
pub mod update_base;

use atlas_expressions::Dialect;
use atlas_expressions::base::{self, Base};
use atlas_ops::arguments::invalid_input;
use atlas_ops::error::Error;
use atlas_ops::read::pages::refused;
use atlas_vault::VaultPath;

use crate::formats;

/// The path of a base from argument `field`.
fn path(field: &str, text: &str) -> Result<VaultPath, Error> {
    formats::path(field, text, "base", &[".base"])
}

/// The base that `text` is; `of` is what has it.
pub(crate) fn parsed(of: &str, text: &str) -> Result<Base, Error> {
    base::parse(text).map_err(|error| {
        let refused = refused(&error, Dialect::Bases, text);
        Error { message: format!("{of}: {}", refused.message), ..refused }
    })
}

/// The view of that name, or the first; a base without views shows its files.
pub(crate) fn view(of: &str, base: &Base, name: Option<&str>) -> Result<base::View, Error> {
    match base.view(name) {
        Some(view) => Ok(view.clone()),
        None if base.views.is_empty() && name.is_none() => {
            Ok(base::View { kind: "table".to_owned(), ..base::View::default() })
        }
        None => {
            let names: Vec<&str> = base.views.iter().map(|view| view.name.as_str()).collect();
            let message = format!("{of} has no view {:?}; its views are {names:?}", name.unwrap_or_default());
            Err(invalid_input("view", &message))
        }
    }
}
