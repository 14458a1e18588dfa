//! Values as text for people, and as JSON. An entry may stand in a value many times, as the items below a list item do in Dataview; so what is
//! written may be far larger than the value, and always has a limit.

use serde_json::json;

use crate::Dialect;
use crate::error::{Error, Result};
use crate::numbers;
use crate::time::write;
use crate::value::{Link, MAX_VALUE_BYTES, Target, Value, Widget};

/// The text that Dataview shows for nothing.
const NOTHING: &str = "\\-";
/// How deep values are shown.
const MAX_SHOWN_DEPTH: usize = 40;

/// The value as text, as its language shows it: dates and numbers in English.
///
/// # Errors
/// [`Kind::Limit`](crate::Kind) if it has more than 1 MiB, or a format is too long.
pub fn text(value: &Value, dialect: Dialect) -> Result<String> {
    text_within(value, dialect, MAX_VALUE_BYTES)
}

/// Like [`text`], with at most `max_bytes`.
pub(crate) fn text_within(value: &Value, dialect: Dialect, max_bytes: usize) -> Result<String> {
    let mut written = Text { text: String::new(), max_bytes: max_bytes.min(MAX_VALUE_BYTES) };
    match dialect {
        Dialect::Dataview => dataview(value, false, 0, &mut written)?,
        Dialect::Bases => bases(value, 0, &mut written)?,
    }
    Ok(written.text)
}

/// A text that is being written.
struct Text {
    text: String,
    max_bytes: usize,
}

impl Text {
    fn push(&mut self, more: &str) -> Result<()> {
        if more.len() > self.max_bytes.saturating_sub(self.text.len()) {
            return Err(Error::limit(format!("a value may have {} bytes as text: show less of it", self.max_bytes)));
        }
        self.text.push_str(more);
        Ok(())
    }
}

fn dataview(value: &Value, inside: bool, depth: usize, written: &mut Text) -> Result<()> {
    if depth > MAX_SHOWN_DEPTH {
        return written.push("…");
    }
    match value {
        Value::Null => written.push(NOTHING)?,
        Value::Text(text) | Value::Html(text) | Value::Image(text) | Value::Icon(text) | Value::File(text) => {
            written.push(text)?;
        }
        Value::Number(number) => written.push(&numbers::text(*number))?,
        Value::Boolean(value) => written.push(if *value { "true" } else { "false" })?,
        Value::Link(link) => written.push(&link.markdown())?,
        Value::Page(page) => written.push(&Link::file(page.path.clone()).markdown())?,
        Value::Function(_) => written.push("<function>")?,
        Value::Regex(pattern) => written.push(&pattern.source)?,
        Value::Duration(duration) => written.push(&duration.human())?,
        Value::Date(date) => {
            let at = date.zoned();
            let day = at.hour() == 0 && at.minute() == 0 && at.second() == 0;
            written.push(&write::luxon(at, if day { "MMMM dd, yyyy" } else { "h:mm a - MMMM dd, yyyy" })?)?;
        }
        Value::List(items) => {
            if inside {
                written.push("[")?;
            }
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    written.push(", ")?;
                }
                dataview(item, true, depth + 1, written)?;
            }
            if inside {
                written.push("]")?;
            }
        }
        Value::Object(object) => {
            written.push("{ ")?;
            for (at, (name, value)) in object.iter().enumerate() {
                if at > 0 {
                    written.push(", ")?;
                }
                written.push(name)?;
                written.push(": ")?;
                dataview(value, true, depth + 1, written)?;
            }
            written.push(" }")?;
        }
        Value::Widget(widget) => match &**widget {
            Widget::ExternalLink(url, display) => written.push(&format!("[{display}]({url})"))?,
            Widget::Pair(key, value) => {
                dataview(key, false, depth + 1, written)?;
                written.push(": ")?;
                dataview(value, false, depth + 1, written)?;
            }
        },
    }
    Ok(())
}

fn bases(value: &Value, depth: usize, written: &mut Text) -> Result<()> {
    if depth > MAX_SHOWN_DEPTH {
        return written.push("…");
    }
    match value {
        Value::Null => {}
        Value::Link(link) => written.push(&bases_link(link))?,
        Value::Regex(pattern) => written.push(&format!("/{}/{}", pattern.source, pattern.flags))?,
        Value::Page(page) => written.push(&page.path)?,
        Value::Date(date) => {
            let format = if date.has_time() { "YYYY-MM-DD HH:mm:ss" } else { "YYYY-MM-DD" };
            written.push(&write::moment(date.zoned(), format)?)?;
        }
        Value::List(items) => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    written.push(", ")?;
                }
                bases(item, depth + 1, written)?;
            }
        }
        Value::Object(_) => {
            let mut room = written.max_bytes.saturating_sub(written.text.len());
            written.push(&json(value, &mut room)?.to_string())?;
        }
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

/// The value as JSON. Dates are ISO 8601, links objects with `path`, durations texts; what JSON has not is null. It has at most about `room`
/// bytes, which are taken from `room`: no more than the JSON has.
///
/// # Errors
/// [`Kind::Limit`](crate::Kind) as soon as there is no more room.
pub fn json(value: &Value, room: &mut usize) -> Result<serde_json::Value> {
    as_json(value, 0, room)
}

/// Takes bytes from what there is room for.
fn take(room: &mut usize, bytes: usize) -> Result<()> {
    match room.checked_sub(bytes) {
        Some(left) => *room = left,
        None => {
            *room = 0;
            return Err(Error::limit("there is no room for the value in an answer: ask for less of it"));
        }
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "compared before")]
fn as_json(value: &Value, depth: usize, room: &mut usize) -> Result<serde_json::Value> {
    if depth > MAX_SHOWN_DEPTH {
        take(room, "\"…\"".len())?;
        return Ok(json!("…"));
    }
    take(room, least_bytes(value))?;
    Ok(match value {
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
        Value::List(items) => items.iter().map(|item| as_json(item, depth + 1, room)).collect::<Result<_>>()?,
        Value::Object(object) => {
            let entries = object.iter().map(|(name, value)| Ok((name.to_string(), as_json(value, depth + 1, room)?)));
            serde_json::Value::Object(entries.collect::<Result<_>>()?)
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
                json!({ "key": as_json(key, depth + 1, room)?, "value": as_json(value, depth + 1, room)? })
            }
        },
    })
}

/// Bytes that the JSON of a value has at least, besides those of the values in it.
fn least_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Function(_) | Value::Boolean(_) => "null".len(),
        Value::Number(_) => 1,
        Value::Text(text) => text.len() + 2,
        Value::Date(_) => "\"2024-01-01\"".len(),
        Value::Duration(_) | Value::Regex(_) => 2,
        Value::Link(link) => {
            let more = [&link.display, &link.subpath].into_iter().flatten().map(|text| text.len());
            link.path.len() + more.sum::<usize>() + "{\"path\":\"\"}".len()
        }
        Value::List(items) => items.len().saturating_sub(1) + 2,
        Value::Object(object) => {
            let names = object.keys().map(|name| name.len() + "\"\":,".len());
            (names.sum::<usize>() + 1).max(2)
        }
        Value::Page(page) => page.path.len() + 2,
        Value::File(text) | Value::Image(text) | Value::Icon(text) | Value::Html(text) => text.len() + 2,
        Value::Widget(widget) => match &**widget {
            Widget::ExternalLink(url, display) => url.len() + display.len() + 2,
            Widget::Pair(..) => 2,
        },
    }
}
