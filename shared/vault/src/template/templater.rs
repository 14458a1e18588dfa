//! Templater's commands that need neither the app nor a program: dates, the new note's name and folder, and properties.
//! The behaviour is that of the plugin's documentation of its internal functions.

use std::ops::Range;

use jiff::civil::DateTime;
use jiff::{Span, ToSpan as _};
use serde_json::{Map, Value};

use super::expression::{Expression, read};
use crate::date_format::{Locale, MAX_FORMAT_BYTES};
use crate::path::VaultPath;

/// The inputs of commands.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The person's local time.
    pub now: DateTime,
    /// The language of dates.
    pub locale: Locale,
    /// The path of the new note.
    pub path: &'a VaultPath,
    /// Its properties.
    pub properties: &'a Map<String, Value>,
}

/// Why a command cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplaterError {
    /// It needs Templater itself.
    #[error("line {line}: {what} needs Templater in the Obsidian app")]
    NeedsApp {
        /// Its line, counted from 1.
        line: usize,
        /// The command or function.
        what: String,
    },
    /// The command is invalid.
    #[error("line {line}: {message}")]
    Wrong {
        /// Its line, counted from 1.
        line: usize,
        /// The problem.
        message: String,
    },
}

/// A command.
#[derive(Debug)]
struct Command<'a> {
    /// Including its delimiters.
    range: Range<usize>,
    /// The code between the delimiters, without trim marks.
    body: &'a str,
    before: Trim,
    after: Trim,
}

/// How much white space beside a command is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trim {
    Nothing,
    OneBreak,
    All,
}

/// Most commands of a template.
const MAX_COMMANDS: usize = 1000;
/// Longest command, in bytes.
const MAX_COMMAND_BYTES: usize = 10_000;

/// A template with its commands evaluated. `fill` converts the text between them.
///
/// # Errors
/// When a command needs the app, or is invalid.
pub fn expand(
    template: &str,
    surroundings: &Surroundings<'_>,
    fill: impl Fn(&str) -> String,
) -> Result<String, TemplaterError> {
    let mut out = String::with_capacity(template.len());
    let mut at = 0;
    let mut trim = Trim::Nothing;
    for command in commands(template) {
        let text = trim.start(template.get(at..command.range.start).unwrap_or_default());
        out.push_str(&fill(command.before.end(text)));
        let line = template.get(..command.range.start).unwrap_or_default().matches('\n').count() + 1;
        out.push_str(&evaluate(command.body, surroundings).map_err(|problem| problem.at(line))?);
        (at, trim) = (command.range.end, command.after);
    }
    out.push_str(&fill(trim.start(template.get(at..).unwrap_or_default())));
    Ok(out)
}

/// The parts of a template that need the app, each once.
#[must_use]
pub fn needs_app(template: &str, surroundings: &Surroundings<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for command in commands(template) {
        if let Err(Problem::NeedsApp(what)) = evaluate(command.body, surroundings)
            && !found.contains(&what)
        {
            found.push(what);
        }
    }
    found
}

/// The commands of a template, in order.
fn commands(template: &str) -> impl Iterator<Item = Command<'_>> {
    let mut at = 0;
    let next = move || {
        let start = at + template.get(at..)?.find("<%")?;
        let inner = template.get(start + 2..)?;
        let length = inner.get(..inner.floor_char_boundary(MAX_COMMAND_BYTES))?.find("%>")?;
        at = start + 2 + length + 2;
        let body = inner.get(..length)?;
        let (before, body) = match body.as_bytes().first() {
            Some(b'-') => (Trim::OneBreak, body.get(1..)?),
            Some(b'_') => (Trim::All, body.get(1..)?),
            _ => (Trim::Nothing, body),
        };
        let (after, body) = match body.as_bytes().last() {
            Some(b'-') => (Trim::OneBreak, body.get(..body.len() - 1)?),
            Some(b'_') => (Trim::All, body.get(..body.len() - 1)?),
            _ => (Trim::Nothing, body),
        };
        Some(Command { range: start..at, body, before, after })
    };
    std::iter::from_fn(next).take(MAX_COMMANDS)
}

impl Trim {
    fn start(self, text: &str) -> &str {
        match self {
            Self::Nothing => text,
            Self::OneBreak => text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text),
            Self::All => text.trim_start(),
        }
    }

    fn end(self, text: &str) -> &str {
        match self {
            Self::Nothing => text,
            Self::OneBreak => text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text)),
            Self::All => text.trim_end(),
        }
    }
}

/// Why a command cannot be evaluated, without its position.
enum Problem {
    NeedsApp(String),
    Wrong(String),
}

impl Problem {
    fn at(self, line: usize) -> TemplaterError {
        match self {
            Self::NeedsApp(what) => TemplaterError::NeedsApp { line, what },
            Self::Wrong(message) => TemplaterError::Wrong { line, message },
        }
    }
}

fn evaluate(body: &str, surroundings: &Surroundings<'_>) -> Result<String, Problem> {
    let code = body.trim();
    if code.starts_with(['*', '+']) {
        return Err(Problem::NeedsApp(format!("<%{} (a program)", code.get(..1).unwrap_or_default())));
    }
    if code.is_empty() {
        return Ok(String::new());
    }
    let terms = read(code).ok_or_else(|| Problem::NeedsApp(format!("`{}`", shortened(code))))?;
    let mut out = String::new();
    for term in &terms {
        out.push_str(&value(term, surroundings)?);
    }
    Ok(out)
}

/// The value of a term, as JavaScript writes it.
fn value(term: &Expression, surroundings: &Surroundings<'_>) -> Result<String, Problem> {
    let (names, arguments) = match term {
        Expression::Text(text) => return Ok(text.clone()),
        Expression::Number(number) => return Ok(number.to_string()),
        Expression::Word(word) => return Ok(word.clone()),
        Expression::Member { names, arguments } => (names, arguments.as_deref()),
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let texts: Vec<String> =
        arguments.unwrap_or_default().iter().map(|argument| value(argument, surroundings)).collect::<Result<_, _>>()?;
    let text = |index: usize| texts.get(index).map(String::as_str);
    let Surroundings { now, locale, path, properties } = *surroundings;
    let written = |format: Option<&str>, at| written(locale, format, at);
    let reference = |date, format| reference(locale, now, date, format);
    let parent = || path.folder().unwrap_or_default();
    let wrong = || Problem::Wrong(format!("`tp.{}` cannot be evaluated with these arguments", names.join(".")));
    let day = |days: i64| now.checked_add(days.days()).map_err(|_| wrong());
    match (names.as_slice(), arguments.is_some()) {
        (["date", "now"], true) => {
            let from = reference(text(2), text(3)).ok_or_else(wrong)?;
            let at = text(1).map_or(Some(from), |offset| moved(from, offset)).ok_or_else(wrong)?;
            written(text(0), at)
        }
        (["date", "tomorrow"], true) => written(text(0), day(1)?),
        (["date", "yesterday"], true) => written(text(0), day(-1)?),
        (["date", "weekday"], true) => {
            let from = reference(text(2), text(3)).ok_or_else(wrong)?;
            let wanted: i64 = text(1).and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
            let days = wanted.saturating_sub(locale.days_into_week(from.date()));
            let at = Span::new().try_days(days).and_then(|days| from.checked_add(days)).map_err(|_| wrong())?;
            written(text(0), at)
        }
        (["file", "title"], false) => Ok(path.stem().to_owned()),
        (["file", "folder"], true) if text(0) == Some("true") => Ok(parent().to_owned()),
        (["file", "folder"], true) => Ok(parent().rsplit('/').next().unwrap_or_default().to_owned()),
        (["file", "path"], true) if text(0) == Some("true") => Ok(path.as_str().to_owned()),
        (["file", "creation_date" | "last_modified_date"], true) => written(text(0).or(Some("YYYY-MM-DD HH:mm")), now),
        // Cursor positions in the app.
        (["file", "cursor"], true) | (["file", "content"], false) => Ok(String::new()),
        (["frontmatter", key], false) => Ok(properties.get(*key).map(plain).unwrap_or_default()),
        _ => Err(Problem::NeedsApp(format!("`tp.{}`", shortened(&names.join("."))))),
    }
}

fn written(locale: Locale, format: Option<&str>, at: DateTime) -> Result<String, Problem> {
    let format = format.unwrap_or("YYYY-MM-DD");
    if format.len() > MAX_FORMAT_BYTES {
        return Err(Problem::Wrong(format!("a format of dates has at most {MAX_FORMAT_BYTES} bytes")));
    }
    Ok(locale.write(format, at))
}

/// The time that an offset counts from: the date in this format, or now.
fn reference(locale: Locale, now: DateTime, date: Option<&str>, format: Option<&str>) -> Option<DateTime> {
    let Some(date) = date.filter(|date| !date.is_empty()) else { return Some(now) };
    Some(locale.read(format.unwrap_or("YYYY-MM-DD"), date)?.to_datetime(now.time()))
}

/// A time moved by days, or by an ISO 8601 duration, which may have `-` before it or before its only number.
fn moved(from: DateTime, offset: &str) -> Option<DateTime> {
    if let Ok(days) = offset.parse::<i64>() {
        return from.checked_add(Span::new().try_days(days).ok()?).ok();
    }
    let (is_back, duration) = match offset.strip_prefix('-') {
        Some(duration) => (true, duration.to_owned()),
        None => match offset.strip_prefix("P-") {
            Some(number) if number.chars().filter(char::is_ascii_alphabetic).count() == 1 => {
                (true, format!("P{number}"))
            }
            _ => (false, offset.to_owned()),
        },
    };
    let span: Span = duration.parse().ok()?;
    from.checked_add(if is_back { span.negate() } else { span }).ok()
}

/// A property's value, as JavaScript converts it to a string.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(","),
        Value::Null => String::new(),
        Value::Object(_) => "[object Object]".to_owned(),
        other => other.to_string(),
    }
}

fn shortened(code: &str) -> String {
    let line = code.lines().next().unwrap_or_default();
    line.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use jiff::civil::datetime;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn expanded(template: &str) -> Result<String, String> {
        let path = VaultPath::parse("Log/2026/March.md").unwrap();
        let properties = json!({ "status": "open", "my tags": ["a", "b"], "n": 1.5 });
        let properties = properties.as_object().unwrap();
        let surroundings =
            Surroundings { now: datetime(2026, 3, 1, 9, 5, 0, 0), locale: Locale::default(), path: &path, properties };
        expand(template, &surroundings, str::to_owned).map_err(|error| error.to_string())
    }

    #[test]
    fn what_needs_no_program_is_evaluated() {
        for (template, expected) in [
            ("<% tp.date.now() %>", "2026-03-01"),
            ("<%tp.date.now(\"DD.MM.YYYY\", -1)%>", "28.02.2026"),
            ("<% tp.date.now('YYYY-MM-DD', \"P1M\") %> <% tp.date.now('YYYY', 'P-1Y') %>", "2026-04-01 2025"),
            ("<% tp.date.now(\"YYYY-MM-DD\", 7, \"01.03.2026\", \"DD.MM.YYYY\") %>", "2026-03-08"),
            ("<% tp.date.tomorrow() %> <% tp.date.yesterday(\"D\") %>", "2026-03-02 28"),
            ("<% tp.date.weekday(\"YYYY-MM-DD\", 3) %>", "2026-03-04"),
            (
                "# <% tp.file.title %> in <% tp.file.folder() %>, <% tp.file.folder(true) %>",
                "# March in 2026, Log/2026",
            ),
            ("<% tp.file.path(true) %>", "Log/2026/March.md"),
            ("<% tp.file.creation_date(\"HH:mm\") %><% tp.file.cursor(1) %>", "09:05"),
            ("<% tp.frontmatter.status %> <% tp.frontmatter[\"my tags\"] %> <% tp.frontmatter.n %>", "open a,b 1.5"),
            ("<% \"[[\" + tp.file.title + ']]' %>", "[[March]]"),
            ("a\n<%- tp.file.title -%>\nb\n <%_ tp.file.title _%> \n c", "aMarchbMarchc"),
            ("100 <% and no end", "100 <% and no end"),
            ("{{title}} <% '{{title}}' %>", "{{title}} {{title}}"),
        ] {
            assert_eq!(expanded(template).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn what_needs_the_app_is_refused_by_name_and_line() {
        for (template, what) in [
            ("\n<%* tR += 1 %>", "line 2: <%* (a program)"),
            ("<% tp.user.mine() %>", "line 1: `tp.user.mine`"),
            ("<% tp.system.prompt('Name') %>", "line 1: `tp.system.prompt`"),
            ("<% tp.web.daily_quote() %>", "line 1: `tp.web.daily_quote`"),
            ("<% await tp.file.rename('x') %>", "line 1: `await tp.file.rename('x')`"),
            ("<% tp.file.title.split(' ') %>", "line 1: `tp.file.title.split`"),
            ("<% tp.file.path() %>", "line 1: `tp.file.path`"),
            ("<% moment() %>", "line 1: `moment()`"),
        ] {
            assert_eq!(expanded(template).unwrap_err(), format!("{what} needs Templater in the Obsidian app"));
        }
        assert!(expanded("<% tp.date.now('YYYY', 'next year') %>").unwrap_err().starts_with("line 1: `tp.date.now`"));
    }

    #[test]
    fn hostile_templates_end() {
        let nested = format!("<% {} %>", "tp.date.now(".repeat(500));
        assert!(expanded(&nested).is_err());
        assert!(expanded(&"<%".repeat(100_000)).is_ok());
        assert!(expanded("<% tp.date.now('YYYY', 99999999) %>").is_err());
        assert!(expanded("<% tp.date.weekday('YYYY', 9223372036854775807) %>").is_err());
    }

    proptest! {
        #[test]
        fn any_template_is_expanded_or_refused(template in "(<%[-_]?|[-_]?%>|tp\\.(date|file|frontmatter)\\.(now|title|x)|[()'\"+,1 \n{}a-]){0,20}") {
            drop(expanded(&template));
        }
    }
}
