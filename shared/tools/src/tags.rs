//! Tags: those in properties and those in texts. As in Obsidian, case does not matter.

pub mod add_tag;
pub mod find_notes_by_tag;
pub mod get_note_tags;
pub mod list_tags;
pub mod remove_tag;

use atlas_ops::arguments::invalid_input;
use atlas_ops::error::Error;
use atlas_segment::facts::TagPlaces;
use atlas_vault::fold;
use schemars::JsonSchema;
use serde::Serialize;

/// The place of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TagPlace {
    Frontmatter,
    Inline,
}

/// The places of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TagSource {
    /// In the text.
    Inline,
    /// In the properties.
    Frontmatter,
    /// In both.
    Both,
}

impl TagSource {
    /// The source for `places`; [`None`] if there are none.
    fn of(places: TagPlaces) -> Option<Self> {
        match (places.inline, places.in_properties) {
            (true, true) => Some(Self::Both),
            (true, false) => Some(Self::Inline),
            (false, true) => Some(Self::Frontmatter),
            (false, false) => None,
        }
    }
}

/// A searched tag.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SearchedTag(String);

impl SearchedTag {
    /// The tag in argument `field`, with or without its `#`.
    pub(crate) fn of(field: &str, written: &str) -> Result<Self, Error> {
        match written.trim_matches(['#', '/']) {
            "" => Err(invalid_input(field, "write the name of a tag")),
            name => Ok(Self(fold(name))),
        }
    }

    /// Whether a note's tag is this one, or one below it.
    pub(crate) fn holds(&self, written: &str, with_those_below: bool) -> bool {
        let written = fold(written);
        let rest = written.strip_prefix(self.0.as_str());
        rest.is_some_and(|rest| rest.is_empty() || with_those_below && rest.starts_with('/'))
    }
}

/// Adds `more` places to some.
fn add(places: &mut TagPlaces, more: TagPlaces) {
    places.inline |= more.inline;
    places.in_properties |= more.in_properties;
}

/// The name of the tag in the argument `tag`, with or without its `#`.
fn name(written: &str) -> Result<&str, Error> {
    atlas_vault::tag_name(written)
        .ok_or_else(|| invalid_input("tag", "write letters, digits, _, - and / (or #, first), and more than a number"))
}
