//! The definitions, uses and imports of source files: the section `code`. The builder of a segment gives it for each document, if grammars
//! were at hand; it cannot be rebuilt without them, so merges carry it.

mod table;
mod writer;

use bincode::{Decode, Encode};

use crate::error::FormatError;
use crate::facts::{codec, damaged};
use crate::section::SectionName;

pub use table::{CodeTable, Defined, File};
pub(crate) use writer::CodeWriter;

/// Most definitions of one file, …
pub const MAX_DEFINITIONS: usize = 10_000;
/// … names that one definition uses, …
pub const MAX_USES: usize = 1_000;
/// … and imports of one file.
pub const MAX_IMPORTS: usize = 1_000;
/// Longest name, in bytes, …
pub const MAX_NAME_BYTES: usize = 200;
/// … and longest signature or import.
pub const MAX_SIGNATURE_BYTES: usize = 300;

/// The code of one source file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Code {
    /// Its definitions, in the order of the text.
    pub definitions: Vec<Definition>,
    /// The names that it uses outside of all definitions, ascending, each once.
    pub uses: Vec<String>,
    /// Its imports, as written, without keywords and quotes, in order.
    pub imports: Vec<String>,
}

impl Code {
    /// It in bytes, for another process of the same program.
    ///
    /// # Errors
    /// When it is larger than any section.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        bincode::encode_to_vec(self, codec()).map_err(|_| FormatError::TooLarge { what: "what a file says" })
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// When it is nothing of the kind.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        match bincode::decode_from_slice(bytes, codec()) {
            Ok((code, used)) if used == bytes.len() => Ok(code),
            _ => Err(damaged(SectionName::Code)),
        }
    }
}

/// A definition.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Definition {
    /// The kind of the definition.
    pub name: String,
    /// Its kind.
    pub kind: SymbolKind,
    /// The name of the type or module that it is a member of; empty if there is none.
    pub container: String,
    /// The line of its name, counted from 0.
    pub line: u32,
    /// Its first and last line.
    pub lines: (u32, u32),
    /// The text between name and body: parameters, result, supertypes; of functions and types only.
    pub signature: String,
    /// Equal for functions with the same parameters and body but for the names of locals; 0 if that says nothing.
    pub shape: u64,
    /// The names of functions and types that it uses, ascending, each once.
    pub uses: Vec<String>,
}

/// Kinds of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub enum SymbolKind {
    /// A function that is no member of a type.
    Function,
    /// A function that is.
    Method,
    /// A class, struct, union, record, enumeration, or an object.
    Type,
    /// An interface, trait or protocol.
    Interface,
    /// Another name of a type.
    Alias,
    /// A constant.
    Constant,
    /// A variable outside of functions.
    Variable,
    /// A member of a type that is no function, or a value of an enumeration.
    Member,
    /// A macro.
    Macro,
    /// A module or namespace.
    Module,
    /// A function that is only declared here.
    Prototype,
}

impl SymbolKind {
    /// Whether it is called.
    #[must_use]
    pub const fn is_function(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Macro | Self::Prototype)
    }

    /// Whether it has members.
    #[must_use]
    pub const fn is_type(self) -> bool {
        matches!(self, Self::Type | Self::Interface | Self::Alias)
    }

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Type => "type",
            Self::Interface => "interface",
            Self::Alias => "alias",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::Member => "member",
            Self::Macro => "macro",
            Self::Module => "module",
            Self::Prototype => "prototype",
        }
    }
}

#[cfg(test)]
mod tests;
