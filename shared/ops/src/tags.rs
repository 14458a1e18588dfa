//! Tags: those of properties and those in texts. Case does not tell tags apart, as in Obsidian.

pub mod find_notes_by_tag;
pub mod list_tags;

use atlas_segment::facts::TagPlaces;
use schemars::JsonSchema;
use serde::Serialize;

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
