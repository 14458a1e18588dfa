//! Workspaces: layouts of windows that a person saved in Obsidian.

pub mod list_workspaces;
