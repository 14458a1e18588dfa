use std::sync::Arc;

use super::Call;
use crate::error::Result;
use crate::eval::Evaluator;
use crate::pages::{Fact, in_folder};
use crate::value::{Link, Value};

pub(super) const NAMES: &[&str] = &["asLink", "hasLink", "hasProperty", "hasTag", "inFolder", "asFile", "linksTo"];

pub(super) fn call(evaluator: &Evaluator<'_>, call: &Call<'_>, path: &Arc<str>) -> Result<Option<Value>> {
    Ok(Some(match (call.name, call.arguments) {
        ("asLink", []) => Value::link(Link::file(path.clone())),
        ("asLink", [display]) => {
            let display = evaluator.shown(display)?;
            Value::link(Link { display: (!display.is_empty()).then(|| display.into()), ..Link::file(path.clone()) })
        }
        ("hasLink", [Value::Null]) => false.into(),
        ("hasLink", [other]) => {
            links_to(evaluator, path, &target(evaluator, other).ok_or_else(|| call.unfit())?)?.into()
        }
        ("hasProperty", _) => evaluator.pages().property(path, call.text()?).is_some().into(),
        ("hasTag", names) => {
            let tags = evaluator.pages().fact(path, Fact::Tags);
            let tags = tags.as_list().unwrap_or_default();
            evaluator.spend(tags.len() * names.len())?;
            let names =
                names.iter().map(|name| name.as_text().ok_or_else(|| call.unfit())).collect::<Result<Vec<_>>>()?;
            names.iter().any(|name| tags.iter().filter_map(Value::as_text).any(|tag| has_tag(tag, name))).into()
        }
        ("inFolder", _) => in_folder(path, call.text()?).into(),
        ("asFile", []) => Value::File(path.clone()),
        ("linksTo", [other]) => {
            links_to(evaluator, path, &target(evaluator, other).ok_or_else(|| call.unfit())?)?.into()
        }
        (name, _) if NAMES.contains(&name) => return Err(call.unfit()),
        _ => return Ok(None),
    }))
}

pub(super) fn link(evaluator: &Evaluator<'_>, call: &Call<'_>, link: &Link) -> Result<Option<Value>> {
    let file = evaluator.resolved(&link.path);
    Ok(Some(match (call.name, call.arguments, file) {
        ("asFile", [], file) => file.map_or(Value::Null, Value::File),
        ("linksTo", [other], Some(path)) => {
            links_to(evaluator, &path, &target(evaluator, other).ok_or_else(|| call.unfit())?)?.into()
        }
        ("linksTo", [_], None) => false.into(),
        (name, _, Some(path)) if NAMES.contains(&name) => return self::call(evaluator, call, &path),
        (name, _, None) if NAMES.contains(&name) => false.into(),
        _ => return Ok(None),
    }))
}

/// The path that a value means, whether there is such a file or not.
fn target(evaluator: &Evaluator<'_>, value: &Value) -> Option<Arc<str>> {
    let resolved = |path: &Arc<str>| evaluator.resolved(path).unwrap_or_else(|| path.clone());
    match value {
        Value::File(path) => Some(path.clone()),
        Value::Page(page) => Some(page.path.clone()),
        Value::Link(link) => Some(resolved(&link.path)),
        Value::Text(text) => {
            let inner =
                text.strip_prefix("[[").and_then(|text| text.strip_suffix("]]")).map(|inner| Link::inner(inner).path);
            Some(resolved(&inner.unwrap_or_else(|| text.clone())))
        }
        _ => None,
    }
}

fn links_to(evaluator: &Evaluator<'_>, path: &Arc<str>, target: &Arc<str>) -> Result<bool> {
    let links = evaluator.pages().fact(path, Fact::Links);
    let links = links.as_list().unwrap_or_default();
    evaluator.spend(links.len())?;
    Ok(links.iter().any(|link| matches!(link, Value::Link(link) if link.path == *target)))
}

/// Whether a tag is that one, or is nested in it: in any case, with `#` or without.
#[must_use]
pub fn has_tag(tag: &str, name: &str) -> bool {
    let tag = tag.trim_start_matches('#').to_lowercase();
    let name = name.trim_start_matches('#').to_lowercase();
    tag.strip_prefix(&name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) && !name.is_empty()
}
