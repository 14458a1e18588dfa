//! Finds the definitions, uses and imports of source code, by tree-sitter's grammars. Pure: bytes in, [`Code`] out.
//!
//! # Layout
//! - [`Language`]: which language a file is in, by its name.
//! - [`read`]: parses a text and walks its tree once, without recursion.
//! - `grammar`: what a language's grammar calls definitions, calls, imports and locals; `grammars`: that of each language.
//! - `walk`: the walk; `scope`: the definitions that are open in it; `shape`: tells functions apart by their tokens; `name`: what a node
//!   is called; `special`: calls that import or define.
//!
//! Parsers are C and texts may be hostile, so a program that reads foreign code does that in a process that has nothing to lose.

mod grammar;
mod grammars;
mod language;
mod name;
mod scope;
mod shape;
mod special;
mod walk;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use atlas_segment::code::Code;
use tree_sitter::{ParseOptions, Parser};

pub use crate::language::Language;

/// Longest text that is parsed, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// Parses `text`; [`None`] if it is too long, is not parsed within `time`, or is too deep or broken.
#[must_use]
pub fn read(language: Language, text: &str, time: Duration) -> Option<Code> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let rules = grammars::rules(language);
    let mut parser = Parser::new();
    parser.set_language(&rules.language).ok()?;
    let deadline = Instant::now() + time;
    let mut progress = |_: &tree_sitter::ParseState| {
        if Instant::now() < deadline { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let bytes = text.as_bytes();
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))?;
    walk::walk(&tree, text, rules)
}

#[cfg(test)]
mod tests;
