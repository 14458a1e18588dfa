//! Anchors: the names of a note's parts.

use std::borrow::Cow;
use std::ops::Range;

use atlas_ops::arguments::{Bounded, Exact, Given, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::write::editing;
use atlas_vault::edit::{self, Target};
use atlas_vault::fold::fold;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Value, json};

/// A part of a note.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Anchor {
    /// The text below a heading, up to the next of its level or above.
    Heading {
        /// Its text, in any case; `Parent > Child` for one of several.
        heading: Text<500>,
        /// The number of the occurrence, if several have the same text; needed then.
        #[serde(default)]
        occurrence: Given<Bounded<1, 100_000>>,
    },
    /// The paragraph or list item with `^id`.
    Block {
        /// The id.
        block_id: Exact<500>,
    },
    /// The text above the first heading, below the properties.
    Frontmatter {},
}

/// A part of a note as one text: a heading as in [`Anchor::Heading`], or `^id`. An anchor in its long form is accepted
/// too.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct ShortAnchor(pub(crate) Anchor);

impl TryFrom<Value> for ShortAnchor {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        let anchor = match given {
            Value::String(text) => match text.trim().strip_prefix('^') {
                Some(id) => json!({ "type": "block", "block_id": id }),
                None => json!({ "type": "heading", "heading": text }),
            },
            Value::Object(_) => given,
            _ => return Err("give the text of a heading, or ^id of a block".to_owned()),
        };
        serde_json::from_value(anchor).map(Self).map_err(|error| error.to_string())
    }
}

impl JsonSchema for ShortAnchor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ShortAnchor".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Text::<500>::json_schema(generator)
    }
}

/// The position of a part.
pub(crate) enum Part {
    At(Target),
    /// Above the first heading, if there is one; [`None`] if there is no text.
    Preamble {
        lines: Option<Target>,
        heading: Option<Target>,
    },
}

impl Part {
    /// Its range in `note`, in bytes.
    pub(crate) fn range(&self, note: &str) -> Result<Range<usize>, Error> {
        match self {
            Self::At(target) | Self::Preamble { lines: Some(target), .. } => {
                edit::range(note, target).map_err(|problem| editing::refused("anchor", &problem))
            }
            Self::Preamble { lines: None, .. } => Ok(0..0),
        }
    }
}

impl Anchor {
    /// The position of the part in `note`.
    pub(crate) fn find(&self, note: &str) -> Result<Part, Error> {
        Ok(match self {
            Self::Block { block_id } => {
                let id = block_id.as_str();
                // As errors name it: `^id (line 7)`.
                Part::At(Target::Block(id.split_once(" (line ").map_or(id, |(id, _)| id).to_owned()))
            }
            Self::Heading { heading, occurrence } => {
                Part::At(named(note, heading.as_str(), occurrence.map(Bounded::get))?)
            }
            Self::Frontmatter {} => preamble(note),
        })
    }
}

/// The lines of the headings called `name`: as it is written, or else in another case.
fn lines_of(note: &str, name: &str) -> Vec<u32> {
    let headings = atlas_vault::parse(note).headings;
    let lines = |is_meant: &dyn Fn(&str) -> bool| -> Vec<u32> {
        let meant = headings.iter().filter(|heading| is_meant(heading.text.trim()));
        meant.map(|heading| heading.line.saturating_add(1)).collect()
    };
    let found = lines(&|text| text == name);
    if found.is_empty() { lines(&|text| fold(text) == fold(name)) } else { found }
}

/// The heading that `Parent > Child` names, or `Parent > Child (line 7)`, as errors name one of several.
fn by_parents(note: &str, name: &str) -> Target {
    if let Some(line) = line_in(note, name) {
        return Target::HeadingLine(line);
    }
    Target::Heading(name.split(" > ").map(|part| part.trim().to_owned()).collect())
}

/// The line that `name` ends with, if the heading there is called so.
fn line_in(note: &str, name: &str) -> Option<u32> {
    let (name, line) = name.strip_suffix(')')?.rsplit_once(" (line ")?;
    let line: u32 = line.parse().ok()?;
    let headings = atlas_vault::parse(note).headings;
    let heading = headings.iter().find(|heading| heading.line.saturating_add(1) == line)?;
    let (name, text) = (fold(name.trim()), fold(heading.text.trim()));
    let above = name.strip_suffix(&*text)?;
    (above.is_empty() || above.ends_with(" > ")).then_some(line)
}

/// The name of a heading, which may be written with its signs: `## #tag` is the heading `#tag`. Signs without a space after them go too (`##Name`),
/// unless a heading of `note` has just this name.
pub(crate) fn called<'a>(note: &str, written: &'a str) -> &'a str {
    let written = written.trim();
    let rest = written.trim_start_matches('#');
    let is_heading = (1..=6).contains(&(written.len() - rest.len())) && rest.starts_with([' ', '\t']);
    if !is_heading && !lines_of(note, written).is_empty() { written } else { rest.trim() }
}

/// The heading called `name`, where one text names it: as it is written, or else in another case, or by its parents. It may be missing, or one of
/// several.
pub(crate) fn heading_called(note: &str, name: &str) -> Target {
    let name = called(note, name);
    match lines_of(note, name).as_slice() {
        [] => by_parents(note, name),
        [line] => Target::HeadingLine(*line),
        _ => Target::Heading(vec![name.to_owned()]),
    }
}

/// The heading called `name`: as it is written, or else in another case, or by its parents.
fn named(note: &str, name: &str, occurrence: Option<usize>) -> Result<Target, Error> {
    let name = called(note, name);
    match (lines_of(note, name).as_slice(), occurrence) {
        ([], _) => Ok(by_parents(note, name)),
        ([line], None) => Ok(Target::HeadingLine(*line)),
        (lines, Some(number)) => {
            lines.get(number.saturating_sub(1)).map(|line| Target::HeadingLine(*line)).ok_or_else(|| {
                invalid_input(
                    "anchor.occurrence",
                    &format!("the note has {} headings of this name: count from 1", lines.len()),
                )
            })
        }
        (_, None) => Ok(Target::Heading(vec![name.to_owned()])),
    }
}

/// The text above the first heading of `note`.
fn preamble(note: &str) -> Part {
    let parsed = atlas_vault::parse(note);
    // After a byte-order mark.
    let first = note.strip_prefix('\u{feff}').map_or(0, |rest| note.len() - rest.len());
    let start = parsed.frontmatter.as_ref().map_or(first, |frontmatter| frontmatter.body_start);
    let end = parsed.headings.first().map_or(note.len(), |heading| heading.offset);
    let heading = parsed.headings.first().map(|heading| Target::HeadingLine(heading.line.saturating_add(1)));
    let text = note.get(start..end).unwrap_or_default();
    let line_of = |offset: usize| {
        let before = note.get(..offset).unwrap_or_default();
        u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX).saturating_add(1)
    };
    let lines = (!text.trim().is_empty()).then(|| {
        let first = start + text.len() - text.trim_start().len();
        let last = start + text.trim_end().len();
        Target::Lines([line_of(first), line_of(last)])
    });
    Part::Preamble { lines, heading }
}
