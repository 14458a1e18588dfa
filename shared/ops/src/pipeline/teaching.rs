//! Help for failed calls: the valid form of an argument, and the notes that a path may mean.

use atlas_access::Scope;
use atlas_vault::VaultPath;
use serde_json::Value;

use crate::arguments::form::{Form, form};
use crate::call::Entry;
use crate::error::{Error, Reason};
use crate::operation::{Answer, Context};
use crate::pipeline::response_limit::bytes_of;
use crate::read::nearest::{nearest, suggesting};

/// The argument whose path a read resolves.
const PATH: &str = "path";
/// Most values of arguments that are kept for a hint.
const MAX_KEPT: usize = 200;
/// Most bytes of one of them.
const MAX_TEXT: usize = 4096;
/// Most bytes of a form in a message.
const MAX_FORM: usize = 500;

/// The arguments, kept for a hint if the call fails; [`None`] if there are too many.
pub(crate) fn kept(arguments: &Value) -> Option<Value> {
    let mut left = MAX_KEPT;
    is_small(arguments, &mut left).then(|| arguments.clone())
}

fn is_small(value: &Value, left: &mut usize) -> bool {
    let Some(less) = left.checked_sub(1) else { return false };
    *left = less;
    match value {
        Value::String(text) => text.len() <= MAX_TEXT,
        Value::Array(items) => items.iter().all(|item| is_small(item, left)),
        Value::Object(members) => members.values().all(|member| is_small(member, left)),
        _ => true,
    }
}

/// `error` with the valid form of the argument that it names.
#[cold]
pub(crate) fn with_form(error: Error, operation: &Entry, arguments: Option<&Value>) -> Error {
    let Some(field) = error.details.get("field").and_then(Value::as_str).filter(|_| error.is(Reason::ValidationError))
    else {
        return error;
    };
    let form = arguments.and_then(|arguments| form(&operation.arguments_schema(), arguments, field));
    let form = match form {
        Some(Form::Of(form)) => Some(form),
        Some(Form::LeftOut) => return Error { message: format!("{}; leave it out", error.message), ..error },
        None => None,
    };
    let is_shown = |form: &Value| error.message.contains("invalid type") && bytes_of(form) <= MAX_FORM;
    let Some(form) = form.filter(is_shown) else { return error };
    let field = field.rsplit('.').next().unwrap_or(field);
    let name = field.split('[').next().unwrap_or(field);
    let written = if name == field { format!("\"{name}\": {form}") } else { form.to_string() };
    Error { message: format!("{}; write it as {written}", error.message), ..error.with("example", form) }
}

/// Handles a call that failed because a note does not exist. If a read's path, with a folder or `.md` added, is the
/// path of exactly one note, that note is read; else the error lists the most similar names. A write is never
/// redirected.
pub(crate) async fn or_nearest(
    context: &Context<'_>,
    operation: &'static Entry,
    arguments: Option<Value>,
    error: Error,
) -> Result<Answer<Value>, Error> {
    let path = error.details.get(PATH).and_then(Value::as_str).filter(|_| error.is(Reason::NoteNotFound));
    let Some(path) = path.filter(|_| context.caller.scopes().holds(Scope::ReadVault)) else { return Err(error) };
    if error.details.contains_key("suggestions") {
        return Err(error);
    }
    let Ok(found) = nearest(context, path).await else { return Err(error) };
    let meant = found.one.filter(|_| operation.info.only_reads());
    if let Some(arguments) = arguments.zip(meant).and_then(|(arguments, meant)| replaced(arguments, path, meant)) {
        let prepared = operation.prepare(arguments)?;
        for (access, path) in prepared.accesses()? {
            context.check(access, &path)?;
        }
        return prepared.run(context).await;
    }
    Err(suggesting(error, found.like))
}

/// `arguments` with another path instead of `path`, if they contain it.
fn replaced(mut arguments: Value, path: &str, meant: String) -> Option<Value> {
    let place = arguments.get_mut(PATH)?;
    let is_named = VaultPath::parse(place.as_str()?).is_ok_and(|named| named.as_str() == path);
    *place = Value::String(meant);
    is_named.then_some(arguments)
}
