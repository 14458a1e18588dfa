//! Bases: documents that show notes as tables, cards and lists.

pub mod create_base;
pub mod definition;
pub mod query_base;
pub mod read_base;
pub mod update_base;

use atlas_expressions::base::{self, Base};
use atlas_ops::error::{Error, Reason};
use atlas_vault::VaultPath;

use crate::formats;

/// The path of a base from argument `field`.
fn path(field: &str, text: &str) -> Result<VaultPath, Error> {
    formats::path(field, text, "base", &[".base"])
}

/// The base that `text` is; `path` is where it stands.
pub(crate) fn parsed(path: &str, text: &str) -> Result<Base, Error> {
    base::parse(text).map_err(|error| refused(path, text, &error))
}

/// The error for a text that is no base, with its line and column.
fn refused(path: &str, text: &str, error: &atlas_expressions::Error) -> Error {
    let place = error.place(text);
    let at = place.map_or_else(String::new, |place| format!("line {}, column {}: ", place.line, place.column));
    let mut refused =
        Error::bad_request(Reason::BasesSyntaxError, format!("{path}: {at}{}", error.message)).with("path", path);
    if let Some(place) = place {
        refused = refused.with("line", place.line).with("column", place.column);
    }
    match error.expected.is_empty() {
        true => refused,
        false => refused.with("expected", error.expected.clone()),
    }
}

/// The view of that name, or the first; a base without views shows its files.
pub(crate) fn view(path: &str, base: &Base, name: Option<&str>) -> Result<base::View, Error> {
    match base.view(name) {
        Some(view) => Ok(view.clone()),
        None if base.views.is_empty() && name.is_none() => {
            Ok(base::View { kind: "table".to_owned(), ..base::View::default() })
        }
        None => {
            let names: Vec<&str> = base.views.iter().map(|view| view.name.as_str()).collect();
            let message = format!("{path} has no view {:?}; its views are {names:?}", name.unwrap_or_default());
            Err(atlas_ops::arguments::invalid_input("view", &message))
        }
    }
}
