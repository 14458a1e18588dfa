//! Argument types that contain only valid values, and decoding whose errors name the field.

pub(crate) mod form;
mod located;
mod path;

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use atlas_vault::VaultPath;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use self::located::{Fault, Reader};
pub use self::path::{ReadPath, WritePath};
use crate::error::{Error, Reason};

/// The argument of all operations that names the vault, for doors without headers.
pub const VAULT: &str = "vault";

/// An integer from `MIN` to `MAX`; `DEFAULT` if omitted. As in JSON Schema, `10.0` is an integer too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bounded<const MIN: u32, const MAX: u32, const DEFAULT: u32 = MIN>(u32);

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> Default for Bounded<MIN, MAX, DEFAULT> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> Bounded<MIN, MAX, DEFAULT> {
    /// `number`, clamped to the range.
    pub fn nearest(number: u32) -> Self {
        Self(number.clamp(MIN, MAX))
    }

    /// The number.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

impl<'de, const MIN: u32, const MAX: u32, const DEFAULT: u32> Deserialize<'de> for Bounded<MIN, MAX, DEFAULT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        whole(&number, MIN, MAX).map(Self).map_err(D::Error::custom)
    }
}

/// The number, if it is an integer from `min` to `max`; else what it must be.
fn whole(number: &serde_json::Number, min: u32, max: u32) -> Result<u32, String> {
    match number.as_f64().filter(|number| number.fract() == 0.0) {
        Some(whole) if (f64::from(min)..=f64::from(max)).contains(&whole) => Ok(whole as u32),
        // The largest number that there is, is no bound that a caller could know.
        _ if max == u32::MAX => Err(format!("must be an integer, {min} at least")),
        _ => Err(format!("must be an integer from {min} to {max}")),
    }
}

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> JsonSchema for Bounded<MIN, MAX, DEFAULT> {
    fn schema_name() -> Cow<'static, str> {
        format!("Integer{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of_whole(MIN, MAX)
    }
}

#[inline(never)]
fn schema_of_whole(min: u32, max: u32) -> Schema {
    json_schema!({ "type": "integer", "minimum": min, "maximum": max })
}

/// A text of 1 to `MAX` characters that is not all white space; surrounding white space is removed.
pub type Text<const MAX: usize> = BoundedText<MAX, true>;
/// A text of 1 to `MAX` characters, unchanged.
pub type Exact<const MAX: usize> = BoundedText<MAX, false>;

/// A text of 1 to `MAX` characters, after surrounding white space was removed if it is `TRIMMED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BoundedText<const MAX: usize, const TRIMMED: bool>(String);

impl<const MAX: usize, const TRIMMED: bool> BoundedText<MAX, TRIMMED> {
    /// Checks a text; the error is what is wrong with it.
    pub fn new(text: &str) -> Result<Self, String> {
        written(text, MAX, TRIMMED).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The result of `rewrite`, whatever its length.
    pub fn map(&self, rewrite: impl FnOnce(&str) -> String) -> Self {
        Self(rewrite(&self.0))
    }
}

fn written(text: &str, max: usize, trimmed: bool) -> Result<String, String> {
    let kept = if trimmed { text.trim() } else { text };
    if kept.is_empty() {
        return Err("must not be empty".to_owned());
    }
    if kept.chars().nth(max).is_some() {
        return Err(format!("must be at most {max} characters"));
    }
    Ok(kept.to_owned())
}

impl<'de, const MAX: usize, const TRIMMED: bool> Deserialize<'de> for BoundedText<MAX, TRIMMED> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(D::Error::custom)
    }
}

impl<const MAX: usize, const TRIMMED: bool> JsonSchema for BoundedText<MAX, TRIMMED> {
    fn schema_name() -> Cow<'static, str> {
        format!("TextUpTo{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of_written(MAX)
    }
}

#[inline(never)]
fn schema_of_written(max: usize) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": max })
}

/// The reason, for the log.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Message(Text<4096>);

impl Message {
    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Change the note only if its SHA-256 is this one, or one of these, comma-separated.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Versions(Text<4096>);

impl Versions {
    /// The list.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// The name of a time zone.
pub type Zone = Text<100>;

/// The default of an argument that is true if omitted.
pub const fn yes() -> bool {
    true
}

/// An argument that may be omitted but not be null. Its field has `#[serde(default)]`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Given<T>(pub Option<T>);

impl<T> Given<T> {
    /// Whether it was omitted.
    pub const fn is_left_out(&self) -> bool {
        self.0.is_none()
    }
}

impl<T: fmt::Debug> fmt::Debug for Given<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Default for Given<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Deref for Given<T> {
    type Target = Option<T>;

    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Self(Some(value)))
    }
}

impl<T: JsonSchema> JsonSchema for Given<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// The vault path in argument `field`.
///
/// # Errors
/// When it is not a valid path; says why.
pub fn path(field: &str, text: &str) -> Result<VaultPath, Error> {
    VaultPath::parse(text)
        .map_err(|error| Error::bad_request(Reason::PathInvalid, format!("{field}: {error}")).with("field", field))
}

/// The error for a value of argument `field` that is invalid in obsidian-tc's tools.
pub fn invalid_input(field: &str, message: &str) -> Error {
    Error::bad_request(Reason::InvalidInput, format!("{field}: {message}")).with("field", field)
}

/// A folder of the vault, or the whole vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Root(String);

impl Root {
    /// The folder in argument `field`, with or without a slash at its end; the whole vault if it is empty.
    ///
    /// # Errors
    /// When it is not a valid path; says why.
    pub fn of(field: &str, text: &str) -> Result<Self, Error> {
        match text.trim_end_matches('/') {
            "" if text.len() <= 1 => Ok(Self::default()),
            folder => Ok(Self(format!("{}/", path(field, folder)?))),
        }
    }

    /// The folder at a path.
    pub(crate) fn below(folder: &str) -> Self {
        Self(format!("{folder}/"))
    }

    /// The prefix of the paths of its files.
    pub fn prefix(&self) -> &str {
        &self.0
    }

    /// Whether the file at `path` is in it.
    pub fn holds(&self, path: &str) -> bool {
        path.starts_with(&self.0)
    }
}

/// Decodes arguments; the error names the invalid field and what it must be.
///
/// # Errors
/// When they are not an object, or not the arguments of the operation.
pub fn decode<A: DeserializeOwned>(arguments: Value) -> Result<A, Error> {
    if !arguments.is_object() {
        return Err(Error::bad_request(Reason::ValidationError, "the arguments must be a JSON object"));
    }
    A::deserialize(Reader(arguments)).map_err(refused)
}

#[cold]
fn refused(fault: Fault) -> Error {
    let (field, mut cause) = (fault.way(), fault.cause());
    // Every operation takes the vault, which is not among its own fields.
    if cause == format!("unknown field `{field}`, there are no fields") {
        cause = format!("unknown field `{field}`, expected `{VAULT}`");
    }
    let reason = if fault.is_path() { Reason::PathInvalid } else { Reason::ValidationError };
    if field.is_empty() {
        let missing = cause.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')).map(str::to_owned);
        let error = Error::bad_request(reason, cause);
        missing.into_iter().fold(error, |error, field| error.with("field", field))
    } else {
        Error::bad_request(reason, format!("{field}: {cause}")).with("field", field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Arguments {
        #[serde(default)]
        count: Given<Bounded<1, 50>>,
        term: Text<10>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    fn message(arguments: Value) -> String {
        decode::<Arguments>(arguments).unwrap_err().message
    }

    #[test]
    fn what_is_in_range_is_taken() {
        let arguments: Arguments = decode(json!({ "term": " now\n", "count": 50.0 })).unwrap();
        assert_eq!((arguments.term.as_str(), arguments.count.map(Bounded::get)), ("now", Some(50)));
    }

    #[test]
    fn a_folder_has_what_is_below_it() {
        for (text, path, expected) in [
            ("", "a.md", true),
            ("/", "a.md", true),
            ("a", "a/b.md", true),
            ("a/b/", "a/b/c.md", true),
            ("a", "ab.md", false),
            ("a", "a", false),
        ] {
            assert_eq!(Root::of("root", text).unwrap().holds(path), expected, "{text} {path}");
        }
        assert_eq!(Root::of("root", "../a").unwrap_err().reason(), "path_invalid");
    }

    #[test]
    fn what_is_not_is_named() {
        for count in [json!(0), json!(51), json!(1.5), json!(-1), json!(1e300)] {
            assert_eq!(message(json!({ "term": "now", "count": count })), "count: must be an integer from 1 to 50");
        }
        let unbounded = whole(&serde_json::Number::from(0), 1, u32::MAX);
        assert_eq!(unbounded.unwrap_err(), "must be an integer, 1 at least");
        assert!(message(json!({ "term": "now", "count": "3" })).starts_with("count: invalid type: string"));
        assert_eq!(message(json!({ "term": " \t" })), "term: must not be empty");
        assert_eq!(message(json!({ "term": "a term too long" })), "term: must be at most 10 characters");
        assert_eq!(decode::<Arguments>(json!({ "term": "ü".repeat(10) })).unwrap().term.as_str(), "ü".repeat(10));
        assert_eq!(message(json!({})), "missing field `term`");
        let missing = decode::<Arguments>(json!({})).unwrap_err();
        assert_eq!(missing.details["field"], "term");
        assert!(message(json!({ "term": "now", "more": 1 })).starts_with("more: unknown field `more`"));
        assert_eq!(message(json!([])), "the arguments must be a JSON object");
        let none = decode::<Nothing>(json!({ "colour": 1 })).unwrap_err();
        assert_eq!(none.message, "colour: unknown field `colour`, expected `vault`");
        assert!(message(json!({ "term": "now", "count": null })).starts_with("count: invalid type: null"));
    }
}
