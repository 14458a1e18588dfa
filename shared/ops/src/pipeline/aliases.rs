//! Other names of arguments: obsidian-tc's program uses some that its specification, which these operations follow,
//! does not have.

use serde_json::{Map, Value};

use crate::error::{Error, Reason};

/// The meaning of an argument with another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    /// The first is another name of the second.
    Name(&'static str, &'static str),
    /// It is accepted with this value only, as JSON, which is the behaviour anyway.
    Only(&'static str, &'static str),
    /// It is ignored.
    Ignored(&'static str),
}

impl Alias {
    /// The argument's other name.
    pub const fn given(self) -> &'static str {
        match self {
            Self::Name(given, _) | Self::Only(given, _) | Self::Ignored(given) => given,
        }
    }
}

/// The aliases of all operations: the length of answers.
pub const OF_ALL: &[Alias] = &[Alias::Ignored("response_format")];

/// Renames arguments with other names.
///
/// # Errors
/// When one is given by both names, or has an unsupported value.
pub fn resolve(arguments: &mut Map<String, Value>, aliases: &[Alias]) -> Result<(), Error> {
    for alias in OF_ALL.iter().chain(aliases) {
        let Some(value) = arguments.shift_remove(alias.given()) else { continue };
        let refused = |message: String| {
            Err(Error::bad_request(Reason::InvalidInput, format!("{}: {message}", alias.given()))
                .with("field", alias.given()))
        };
        match alias {
            Alias::Ignored(_) => {}
            Alias::Only(_, only) if serde_json::from_str::<Value>(only).is_ok_and(|only| only == value) => {}
            Alias::Only(_, only) => return refused(format!("only {only} is taken here")),
            Alias::Name(_, name) if arguments.contains_key(*name) => {
                return refused(format!("it is another name of {name}: give one of them"));
            }
            Alias::Name(_, name) => {
                arguments.insert((*name).to_owned(), value);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ALIASES: &[Alias] =
        &[Alias::Name("folder", "root"), Alias::Only("nested", "false"), Alias::Ignored("max_notes")];

    fn resolved(arguments: Value) -> Result<Value, String> {
        let mut arguments = arguments.as_object().unwrap().clone();
        resolve(&mut arguments, ALIASES).map(|()| arguments.into()).map_err(|error| error.message)
    }

    #[test]
    fn other_names_mean_what_they_stand_for() {
        let given = json!({ "folder": "a", "nested": false, "max_notes": 9, "response_format": "concise", "x": 1 });
        assert_eq!(resolved(given), Ok(json!({ "root": "a", "x": 1 })));
        assert_eq!(resolved(json!({ "root": "b" })), Ok(json!({ "root": "b" })));
        assert!(resolved(json!({ "root": "b", "folder": "a" })).unwrap_err().contains("another name of root"));
        assert!(resolved(json!({ "nested": true })).unwrap_err().contains("only false"));
    }
}
