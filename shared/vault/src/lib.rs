//! One note and its parts, as Obsidian reads them. Pure: no files, no clock, no environment.
//!
//! # Layout
//!
//! - [`path`]: [`VaultPath`], a vault-relative path that cannot hold a bad path
//! - [`fold`]: simple case folding, the equivalence of a regex's `(?i)`
//! - [`note`]: [`Note`], what a note consists of, and [`parse`], which finds it
//! - [`frontmatter`]: the YAML block, and the tags, aliases and links in its properties
//! - `mask`: hides comments and absurd nesting from the markdown parser
//! - `markdown`: headings, list items, markdown links, code and HTML, by `pulldown-cmark`
//! - `inline`: wikilinks, tags, math and block ids in what `markdown` leaves; `wikilink`, `tag` and
//!   `block_id` each know one of them
//! - [`task`]: list items with a check box, and the dates and other fields of their texts
//! - [`words`](mod@words): words, as full-text search knows them
//! - [`resolve`](mod@resolve): which file a link means; [`relink`](mod@relink): keeps it so when a file moves
//! - [`remove_links`]: takes links out of a note
//! - [`date_format`]: formats of dates, by which periodic notes are named
//! - [`edit`]: [`edit::apply`] changes a note's text where it is told to, and nowhere else
//! - [`loss`]: how much of a note a change takes away
//! - [`symbol`](mod@symbol): what code in notes and files defines
//! - [`file_kind`]: which other files are text, and which belong to no vault
//! - `lines`: lines and their numbers

mod block_id;
pub mod date_format;
pub mod edit;
pub mod file_kind;
pub mod fold;
pub mod frontmatter;
mod inline;
mod lines;
pub mod loss;
mod markdown;
mod mask;
pub mod note;
pub mod path;
pub mod relink;
pub mod remove_links;
pub mod resolve;
pub mod symbol;
mod tag;
pub mod task;
mod wikilink;
pub mod words;

pub use fold::{fold, fold_bytes_into, fold_char, fold_into};
pub use note::{BlockId, Frontmatter, FrontmatterError, Heading, Link, LinkKind, Note, Tag, Task, anchor, parse};
pub use path::{PathError, VaultPath};
pub use tag::tag_name;
pub use words::words;
