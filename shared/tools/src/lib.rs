//! The operations that agents call: one folder a domain, one file an operation, with its arguments, its result and what it needs.
//! Doors find them in [`catalogue`] and call them through [`atlas_ops::dispatch`].
//!
//! # Layout
//!
//! - [`catalogue`]: the list of all operations; [`facade`]: which of them an agent sees, as tools; [`schemas`]: the JSON Schemas of their
//!   arguments and results; [`surface`]: obsidian-tc's tools, and which of them work here
//! - the domains of notes: [`notes`], [`history`], [`links`], [`graph`], [`search`], [`queries`], [`properties`], [`tags`], [`tasks`], [`kanban`], [`tables`],
//!   [`periodic`], [`templates`], [`prompts`], [`quickadd`], [`bookmarks`], [`workspaces`], [`bundles`], [`attachments`], [`canvas`], [`excalidraw`], [`bases`], [`bulk`],
//!   [`capture`], [`conflicts`], [`memory`], [`sessions`], [`knowledge`]
//! - the deployment: [`access`], [`admin`]
//! - the tools of other systems, by their names: [`bridge`] (Atlas Local Bridge), [`guardrails`] (Atlas Guardrails), [`vault_mcp`]
//!   (obsidian-vault-mcp), [`connector`] (connectors of chat applications), [`obsidian`] (what a running Obsidian is asked for), [`plur`]
//!   (a memory of engrams)
//! - `plugins`: which plugins of Obsidian are turned on, their settings, and the language of dates
//! - `changed_file`: a file before and after a change; `jsonlogic`: conditions as JSON, within a budget; `formats`: what operations on files
//!   with a format of their own share

pub mod access;
pub mod admin;
pub mod attachments;
pub mod bases;
pub mod bookmarks;
pub mod bridge;
pub mod bulk;
pub mod bundles;
pub mod canvas;
pub mod capture;
pub mod catalogue;
mod changed_file;
pub mod conflicts;
pub mod connector;
pub mod excalidraw;
pub mod facade;
mod formats;
pub mod graph;
pub mod guardrails;
pub mod history;
mod jsonlogic;
pub mod kanban;
pub mod knowledge;
pub mod links;
pub mod memory;
pub mod notes;
pub mod obsidian;
pub mod periodic;
mod plugins;
pub mod plur;
pub mod prompts;
pub mod properties;
pub mod queries;
pub mod quickadd;
pub mod schemas;
pub mod search;
pub mod sessions;
pub mod surface;
pub mod tables;
pub mod tags;
pub mod tasks;
pub mod templates;
pub mod vault_mcp;
pub mod workspaces;

pub use catalogue::{Listed, entry, operations};
