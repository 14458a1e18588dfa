//! Values as text for people, and as JSON.

use serde_json::json;

use crate::Dialect;
use crate::error::Result;
use crate::numbers;
use crate::time::write;
use crate::value::{Link, Target, Value, Widget};

/// The text that Dataview shows for nothing.
const NOTHING: &str = "\\-";
/// How deep values are shown.
const MAX_SHOWN_DEPTH: usize = 40;

/// The value as text, as its language shows it: dates and numbers in English.
///
/// # Errors
/// Never, as of now: what can go wrong is a format that is too long.
pub fn text(value: &Value, dialect: Dialect) -> Result<String> {
    let mut written = String::new();
    match dialect {
        Dialect::Dataview => dataview(value, false, 0, &mut written)?,
        Dialect::Bases => bases(value, 0, &mut written)?,
    }
    Ok(written)
}

fn dataview(value: &Value, inside: bool, depth: usize, written: &mut String) -> Result<()> {
    if depth > MAX_SHOWN_DEPTH {
        written.push('…');
        return Ok(());
    }
    match value {
        Value::Null => written.push_str(NOTHING),
        Value::Text(text) | Value::Html(text) | Value::Image(text) | Value::Icon(text) | Value::File(text) => {
            written.push_str(text)
        }
        Value::Number(number) => written.push_str(&numbers::text(*number)),
        Value::Boolean(value) => written.push_str(if *value { "true" } else { "false" }),
        Value::Link(link) => written.push_str(&link.markdown()),
        Value::Page(page) => written.push_str(&Link::file(page.path.clone()).markdown()),
        Value::Function(_) => written.push_str("<function>"),
        Value::Regex(pattern) => written.push_str(&pattern.source),
        Value::Duration(duration) => written.push_str(&duration.human()),
        Value::Date(date) => {
            let at = date.zoned();
            let day = at.hour() == 0 && at.minute() == 0 && at.second() == 0;
            written.push_str(&write::luxon(at, if day { "MMMM dd, yyyy" } else { "h:mm a - MMMM dd, yyyy" })?);
        }
        Value::List(items) => {
            if inside {
                written.push('[');
            }
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    written.push_str(", ");
                }
                dataview(item, true, depth + 1, written)?;
            }
            if inside {
                written.push(']');
            }
        }
        Value::Object(object) => {
            written.push_str("{ ");
            for (at, (name, value)) in object.iter().enumerate() {
                if at > 0 {
                    written.push_str(", ");
                }
                written.push_str(name);
                written.push_str(": ");
                dataview(value, true, depth + 1, written)?;
            }
            written.push_str(" }");
        }
        Value::Widget(widget) => match &**widget {
            Widget::ExternalLink(url, display) => written.push_str(&format!("[{display}]({url})")),
            Widget::Pair(key, value) => {
                dataview(key, false, depth + 1, written)?;
                written.push_str(": ");
                dataview(value, false, depth + 1, written)?;
            }
        },
    }
    Ok(())
}

fn bases(value: &Value, depth: usize, written: &mut String) -> Result<()> {
    if depth > MAX_SHOWN_DEPTH {
        written.push('…');
        return Ok(());
    }
    match value {
        Value::Null => {}
        Value::Link(link) => written.push_str(&bases_link(link)),
        Value::Regex(pattern) => written.push_str(&format!("/{}/{}", pattern.source, pattern.flags)),
        Value::Page(page) => written.push_str(&page.path),
        Value::Date(date) => {
            let format = if date.has_time() { "YYYY-MM-DD HH:mm:ss" } else { "YYYY-MM-DD" };
            written.push_str(&write::moment(date.zoned(), format)?);
        }
        Value::List(items) => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    written.push_str(", ");
                }
                bases(item, depth + 1, written)?;
            }
        }
        Value::Object(_) => written.push_str(&json(value).to_string()),
        _ => dataview(value, false, depth, written)?,
    }
    Ok(())
}

fn bases_link(link: &Link) -> String {
    let display = link.display.as_ref().map_or_else(String::new, |display| format!("|{display}"));
    if link.path.contains("://") {
        return format!("[{}]({})", link.display.as_ref().unwrap_or(&link.path), link.path);
    }
    format!("{}[[{}{display}]]", if link.embed { "!" } else { "" }, link.written())
}

/// The value as JSON. Dates are ISO 8601, links objects with `path`, durations texts; what JSON has not is null.
#[must_use]
pub fn json(value: &Value) -> serde_json::Value {
    as_json(value, 0)
}

#[expect(clippy::cast_possible_truncation, reason = "compared before")]
fn as_json(value: &Value, depth: usize) -> serde_json::Value {
    if depth > MAX_SHOWN_DEPTH {
        return json!("…");
    }
    match value {
        Value::Null | Value::Function(_) => serde_json::Value::Null,
        Value::Boolean(value) => json!(value),
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => json!(*number as i64),
        Value::Number(number) => json!(number),
        Value::Text(text) => json!(&**text),
        Value::Date(date) => {
            let format = if date.has_time() { "%Y-%m-%dT%H:%M:%S%:z" } else { "%Y-%m-%d" };
            json!(date.zoned().strftime(format).to_string())
        }
        Value::Duration(duration) => json!(duration.human()),
        Value::Link(link) => {
            let mut object = serde_json::Map::new();
            object.insert("path".to_owned(), json!(&*link.path));
            if let Some(display) = &link.display {
                object.insert("display".to_owned(), json!(&**display));
            }
            if let Some(subpath) = &link.subpath {
                object.insert(
                    if link.target == Target::Block { "block" } else { "heading" }.to_owned(),
                    json!(&**subpath),
                );
            }
            if link.embed {
                object.insert("embed".to_owned(), json!(true));
            }
            serde_json::Value::Object(object)
        }
        Value::List(items) => items.iter().map(|item| as_json(item, depth + 1)).collect(),
        Value::Object(object) => {
            let entries = object.iter().map(|(name, value)| (name.to_string(), as_json(value, depth + 1)));
            serde_json::Value::Object(entries.collect())
        }
        Value::Page(page) => json!({ "path": &*page.path }),
        Value::File(path) => json!({ "path": &**path }),
        Value::Regex(pattern) => json!(format!("/{}/{}", pattern.source, pattern.flags)),
        Value::Image(path) => json!({ "image": &**path }),
        Value::Icon(name) => json!({ "icon": &**name }),
        Value::Html(html) => json!({ "html": &**html }),
        Value::Widget(widget) => match &**widget {
            Widget::ExternalLink(url, display) => json!({ "url": &**url, "display": &**display }),
            Widget::Pair(key, value) => {
                json!({ "key": as_json(key, depth + 1), "value": as_json(value, depth + 1) })
            }
        },
    }
}
