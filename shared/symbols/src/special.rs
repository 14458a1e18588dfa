//! Calls that do what other languages have words for.

/// What a call does that has no word of its own.
#[derive(Clone, Copy)]
pub(crate) enum Special {
    /// Imports the text that it is given.
    Import,
    /// Defines members.
    Members,
    /// Defines a constant.
    Constant,
}

/// What a call of `name` does, by a node of this kind, if it is one of these.
pub(crate) fn special(name: &str, kind: &str) -> Option<Special> {
    match name {
        "define" if kind == "function_call_expression" => Some(Special::Constant),
        "require" | "require_relative" | "." | "source" => Some(Special::Import),
        "attr_accessor" | "attr_reader" | "attr_writer" => Some(Special::Members),
        _ => None,
    }
}
