//! Merges notes. Where the lines of the frontmatter overlap, or the merged ones would say something else than the sides do, it is merged
//! property by property.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Conflict, lines};
use crate::edit::{self, Split};

/// Merges the notes `ours` and `theirs`.
pub(super) fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, Conflict> {
    let by_lines = lines::merge(base, ours, theirs).map_err(Conflict::Overlaps);
    let texts = [base, ours, theirs].map(edit::split);
    let [Some(base), Some(ours), Some(theirs)] = texts else { return by_lines };
    if base.head == ours.head && ours.head == theirs.head {
        return by_lines;
    }
    // Below a line that a side has put above it, the frontmatter is text, and its properties are not removed.
    if has_frontmatter(&base) && !(has_frontmatter(&ours) && has_frontmatter(&theirs)) {
        return by_lines;
    }
    let properties = match merged(&base.properties, &ours.properties, &theirs.properties) {
        Ok(properties) => properties,
        // Overlapping lines say more than the first property that differs.
        Err(conflict) => return by_lines.and(Err(conflict)),
    };
    if let Ok(text) = &by_lines
        && edit::split(text).is_some_and(|merged| merged.properties == properties)
    {
        return by_lines;
    }
    let Ok(body) = lines::merge(base.body, ours.body, theirs.body) else {
        return by_lines.and(Err(Conflict::Member("the text below the frontmatter".to_owned())));
    };
    // Comments and empty lines between the properties come from the side that changed them.
    let sides = match (ours.between == base.between, theirs.between == base.between) {
        (true, true) => vec![(&ours, &theirs), (&theirs, &ours)],
        (false, true) => vec![(&ours, &theirs)],
        (true, false) => vec![(&theirs, &ours)],
        (false, false) if ours.between == theirs.between => vec![(&ours, &theirs), (&theirs, &ours)],
        (false, false) => return by_lines.and(Err(Conflict::Member("comments between properties".to_owned()))),
    };
    let mut conflict = Conflict::Member("the frontmatter".to_owned());
    for (kept, other) in sides {
        if let Some(name) = lost(&base, kept, other) {
            conflict = of_property(name);
        } else if let Ok(head) = edit::with_properties(kept.head, &properties) {
            return Ok(head + &body);
        }
    }
    by_lines.and(Err(conflict))
}

fn has_frontmatter(note: &Split<'_>) -> bool {
    !note.head.trim_start_matches('\u{feff}').is_empty()
}

/// A property of which something would be lost if `kept` got the values of `other`: a comment, or a notation of the same value.
fn lost<'a>(base: &'a Split<'_>, kept: &Split<'_>, other: &'a Split<'_>) -> Option<&'a String> {
    let is_lost = |name: &&String| {
        let [before, mine, changed] = [base, kept, other].map(|side| side.lines.get(*name).copied());
        let is_commented = [before, mine, changed].iter().flatten().any(|lines| lines.contains('#'));
        let keeps_value = |side: &Split<'_>| base.properties.get(*name) == side.properties.get(*name);
        let is_notation = keeps_value(other) || mine != before && keeps_value(kept);
        changed != before && changed != mine && (is_commented || is_notation)
    };
    base.lines.keys().chain(other.lines.keys()).find(is_lost)
}

fn of_property(name: &str) -> Conflict {
    Conflict::Member(format!("the property {name}"))
}

/// The properties that have the changes of both sides.
fn merged(
    base: &Map<String, Value>,
    ours: &Map<String, Value>,
    theirs: &Map<String, Value>,
) -> Result<Map<String, Value>, Conflict> {
    let mut merged = ours.clone();
    let names: Vec<&String> = base.keys().chain(theirs.keys().filter(|name| !base.contains_key(*name))).collect();
    for name in names {
        let (before, mine, other) = (base.get(name), ours.get(name), theirs.get(name));
        if other == before || other == mine {
            continue;
        }
        let value = if mine == before { other.cloned() } else { Some(both(name, before, mine, other)?) };
        match value {
            Some(value) => drop(merged.insert(name.clone(), value)),
            None => drop(merged.shift_remove(name)),
        }
    }
    Ok(merged)
}

/// The value that has the changes of both sides, which differ.
fn both(name: &str, base: Option<&Value>, ours: Option<&Value>, theirs: Option<&Value>) -> Result<Value, Conflict> {
    let conflict = || of_property(name);
    match (base, ours, theirs) {
        (Some(Value::Object(base)), Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
            merged(base, ours, theirs).map(Value::Object).map_err(|_| conflict())
        }
        (None, Some(Value::Array(ours)), Some(Value::Array(theirs))) => as_sets(&[], ours, theirs).ok_or_else(conflict),
        (Some(Value::Array(base)), Some(Value::Array(ours)), Some(Value::Array(theirs))) => {
            as_sets(base, ours, theirs).ok_or_else(conflict)
        }
        _ => Err(conflict()),
    }
}

/// The list that has what either side added and lacks what either removed; none where the order or number of entries says something.
fn as_sets(base: &[Value], ours: &[Value], theirs: &[Value]) -> Option<Value> {
    let sets = [base, ours, theirs].map(|list| list.iter().map(Value::to_string).collect::<HashSet<_>>());
    let [before, mine, other] = &sets;
    let has = |set: &HashSet<String>, value: &Value| set.contains(&value.to_string());
    let is_set = |list: &[Value], set: &HashSet<String>| {
        list.len() == set.len() && !list.iter().any(|value| value.is_array() || value.is_object())
    };
    let keeps_order = |list: &[Value], set: &HashSet<String>| {
        let kept = list.iter().filter(|value| has(before, value));
        kept.eq(base.iter().filter(|value| has(set, value)))
    };
    let is_plain = is_set(base, before) && is_set(ours, mine) && is_set(theirs, other);
    if !is_plain || !keeps_order(ours, mine) || !keeps_order(theirs, other) {
        return None;
    }
    let kept = ours.iter().filter(|value| !has(before, value) || has(other, value));
    let added = theirs.iter().filter(|value| !has(before, value) && !has(mine, value));
    Some(kept.chain(added).cloned().collect())
}
