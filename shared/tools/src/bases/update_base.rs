//! `update_base`: changes parts of a base, and keeps every other byte.

use atlas_access::Access;
use atlas_ops::arguments::{Given, Versions, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::write::editing;
use atlas_ops::write::precondition::Condition;
use atlas_vault::yaml::{self, ChangeError};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::definition::{self, Source};
use super::{parsed, path};

/// Changes a base.
pub struct UpdateBase;

/// The base, and its changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.base`.
    path: String,
    /// The changes; at most 200 things in one call.
    patch: Patch,
    #[serde(default)]
    if_match: Given<Versions>,
}

/// The changes of a base.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// Which notes it is about, instead of its filters.
    #[serde(default)]
    source: Given<Source>,
    /// Its filters: an expression, or `and`, `or`, `not` of some; null removes them.
    #[serde(default)]
    filters: Given<Value>,
    /// Formulas to set, by their name; null removes one; none if not given.
    #[serde(default)]
    formulas: Map<String, Value>,
    /// Settings of properties to set, as `{"displayName": …}`, by the property's name; null removes one; none if not given.
    #[serde(default)]
    properties: Map<String, Value>,
    /// Summaries to set, by their name; null removes one; none if not given.
    #[serde(default)]
    summaries: Map<String, Value>,
    /// Names of views to remove; none if not given.
    #[serde(default)]
    remove_views: Vec<String>,
    /// Settings to set, by the name of their view; null removes a setting; none if not given.
    #[serde(default)]
    update_views: Map<String, Value>,
    /// Views to add after the others; none if not given.
    #[serde(default)]
    add_views: Vec<Map<String, Value>>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The base's path.
    path: String,
    /// When it was last changed: now, unless nothing changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// The changed parts.
    applied: Applied,
    /// SHA-256 of the file, in hex.
    content_hash: String,
}

/// The changed parts of a base.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Applied {
    views_added: usize,
    views_removed: usize,
    views_updated: usize,
    /// Whether the filters of the base are others now.
    source_changed: bool,
}

/// Most changes of one call.
const MAX_CHANGES: usize = 200;

impl Operation for UpdateBase {
    const INFO: Info = Info {
        name: "update_base",
        title: "Change a base",
        description: "Changes filters, formulas, properties, summaries and views of a base by their names, and keeps every other byte of the file, with comments and what plugins wrote. The result is checked before it is written. A person has to confirm other filters of the base, as all its views show by them. Read the base with read_base. Example: {\"path\": \"Books/Shelf.base\", \"patch\": {\"formulas\": {\"left\": \"pages - read\"}, \"update_views\": {\"All\": {\"limit\": 20}}}}",
        // The result reveals what the base has.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["bases"],
        aliases: &[Alias::Name("prev_hash", "if_match")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, path("path", &arguments.path)?)])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        arguments.patch.source.is_some() || arguments.patch.filters.is_some()
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { path: written, patch, if_match } = arguments;
        let path = path("path", &written)?;
        let condition = Condition::of_existing(if_match.as_ref())?;
        patch.check()?;
        let edit = |before: &str| {
            let mut editing = Editing::of(path.as_str(), before)?;
            let applied = patch.apply(&mut editing)?;
            parsed(path.as_str(), &editing.text)?;
            Ok((editing.text, applied))
        };
        let Answer { value: edited, generation } = editing::edit(context, &Self::INFO, &path, &condition, edit).await?;
        let value = Output {
            path: path.as_str().to_owned(),
            updated_at: edited.updated_at,
            applied: edited.told,
            content_hash: edited.content_hash.to_string(),
        };
        Ok(Answer { value, generation })
    }
}

/// A base while it is changed, step by step, so that each step leaves what it does not name.
struct Editing {
    text: String,
    document: Map<String, Value>,
}

impl Editing {
    fn of(path: &str, text: &str) -> Result<Self, Error> {
        let document = match yaml::read(text) {
            Ok(Value::Object(document)) => document,
            Ok(Value::Null) => Map::new(),
            // The parser of bases says what is wrong, and where.
            _ => return Err(parsed(path, text).err().unwrap_or_else(|| unreadable("it is not a map"))),
        };
        Ok(Self { text: text.to_owned(), document })
    }

    /// Makes a change of the document one of the text.
    fn step(&mut self, field: &str, change: impl FnOnce(&mut Map<String, Value>)) -> Result<(), Error> {
        change(&mut self.document);
        self.text =
            yaml::with_value(&self.text, &Value::Object(self.document.clone())).map_err(|error| match error {
                ChangeError::Entangled => unreadable(&error.to_string()),
                ChangeError::Text(_) | ChangeError::Value(_) => invalid_input("patch", &format!("{field}: {error}")),
            })?;
        Ok(())
    }

    /// The place of the one view of that name.
    fn view(&self, field: &str, name: &str) -> Result<usize, Error> {
        let views = self.document.get("views").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&str> = views.iter().map(|view| view["name"].as_str().unwrap_or_default()).collect();
        let mut found = names.iter().enumerate().filter(|(_, own)| **own == name).map(|(at, _)| at);
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(at),
            (None, _) => {
                let message = format!("{field}: there is no view {name:?}; the views are {names:?}");
                Err(invalid_input("patch", &message))
            }
            (Some(_), Some(_)) => Err(invalid_input(
                "patch",
                &format!("{field}: several views are called {name:?}; rename one in Obsidian"),
            )),
        }
    }

    /// Sets entries of the map called `field`.
    fn set(&mut self, field: &str, entries: &Map<String, Value>) -> Result<(), Error> {
        for (name, value) in entries {
            self.step(field, |document| {
                let map = document.entry(field).or_insert_with(|| Map::new().into());
                if !map.is_object() {
                    *map = Map::new().into();
                }
                if let Some(map) = map.as_object_mut() {
                    set(map, name, value);
                }
            })?;
        }
        Ok(())
    }
}

impl Patch {
    fn check(&self) -> Result<(), Error> {
        if self.source.is_some() && self.filters.is_some() {
            return Err(invalid_input("patch", "source is a filter: give source or filters, not both"));
        }
        let maps = self.formulas.len() + self.properties.len() + self.summaries.len() + self.update_views.len();
        if maps + self.remove_views.len() + self.add_views.len() > MAX_CHANGES {
            return Err(invalid_input("patch", &format!("at most {MAX_CHANGES} changes in one call")));
        }
        Ok(())
    }

    fn apply(&self, base: &mut Editing) -> Result<Applied, Error> {
        let mut applied = Applied::default();
        let filters = self.source.as_ref().map(Source::filters).or_else(|| self.filters.0.clone());
        if let Some(filters) = filters {
            applied.source_changed = base.document.get("filters").unwrap_or(&Value::Null) != &filters;
            base.step("filters", |document| set(document, "filters", &filters))?;
        }
        base.set("formulas", &self.formulas)?;
        base.set("properties", &self.properties)?;
        base.set("summaries", &self.summaries)?;
        for name in &self.remove_views {
            let at = base.view("remove_views", name)?;
            base.step("remove_views", |document| {
                if let Some(views) = document.get_mut("views").and_then(Value::as_array_mut) {
                    views.remove(at);
                }
            })?;
            applied.views_removed += 1;
        }
        for (name, settings) in &self.update_views {
            let at = base.view("update_views", name)?;
            let Value::Object(settings) = settings else {
                return Err(invalid_input(
                    "patch",
                    &format!("update_views: the settings of {name:?} have to be a map"),
                ));
            };
            let settings = definition::view(settings.clone())?;
            base.step("update_views", |document| {
                if let Some(Value::Object(view)) = document.get_mut("views").and_then(|views| views.get_mut(at)) {
                    settings.iter().for_each(|(name, value)| set(view, name, value));
                }
            })?;
            applied.views_updated += 1;
        }
        for view in &self.add_views {
            let view = definition::view(view.clone())?;
            base.step("add_views", |document| {
                let views = document.entry("views").or_insert_with(|| Value::Array(Vec::new()));
                match views {
                    Value::Array(views) => views.push(view.into()),
                    other => *other = vec![Value::from(view)].into(),
                }
            })?;
            applied.views_added += 1;
        }
        Ok(applied)
    }
}

/// Sets a value of a map; null removes it.
fn set(map: &mut Map<String, Value>, name: &str, value: &Value) {
    match value {
        Value::Null => {
            map.shift_remove(name);
        }
        value => {
            map.insert(name.to_owned(), value.clone());
        }
    }
}

fn unreadable(problem: &str) -> Error {
    invalid_input("path", &format!("the base cannot be changed here: {problem}; a person can change it in Obsidian"))
}
