//! List items as Dataview describes them.

use std::collections::HashMap;
use std::sync::Arc;

use atlas_expressions::value::{Link, Object, Target, Value};
use atlas_segment::facts::ListItem;

use super::IndexPages;
use super::properties::one_or_list;
use crate::error::{Code, Error, Reason};
use crate::read::index::DocumentRef;

/// Most list items of a note that a query looks at. An item as an object takes about 1 KB.
const MAX_ITEMS: usize = 50_000;

/// How deep items are below one another at most, as objects: what is deeper is an item of the note alone. Queries show fewer levels.
const MAX_DEPTH: usize = 64;

/// Dates of tasks, and the fields that say them, the first of which counts.
const DATES: [(&str, &[&str]); 5] = [
    ("created", &["created", "ctime", "cday"]),
    ("due", &["due", "duetime", "dueday"]),
    ("completion", &["completed", "completion", "comptime", "compday"]),
    ("start", &["start"]),
    ("scheduled", &["scheduled"]),
];

/// An item whose items below it are known.
#[derive(Default)]
struct Below {
    /// The last of them first.
    children: Vec<Value>,
    /// Whether a task among them is open.
    is_open: bool,
}

/// The names of fields, which all items share.
#[derive(Default)]
struct Names(HashMap<&'static str, Arc<str>>);

impl Names {
    fn of(&mut self, name: &'static str) -> Arc<str> {
        self.0.entry(name).or_insert_with(|| name.into()).clone()
    }
}

impl IndexPages {
    /// The list items of a note, as objects.
    pub(super) fn items(&self, document: DocumentRef, path: &str) -> Value {
        if let Some((known, items)) = &*self.last_items.borrow()
            && *known == document
        {
            return items.clone();
        }
        let facts = self.graph.facts();
        let items = facts.lists(document.segment).and_then(|lists| Ok(lists.of(document.document)?));
        let items =
            items.and_then(|items| if items.len() > MAX_ITEMS { Err(too_many(path, items.len())) } else { Ok(items) });
        let items = self.noted(items).unwrap_or_default();
        let sections = self.sections(document, path, &items);
        let depths = depths(&items);
        // The items below an item follow it.
        let mut below: HashMap<u32, Below> = HashMap::new();
        let mut objects = Vec::with_capacity(items.len());
        let shared_path: Arc<str> = path.into();
        let mut names = Names::default();
        for ((item, section), depth) in items.iter().zip(sections).zip(depths).rev() {
            let mut own = below.remove(&item.line).unwrap_or_default();
            own.children.reverse();
            own.is_open |= item.status.is_some_and(|status| !is_done(status));
            let is_open = own.is_open;
            let object = Value::object(self.item(item, &shared_path, section, own, &mut names));
            if let Some(parent) = item.parent.filter(|parent| *parent != item.line) {
                let parent = below.entry(parent).or_default();
                if depth <= MAX_DEPTH {
                    parent.children.push(object.clone());
                }
                parent.is_open |= is_open;
            }
            objects.push(object);
        }
        objects.reverse();
        let items = Value::list(objects);
        *self.last_items.borrow_mut() = Some((document, items.clone()));
        items
    }

    /// For each item a link to the heading that it is below, or to the note.
    fn sections(&self, document: DocumentRef, path: &str, items: &[ListItem]) -> Vec<Arc<Link>> {
        let headings = self.noted(self.index().headings(document.segment));
        let mut headings = headings.into_iter().flat_map(|headings| headings.of(document.document)).peekable();
        let path: Arc<str> = path.into();
        let mut section = Arc::new(Link::file(path.clone()));
        let mut sections = Vec::with_capacity(items.len());
        for item in items {
            while let Some(heading) = headings.next_if(|heading| heading.line <= item.line) {
                section = Arc::new(Link { path: path.clone(), ..Link::at(&format!("#{}", heading.text)) });
            }
            sections.push(section.clone());
        }
        sections
    }

    fn item(&self, item: &ListItem, path: &Arc<str>, section: Arc<Link>, below: Below, names: &mut Names) -> Object {
        let number = |number: u32| Value::Number(f64::from(number));
        let section = Value::Link(section);
        let link = item.block_id.as_ref().map_or_else(
            || section.clone(),
            |id| {
                let block =
                    Link { subpath: Some(id.as_str().into()), target: Target::Block, ..Link::file(path.clone()) };
                Value::link(block)
            },
        );
        let outlinks = item.links.iter().map(|link| {
            let display = link.display.as_deref().map(Arc::from);
            Value::link(Link { display, ..self.link(path, &link.target, link.subpath.as_deref(), link.embed) })
        });
        let tags = item.tags.iter().map(|tag| Value::from(format!("#{tag}")));
        let one_line = item.one_line();
        let fields = self.item_fields(item, &one_line, path);
        let children = Value::list(below.children);
        let is_task = Value::Boolean(item.status.is_some());
        let line = names.of("line");
        let place = |at: u32| Value::object(Object::from_iter([(line.clone(), number(at))]));
        let position = Object::from_iter([
            (names.of("start"), place(item.line)),
            (names.of("end"), place(item.line.saturating_add(item.lines.saturating_sub(1)))),
        ]);
        let mut object = Object::from_iter([
            (names.of("symbol"), item.marker.as_str().into()),
            (names.of("link"), link),
            (names.of("section"), section.clone()),
            (names.of("text"), item.text.as_str().into()),
            (names.of("tags"), Value::list(tags.collect())),
            (names.of("line"), number(item.line)),
            (names.of("lineCount"), number(item.lines)),
            (names.of("list"), number(item.list)),
            (names.of("outlinks"), Value::list(outlinks.collect())),
            (names.of("path"), Value::Text(path.clone())),
            (names.of("children"), children.clone()),
            (names.of("task"), is_task.clone()),
            (names.of("annotated"), Value::Boolean(!fields.is_empty())),
            (names.of("position"), Value::object(position)),
            (names.of("subtasks"), children),
            (names.of("real"), is_task),
            (names.of("header"), section),
        ]);
        if let Some(parent) = item.parent {
            object.insert(names.of("parent"), number(parent));
        }
        if let Some(id) = &item.block_id {
            object.insert(names.of("blockId"), id.as_str().into());
        }
        let dates = DATES.map(|(name, from)| {
            let values = from.iter().find_map(|field| fields.iter().find(|(key, _)| &**key == *field));
            (name, values.and_then(|(_, values)| values.first().cloned()))
        });
        for (key, values) in fields {
            if !object.contains_key(&key) {
                object.extend(one_or_list(values).map(|value| (key, value)));
            }
        }
        if let Some(status) = item.status {
            object.insert(names.of("status"), status.to_string().into());
            object.insert(names.of("checked"), Value::Boolean(status != ' '));
            object.insert(names.of("completed"), Value::Boolean(is_done(status)));
            object.insert(names.of("fullyCompleted"), Value::Boolean(!below.is_open));
            let dates = dates.into_iter().filter_map(|(name, value)| Some((names.of(name), value?)));
            object.extend(dates.filter(|(_, value)| !value.is_null()));
        }
        object
    }

    /// The fields of an item by their names as written, in order.
    fn item_fields(&self, item: &ListItem, one_line: &str, path: &str) -> Vec<(Arc<str>, Vec<Value>)> {
        let mut fields: Vec<(Arc<str>, Vec<Value>)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for field in item.fields(one_line) {
            let place = *places.entry(field.key).or_insert(fields.len());
            if place == fields.len() {
                fields.push((field.key.into(), Vec::new()));
            }
            if let Some((_, values)) = fields.get_mut(place) {
                values.push(self.field_value(field.value, path));
            }
        }
        fields
    }
}

/// For each item how many it is below.
fn depths(items: &[ListItem]) -> Vec<usize> {
    let mut known: HashMap<u32, usize> = HashMap::new();
    let depth = |item: &ListItem| {
        let depth = item.parent.and_then(|parent| known.get(&parent)).map_or(0, |above| above.saturating_add(1));
        known.insert(item.line, depth);
        depth
    };
    items.iter().map(depth).collect()
}

/// The error for a note with more list items than a query looks at.
fn too_many(path: &str, count: usize) -> Error {
    let message = format!(
        "{path} has {count} list items; a query looks at up to {MAX_ITEMS} of a note: leave it out, as by `FROM -\"its folder\"`, or split it"
    );
    Error::new(Code::TooLarge, Reason::ComputeBudgetExceeded, message)
}

/// Whether a task with this character in its box is done.
const fn is_done(status: char) -> bool {
    matches!(status, 'x' | 'X')
}
