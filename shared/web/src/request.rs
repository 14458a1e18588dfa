//! Bodies and paths of requests, within limits.

use atlas_ops::{Code, Error, Reason};
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::openapi::MARKDOWN;

/// Most bytes of a body.
pub const MAX_BODY_BYTES: usize = 1 << 20;
/// How to send JSON.
const NO_JSON: &str = "send the body as JSON, with the header `Content-Type: application/json`";
/// How to send a note.
const NO_NOTE: &str = "send the note itself, with the header `Content-Type: text/markdown`, or its arguments as JSON, with `Content-Type: application/json`";

/// The JSON object in `body`; an empty body is an empty object. The greatest depth is 128.
///
/// # Errors
/// When it is too large, is not declared as JSON, or is not JSON.
pub async fn json(headers: &HeaderMap, body: Body) -> Result<Value, Error> {
    json_or(headers, body, NO_JSON).await
}

/// Like [`json`], with the message for a body that is not declared as JSON.
async fn json_or(headers: &HeaderMap, body: Body, no_json: &str) -> Result<Value, Error> {
    let bytes = bytes(body).await?;
    if bytes.is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    if !is_json(headers) {
        return Err(Error::bad_request(Reason::ContentTypeInvalid, no_json));
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| Error::bad_request(Reason::JsonInvalid, format!("the body is not JSON: {error}")))
}

fn is_json(headers: &HeaderMap) -> bool {
    essence(headers).is_some_and(|essence| essence == "application/json" || essence.ends_with("+json"))
}

/// Checks that the body is declared as JSON, which a page on another site cannot send without a preflight request.
///
/// # Errors
/// When it is not.
pub fn said_to_be_json(headers: &HeaderMap) -> Result<(), Error> {
    if is_json(headers) { Ok(()) } else { Err(Error::bad_request(Reason::ContentTypeInvalid, NO_JSON)) }
}

/// A note: the JSON object in `body`, or an object whose `content` is the body's markdown.
///
/// # Errors As [`json`], and for markdown that is not UTF-8.
pub async fn note(headers: &HeaderMap, body: Body) -> Result<Value, Error> {
    if essence(headers).as_deref() != Some(MARKDOWN) {
        return json_or(headers, body, NO_NOTE).await;
    }
    let content = String::from_utf8(bytes(body).await?.into());
    let content = content.map_err(|_| Error::bad_request(Reason::BodyInvalid, "send the markdown in UTF-8"))?;
    Ok(Value::Object(serde_json::Map::from_iter([("content".to_owned(), Value::from(content))])))
}

/// The bytes of a body.
///
/// # Errors
/// When it is too large, or incomplete.
pub async fn bytes(body: Body) -> Result<Bytes, Error> {
    match Limited::new(body, MAX_BODY_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Error::new(
            Code::TooLarge,
            Reason::BodyTooLarge,
            format!("the body has more than {MAX_BODY_BYTES} bytes"),
        )),
        Err(error) if is_slow(&*error) => {
            let message = "the body did not come in time: send less at once, or over a faster connection";
            Err(Error::bad_request(Reason::BodyTooSlow, message))
        }
        Err(_) => Err(Error::bad_request(Reason::BodyUnreadable, "the body was cut short")),
    }
}

/// The error that the body of a request did not arrive in time.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the body did not come in time")]
pub(crate) struct Slow;

fn is_slow(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source()).any(<dyn std::error::Error>::is::<Slow>)
}

/// The media type of the body, without parameters, in lower case.
fn essence(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(|essence| essence.trim().to_ascii_lowercase())
}

/// The part of the path after `prefix`, percent-decoded once.
///
/// # Errors
/// When it is not UTF-8.
pub fn path_after(uri: &Uri, prefix: &str) -> Result<String, Error> {
    decode(uri.path().strip_prefix(prefix).unwrap_or_default())
}

/// The query's parameters, decoded.
///
/// # Errors
/// When one is not UTF-8, or occurs twice.
pub fn parameters(uri: &Uri) -> Result<serde_json::Map<String, Value>, Error> {
    form(uri.query().unwrap_or_default())
}

/// The fields of a form (`application/x-www-form-urlencoded`), decoded.
///
/// # Errors
/// When one is not UTF-8, or occurs twice.
pub fn form(text: &str) -> Result<serde_json::Map<String, Value>, Error> {
    let mut parameters = serde_json::Map::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(&name.replace('+', " "))?, decode(&value.replace('+', " "))?);
        if parameters.insert(name.clone(), Value::from(value)).is_some() {
            return Err(Error::bad_request(Reason::ValidationError, format!("{name} is given twice")));
        }
    }
    // Sorted, so that of several faults the same one is always reported.
    parameters.sort_keys();
    Ok(parameters)
}

/// Converts parameter `name` from a text to a number, if it is one.
pub fn number(parameters: &mut serde_json::Map<String, Value>, name: &str) {
    if let Some(value) = parameters.get_mut(name)
        && let Some(number) = value.as_str().and_then(|text| text.parse::<u64>().ok())
    {
        *value = Value::from(number);
    }
}

/// Converts parameter `name` from a text to a boolean, if it is one.
pub fn flag(parameters: &mut serde_json::Map<String, Value>, name: &str) {
    if let Some(value) = parameters.get_mut(name)
        && let Some(flag) = value.as_str().and_then(|text| text.parse::<bool>().ok())
    {
        *value = Value::from(flag);
    }
}

/// A percent-encoded part of a URL, decoded once.
///
/// # Errors
/// When it is not UTF-8.
pub fn decode(text: &str) -> Result<String, Error> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| Error::bad_request(Reason::PathInvalid, "a percent-encoded part of the URL is not UTF-8"))
}
