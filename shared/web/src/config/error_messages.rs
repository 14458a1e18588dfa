//! Turns errors of the JSON reader into instructions.

use serde_json::error::{Category, Error};

use crate::config::error::DocumentError;

/// Longest part of a document that an error repeats, in bytes.
const MAX_QUOTED: usize = 120;

/// The error at `path`, with what to write instead.
pub(crate) fn remedy(path: &str, error: &Error) -> DocumentError {
    let said = error.to_string();
    if error.classify() != Category::Data {
        return DocumentError::new("", format!("write JSON ({said})"));
    }
    let said = said.split_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    let path = if path == "." { "" } else { path };
    let between = |text: &str| text.split('`').nth(1).unwrap_or_default().to_owned();
    let known = |text: &str| text.replace("one of ", "").replace('`', "");
    let within = |name: &str| match path {
        "" => name.to_owned(),
        path if path == name || path.ends_with(&format!(".{name}")) => path.to_owned(),
        path => format!("{path}.{name}"),
    };
    if let Some(rest) = said.strip_prefix("unknown field ") {
        let names = rest.split_once(", expected ").map(|(_, names)| known(names)).unwrap_or_default();
        return DocumentError::new(within(&between(rest)), format!("the known names are {names}"));
    }
    if let Some(rest) = said.strip_prefix("missing field ") {
        return DocumentError::new(within(&between(rest)), "it is missing: write it");
    }
    if let Some(rest) = said.strip_prefix("duplicate field ") {
        return DocumentError::new(within(&between(rest)), "it occurs twice: write it once");
    }
    let (found, expected) = said.split_once(", expected ").unwrap_or((said, ""));
    let found = found.split_once(": ").map_or(found, |(_, found)| found);
    let found = found.get(..found.floor_char_boundary(MAX_QUOTED)).unwrap_or_default();
    let expected = match expected {
        "u32" | "u64" | "usize" => "a whole number".to_owned(),
        "a map" => "an object".to_owned(),
        "a sequence" => "a list".to_owned(),
        expected if expected.starts_with("struct ") => "an object".to_owned(),
        expected => known(expected),
    };
    let found = found.strip_prefix("unknown variant ").unwrap_or(found);
    if path == "embeddings.provider" && matches!(found, "`voyage`" | "`cohere`") {
        return DocumentError::new(path, format!("write openai instead of {found}, with the baseUrl of that service"));
    }
    DocumentError::new(path, format!("write {expected} instead of {found}"))
}
