use std::fmt::{self, Display, Formatter};

use atlas_vault::yaml::{self, Step};
use indexmap::IndexMap;
use serde_json::{Map, Value as Json};

use super::document::{Base, Filter, Property, View};
use crate::Dialect;
use crate::error::{Error, Kind, Result};
use crate::eval::Formulas;
use crate::syntax::Expr;

/// Most expressions of a document.
const MAX_EXPRESSIONS: usize = 2000;

/// The keys of documents and of views, and the kinds of views.
const KEYS: [&str; 5] = ["filters", "formulas", "properties", "summaries", "views"];

/// The document `text`. Errors have their place in it.
pub(super) fn base(text: &str) -> Result<Base> {
    let document = yaml::read(text).map_err(|error| {
        let mut syntax = Error::new(Kind::Syntax, format!("the base is not YAML: {}", error.message));
        syntax.offset = Some(error.offset);
        syntax
    })?;
    Reader { text, left: MAX_EXPRESSIONS }.base(&document)
}

/// A filter as documents have it.
pub(super) fn filter(value: &Json) -> Result<Option<Filter>> {
    Reader { text: "", left: MAX_EXPRESSIONS }.filter(value, Place::ROOT.name("filters"))
}

/// A place in a document, as people write it: `views[0].filters.and[1]`.
#[derive(Clone, Copy)]
struct Place<'p> {
    outer: Option<&'p Place<'p>>,
    name: &'p str,
    at: usize,
}

impl<'p> Place<'p> {
    const ROOT: Place<'static> = Place { outer: None, name: "", at: 0 };

    fn name(&'p self, name: &'p str) -> Place<'p> {
        Place { outer: Some(self), name, at: 0 }
    }

    /// An entry of the list here. No name in a document is empty where places are told.
    fn at(&'p self, at: usize) -> Place<'p> {
        Place { outer: Some(self), name: "", at }
    }

    fn way(&self) -> Vec<Step> {
        let Some(outer) = self.outer else { return Vec::new() };
        let mut way = outer.way();
        way.push(if self.name.is_empty() { Step::At(self.at) } else { Step::Name(self.name.to_owned()) });
        way
    }
}

impl Display for Place<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(outer) = self.outer else { return Ok(()) };
        outer.fmt(f)?;
        match (self.name, outer.outer) {
            ("", _) => write!(f, "[{}]", self.at),
            (name, None) => f.write_str(name),
            (name, Some(_)) => write!(f, ".{name}"),
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    /// How many expressions may come.
    left: usize,
}

impl Reader<'_> {
    fn base(&mut self, document: &Json) -> Result<Base> {
        let none = Map::new();
        let root = match document {
            Json::Null => &none,
            Json::Object(root) => root,
            _ => {
                let wanted = "a map with \"filters\", \"formulas\", \"properties\", \"summaries\" and \"views\"";
                return Err(Error::new(Kind::Syntax, format!("the document has to be {wanted}")));
            }
        };
        let mut base = Base {
            unknown: root.keys().filter(|key| !KEYS.contains(&key.as_str())).cloned().collect(),
            ..Base::default()
        };
        let whole = Place::ROOT;
        for (key, value) in root {
            let place = whole.name(key);
            match key.as_str() {
                "filters" => base.filters = self.filter(value, place)?,
                "formulas" => {
                    let formulas = self.expressions(value, place)?;
                    let formulas = formulas.into_iter().map(|(name, formula)| (name.into(), formula)).collect();
                    base.formulas = Formulas::new(formulas).map_err(|error| self.placed(error, place))?;
                }
                "summaries" => base.summaries = self.expressions(value, place)?,
                "properties" => {
                    for (name, settings) in self.map(value, place)? {
                        if let Some(Json::String(shown)) = settings.get("displayName") {
                            base.display_names.insert(name.clone(), shown.clone());
                        }
                    }
                }
                "views" => {
                    let Json::Array(views) = value else { return Err(self.bad(place, "a list")) };
                    for (at, view) in views.iter().enumerate() {
                        base.views.push(self.view(view, place.at(at), &mut base.unknown)?);
                    }
                }
                _ => {}
            }
        }
        Ok(base)
    }

    /// The error, at that place of the document.
    fn placed(&self, mut error: Error, place: Place<'_>) -> Error {
        error.offset = yaml::place(self.text, &place.way());
        error
    }

    fn bad(&self, place: Place<'_>, wanted: &str) -> Error {
        self.placed(Error::new(Kind::Syntax, format!("{place} has to be {wanted}")), place)
    }

    fn map<'j>(
        &self,
        value: &'j Json,
        place: Place<'_>,
    ) -> Result<impl Iterator<Item = (&'j String, &'j Json)> + use<'j>> {
        match value {
            Json::Object(map) => Ok(Some(map).into_iter().flatten()),
            Json::Null => Ok(None.into_iter().flatten()),
            _ => Err(self.bad(place, "a map")),
        }
    }

    fn expression(&mut self, text: &str, place: Place<'_>) -> Result<Expr> {
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| Error::limit(format!("a base has at most {MAX_EXPRESSIONS} expressions")))?;
        Dialect::Bases.parse(text).map_err(|error| self.within(error, text, place))
    }

    /// An error in the expression `text` as one in the document: at the same letter, if the expression is written there as it is.
    fn within(&self, mut error: Error, text: &str, place: Place<'_>) -> Error {
        error.message = format!("{place}: {}", error.message);
        let start = yaml::place(self.text, &place.way());
        let before = error.offset.and_then(|offset| text.get(..offset));
        error.offset = start.map(|start| {
            let written = self.text.get(start..).unwrap_or_default();
            let quote = usize::from(written.starts_with(['"', '\'']));
            let is_same = |before: &&str| written.get(quote..).is_some_and(|written| written.starts_with(before));
            before.filter(is_same).map_or(start, |before| start + quote + before.len())
        });
        error
    }

    fn expressions(&mut self, value: &Json, place: Place<'_>) -> Result<IndexMap<String, Expr>> {
        let mut all = IndexMap::new();
        for (name, value) in self.map(value, place)? {
            let place = place.name(name);
            let text = match value {
                Json::String(text) => text.clone(),
                Json::Number(_) | Json::Bool(_) => value.to_string(),
                _ => return Err(self.bad(place, "an expression")),
            };
            all.insert(name.clone(), self.expression(&text, place)?);
        }
        Ok(all)
    }

    fn filter(&mut self, value: &Json, place: Place<'_>) -> Result<Option<Filter>> {
        const WANTED: &str = "an expression, or a map with one of \"and\", \"or\" and \"not\"";
        match value {
            Json::Null => Ok(None),
            Json::String(text) if text.trim().is_empty() => Ok(None),
            Json::String(text) => Ok(Some(Filter::Is(self.expression(text, place)?))),
            Json::Object(map) if map.is_empty() => Ok(None),
            Json::Object(map) => {
                let mut entries = map.iter();
                let (Some((key, value)), None) = (entries.next(), entries.next()) else {
                    return Err(self.bad(place, WANTED));
                };
                let place = place.name(key);
                let make: fn(Vec<Filter>) -> Filter = match key.as_str() {
                    "and" => Filter::And,
                    "or" => Filter::Or,
                    "not" => Filter::Not,
                    _ => return Err(self.bad(place, "\"and\", \"or\" or \"not\"")),
                };
                let items = match value {
                    Json::Array(items) => items.as_slice(),
                    Json::Null => &[],
                    one => std::slice::from_ref(one),
                };
                let mut filters = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    filters.extend(self.filter(item, place.at(at))?);
                }
                Ok(if filters.is_empty() { None } else { Some(make(filters)) })
            }
            _ => Err(self.bad(place, WANTED)),
        }
    }

    fn view(&mut self, value: &Json, place: Place<'_>, unknown: &mut Vec<String>) -> Result<View> {
        let Json::Object(settings) = value else { return Err(self.bad(place, "a map with \"type\" and \"name\"")) };
        let mut view = View { kind: "table".to_owned(), ..View::default() };
        for (key, value) in settings {
            let place = place.name(key);
            let text = || value.as_str().map(str::to_owned);
            match key.as_str() {
                "type" => view.kind = text().ok_or_else(|| self.bad(place, "a text"))?,
                "name" => view.name = value.as_str().map_or_else(|| value.to_string(), str::to_owned),
                "filters" => view.filters = self.filter(value, place)?,
                "order" => {
                    let Json::Array(names) = value else { return Err(self.bad(place, "a list of properties")) };
                    let names = names.iter().map(|name| {
                        name.as_str().map(Property::of).ok_or_else(|| self.bad(place, "a list of properties"))
                    });
                    view.order = names.collect::<Result<_>>()?;
                }
                "sort" => {
                    let Json::Array(sorts) = value else { return Err(self.bad(place, "a list")) };
                    view.sort = sorts
                        .iter()
                        .enumerate()
                        .map(|(at, sort)| self.directed(sort, place.at(at)))
                        .collect::<Result<_>>()?;
                }
                "groupBy" if !value.is_null() => view.group_by = Some(self.directed(value, place)?),
                "limit" if !value.is_null() => {
                    let limit = value.as_u64().and_then(|limit| usize::try_from(limit).ok());
                    view.limit = Some(limit.ok_or_else(|| self.bad(place, "a whole number"))?);
                }
                "summaries" => {
                    for (name, summary) in self.map(value, place)? {
                        let summary = summary.as_str().ok_or_else(|| self.bad(place, "a map of names of summaries"))?;
                        view.summaries.push((Property::of(name), summary.to_owned()));
                    }
                }
                _ => unknown.push(place.to_string()),
            }
        }
        Ok(view)
    }

    /// `{ property: x, direction: DESC }`, or the property alone.
    fn directed(&self, value: &Json, place: Place<'_>) -> Result<(Property, bool)> {
        let wanted = || self.bad(place, "\"property\" and \"direction\" (ASC or DESC)");
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
}
