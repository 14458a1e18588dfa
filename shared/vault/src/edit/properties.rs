//! Changes properties in the frontmatter: whole lines, or one value on its line. The result is parsed again, and is refused unless
//! exactly the intended property has changed.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::entries::{Entry, entries};
use super::error::{Candidate, MAX_CANDIDATES, Problem, echo};
use super::splice;
use super::splice::text_start;
use crate::frontmatter;
use crate::lines::Lines;
use crate::note::Frontmatter;
use crate::yaml::change::{replacement, with_value_in};
use crate::yaml::{MAX_DEPTH, write as yaml};

/// Longest name of a new property, in bytes. YAML still accepts it as a key when escaping makes it six times as long.
const MAX_NAME_BYTES: usize = 160;

/// The text of a new note: `properties` in its frontmatter, so that [`parse`](crate::parse) reads the same values back,
/// and `body` below it. A byte-order mark of the body comes first. Without properties, the body alone.
///
/// # Errors
/// When the properties could not be read back: a name is empty or has more than 160 bytes, they nest deeper
/// than 30 levels, or take more than [`MAX_YAML_BYTES`](crate::frontmatter::MAX_YAML_BYTES).
pub fn with_frontmatter(properties: &Map<String, Value>, body: &str) -> Result<String, Problem> {
    properties.iter().try_for_each(|(name, value)| check(name, value))?;
    if properties.is_empty() {
        return Ok(body.to_owned());
    }
    let line_break = splice::line_break(body).unwrap_or("\n");
    let (mark, body) = body.split_at_checked(text_start(body)).unwrap_or_default();
    let mut lines = String::new();
    yaml::entries(properties, 0, line_break, &mut lines);
    verified(format!("{mark}---{line_break}{lines}---{line_break}{body}"), properties, || {
        Problem::Unreadable("the values come out differently".to_owned())
    })
}

/// `text` with its frontmatter replaced by `properties`; with no frontmatter if `properties` is empty.
///
/// # Errors
/// As [`with_frontmatter`]; also when the text below would be read as frontmatter.
pub fn replace_frontmatter(text: &str, properties: &Map<String, Value>) -> Result<String, Problem> {
    let (mark, rest) = text.split_at_checked(text_start(text)).unwrap_or_default();
    let body = rest.get(body_start(text) - mark.len()..).unwrap_or_default();
    let line_break = splice::line_break(text).unwrap_or("\n");
    // A body of one line does not show which line breaks the note uses.
    let edited = match splice::line_break(body) {
        None if !properties.is_empty() => with_frontmatter(properties, &format!("{body}{line_break}"))?
            .strip_suffix(line_break)
            .map(str::to_owned)
            .unwrap_or_default(),
        _ => with_frontmatter(properties, body)?,
    };
    let edited = format!("{mark}{edited}");
    if properties.is_empty() && frontmatter(&edited).is_some() {
        return Err(Problem::Unreadable("the text below it would become the frontmatter".to_owned()));
    }
    Ok(edited)
}

/// The start of the text below the frontmatter.
pub(super) fn body_start(text: &str) -> usize {
    frontmatter(text).map_or(text_start(text), |frontmatter| frontmatter.body_start)
}

/// Whether `text` begins with properties of its own, rather than with a rule that another one follows.
#[must_use]
pub fn has_properties(text: &str) -> bool {
    frontmatter(text).is_some_and(|frontmatter| match &frontmatter.properties {
        Ok(properties) => !properties.is_empty(),
        Err(_) => text.get(frontmatter.range).is_some_and(|yaml| yaml.contains(':')),
    })
}

/// `text` with each of `properties` set: in place where it has one of that name, else below the others. A text without frontmatter gets one.
///
/// # Errors
/// When the frontmatter cannot be read or changed safely, or as [`with_frontmatter`].
pub fn set(text: &str, properties: &Map<String, Value>) -> Result<String, Problem> {
    let Some(frontmatter) = frontmatter(text) else {
        return with_frontmatter(properties, text);
    };
    let mut expected = frontmatter.properties?;
    let changed = properties.iter().filter(|(name, value)| expected.get(*name) != Some(value));
    let (old, added): (Vec<_>, Vec<_>) = changed.partition(|(name, _)| expected.contains_key(*name));
    old.iter().try_for_each(|(_, value)| check_value(value))?;
    added.iter().try_for_each(|(name, value)| check(name, value))?;
    let (old, added) = (copied(old), copied(added));
    if old.is_empty() && added.is_empty() {
        return Ok(text.to_owned());
    }

    let yaml = text.get(frontmatter.range.clone()).unwrap_or_default();
    let entries = entries(yaml)?;
    let line_break = splice::line_break(text).unwrap_or("\n");
    let names: Vec<&str> = old.keys().chain(added.keys()).map(String::as_str).collect();
    let names = echo(&names.join(", "));
    expected.extend(old.clone());
    let mut edited = match with_value_in(yaml, &Value::Object(expected.clone()), line_break) {
        Ok(edited) => edited,
        Err(_) => with_whole_values(yaml, &entries, &old, line_break),
    };
    let indent = entries.first().map_or(0, |entry| entry.key - entry.lines.start);
    yaml::entries(&added, indent, line_break, &mut edited);
    expected.extend(added);
    verified(spliced(text, frontmatter.range, &edited), &expected, || Problem::Entangled { names: names.clone() })
}

/// `yaml` with the values of `new` in place of the old ones of the same name.
fn with_whole_values(yaml: &str, entries: &[Entry], new: &Map<String, Value>, line_break: &str) -> String {
    let mut edited = String::new();
    let mut at = 0;
    for (entry, value) in entries.iter().filter_map(|entry| Some((entry, new.get(&entry.name)?))) {
        edited.push_str(yaml.get(at..entry.value.start).unwrap_or_default());
        let column = entry.key - entry.lines.start;
        edited.push_str(&replacement(yaml, &entry.value, entry.lines.end, value, column, false, line_break));
        at = entry.lines.end;
    }
    edited.push_str(yaml.get(at..).unwrap_or_default());
    edited
}

fn copied(properties: Vec<(&String, &Value)>) -> Map<String, Value> {
    properties.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Removes properties, with their lines.
///
/// # Errors
/// When one does not exist, or the frontmatter cannot be changed safely.
pub fn remove_properties(text: &str, names: &[String]) -> Result<String, Problem> {
    let Some(first) = names.first() else { return Ok(text.to_owned()) };
    let missing = |name: &str, candidates| Problem::PropertyMissing { name: echo(name), candidates };
    let Some(frontmatter) = frontmatter(text) else {
        return Err(missing(first, Vec::new()));
    };
    let mut expected = frontmatter.properties?;
    let yaml = text.get(frontmatter.range.clone()).unwrap_or_default();
    let offset = frontmatter.range.start;
    let entries = entries(yaml)?;
    let mut left: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut edited = String::new();
    let mut at = 0;
    for entry in entries.iter().filter(|entry| left.remove(entry.name.as_str())) {
        edited.push_str(yaml.get(at..entry.lines.start).unwrap_or_default());
        at = entry.lines.end;
        expected.remove(&entry.name);
    }
    edited.push_str(yaml.get(at..).unwrap_or_default());
    if let Some(name) = names.iter().find(|name| left.contains(name.as_str())) {
        let lines = Lines::new(text);
        let some = entries.iter().take(MAX_CANDIDATES);
        let candidates = some.map(|entry| Candidate::new(lines.at(entry.key + offset), &entry.name));
        return Err(missing(name, candidates.collect()));
    }
    verified(spliced(text, frontmatter.range, &edited), &expected, || Problem::Entangled {
        names: echo(&names.join(", ")),
    })
}

pub(super) fn frontmatter(text: &str) -> Option<Frontmatter> {
    frontmatter::of(text)
}

fn check(name: &str, value: &Value) -> Result<(), Problem> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(Problem::PropertyName { max: MAX_NAME_BYTES });
    }
    check_value(value)
}

fn check_value(value: &Value) -> Result<(), Problem> {
    if !yaml::is_within(value, MAX_DEPTH) {
        return Err(Problem::Unreadable(format!("it nests deeper than {MAX_DEPTH} levels")));
    }
    Ok(())
}

pub(super) fn spliced(text: &str, range: Range<usize>, new: &str) -> String {
    let (before, after) = (text.get(..range.start).unwrap_or_default(), text.get(range.end..).unwrap_or_default());
    [before, new, after].concat()
}

/// `edited`, if its properties are the expected ones.
pub(super) fn verified(
    edited: String,
    expected: &Map<String, Value>,
    otherwise: impl Fn() -> Problem,
) -> Result<String, Problem> {
    match frontmatter(&edited).map(|frontmatter| frontmatter.properties) {
        Some(Ok(properties)) if properties == *expected => Ok(edited),
        Some(Err(error)) => Err(Problem::Unreadable(error.message)),
        _ => Err(otherwise()),
    }
}
