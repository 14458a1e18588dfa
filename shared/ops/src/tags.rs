//! Tags, as obsidian-tc has them: in the frontmatter's list and, with `#`, in the text. Names are without `#`; case does not matter.

pub mod add_tag;
pub mod get_note_tags;
pub mod remove_tag;

use crate::editing::invalid_input;
use crate::error::Error;

/// The name of the tag that the argument `tag` spells, with or without its `#`.
fn name(written: &str) -> Result<&str, Error> {
    atlas_vault::tag_name(written)
        .ok_or_else(|| invalid_input("tag", "write letters, digits, _, - and / (or #, first), and more than a number"))
}
