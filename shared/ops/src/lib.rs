//! The operations that agents call. Each is one type in one file with its arguments, its result and
//! what it needs; REST, the command line and every later door are ways to the same [`dispatch`].
//!
//! # Layout
//!
//! - [`operation`]: what an operation is; [`registry`]: operations as doors see them, dispatch, and which there are; [`catalogue`]: what is
//!   known of all of them; [`gates`]: what every call passes, with what `prepared` has of its operation: [`throttle`], [`confirmation`] (which [`approve`] gives), `governor` (how large
//!   answers are); [`audit`]: what is told of it
//! - [`atlas`]: what operations run on: vaults, limits; [`about`]: what the program tells of itself
//! - [`arguments`]: argument types that cannot hold a value out of range; `schemas`: what JSON Schema says of arguments and results; [`error`]: the one error
//! - `view`: what a caller sees of a vault; `index`: fetching what a query needs in one wave; `near`: and what it may need;
//!   `passages`: where a term may stand; `merge`: several segments in path order; `cursor`, [`paging`]: pages; `notes`: notes by known paths; `excerpt`: quotes; `search_notes`: what `find` leaves behind;
//!   `bridge_paths`: the paths of the Atlas Local Bridge
//! - [`inspect_acl`]: what may be done where
//! - [`context_current`], [`find`], [`query`] (as the Atlas Local Bridge specification says), [`health`],
//!   [`read_note`], [`list_notes`], [`note_history`], [`search`](mod@search); [`write_note`], [`edit_note`], [`upsert_note`],
//!   [`delete_note`], [`restore_note`], by `writing` (one note in one commit), `precondition` (which version the caller has
//!   seen) and [`idempotency`] (calls that are made again); [`move_note`], by `moving` (files that change their paths, and links to
//!   them), `batch` (many documents in one commit; `destruction` and `one_name` say
//!   what it may not do) and `links` (which notes link to a file)
//! - [`read_notes`], [`note_exists`], [`append_note`], [`patch_note`], [`copy_note`], [`move_attachment`], [`rewrite_link`],
//!   [`prune_hub_links`] (as obsidian-tc has them), by `items` (calls
//!   for several things); [`bulk`]: many notes at once
//! - [`note_read`], [`note_upsert`], [`note_delete`], [`vault_search`] (as obsidian-vault-mcp has them)
//! - [`backlinks_search`], [`graph_neighbors`], [`link_add`], by [`graph`] (the links of all notes), with obsidian-tc's tools
//! - [`properties`], [`tags`], [`tasks`], by `facts` (what notes say of themselves) and `editing` (one note's text in one commit), as obsidian-tc has them
//! - [`periodic`], [`bundles`], [`attachments`], [`admin`] (as obsidian-tc has them)
//! - [`obsidian_app`]: tools that need the app; [`surface`]: obsidian-tc's tools, and which of them work here
//! - [`work`]: how much processor time a call takes
//! - `jsonlogic`: conditions as JSON, within a budget
//! - [`atlas_index`], [`atlas_pack`], [`atlas_find_duplicates`] (as Atlas Guardrails has them); [`vault_sync`]; [`connector_search`],
//!   [`connector_fetch`] (for connectors of chat applications)

pub mod about;
pub mod admin;
pub mod append_note;
pub mod approve;
pub mod arguments;
pub mod atlas;
pub mod atlas_find_duplicates;
pub mod atlas_index;
pub mod atlas_pack;
pub mod attachments;
pub mod audit;
pub mod backlinks_search;
mod batch;
mod bridge_paths;
pub mod bulk;
pub mod bundles;
pub mod catalogue;
mod common_words;
pub mod confirmation;
pub mod connector_fetch;
pub mod connector_search;
pub mod context_current;
pub mod copy_note;
mod cursor;
pub mod delete_note;
mod destruction;
pub mod edit_note;
mod editing;
pub mod error;
mod excerpt;
mod facts;
pub mod find;
pub mod gates;
mod governor;
pub mod graph;
pub mod graph_neighbors;
pub mod health;
pub mod idempotency;
mod index;
pub mod inspect_acl;
mod items;
mod jsonlogic;
pub mod link_add;
mod links;
pub mod list_notes;
mod merge;
pub mod move_attachment;
pub mod move_note;
mod moving;
mod near;
pub mod note_delete;
pub mod note_exists;
pub mod note_history;
pub mod note_read;
pub mod note_upsert;
mod notes;
pub mod obsidian_app;
mod one_name;
pub mod operation;
pub mod paging;
mod passages;
pub mod patch_note;
pub mod periodic;
mod precondition;
mod prepared;
pub mod properties;
pub mod prune_hub_links;
pub mod query;
pub mod read_note;
pub mod read_notes;
pub mod registry;
pub mod restore_note;
pub mod rewrite_link;
mod schemas;
pub mod search;
mod search_notes;
pub mod surface;
pub mod tags;
pub mod tasks;
pub mod throttle;
pub mod upsert_note;
pub mod vault_search;
pub mod vault_sync;
mod view;
pub mod work;
pub mod write_note;
mod writing;

pub use atlas::{Atlas, Limits, Vault};
pub use atlas_access::Caller;
pub use error::{Code, Error};
pub use governor::Sent;
pub use operation::{Answer, Context, Info, Operation, Scope};
pub use registry::{Call, Entry, dispatch, operations};
