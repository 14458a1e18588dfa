//! Properties of notes, as obsidian-tc has them.

pub mod update_frontmatter;
