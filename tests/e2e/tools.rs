//! obsidian-tc's tools.

mod admin;
mod answers;
mod attachments;
mod boards;
mod bookmarks;
mod bulk;
mod bundles;
mod canvas;
mod excalidraw;
mod facts;
mod graph;
mod link_tools;
mod links;
mod note_parts;
mod note_tools;
mod periodic;
mod properties;
mod queries;
mod quickadd;
mod surface;
mod symbols;
mod tags;
mod tasks;
mod templates;
mod undo;
mod uploads;
