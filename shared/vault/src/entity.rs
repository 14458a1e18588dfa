//! Entities of a memory: notes that a person can read and edit in Obsidian. A property says what an entity is, the items below one heading are
//! facts about it, and the links below another lead to what it is related to:
//!
//! ```text
//! ---
//! entity_type: person
//! ---
//! # Ada
//!
//! ## Observations
//!
//! - Prefers tea
//!
//! ## Related
//!
//! - works at [[memory/organisation/Acme|Acme]]
//! ```
//!
//! A change adds one item, and leaves every other byte as it is.

mod file_name;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde_json::{Map, Value};

pub use self::file_name::file_name;
use crate::edit::{self, Edit, EditError, Target};
use crate::lines::{line_end, next_line};
use crate::list_item::further_lines;
use crate::note::{self, Heading, MAX_BODY_BYTES, Note};
use crate::{fold, markdown, mask};

/// The property that says what kind of thing an entity is. A note with it is an entity.
pub const TYPE: &str = "entity_type";
/// The property with an entity's name, where that is not the name of its file.
pub const NAME: &str = "entity_name";
/// The property with the time at which it was created.
pub const CREATED: &str = "created";
const OBSERVATIONS: &str = "Observations";
const RELATED: &str = "Related";
/// The kind of a relation that does not say.
const UNNAMED: &str = "related";
/// The space that a note must keep after a change.
const PROBE: &str = "probe";

/// An entity, as its note tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its type.
    pub kind: String,
    /// When it was created, as written, if that is written.
    pub created: Option<String>,
    /// Facts about it, in the order of the note.
    pub observations: Vec<String>,
    /// Its relations, in the order of the note.
    pub relations: Vec<Relation>,
}

/// A link of an entity to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// How they are related.
    pub kind: String,
    /// The target of the link, as written.
    pub target: String,
}

/// Why an entity is not written so.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EntityError {
    /// It is not one line of text.
    #[error("write one line of text; make one call for each fact")]
    NotOneLine,
    /// The written text could not be read again.
    #[error(
        "Obsidian would read it, or what follows it, as something else: leave out markup such as %%, $$, <!-- and [["
    )]
    Swallowed,
    /// The note is too long.
    #[error("the note has more than {MAX_BODY_BYTES} bytes: make another entity")]
    TooLong,
    /// The edit cannot be made.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The properties cannot be written.
    #[error(transparent)]
    Properties(#[from] edit::Problem),
}

impl Entity {
    /// The entity of a note; none if the note is no entity.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let note = note::parse(text);
        let property = |name: &str| Some(note.properties()?.get(name)?.as_str()?.trim().to_owned());
        let kind = property(TYPE).filter(|kind| !kind.is_empty())?;
        let items = items(text, &note);
        let below = |name| {
            let region = section(text, &note, name).map_or(0..0, |(_, region)| region);
            let [from, to] = [region.start, region.end].map(|at| items.partition_point(|start| *start < at));
            items.get(from..to).unwrap_or_default().iter().copied()
        };
        let observations = below(OBSERVATIONS).filter_map(|start| observation(text, start)).collect();
        let relations = below(RELATED).flat_map(|start| relations(text, &note, start)).collect();
        Some(Self { kind, created: property(CREATED), observations, relations })
    }
}

/// The text of a note for a new entity, whose file has the name `stem`.
///
/// # Errors
/// When something is not one line, or would not be read again.
pub fn new_text(
    kind: &str,
    name: &str,
    stem: &str,
    created: &str,
    observations: &[String],
) -> Result<String, EntityError> {
    let (kind, name) = (one_line(kind)?, one_line(name)?);
    let mut properties = Map::from_iter([(TYPE.to_owned(), Value::from(kind))]);
    if name != stem {
        properties.insert(NAME.to_owned(), name.into());
        properties.insert("aliases".to_owned(), Value::from([name].as_slice()));
    }
    properties.insert(CREATED.to_owned(), created.into());
    let observations: Vec<&str> = observations.iter().map(|text| one_line(text)).collect::<Result<_, _>>()?;
    let text = |observations: &[&str]| {
        let items: String = observations.iter().map(|observation| format!("- {observation}\n")).collect();
        let below = if items.is_empty() { String::new() } else { format!("{items}\n") };
        edit::with_frontmatter(&properties, &format!("# {name}\n\n## {OBSERVATIONS}\n\n{below}## {RELATED}\n"))
    };
    let written = text(&observations)?;
    if written.len() > MAX_BODY_BYTES {
        return Err(EntityError::TooLong);
    }
    let wanted = |observations: &[&str]| {
        let observations = observations.iter().map(|text| (*text).to_owned()).collect();
        Some(Entity { kind: kind.to_owned(), created: Some(created.to_owned()), observations, relations: Vec::new() })
    };
    let takes_more = || {
        let more: Vec<&str> = observations.iter().copied().chain([PROBE]).collect();
        Ok::<_, EntityError>(Entity::read(&text(&more)?) == wanted(&more))
    };
    if Entity::read(&written) == wanted(&observations) && takes_more()? {
        Ok(written)
    } else {
        Err(EntityError::Swallowed)
    }
}

/// The text of an entity with one more observation, the last, and how many there are then. The text must be an entity's.
///
/// # Errors
/// When it is not one line, or could not be read again.
pub fn with_observation(text: &str, observation: &str) -> Result<(String, usize), EntityError> {
    let observation = one_line(observation)?;
    let after = with_item(text, OBSERVATIONS, observation, |entity| entity.observations.push(observation.to_owned()))?;
    Ok((after.0, after.1.observations.len()))
}

/// The text of an entity with one more relation, the last: a link to `target` that shows `display`, if a link can. The text must be an entity's.
///
/// # Errors
/// When the kind is not one line, or could not be read again.
pub fn with_relation(text: &str, kind: &str, target: &str, display: &str) -> Result<String, EntityError> {
    let kind = relation_kind(kind)?;
    let is_shown = target != display && !display.contains(['[', ']', '|', '\\']) && display.trim() == display;
    let link = if is_shown { format!("[[{target}|{display}]]") } else { format!("[[{target}]]") };
    let relation = Relation { kind: kind.to_owned(), target: target.to_owned() };
    Ok(with_item(text, RELATED, &format!("{kind} {link}"), |entity| entity.relations.push(relation))?.0)
}

/// A kind of relation, as it is read again.
///
/// # Errors
/// When it is not one line.
pub fn relation_kind(kind: &str) -> Result<&str, EntityError> {
    one_line(kind.trim().trim_end_matches(':'))
}

/// `text` with one more item at the end of a section, which adds to the entity what `add` does; and the entity then.
fn with_item(
    text: &str,
    section: &str,
    item: &str,
    add: impl FnOnce(&mut Entity),
) -> Result<(String, Entity), EntityError> {
    if text.len() > MAX_BODY_BYTES {
        return Err(EntityError::TooLong);
    }
    let mut wanted = Entity::read(text).ok_or(EntityError::Swallowed)?;
    let note = note::parse(text);
    let place = self::section(text, &note, section);
    let with = |items: &str| {
        let edit = match &place {
            Some((heading, region)) => {
                let is_empty = text.get(region.clone()).is_none_or(|below| below.trim().is_empty());
                let above = if is_empty { "\n" } else { "" };
                let target = Target::HeadingLine(heading.line.saturating_add(1));
                Edit::AppendToSection { target, text: format!("{above}{items}") }
            }
            None => Edit::Append { text: format!("\n## {section}\n\n{items}") },
        };
        edit::apply(text, &[edit], MAX_BODY_BYTES)
    };
    let after = with(&format!("- {item}"))?;
    add(&mut wanted);
    // An opening comment or the like would swallow the next item.
    let probed = Entity::read(&with(&format!("- {item}\n- {PROBE} [[{PROBE}]]"))?).ok_or(EntityError::Swallowed)?;
    let all = probed.observations.len() + probed.relations.len();
    let takes_more = all == wanted.observations.len() + wanted.relations.len() + 1;
    match Entity::read(&after) {
        Some(entity) if entity == wanted && takes_more => Ok((after, wanted)),
        _ => Err(EntityError::Swallowed),
    }
}

/// The text without white space around it.
fn one_line(text: &str) -> Result<&str, EntityError> {
    let text = text.trim();
    if text.is_empty() || text.contains(char::is_control) { Err(EntityError::NotOneLine) } else { Ok(text) }
}

/// The first section of this name: its heading, and what stands below that.
fn section<'n>(text: &str, note: &'n Note, name: &str) -> Option<(&'n Heading, Range<usize>)> {
    let wanted = fold(name);
    let at = note.headings.iter().position(|heading| fold(heading.text.trim()) == wanted)?;
    let heading = note.headings.get(at)?;
    let mut others = note.headings.iter().skip(at + 1);
    let end = others.find(|other| other.level <= heading.level).map_or(text.len(), |other| other.offset);
    Some((heading, next_line(text, line_end(text, heading.end)).min(end)..end))
}

/// Where the items begin that are in no other list, quote or footnote.
fn items(text: &str, note: &Note) -> Vec<usize> {
    let start = note.frontmatter.as_ref().map_or(0, |frontmatter| frontmatter.body_start);
    let end = text.floor_char_boundary(start.saturating_add(MAX_BODY_BYTES));
    let masked = mask::mask(text.get(start..end).unwrap_or_default());
    let begins_line =
        |at: &usize| *at == 0 || text.as_bytes().get(at - 1).is_some_and(|byte| matches!(byte, b'\n' | b'\r'));
    markdown::read(&masked).items.into_iter().map(|item| item.start + start).filter(begins_line).collect()
}

/// Where the first line of the item that begins at `start` has its text, without the marker.
fn first_line(text: &str, start: usize) -> Range<usize> {
    let end = line_end(text, start);
    let line = text.get(start..end).unwrap_or_default();
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let marked = line.get(digits + 1..).unwrap_or_default();
    end - marked.trim_start().len()..end
}

fn observation(text: &str, start: usize) -> Option<String> {
    let first = first_line(text, start);
    let mut lines = vec![text.get(first.clone()).unwrap_or_default().trim_end()];
    further_lines(text, next_line(text, first.end), text.len(), &mut lines);
    let text = lines.join("\n").trim_end().to_owned();
    (!text.is_empty()).then_some(text)
}

fn relations<'n>(text: &'n str, note: &'n Note, start: usize) -> impl Iterator<Item = Relation> + 'n {
    let first = first_line(text, start);
    let from = note.links.partition_point(|link| link.range.start < start);
    let links = note.links.get(from..).unwrap_or_default().iter().take_while(move |link| link.range.start < first.end);
    let links = links.filter(|link| !link.is_external() && !link.is_embed() && !link.target.is_empty());
    let kind = links.clone().next().and_then(|link| text.get(first.start..link.range.start));
    let kind = kind.map(|kind| kind.trim().trim_end_matches(':').trim_end()).filter(|kind| !kind.is_empty());
    let kind = kind.unwrap_or(UNNAMED);
    links.map(move |link| Relation { kind: kind.to_owned(), target: link.target.clone() })
}
