//! QuickAdd's format syntax: places such as `{{DATE:YYYY}}` and `{{VALUE:topic}}`, as its documentation has them. What needs a person, the
//! app or a program is refused by name.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::{Date, DateTime};
use jiff::{Span, ToSpan as _};
use serde_json::{Map, Value};

use crate::date_format::{Locale, MAX_FORMAT_BYTES};
use crate::template;

/// How deep templates may include each other.
const MAX_DEPTH: usize = 5;
/// Longest text that comes of a format, in bytes.
const MAX_BYTES: usize = 4 << 20;
const MAX_RANDOM: usize = 100;
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The values for placeholders.
#[derive(Debug)]
pub struct Values<'a> {
    /// The person's local time.
    pub now: DateTime,
    /// The language of dates.
    pub locale: Locale,
    /// The caller's arguments, by name; `value` is for `{{VALUE}}`.
    pub given: &'a Map<String, Value>,
    /// QuickAdd's global variables.
    pub globals: &'a Map<String, Value>,
    /// The name of the note, if that is known.
    pub title: Option<&'a str>,
    /// The seed of random texts.
    pub seed: u64,
}

/// Why a format cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Only the app can fill a place.
    #[error("{0} needs QuickAdd in the Obsidian app")]
    NeedsApp(String),
    /// Values are missing.
    #[error("args: give {}", .0.iter().map(String::as_str).collect::<Vec<_>>().join(", "))]
    Missing(BTreeSet<String>),
    /// A template that was not given.
    #[error("it includes {0}")]
    Template(String),
    /// A value or place is wrong.
    #[error("{0}")]
    Wrong(String),
}

/// A text with the templates in it that it includes (`{{TEMPLATE:path}}`), by their paths.
///
/// # Errors
/// [`FormatError::Template`] when one is not among `templates`; when they include each other too often.
pub fn include(text: &str, templates: &BTreeMap<String, String>) -> Result<String, FormatError> {
    included(text, templates, 0)
}

fn included(text: &str, templates: &BTreeMap<String, String>, depth: usize) -> Result<String, FormatError> {
    let mut error = None;
    let mut length = text.len();
    let included = template::fill(text, |name, path| {
        let path = path.filter(|_| name.eq_ignore_ascii_case("TEMPLATE") && error.is_none())?.trim_matches('/');
        let within = match templates.get(path) {
            None => Err(FormatError::Template(path.to_owned())),
            Some(_) if depth == MAX_DEPTH => {
                Err(FormatError::Wrong(format!("templates include each other more than {MAX_DEPTH} times")))
            }
            Some(text) => included(text, templates, depth + 1),
        };
        let within = within.map_err(|problem| error = Some(problem)).ok()?;
        length = length.saturating_add(within.len());
        if length > MAX_BYTES {
            error = Some(too_long());
        }
        error.is_none().then_some(within)
    });
    error.map_or(Ok(included), Err)
}

fn too_long() -> FormatError {
    FormatError::Wrong(format!("it becomes more than {MAX_BYTES} bytes"))
}

/// A text with its places filled, but for those of templates. Places that QuickAdd does not know stay as they are written.
///
/// # Errors
/// When a place cannot be filled.
pub fn fill(text: &str, values: &Values<'_>) -> Result<String, FormatError> {
    let mut filling = Filling { values, missing: BTreeSet::new(), error: None, random: values.seed, length: 0 };
    let filled = filling.fill(text, 0);
    match filling {
        Filling { error: Some(error), .. } => Err(error),
        Filling { missing, .. } if !missing.is_empty() => Err(FormatError::Missing(missing)),
        _ if filled.len() > MAX_BYTES => Err(too_long()),
        _ => Ok(filled),
    }
}

struct Filling<'a> {
    values: &'a Values<'a>,
    missing: BTreeSet<String>,
    /// The first.
    error: Option<FormatError>,
    random: u64,
    /// Bytes of all filled places, those within others too.
    length: usize,
}

impl Filling<'_> {
    fn fill(&mut self, text: &str, depth: usize) -> String {
        if text.contains("`js quickadd") {
            self.refuse("a script (js quickadd)");
        }
        template::fill(text, |name, rest| {
            let filled = self.place(name, rest, depth)?;
            self.length = self.length.saturating_add(filled.len());
            if self.length > MAX_BYTES { self.fail(too_long()) } else { Some(filled) }
        })
    }

    fn fail(&mut self, error: FormatError) -> Option<String> {
        self.error.get_or_insert(error);
        None
    }

    fn refuse(&mut self, what: &str) -> Option<String> {
        self.fail(FormatError::NeedsApp(what.to_owned()))
    }

    fn place(&mut self, name: &str, rest: Option<&str>, depth: usize) -> Option<String> {
        if self.error.is_some() {
            return None;
        }
        let now = self.values.now;
        let upper = name.to_ascii_uppercase();
        let (word, shift) = match upper.split_once('+') {
            Some((word, days)) => (word, Some(days)),
            None => (upper.as_str(), None),
        };
        match (word, shift, rest) {
            ("DATE", shift, None) => self.date(now, "YYYY-MM-DD", shift),
            ("DATE", None, Some(format)) => match format.rsplit_once('+').filter(|(_, days)| is_number(days)) {
                Some((format, days)) => self.date(now, format, Some(days)),
                None => self.date(now, format, None),
            },
            ("TIME", None, format) => self.date(now, format.unwrap_or("HH:mm"), None),
            ("VALUE" | "NAME", None, None) => self.value("value"),
            ("VALUE" | "NAME", None, Some(spec)) => self.named(spec),
            ("MVALUE", None, None) => self.value("mvalue"),
            ("FIELD", None, Some(spec)) => self.value(spec.split('|').next().unwrap_or_default().trim()),
            ("VDATE", None, Some(spec)) => self.named_date(spec),
            ("TITLE", None, None) => match self.values.title {
                Some(title) => Some(title.to_owned()),
                None => self.fail(FormatError::Wrong("{{TITLE}} cannot be in the name of the note itself".to_owned())),
            },
            ("RANDOM", None, Some(length)) => self.random(length),
            ("GLOBAL_VAR", None, Some(name)) => self.global(name, depth),
            ("MACRO", None, Some(name)) => self.refuse(&format!("{{{{MACRO:{name}}}}}")),
            (
                "LINKCURRENT" | "LINKSECTION" | "FILENAMECURRENT" | "FOLDERCURRENT" | "SELECTED" | "CLIPBOARD" | "FILE",
                None,
                _,
            ) => self.refuse(&format!("{{{{{word}}}}}")),
            _ => None,
        }
    }

    fn date(&mut self, at: DateTime, format: &str, days: Option<&str>) -> Option<String> {
        let days = days.unwrap_or("0").parse::<i32>().ok();
        let at = days.and_then(|days| at.checked_add(Span::new().try_days(days).ok()?).ok());
        match at.filter(|_| format.len() <= MAX_FORMAT_BYTES) {
            Some(at) => Some(self.values.locale.write(format, at)),
            None => self.fail(FormatError::Wrong(format!("{{{{DATE:{format}}}}} is no date"))),
        }
    }

    fn value(&mut self, name: &str) -> Option<String> {
        let value = self.values.given.get(name).and_then(plain);
        if value.is_none() {
            self.missing.insert(name.to_owned());
        }
        value
    }

    /// `name`, or options with commas between them; then options of the place, each behind a `|`.
    fn named(&mut self, spec: &str) -> Option<String> {
        let mut parts = spec.split('|').map(str::trim);
        let first = parts.next().unwrap_or_default();
        let (mut name, mut default) = (first, None);
        let mut is_custom = false;
        for part in parts {
            match part.split_once(':').map(|(option, value)| (option.trim(), value.trim())) {
                Some(("name", value)) => name = value,
                Some(("default", value)) => default = Some(value),
                Some(("label" | "type" | "text", _)) => {}
                Some(_) => return self.refuse(&format!("{{{{VALUE:{spec}}}}}")),
                None if part == "custom" => is_custom = true,
                None if part == "optional" => default = default.or(Some("")),
                None => default = Some(part),
            }
        }
        let value = match (self.values.given.get(name).and_then(plain), default) {
            (Some(value), _) => value,
            (None, Some(default)) => default.to_owned(),
            (None, None) => return self.value(name),
        };
        let mut options = first.split(',').map(str::trim);
        if first.contains(',') && !is_custom && !options.any(|option| option == value) {
            return self.fail(FormatError::Wrong(format!("args: {name} is one of {first}")));
        }
        Some(value)
    }

    fn named_date(&mut self, spec: &str) -> Option<String> {
        let Some((name, format)) = spec.split_once(',') else {
            return self.fail(FormatError::Wrong(format!("{{{{VDATE:{spec}}}}} has no format")));
        };
        let (name, (format, default)) = (name.trim(), format.split_once('|').unwrap_or((format, "")));
        let written = match self.values.given.get(name).and_then(plain) {
            Some(written) => written,
            None if !default.trim().is_empty() => default.trim().to_owned(),
            None => return self.value(name),
        };
        let day = |days: i32| self.values.now.checked_add(days.days()).ok();
        let at = match written.to_ascii_lowercase().as_str() {
            "today" | "now" => day(0),
            "tomorrow" => day(1),
            "yesterday" => day(-1),
            _ => written
                .parse::<DateTime>()
                .or_else(|_| written.parse::<Date>().map(|date| date.to_datetime(self.values.now.time())))
                .ok(),
        };
        match at {
            Some(at) => self.date(at, format.trim(), None),
            None => self.fail(FormatError::Wrong(format!("args: {name} is a day, as YYYY-MM-DD"))),
        }
    }

    fn random(&mut self, length: &str) -> Option<String> {
        let Some(length) = length.trim().parse::<usize>().ok().filter(|length| (1..=MAX_RANDOM).contains(length))
        else {
            return self.fail(FormatError::Wrong(format!("{{{{RANDOM:{length}}}}}: at most {MAX_RANDOM} characters")));
        };
        let letter = |_| {
            // A linear congruential generator, whose high bits are good.
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            LETTERS.get((self.random >> 33) as usize % LETTERS.len()).map_or('0', |letter| char::from(*letter))
        };
        Some((0..length).map(letter).collect())
    }

    fn global(&mut self, name: &str, depth: usize) -> Option<String> {
        match self.values.globals.get(name.trim()).and_then(plain) {
            Some(_) if depth == MAX_DEPTH => {
                self.fail(FormatError::Wrong(format!("global variables name each other more than {MAX_DEPTH} times")))
            }
            Some(text) => {
                let filled = self.fill(&text, depth + 1);
                if filled.len() > MAX_BYTES { self.fail(too_long()) } else { Some(filled) }
            }
            None => self.fail(FormatError::Wrong(format!("QuickAdd has no global variable {:?}", name.trim()))),
        }
    }
}

fn is_number(days: &str) -> bool {
    let digits = days.strip_prefix('-').unwrap_or(days);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A string, number or boolean.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
