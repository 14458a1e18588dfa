//! Properties and inline fields of notes.

use std::collections::BTreeMap;
use std::sync::Arc;

use atlas_expressions::pages::field_name;
use atlas_expressions::properties::{day_in, value};
use atlas_expressions::value::{Link, Object, Value};
use atlas_expressions::{Dialect, inline};

use super::IndexPages;
use crate::error::Error;
use crate::read::index::DocumentRef;

/// For each segment the columns that a name means.
pub(super) type Columns = Vec<Named>;

/// The columns of a segment that a name means.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Of that very name.
    exact: Keyed,
    /// Of names that are written otherwise.
    alike: Vec<Keyed>,
}

/// The columns of one name as written: their places in both sections.
#[derive(Clone, Copy, Debug, Default)]
struct Keyed {
    property: Option<usize>,
    field: Option<usize>,
}

impl IndexPages {
    /// The value of the note's `name`.
    pub(super) fn property_of(&self, document: DocumentRef, path: &str, name: &str) -> Option<Value> {
        let columns = self.noted(self.columns(name))?;
        let named = columns.get(document.segment)?;
        let mut values = Vec::new();
        self.add(document, path, named.exact, &mut values);
        if values.is_empty() {
            for keyed in &named.alike {
                self.add(document, path, *keyed, &mut values);
            }
        }
        one_or_list(values)
    }

    /// Calls `each` with the values of a property or field of all files of a segment that have it, whoever sees them; its documents may come
    /// several times.
    pub(super) fn documents_with(&self, segment: usize, name: &str, mut each: impl FnMut(u32)) -> Result<(), Error> {
        let columns = self.columns(name)?;
        let Some(named) = columns.get(segment) else { return Ok(()) };
        let facts = self.graph.facts();
        for keyed in [named.exact].into_iter().chain(named.alike.iter().copied()) {
            let property = keyed.property.and_then(|at| facts.properties(segment).ok()?.at(at));
            property.into_iter().flat_map(|column| column.iter()).for_each(|(document, _)| each(document));
            let field = keyed.field.and_then(|at| facts.fields(segment).ok()?.at(at));
            field.into_iter().flat_map(|column| column.iter()).for_each(|(document, _)| each(document));
        }
        Ok(())
    }

    fn add(&self, document: DocumentRef, path: &str, keyed: Keyed, values: &mut Vec<Value>) {
        let facts = self.graph.facts();
        let id = document.document;
        if let Some(at) = keyed.property
            && let Some(properties) = self.noted(facts.properties(document.segment))
            && let Some(json) = properties.at(at).and_then(|column| column.of(id))
        {
            values.push(self.settled(value(json, self.dialect, &self.zone), path));
        }
        if let Some(at) = keyed.field
            && let Some(fields) = self.noted(facts.fields(document.segment))
            && let Some(texts) = fields.at(at).and_then(|column| column.of(id))
        {
            values.extend(texts.iter().map(|text| self.field_value(text, path)));
        }
    }

    /// The value of an inline field of the note at `path`.
    pub(super) fn field_value(&self, text: &str, path: &str) -> Value {
        self.settled(inline::value(text, &self.zone), path)
    }

    /// The value whose links have the whole paths of what they lead to, as Dataview has them.
    fn settled(&self, value: Value, from: &str) -> Value {
        match value {
            Value::Link(link) if self.dialect == Dialect::Dataview => match self.meaning(&link.path, from) {
                Some(path) => Value::link(Link { path, ..(*link).clone() }),
                None => Value::Link(link),
            },
            Value::List(items) if items.iter().any(may_have_links) => {
                Value::list(items.iter().map(|item| self.settled(item.clone(), from)).collect())
            }
            Value::Object(entries) if entries.values().any(may_have_links) => {
                let entries = entries.iter().map(|(name, value)| (name.clone(), self.settled(value.clone(), from)));
                Value::object(entries.collect())
            }
            other => other,
        }
    }

    /// The columns that `name` means.
    fn columns(&self, name: &str) -> Result<Arc<Columns>, Error> {
        if let Some(known) = self.columns.borrow().get(name) {
            return Ok(known.clone());
        }
        let alike = |key: &str| key != name && field_name(key) == name;
        let columns = Arc::new(self.columns_where(name, alike)?);
        self.columns.borrow_mut().insert(name.into(), columns.clone());
        Ok(columns)
    }

    fn columns_where(&self, name: &str, is_alike: impl Fn(&str) -> bool) -> Result<Columns, Error> {
        let facts = self.graph.facts();
        let with_fields = self.dialect == Dialect::Dataview;
        let named = |segment: usize| -> Result<Named, Error> {
            let properties = facts.properties(segment)?;
            let mut exact = Keyed { property: properties.place(name), field: None };
            let mut alike: BTreeMap<&str, Keyed> = BTreeMap::new();
            if with_fields {
                let fields = facts.fields(segment)?;
                exact.field = fields.place(name);
                for (at, column) in properties.iter().enumerate().filter(|(_, column)| is_alike(column.key())) {
                    alike.entry(column.key()).or_default().property = Some(at);
                }
                for (at, column) in fields.iter().enumerate().filter(|(_, column)| is_alike(column.key())) {
                    alike.entry(column.key()).or_default().field = Some(at);
                }
            }
            Ok(Named { exact, alike: alike.into_values().collect() })
        };
        self.index().segments().map(named).collect()
    }

    /// The properties alone.
    pub(super) fn frontmatter(&self, document: DocumentRef, path: &str) -> Object {
        let mut object = Object::new();
        let Some(properties) = self.noted(self.graph.facts().properties(document.segment)) else { return object };
        for column in properties.iter() {
            if let Some(json) = column.of(document.document) {
                let value = self.settled(value(json, self.dialect, &self.zone), path);
                object.insert(column.key().into(), value);
            }
        }
        object
    }

    /// All that the note has under some name.
    pub(super) fn properties_of(&self, document: DocumentRef, path: &str) -> Object {
        let mut object = self.frontmatter(document, path);
        if self.dialect == Dialect::Bases {
            return object;
        }
        let Some(fields) = self.noted(self.graph.facts().fields(document.segment)) else { return object };
        let with_field = fields.iter().filter(|column| column.of(document.document).is_some());
        let mut names: Vec<Arc<str>> = with_field.map(|column| column.key().into()).collect();
        names.extend(object.keys().cloned());
        let simple: Vec<Arc<str>> = names.iter().map(|name| field_name(name).into()).collect();
        for name in names.into_iter().chain(simple).filter(|name| !name.is_empty()) {
            if let Some(value) = self.property_of(document, path, &name) {
                object.insert(name, value);
            }
        }
        object
    }

    /// The day that a property or field `date` or `day` says, or the name of the note.
    pub(super) fn day(&self, document: DocumentRef, path: &str) -> Value {
        let is_day = |key: &str| key.eq_ignore_ascii_case("date") || key.eq_ignore_ascii_case("day");
        let columns = match self.days.get() {
            Some(columns) => columns,
            None => {
                let found = self.noted(self.columns_where("", is_day)).unwrap_or_default();
                self.days.get_or_init(|| found)
            }
        };
        for keyed in columns.get(document.segment).into_iter().flat_map(|named| &named.alike) {
            let mut values = Vec::new();
            self.add(document, path, *keyed, &mut values);
            match values.first() {
                Some(Value::Date(date)) => return Value::Date(date.clone()),
                Some(Value::Link(link)) => {
                    let texts = [Some(&link.path), link.subpath.as_ref(), link.display.as_ref()];
                    let day = texts.into_iter().flatten().find_map(|text| day_in(text, &self.zone));
                    if let Some(day) = day {
                        return Value::date(day);
                    }
                }
                _ => {}
            }
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        day_in(name, &self.zone).map_or(Value::Null, Value::date)
    }
}

fn may_have_links(value: &Value) -> bool {
    matches!(value, Value::Link(_) | Value::List(_) | Value::Object(_))
}

/// One value as it is, several as a list.
pub(super) fn one_or_list(mut values: Vec<Value>) -> Option<Value> {
    if values.len() > 1 { Some(Value::list(values)) } else { values.pop() }
}
