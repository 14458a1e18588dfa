use indexmap::IndexMap;
use serde_json::{Map, Value as Json};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};

use super::document::{Base, Filter, Property, View};
use crate::Dialect;
use crate::error::{Error, Kind, Result};
use crate::eval::Formulas;
use crate::syntax::{Expr, MAX_TEXT_BYTES};

/// How deep lists and maps may nest.
const MAX_DEPTH: usize = 32;
/// Most expressions of a document.
const MAX_EXPRESSIONS: usize = 2000;

/// The keys of documents and of views, and the kinds of views.
const KEYS: [&str; 5] = ["filters", "formulas", "properties", "summaries", "views"];

pub(super) fn base(text: &str) -> Result<Base> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(Error::limit(format!("a base has at most {MAX_TEXT_BYTES} bytes")));
    }
    let root = match yaml(text)? {
        Json::Null => Map::new(),
        Json::Object(root) => root,
        _ => {
            return Err(bad(
                "the document",
                "a map with \"filters\", \"formulas\", \"properties\", \"summaries\" and \"views\"",
            ));
        }
    };
    let mut reader = Reader { left: MAX_EXPRESSIONS };
    let mut base =
        Base { unknown: root.keys().filter(|key| !KEYS.contains(&key.as_str())).cloned().collect(), ..Base::default() };
    for (key, value) in &root {
        match key.as_str() {
            "filters" => base.filters = reader.filter(value, "filters")?,
            "formulas" => {
                let formulas = reader.expressions(value, "formulas")?;
                base.formulas =
                    Formulas::new(formulas.into_iter().map(|(name, formula)| (name.into(), formula)).collect())?;
            }
            "summaries" => base.summaries = reader.expressions(value, "summaries")?,
            "properties" => {
                for (name, settings) in map(value, "properties")? {
                    if let Some(Json::String(shown)) = settings.get("displayName") {
                        base.display_names.insert(name.clone(), shown.clone());
                    }
                }
            }
            "views" => {
                let Json::Array(views) = value else { return Err(bad("views", "a list")) };
                for (at, view) in views.iter().enumerate() {
                    base.views.push(reader.view(view, &format!("views[{at}]"), &mut base.unknown)?);
                }
            }
            _ => {}
        }
    }
    Ok(base)
}

fn yaml(text: &str) -> Result<Json> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_aliases: 100,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 500 },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let message = error.to_string();
        let first: String = message.lines().next().unwrap_or_default().chars().take(200).collect();
        Error::new(Kind::Syntax, format!("the base is not YAML: {first}"))
    })
}

fn bad(place: &str, wanted: &str) -> Error {
    Error::new(Kind::Syntax, format!("{place} has to be {wanted}"))
}

fn map<'j>(value: &'j Json, place: &str) -> Result<impl Iterator<Item = (&'j String, &'j Json)> + use<'j>> {
    match value {
        Json::Object(map) => Ok(Some(map).into_iter().flatten()),
        Json::Null => Ok(None.into_iter().flatten()),
        _ => Err(bad(place, "a map")),
    }
}

struct Reader {
    /// How many expressions may come.
    left: usize,
}

impl Reader {
    fn expression(&mut self, text: &str, place: &str) -> Result<Expr> {
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| Error::limit(format!("a base has at most {MAX_EXPRESSIONS} expressions")))?;
        Dialect::Bases.parse(text).map_err(|mut error| {
            error.message = format!("{place}: {}", error.message);
            error
        })
    }

    fn expressions(&mut self, value: &Json, place: &str) -> Result<IndexMap<String, Expr>> {
        let mut all = IndexMap::new();
        for (name, value) in map(value, place)? {
            let place = format!("{place}.{name}");
            let text = match value {
                Json::String(text) => text.clone(),
                Json::Number(_) | Json::Bool(_) => value.to_string(),
                _ => return Err(bad(&place, "an expression")),
            };
            all.insert(name.clone(), self.expression(&text, &place)?);
        }
        Ok(all)
    }

    fn filter(&mut self, value: &Json, place: &str) -> Result<Option<Filter>> {
        match value {
            Json::Null => Ok(None),
            Json::String(text) if text.trim().is_empty() => Ok(None),
            Json::String(text) => Ok(Some(Filter::Is(self.expression(text, place)?))),
            Json::Object(map) if map.is_empty() => Ok(None),
            Json::Object(map) => {
                let mut entries = map.iter();
                let (Some((key, value)), None) = (entries.next(), entries.next()) else {
                    return Err(bad(place, "an expression, or a map with one of \"and\", \"or\" and \"not\""));
                };
                let place = format!("{place}.{key}");
                let make: fn(Vec<Filter>) -> Filter = match key.as_str() {
                    "and" => Filter::And,
                    "or" => Filter::Or,
                    "not" => Filter::Not,
                    _ => return Err(bad(&place, "\"and\", \"or\" or \"not\"")),
                };
                let items = match value {
                    Json::Array(items) => items.as_slice(),
                    Json::Null => &[],
                    one => std::slice::from_ref(one),
                };
                let mut filters = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    filters.extend(self.filter(item, &format!("{place}[{at}]"))?);
                }
                Ok(if filters.is_empty() { None } else { Some(make(filters)) })
            }
            _ => Err(bad(place, "an expression, or a map with one of \"and\", \"or\" and \"not\"")),
        }
    }

    fn view(&mut self, value: &Json, place: &str, unknown: &mut Vec<String>) -> Result<View> {
        let Json::Object(settings) = value else { return Err(bad(place, "a map with \"type\" and \"name\"")) };
        let mut view = View { kind: "table".to_owned(), ..View::default() };
        for (key, value) in settings {
            let place = format!("{place}.{key}");
            let text = || value.as_str().map(str::to_owned);
            match key.as_str() {
                "type" => view.kind = text().ok_or_else(|| bad(&place, "a text"))?,
                "name" => view.name = value.as_str().map_or_else(|| value.to_string(), str::to_owned),
                "filters" => view.filters = self.filter(value, &place)?,
                "order" => {
                    let Json::Array(names) = value else { return Err(bad(&place, "a list of properties")) };
                    let names = names
                        .iter()
                        .map(|name| name.as_str().map(Property::of).ok_or_else(|| bad(&place, "a list of properties")));
                    view.order = names.collect::<Result<_>>()?;
                }
                "sort" => {
                    let Json::Array(sorts) = value else { return Err(bad(&place, "a list")) };
                    view.sort = sorts.iter().map(|sort| directed(sort, &place)).collect::<Result<_>>()?;
                }
                "groupBy" if !value.is_null() => view.group_by = Some(directed(value, &place)?),
                "limit" if !value.is_null() => {
                    let limit = value.as_u64().and_then(|limit| usize::try_from(limit).ok());
                    view.limit = Some(limit.ok_or_else(|| bad(&place, "a whole number"))?);
                }
                "summaries" => {
                    for (name, summary) in map(value, &place)? {
                        let summary = summary.as_str().ok_or_else(|| bad(&place, "a map of names of summaries"))?;
                        view.summaries.push((Property::of(name), summary.to_owned()));
                    }
                }
                _ => unknown.push(place),
            }
        }
        Ok(view)
    }
}

/// `{ property: x, direction: DESC }`, or the property alone.
fn directed(value: &Json, place: &str) -> Result<(Property, bool)> {
    let wanted = || bad(place, "\"property\" and \"direction\" (ASC or DESC)");
    let (property, direction) = match value {
        Json::String(name) => (name.as_str(), "ASC"),
        Json::Object(map) => {
            let property =
                map.get("property").or_else(|| map.get("column")).and_then(Json::as_str).ok_or_else(wanted)?;
            (property, map.get("direction").and_then(Json::as_str).unwrap_or("ASC"))
        }
        _ => return Err(wanted()),
    };
    match direction.to_ascii_uppercase().as_str() {
        "ASC" => Ok((Property::of(property), false)),
        "DESC" => Ok((Property::of(property), true)),
        _ => Err(wanted()),
    }
}
