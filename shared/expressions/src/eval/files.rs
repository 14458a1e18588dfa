use std::sync::Arc;

use super::Evaluator;
use crate::Dialect;
use crate::error::Result;
use crate::pages::Fact;
use crate::value::{Link, Value};

/// A field of `file`; null if there is none of that name.
pub(super) fn file_field(evaluator: &Evaluator<'_>, path: &Arc<str>, name: &str) -> Result<Value> {
    let pages = evaluator.pages();
    let fact = |fact| pages.fact(path, fact);
    let file = path.rsplit('/').next().unwrap_or(path);
    let (stem, ext) = file.rsplit_once('.').unwrap_or((file, ""));
    // The vault itself has a name in Bases only.
    let root = if evaluator.dialect() == Dialect::Bases { "/" } else { "" };
    let both = match name {
        "path" => Value::Text(path.clone()),
        "folder" => path.rsplit_once('/').map_or(root, |(folder, _)| folder).into(),
        "ext" => ext.into(),
        "size" => fact(Fact::Size),
        "ctime" => fact(Fact::Created),
        "mtime" => fact(Fact::Modified),
        _ => Value::Null,
    };
    if !both.is_null() {
        return Ok(both);
    }
    // To describe list items takes time, so it is looked at for each of them.
    let lists = || {
        let lists = fact(Fact::Lists);
        evaluator.spend(lists.as_list().map_or(0, <[Value]>::len)).map(|()| lists)
    };
    let day = |fact: Value| match fact {
        Value::Date(date) => Ok(Value::date(date.day()?)),
        _ => Ok(Value::Null),
    };
    let value = match (evaluator.dialect(), name) {
        (Dialect::Dataview, "name") => crate::value::link_title(path).into(),
        (Dialect::Dataview, "link") => Value::link(Link::file(path.clone())),
        (Dialect::Dataview, "cday") => day(fact(Fact::Created))?,
        (Dialect::Dataview, "mday") => day(fact(Fact::Modified))?,
        (Dialect::Dataview, "day") => fact(Fact::Day),
        (Dialect::Dataview, "etags") => fact(Fact::Tags),
        (Dialect::Dataview, "tags") => all_tags(&fact(Fact::Tags)),
        (Dialect::Dataview, "inlinks") => links_to(&fact(Fact::Backlinks)),
        (Dialect::Dataview, "outlinks") => fact(Fact::Links),
        (Dialect::Dataview, "aliases") => fact(Fact::Aliases),
        (Dialect::Dataview, "lists") => lists()?,
        (Dialect::Dataview, "tasks") => tasks(&lists()?),
        (Dialect::Dataview, "frontmatter") => fact(Fact::Frontmatter),
        (Dialect::Dataview, "starred") => Value::Boolean(false),
        (Dialect::Bases, "name") => file.into(),
        (Dialect::Bases, "basename") => stem.into(),
        (Dialect::Bases, "file") => Value::File(path.clone()),
        (Dialect::Bases, "links") => fact(Fact::Links),
        (Dialect::Bases, "embeds") => fact(Fact::Embeds),
        (Dialect::Bases, "backlinks") => links_to(&fact(Fact::Backlinks)),
        (Dialect::Bases, "tags") => fact(Fact::Tags),
        (Dialect::Bases, "properties") => Value::object(pages.properties(path)),
        _ => Value::Null,
    };
    Ok(value)
}

/// Every tag, and each that it is nested in: `#a/b` is `#a` too.
fn all_tags(tags: &Value) -> Value {
    let mut all: indexmap::IndexSet<Arc<str>> = indexmap::IndexSet::new();
    for tag in tags.as_list().unwrap_or_default() {
        let mut tag = tag.as_text().unwrap_or_default();
        loop {
            all.insert(tag.into());
            match tag.rsplit_once('/') {
                Some((outer, _)) => tag = outer,
                None => break,
            }
        }
    }
    Value::list(all.into_iter().map(Value::Text).collect())
}

fn links_to(paths: &Value) -> Value {
    let paths = paths.as_list().unwrap_or_default();
    Value::list(paths.iter().filter_map(Value::as_text).map(|path| Value::link(Link::file(path))).collect())
}

fn tasks(lists: &Value) -> Value {
    let is_task =
        |item: &&Value| matches!(item, Value::Object(item) if matches!(item.get("task"), Some(Value::Boolean(true))));
    Value::list(lists.as_list().unwrap_or_default().iter().filter(is_task).cloned().collect())
}
