//! Workspaces: layouts of windows that a person saved in Obsidian.

pub mod list_workspaces;

/// Where they are.
pub(crate) const FILE: &str = ".obsidian/workspaces.json";
