//! A query over parsed notes, all of which are looked at: what an index must give too.

use std::collections::BTreeMap;
use std::sync::Arc;

use atlas_expressions::pages::{Fact, Pages, field_name};
use atlas_expressions::value::{Link, Object, Value};
use atlas_expressions::{Dialect, Evaluator, Limits, Setting, base, dql, inline, properties, show};
use atlas_vault::resolve::{Files, resolve};
use atlas_vault::{Note, VaultPath, parse};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value as Json, json};

/// All notes, parsed.
pub struct Scan {
    notes: BTreeMap<String, (String, Note)>,
    files: Files,
    dialect: Dialect,
}

impl Scan {
    pub fn of(notes: &BTreeMap<String, String>) -> Self {
        let files = notes.keys().map(|path| VaultPath::parse(path).unwrap()).collect();
        let notes = notes.iter().map(|(path, text)| (path.clone(), (text.clone(), parse(text)))).collect();
        Self { notes, files, dialect: Dialect::Dataview }
    }

    /// The same, as Bases see it.
    pub fn for_bases(self) -> Self {
        Self { dialect: Dialect::Bases, ..self }
    }

    /// The paths that the first view of a base shows.
    pub fn shown(&self, text: &str, this: &str) -> Vec<String> {
        let base = base::parse(text).unwrap();
        let now = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
        let limits = Limits { steps: 10_000_000, bytes: 128 << 20 };
        let evaluator = Evaluator::new(self, Setting { dialect: Dialect::Bases, now, this: Some(this.into()), limits });
        let ran = base::run(&base, base.view(None).unwrap(), &evaluator, &self.paths()).unwrap();
        ran.groups.iter().flat_map(|group| &group.rows).map(|row| row.path.to_string()).collect()
    }

    /// The rows of a query, or the reason why there are none.
    pub fn rows(&self, text: &str) -> Result<Json, String> {
        let query = dql::parse(text).unwrap();
        let now = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
        let limits = Limits { steps: 10_000_000, bytes: 128 << 20 };
        let evaluator = Evaluator::new(self, Setting { dialect: Dialect::Dataview, now, this: None, limits });
        let ran = dql::run(&query, &evaluator, &self.paths()).map_err(|_| "dql_error".to_owned())?;
        let cells = |cells: &[Value]| cells.iter().map(json_of).collect::<Vec<_>>();
        Ok(match ran.output {
            dql::Output::Table { rows, .. } => rows.iter().map(|row| json!(cells(row))).collect(),
            dql::Output::List(items) => items.iter().map(|item| json!(pair(item))).collect(),
            dql::Output::Calendar(days) => {
                days.iter().map(|(day, link)| json!(cells(&[day.clone(), link.clone()]))).collect()
            }
            dql::Output::Tasks(tasks) => {
                let mut rows = Vec::new();
                tasks.iter().for_each(|task| add_task(task, &mut Vec::new(), &mut rows));
                rows.into()
            }
        })
    }

    fn fields(&self, path: &str) -> Vec<(String, Vec<Value>)> {
        let (text, note) = &self.notes[path];
        let mut fields: Vec<(String, Vec<Value>)> = Vec::new();
        let mut add = |key: &str, value: Value| match fields.iter_mut().find(|(own, _)| own == key) {
            Some((_, values)) => values.push(value),
            None => fields.push((key.to_owned(), vec![value])),
        };
        for (key, value) in note.properties().into_iter().flatten() {
            add(key, self.settled(properties::value(value, Dialect::Dataview, &TimeZone::UTC), path));
        }
        let body = note.frontmatter.as_ref().map_or(0, |frontmatter| frontmatter.body_start);
        let lines: Vec<&str> = text[body..].lines().collect();
        let is_item = |line: &str| line.trim_start().starts_with("- ");
        let in_list = lines.iter().filter(|line| is_item(line) && !line.trim_start().starts_with("- ["));
        let beside = lines.iter().filter(|line| !is_item(line));
        for line in in_list.chain(beside) {
            let line = line.trim().trim_start_matches("- ");
            let mut found = inline::in_brackets(line);
            if found.is_empty() {
                found.extend(inline::whole_line(line));
            }
            for field in found {
                add(field.key, self.settled(inline::value(field.value, &TimeZone::UTC), path));
            }
        }
        fields
    }

    fn settled(&self, value: Value, from: &str) -> Value {
        match value {
            Value::Link(link) => {
                let path = self.resolve(&link.path, from).unwrap_or_else(|| link.path.clone());
                Value::link(Link { path, ..(*link).clone() })
            }
            Value::List(items) => Value::list(items.iter().map(|item| self.settled(item.clone(), from)).collect()),
            other => other,
        }
    }

    fn links(&self, path: &str) -> Vec<Link> {
        let (_, note) = &self.notes[path];
        let mut links: Vec<Link> = note
            .links
            .iter()
            .map(|link| {
                let target = self.resolve(&link.target, path).unwrap_or_else(|| link.target.as_str().into());
                let part =
                    link.subpath.as_ref().map_or_else(|| Link::file(""), |subpath| Link::at(&format!("#{subpath}")));
                Link { path: target, embed: link.is_embed(), ..part }
            })
            .collect();
        links.sort_by_key(|link| link.embed);
        links
    }
}

impl Pages for Scan {
    fn property(&self, path: &str, name: &str) -> Option<Value> {
        if self.dialect == Dialect::Bases {
            let value = self.notes.get(path)?.1.properties()?.get(name)?;
            return Some(self.settled(properties::value(value, Dialect::Bases, &TimeZone::UTC), path));
        }
        let fields = self.notes.contains_key(path).then(|| self.fields(path))?;
        let exact: Vec<Value> =
            fields.iter().filter(|(key, _)| key == name).flat_map(|(_, values)| values.clone()).collect();
        let mut alike: Vec<&(String, Vec<Value>)> = fields.iter().filter(|(key, _)| field_name(key) == name).collect();
        alike.sort_by(|one, other| one.0.cmp(&other.0));
        let mut values =
            if exact.is_empty() { alike.into_iter().flat_map(|(_, values)| values.clone()).collect() } else { exact };
        if values.len() > 1 { Some(Value::list(values)) } else { values.pop() }
    }

    fn properties(&self, _: &str) -> Object {
        Object::new()
    }

    fn fact(&self, path: &str, fact: Fact) -> Value {
        let Some((text, note)) = self.notes.get(path) else { return Value::Null };
        match fact {
            Fact::Tags => {
                let mut tags: Vec<Value> = Vec::new();
                let mut known = std::collections::HashSet::new();
                for tag in note.tags.iter().filter(|tag| known.insert(&tag.name)) {
                    tags.push(format!("#{}", tag.name).into());
                }
                Value::list(tags)
            }
            Fact::Links => Value::list(self.links(path).into_iter().map(Value::link).collect()),
            Fact::Backlinks => {
                let to = |from: &&String| self.links(from).iter().any(|link| *link.path == *path);
                Value::list(self.notes.keys().filter(to).map(|from| from.as_str().into()).collect())
            }
            Fact::Lists => {
                let item = |line: (usize, &str)| {
                    let text = line.1.trim().strip_prefix("- ")?.to_owned();
                    let boxed =
                        text.strip_prefix('[').and_then(|rest| rest.get(..1)).filter(|_| text.get(2..3) == Some("]"));
                    let mut item = Object::new();
                    item.insert("task".into(), boxed.is_some().into());
                    item.insert("line".into(), line.0.into());
                    item.insert("path".into(), path.into());
                    item.insert("text".into(), text.get(if boxed.is_some() { 3 } else { 0 }..)?.trim().into());
                    if let Some(status) = boxed {
                        item.insert("status".into(), status.into());
                        item.insert("completed".into(), (status == "x").into());
                    }
                    let mut fields = inline::in_brackets(&text);
                    fields.extend(inline::task_dates(&text));
                    for field in fields {
                        item.insert(field.key.into(), self.settled(inline::value(field.value, &TimeZone::UTC), path));
                    }
                    Some(Value::object(item))
                };
                Value::list(text.lines().enumerate().filter_map(item).collect())
            }
            Fact::Day => {
                properties::day_in(path.rsplit('/').next().unwrap(), &TimeZone::UTC).map_or(Value::Null, Value::date)
            }
            _ => Value::Null,
        }
    }

    fn resolve(&self, link: &str, from: &str) -> Option<Arc<str>> {
        let from = VaultPath::parse(if from.is_empty() { "_.md" } else { from }).unwrap();
        resolve(link, &from, &self.files).map(|path| path.as_str().into())
    }

    fn paths(&self) -> Vec<Arc<str>> {
        self.notes.keys().map(|path| path.as_str().into()).collect()
    }
}

fn json_of(value: &Value) -> Json {
    show::json(value, &mut { usize::MAX }).unwrap()
}

fn pair(item: &Value) -> Vec<Json> {
    let json = json_of(item);
    match item {
        Value::Widget(_) => vec![json["key"].clone(), json["value"].clone()],
        _ => vec![json],
    }
}

fn add_task(task: &Value, keys: &mut Vec<Json>, rows: &mut Vec<Json>) {
    let Value::Object(task) = task else { return };
    if let Some(Value::List(inner)) = task.get("rows") {
        keys.push(json_of(task.get("key").unwrap()));
        inner.iter().for_each(|task| add_task(task, keys, rows));
        keys.pop();
        return;
    }
    let own = |name: &str| task.get(name).map_or(Json::Null, json_of);
    let known = ["task", "line", "path", "text", "status", "completed"];
    let fields: serde_json::Map<String, Json> = task
        .iter()
        .filter(|(name, _)| !known.contains(&&***name))
        .map(|(name, value)| (name.to_string(), json_of(value)))
        .collect();
    let line = own("line").as_u64().unwrap() + 1;
    let cells = [own("text"), own("status"), own("path"), line.into(), fields.into()];
    rows.push(keys.iter().cloned().chain(cells).collect());
}
