//! Tags: those of properties and those in texts. Case does not tell tags apart, as in Obsidian.

pub mod add_tag;
pub mod find_notes_by_tag;
pub mod get_note_tags;
pub mod list_tags;
pub mod remove_tag;

use atlas_segment::facts::TagPlaces;
use schemars::JsonSchema;
use serde::Serialize;

use crate::arguments::invalid_input;
use crate::error::Error;

/// Where a tag stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// In the text.
    Inline,
    /// In the properties.
    Frontmatter,
    /// In both.
    Both,
}

impl Source {
    /// What `places` come to; none if there are none.
    fn of(places: TagPlaces) -> Option<Self> {
        match (places.inline, places.in_properties) {
            (true, true) => Some(Self::Both),
            (true, false) => Some(Self::Inline),
            (false, true) => Some(Self::Frontmatter),
            (false, false) => None,
        }
    }
}

/// Adds `more` places to some.
fn add(places: &mut TagPlaces, more: TagPlaces) {
    places.inline |= more.inline;
    places.in_properties |= more.in_properties;
}

/// The name of the tag that the argument `tag` spells, with or without its `#`.
fn name(written: &str) -> Result<&str, Error> {
    atlas_vault::tag_name(written)
        .ok_or_else(|| invalid_input("tag", "write letters, digits, _, - and / (or #, first), and more than a number"))
}
