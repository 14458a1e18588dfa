//! The texts of both languages: parsed to one tree, and printed.
//!
//! # Layout
//! - `tree`: what expressions are
//! - `cursor`: a text and a place in it, and what could have stood at the furthest place
//! - `dataview`, `bases`: the two parsers of expressions
//! - `print`: expressions as text, so that parsing gives the same again

pub use tree::{Expr, Node, Operator};

pub(crate) mod bases;
pub(crate) mod cursor;
pub(crate) mod dataview;
pub(crate) mod print;
pub(crate) mod tree;

/// Longest text of an expression or query, in bytes.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// How deep expressions may nest, counting every operator of a chain.
pub const MAX_DEPTH: u16 = 150;
/// How deep brackets may nest.
pub(crate) const MAX_NESTING: u16 = 50;
