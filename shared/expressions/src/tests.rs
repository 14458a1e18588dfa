//! Tests of the whole crate.
//!
//! # Layout
//! - `world`: notes in memory
//! - `facts`: expressions of Dataview and their values; `errors`: what is refused, and where
//! - `queries`: Dataview's queries over notes; `rendered`: what queries give, as markdown
//! - `bases`: examples of Obsidian's help, and more; `documents`: bases over notes
//! - `created`: queries for times of creation that are not known
//! - `drawn`: what holds of all expressions, queries and filters
//! - `inline`: fields within texts; `bounds`: what values may become
//! - `oracle`: Dataview's own parser and values, under Node

mod bases;
mod bounds;
mod created;
mod documents;
mod drawn;
mod errors;
mod facts;
mod inline;
mod oracle;
mod properties;
mod queries;
mod rendered;
mod world;
