//! Edits of a note's text: [`apply`] changes the part that an edit names, and no other byte.
//!
//! # Layout
//! - `error`: [`EditError`], and the [`Candidate`]s it lists
//! - `target`: finds a [`Target`]; `block`: the lines of a block id
//! - `splice`: puts lines between lines, with the note's own line breaks; `joint`: the blank lines that keep them apart; `quoted`: lines in quotes;
//!   [`added_below`]: appended text with its separator
//! - `replace`: exact text
//! - `properties`: properties in the frontmatter; `entries`: where each stands; `split`: the frontmatter as a whole
//! - `tags`: tags, in the frontmatter and in the text; `task`: one task

use std::num::NonZeroU32;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::frontmatter;

pub use crate::lines::fit;
pub use below::added_below;
pub use error::{Candidate, EditError, Problem};
pub use joint::needs_gap;
pub use properties::{has_properties, remove_properties, replace_frontmatter, set as set_properties, with_frontmatter};
pub(crate) use splice::insert;
pub(crate) use split::{Split, split, with_properties};
pub use tags::{add_inline_tag, add_tag, remove_inline_tag, remove_tag};
pub use task::{ChangedTask, change_task};

mod below;
mod block;
mod entries;
mod error;
mod joint;
mod properties;
mod quoted;
mod replace;
mod splice;
mod split;
mod structure;
mod tags;
mod target;
mod task;

/// Most edits in one call of [`apply`].
pub const MAX_EDITS: usize = 100;

/// Most bytes that replacements of repeated text may add to a note in one call of [`apply`].
const MAX_REPEATED_BYTES: usize = 4 * 1024 * 1024;
/// Most bytes that the edits of one call of [`apply`] go through. The first edit is always made.
const MAX_PASSED_BYTES: usize = 256 * 1024 * 1024;
/// How many times over the text is gone through where it may be parsed.
const PARSED: usize = 4;
/// Most bytes of notes that one call of [`apply`] searches for headings and block ids. The first search of a call is always made.
const MAX_SOUGHT_BYTES: usize = 16 * 1024 * 1024;

/// One edit of a note. Inserted text gets lines of its own, with the note's line breaks, and a blank line where it would join a list, table or quote that ends or begins there; elsewhere begin or end it with an empty line to keep it apart. An empty text inserts nothing.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Edit {
    /// Adds lines at the end of the note.
    Append {
        /// The lines.
        text: String,
    },
    /// Adds lines at the start of the note, below its frontmatter.
    Prepend {
        /// The lines.
        text: String,
    },
    /// Replaces text that occurs exactly once, or as often as `count` says, anywhere in the note.
    ReplaceText {
        /// The text exactly as in the note, including line breaks.
        find: String,
        /// The replacement.
        replace: String,
        /// How often `find` must occur; all occurrences are replaced. 1 if left out.
        #[serde(default)]
        count: Option<NonZeroU32>,
    },
    /// Replaces the text below a heading, up to the next heading of the same or a higher level; the heading's line and the blank lines around the text stay. A block or lines are replaced whole, a block with its `^id`. An empty text removes the lines.
    ReplaceSection {
        /// The section, block or lines.
        target: Target,
        /// The new lines.
        text: String,
    },
    /// Adds lines at the end of a section, before the blank lines above the next heading; or right below a block or lines.
    AppendToSection {
        /// The section, block or lines.
        target: Target,
        /// The lines.
        text: String,
    },
    /// Adds lines right above a heading, block or lines.
    InsertBefore {
        /// The heading, block or lines.
        target: Target,
        /// The lines.
        text: String,
    },
    /// Adds lines right below a heading's line, or below a block or lines.
    InsertAfter {
        /// The heading, block or lines.
        target: Target,
        /// The lines.
        text: String,
    },
    /// Sets a property of the frontmatter; all other properties and all comments stay unchanged. A missing property or frontmatter is added.
    SetProperty {
        /// The property's name: a key of the frontmatter's top level.
        name: String,
        /// Its value: a string, number, boolean, null, list or map.
        value: Value,
    },
    /// Removes a property of the frontmatter.
    RemoveProperty {
        /// The property's name.
        name: String,
    },
    /// Sets several properties, as `set_property` does: null is a value, and lists and maps are replaced whole.
    MergeProperties {
        /// The properties, by name.
        properties: Map<String, Value>,
    },
}

/// The part of a note that an edit targets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A heading, by its text without `#`s: `["Sub"]`, or `["Top", "Sub"]` for the one below `Top`. It must be unique.
    Heading(Vec<String>),
    /// The heading on this line, counted from 1, if several have the same text.
    HeadingLine(u32),
    /// The paragraph or list item (including nested items) with `^id`, by its id.
    Block(String),
    /// Lines, from and to, counted from 1, both included.
    Lines([u32; 2]),
}

/// Applies all of `edits` in order, each to the result of the one before, or none of them. The result has at most `max_bytes` bytes.
///
/// # Errors
/// When there are more than [`MAX_EDITS`] edits, an edit cannot be made, or the result is too long.
pub fn apply(text: &str, edits: &[Edit], max_bytes: usize) -> Result<String, EditError> {
    if edits.len() > MAX_EDITS {
        return Err(EditError::TooMany { count: edits.len() });
    }
    let mut edited = text.to_owned();
    let mut room = Remaining { max_bytes, repeated: MAX_REPEATED_BYTES, passed: 0, sought: None };
    for (index, edit) in edits.iter().enumerate() {
        edited = room
            .pass(&edited, edit)
            .and_then(|()| one(&edited, edit, &mut room))
            .and_then(|outcome| within(outcome, max_bytes))
            .map_err(|problem| EditError::Refused { edit: index + 1, problem: Box::new(problem) })?;
    }
    Ok(edited)
}

/// The range of `target` in `text`: a section with its heading, without the blank lines below it; a block or lines.
///
/// # Errors
/// When it does not occur, or several times.
pub fn range(text: &str, target: &Target) -> Result<Range<usize>, Problem> {
    target::find(text, target).map(|place| place.start..place.end)
}

/// The remaining limits for the edits of one call.
struct Remaining {
    max_bytes: usize,
    /// Bytes that replacements of repeated text may still add.
    repeated: usize,
    /// Bytes that the edits so far went through, besides copying them.
    passed: usize,
    /// Bytes that can still be searched for targets; `None` before the first search.
    sought: Option<usize>,
}

impl Remaining {
    /// Counts what one more edit of `text` goes through, besides copying it.
    fn pass(&mut self, text: &str, edit: &Edit) -> Result<(), Problem> {
        let bytes = match edit {
            Edit::Append { .. }
            | Edit::AppendToSection { .. }
            | Edit::InsertBefore { .. }
            | Edit::InsertAfter { .. } => return Ok(()),
            Edit::ReplaceText { .. } => text.len(),
            Edit::ReplaceSection { .. } => text.len().saturating_mul(PARSED),
            Edit::Prepend { .. }
            | Edit::SetProperty { .. }
            | Edit::RemoveProperty { .. }
            | Edit::MergeProperties { .. } => {
                let start = splice::text_start(text);
                frontmatter::fences(text, start).map_or(0, |(_, body)| body.saturating_mul(PARSED))
            }
        };
        let is_first = self.passed == 0;
        self.passed = self.passed.saturating_add(bytes.max(1));
        if is_first || self.passed <= MAX_PASSED_BYTES { Ok(()) } else { Err(Problem::TooManyPasses) }
    }

    /// Finds `target` in `text`.
    fn find(&mut self, text: &str, target: &Target) -> Result<target::TargetPosition, Problem> {
        if !matches!(target, Target::Lines(_)) {
            let room = self.sought.unwrap_or(MAX_SOUGHT_BYTES.max(text.len()));
            self.sought = Some(room.checked_sub(text.len()).ok_or(Problem::TooManyTargets)?);
        }
        target::find(text, target)
    }

    fn replace(&mut self, text: &str, find: &str, new: &str, count: Option<NonZeroU32>) -> Result<String, Problem> {
        if count.is_none_or(|count| count.get() == 1) {
            return replace::replace(text, find, new, count, self.max_bytes);
        }
        let max_bytes = self.max_bytes.min(text.len().saturating_add(self.repeated));
        let outcome = replace::replace(text, find, new, count, max_bytes).map_err(|problem| match problem {
            Problem::TooLong { bytes, .. } if bytes <= self.max_bytes => {
                Problem::AddsTooMuch { bytes: bytes - text.len(), max_bytes: self.repeated }
            }
            problem => problem,
        })?;
        self.repeated -= outcome.len().saturating_sub(text.len()).min(self.repeated);
        Ok(outcome)
    }
}

fn within(outcome: String, max_bytes: usize) -> Result<String, Problem> {
    if outcome.len() > max_bytes { Err(Problem::TooLong { bytes: outcome.len(), max_bytes }) } else { Ok(outcome) }
}

fn one(text: &str, edit: &Edit, room: &mut Remaining) -> Result<String, Problem> {
    Ok(match edit {
        Edit::Append { text: added } => splice::insert(text, text.len(), added),
        Edit::Prepend { text: added } => splice::insert(text, properties::body_start(text), added),
        Edit::ReplaceText { find, replace, count } => room.replace(text, find, replace, *count)?,
        Edit::ReplaceSection { target, text: new } => {
            let place = room.find(text, target)?;
            match place.content {
                Some(lines) => splice::replace(text, lines, new),
                None => splice::insert(text, place.below, new),
            }
        }
        Edit::AppendToSection { target, text: added } => splice::insert(text, room.find(text, target)?.end, added),
        Edit::InsertBefore { target, text: added } => splice::insert(text, room.find(text, target)?.start, added),
        Edit::InsertAfter { target, text: added } => splice::insert(text, room.find(text, target)?.below, added),
        Edit::SetProperty { name, value } => properties::set(text, &Map::from_iter([(name.clone(), value.clone())]))?,
        Edit::RemoveProperty { name } => properties::remove_properties(text, std::slice::from_ref(name))?,
        Edit::MergeProperties { properties } => properties::set(text, properties)?,
    })
}

#[cfg(test)]
mod tests;
