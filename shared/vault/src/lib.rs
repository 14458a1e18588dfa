//! Parses one note into its parts, as Obsidian reads them. Pure: no files, no clock, no environment.
//!
//! # Layout
//!
//! - [`path`]: [`VaultPath`], a validated vault-relative path
//! - [`fold`]: simple case folding, the equivalence of a regex's `(?i)`
//! - [`note`]: [`Note`], the parts of a note, and [`parse`], which finds them
//! - [`frontmatter`]: the YAML block, and the tags, aliases and links in its properties
//! - `mask`: hides comments and excessive nesting from the markdown parser
//! - `markdown`: headings, list items, markdown links, code and HTML, by `pulldown-cmark`
//! - `inline`: wikilinks, tags, math and block ids in the text outside of `markdown`'s code and HTML; `wikilink`, `tag` and `block_id`
//!   each read one of them
//! - [`task`]: list items with a check box, and the dates and other fields in their texts
//! - [`words`](mod@words): words as full-text search defines them
//! - [`resolve`](mod@resolve): which file a link means; [`relink`](mod@relink): keeps that meaning when a file moves
//! - [`remove_links`]: takes links out of a note; [`mentions`](mod@mentions): where a note names something without a link
//! - [`date_format`]: date formats, which name periodic notes
//! - [`table`]: tables, and changes to their cells; [`kanban`]: boards of the plugin Kanban
//! - [`template`]: templates, and the commands of Templater in them; [`quickadd`]: choices of the plugin QuickAdd
//! - [`prompt`]: notes that are prompts for an agent
//! - [`entity`]: entities of a memory, and changes to them; `list_item`: items of several lines
//! - [`edit`]: [`edit::apply`] changes the named parts of a note's text, and nothing else
//! - [`loss`]: how much of a note a change removes; [`diff`]: two texts, as a person compares them; [`merge`]: two versions of a text
//! - [`symbol`](mod@symbol): the symbols that code in notes and files defines
//! - [`canvas`]: canvases, and changes to them; [`excalidraw`]: drawings of the plugin Excalidraw
//! - [`json_text`]: changes a JSON text value by value; `json_items`: lists of objects with ids in it
//! - [`lz_string`]: the compression of drawings
//! - [`links`](mod@links): the links of a file of any kind; [`queries`](mod@queries): queries in a note
//! - [`file_kind`]: which other files are text, and which belong to no vault
//! - [`pages`]: pages of text that was read in other files
//! - [`yaml`](mod@yaml): YAML, and changes to it
//! - [`visible`](mod@visible): characters that cannot be seen, made visible
//! - `lines`: lines and their numbers

mod block_id;
pub mod canvas;
pub mod conflict;
pub mod date_format;
pub mod diff;
pub mod edit;
pub mod entity;
pub mod excalidraw;
pub mod file_kind;
pub mod fold;
pub mod frontmatter;
mod inline;
mod json_items;
pub mod json_text;
pub mod kanban;
mod lines;
pub mod links;
mod list_item;
pub mod loss;
pub mod lz_string;
mod markdown;
mod mask;
pub mod mentions;
pub mod merge;
pub mod note;
pub mod pages;
pub mod path;
pub mod prompt;
pub mod queries;
pub mod quickadd;
pub mod relink;
pub mod remove_links;
pub mod resolve;
mod string_text;
pub mod symbol;
pub mod table;
mod tag;
pub mod task;
pub mod template;
pub mod visible;
mod wikilink;
pub mod words;
pub mod yaml;

pub use fold::{fold, fold_bytes_into, fold_char, fold_into};
pub use links::links;
pub use note::{
    BlockId, Frontmatter, FrontmatterError, Heading, Item, Link, LinkKind, Notation, Note, Tag, Task, anchor, parse,
};
pub use path::{PathError, VaultPath};
pub use tag::tag_name;
pub use words::words;
