//! Calls that do what other languages have words for.

/// A call that has the effect of a keyword.
#[derive(Clone, Copy)]
pub(crate) enum Special {
    /// Imports the text that it is given.
    Import,
    /// Defines members.
    Members,
    /// Defines a constant.
    Constant,
    /// Is a word of the language: an element of HTML.
    Nothing,
}

/// The effect of a call of `name` by a node of this kind, if it has one.
pub(crate) fn special(name: &str, kind: &str) -> Option<Special> {
    match name {
        "define" if kind == "function_call_expression" => Some(Special::Constant),
        _ if kind.starts_with("jsx_") && name.starts_with(|first: char| first.is_lowercase()) => Some(Special::Nothing),
        "require" | "require_relative" | "." | "source" => Some(Special::Import),
        "attr_accessor" | "attr_reader" | "attr_writer" => Some(Special::Members),
        _ => None,
    }
}
