//! Values, as both languages have them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::regexes::Pattern;
use crate::time::{Date, Duration};

pub use link::{Link, Target};

pub(crate) use link::title as link_title;

mod link;

/// Names and values, in the order in which they were set.
pub type Object = IndexMap<Arc<str>, Value>;

/// Longest text of a value, in bytes.
pub(crate) const MAX_VALUE_BYTES: usize = 1024 * 1024;

/// A value. To clone one costs no more than to count a reference.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// Nothing: a property that a note has not.
    #[default]
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number; may be infinite or not a number, as in JavaScript.
    Number(f64),
    /// Text.
    Text(Arc<str>),
    /// A day or a moment.
    Date(Arc<Date>),
    /// A length of time.
    Duration(Arc<Duration>),
    /// A link to a note, or to something in it.
    Link(Arc<Link>),
    /// Values in order.
    List(Arc<Vec<Value>>),
    /// Values by name.
    Object(Arc<Object>),
    /// A note with its properties: a row, or `this`.
    Page(Arc<Page>),
    /// A file by its path: what `file` is of a row. Its fields are looked up when they are asked for.
    File(Arc<str>),
    /// A regular expression (Bases).
    Regex(Arc<Pattern>),
    /// An image by its path or address (Bases).
    Image(Arc<str>),
    /// An icon by its name (Bases).
    Icon(Arc<str>),
    /// HTML (Bases).
    Html(Arc<str>),
    /// Something that Dataview shows in a way of its own.
    Widget(Arc<Widget>),
    /// A function that the expression wrote (Dataview).
    Function(Function),
}

/// A function that an expression wrote. Only the evaluator knows what is in it.
#[derive(Clone)]
pub struct Function(pub(crate) Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function")
    }
}

/// A note, seen as an object.
#[derive(Debug, Clone)]
pub struct Page {
    /// Its path in the vault.
    pub path: Arc<str>,
    /// Fields that hide the note's: those of `FLATTEN`, or of a task in the note.
    pub over: Object,
}

/// Values that Dataview shows in its own way.
#[derive(Debug, Clone)]
pub enum Widget {
    /// A link out of the vault: its address and what is shown.
    ExternalLink(Arc<str>, Arc<str>),
    /// A key and its value: an entry of `LIST`.
    Pair(Value, Value),
}

impl Value {
    /// Text.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// A list.
    #[must_use]
    pub fn list(values: Vec<Value>) -> Self {
        Self::List(Arc::new(values))
    }

    /// An object.
    #[must_use]
    pub fn object(object: Object) -> Self {
        Self::Object(Arc::new(object))
    }

    /// A date.
    #[must_use]
    pub fn date(date: Date) -> Self {
        Self::Date(Arc::new(date))
    }

    /// A duration.
    #[must_use]
    pub fn duration(duration: Duration) -> Self {
        Self::Duration(Arc::new(duration))
    }

    /// A link.
    #[must_use]
    pub fn link(link: Link) -> Self {
        Self::Link(Arc::new(link))
    }

    /// The note at `path`.
    #[must_use]
    pub fn page(path: impl Into<Arc<str>>) -> Self {
        Self::Page(Arc::new(Page { path: path.into(), over: Object::new() }))
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Its text, if it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// The number, or a duration's milliseconds.
    pub(crate) fn as_amount(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Duration(duration) => Some(duration.millis()),
            _ => None,
        }
    }

    /// The values, if it is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }

    /// The name that Dataview gives to its type; what only Bases has, has Bases' name.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::Date(_) => "date",
            Self::Duration(_) => "duration",
            Self::Link(_) => "link",
            Self::List(_) => "array",
            Self::Object(_) | Self::Page(_) | Self::File(_) => "object",
            Self::Regex(_) => "regexp",
            Self::Image(_) => "image",
            Self::Icon(_) => "icon",
            Self::Html(_) => "html",
            Self::Widget(_) => "widget",
            Self::Function(_) => "function",
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<usize> for Value {
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
    fn from(value: usize) -> Self {
        Self::Number(value as f64)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::text(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::text(value)
    }
}

impl From<Vec<Value>> for Value {
    fn from(values: Vec<Value>) -> Self {
        Self::list(values)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
