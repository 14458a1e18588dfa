use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::json;

use crate::eval::{Evaluator, Limits, Setting};
use crate::pages::{Fact, Pages, moment};
use crate::value::{Link, Object, Value};
use crate::{Dialect, Result, show};

/// A note: its properties as JSON, its tags, links and tasks.
#[derive(Default)]
pub(super) struct Note {
    properties: Object,
    tags: Vec<String>,
    links: Vec<String>,
    lists: Vec<Value>,
}

/// Notes in memory. Links are resolved by their name.
#[derive(Default)]
pub(super) struct World {
    notes: BTreeMap<Arc<str>, Note>,
    forgets_created: bool,
}

impl World {
    pub(super) fn note(mut self, path: &str, properties: serde_json::Value, tags: &[&str], links: &[&str]) -> Self {
        let properties = properties.as_object().cloned().unwrap_or_default();
        let properties = properties.iter().map(|(name, value)| (name.as_str().into(), value_of(value))).collect();
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let note = Note { properties, tags: owned(tags), links: owned(links), lists: Vec::new() };
        self.notes.insert(path.into(), note);
        self
    }

    /// Without times of creation.
    pub(super) fn without_created(self) -> Self {
        Self { forgets_created: true, ..self }
    }

    /// A task in that note.
    pub(super) fn task(mut self, path: &str, line: usize, text: &str, done: bool) -> Self {
        let task = json!({ "path": path, "task": true, "text": text, "completed": done, "status": if done { "x" } else { " " }, "line": line });
        if let Some(note) = self.notes.get_mut(path) {
            note.lists.push(value_of(&task));
        }
        self
    }

    /// List items of that note.
    pub(super) fn items(mut self, path: &str, items: Vec<Value>) -> Self {
        if let Some(note) = self.notes.get_mut(path) {
            note.lists.extend(items);
        }
        self
    }

    pub(super) fn evaluator(&self, dialect: Dialect, this: Option<&str>) -> Evaluator<'_> {
        let limits = Limits { steps: 200_000, bytes: 20_000_000 };
        Evaluator::new(self, Setting { dialect, now: now(), this: this.map(Arc::from), limits })
    }
}

/// The time in all tests: a Wednesday.
pub(super) fn now() -> Zoned {
    let at: Timestamp = "2024-05-15T10:30:00Z".parse().expect("a time");
    at.to_zoned(TimeZone::UTC)
}

/// JSON as a value: texts of links and dates are links and dates.
pub(super) fn value_of(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Boolean(*value),
        serde_json::Value::Number(number) => number.as_f64().into(),
        serde_json::Value::String(text) => {
            if let Some(inner) = text.strip_prefix("[[").and_then(|text| text.strip_suffix("]]")) {
                return Value::link(Link::inner(inner));
            }
            crate::eval::methods::read_date(text, &TimeZone::UTC).map_or_else(|| text.as_str().into(), Value::date)
        }
        serde_json::Value::Array(items) => Value::list(items.iter().map(value_of).collect()),
        serde_json::Value::Object(object) => {
            Value::object(object.iter().map(|(name, value)| (name.as_str().into(), value_of(value))).collect())
        }
    }
}

impl Pages for World {
    fn property(&self, path: &str, name: &str) -> Option<Value> {
        self.notes.get(path)?.properties.get(name).cloned()
    }

    fn properties(&self, path: &str) -> Object {
        self.notes.get(path).map(|note| note.properties.clone()).unwrap_or_default()
    }

    fn fact(&self, path: &str, fact: Fact) -> Value {
        let Some(note) = self.notes.get(path) else { return Value::Null };
        let texts = |texts: &[String]| Value::list(texts.iter().map(|text| text.as_str().into()).collect());
        let link =
            |link: &String| Value::link(Link::file(self.resolve(link, path).unwrap_or_else(|| link.as_str().into())));
        match fact {
            Fact::Size => note.properties.len().into(),
            Fact::Created if self.forgets_created => Value::Null,
            Fact::Created => moment(1_700_000_000_000, &TimeZone::UTC),
            Fact::Modified => moment(1_715_700_000_000, &TimeZone::UTC),
            Fact::Tags => texts(&note.tags),
            Fact::Links => Value::list(note.links.iter().map(link).collect()),
            Fact::Embeds | Fact::Aliases => Value::list(Vec::new()),
            Fact::Frontmatter => Value::object(note.properties.clone()),
            Fact::Backlinks => {
                let to = |note: &Note| note.links.iter().any(|link| self.resolve(link, path).as_deref() == Some(path));
                Value::list(
                    self.notes.iter().filter(|(_, note)| to(note)).map(|(path, _)| Value::Text(path.clone())).collect(),
                )
            }
            Fact::Lists => Value::list(note.lists.clone()),
            Fact::Day => {
                let day = crate::eval::methods::read_date(crate::value::link_title(path), &TimeZone::UTC);
                day.map_or(Value::Null, Value::date)
            }
        }
    }

    fn resolve(&self, link: &str, _: &str) -> Option<Arc<str>> {
        let named = |path: &&Arc<str>| ***path == *link || crate::value::link_title(path) == link;
        self.notes.keys().find(named).cloned()
    }

    fn knows_created(&self) -> bool {
        !self.forgets_created
    }

    fn paths(&self) -> Vec<Arc<str>> {
        self.notes.keys().cloned().collect()
    }
}

/// The value of an expression, as JSON.
pub(super) fn json_of(dialect: Dialect, text: &str) -> Result<serde_json::Value> {
    let world = World::default();
    let value = world.evaluator(dialect, None).evaluate(&dialect.parse(text)?, &Value::Null)?;
    show::json(&value, &mut { usize::MAX })
}
