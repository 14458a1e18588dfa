//! Command lines for trying out a vault.

use atlas_access::Caller;
use atlas_ops::{Call, Entry, Error, dispatch};
use atlas_tools::bridge::context_current::ContextCurrent;
use atlas_tools::bridge::query::Query;
use atlas_tools::notes::list_notes::ListNotes;
use atlas_web::App;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

/// Command lines that work on this vault.
pub(crate) async fn lines(app: &App, url: &str) -> Vec<String> {
    let mut lines = vec![format!("curl -s {url}/health")];
    let listed = match call(app, atlas_tools::entry::<ListNotes>(), json!({ "limit": 1 })).await {
        Ok(listed) => listed,
        Err(error) => {
            lines.push(unreadable(&error));
            return lines;
        }
    };
    if call(app, atlas_tools::entry::<ContextCurrent>(), json!({ "max_sources": 1 })).await.is_ok() {
        lines.push(post(url, "/context/current", &json!({ "max_sources": 3 })));
    }
    if call(app, atlas_tools::entry::<Query>(), json!({ "question": "components" })).await.is_ok() {
        lines.push(post(url, "/query", &json!({ "question": "What are the components?" })));
    }
    if let Some(path) = listed.pointer("/items/0/path").and_then(Value::as_str) {
        lines.push(post(url, "/find", &json!({ "term": name_of(path) })));
        lines.push(format!("curl -s '{url}/notes?limit=5'"));
        lines.push(format!("curl -s {url}/notes/{} -H 'accept: text/markdown'", encoded(path)));
    }
    lines
}

async fn call(app: &App, operation: &'static Entry, arguments: Value) -> Result<Value, Error> {
    let call = Call::new(operation, arguments, Caller::trusted("host"), Timestamp::now);
    Ok(dispatch(&app.atlas, call).await?.value)
}

/// Why there is nothing to try, as a shell comment. It has the whole reason, since its reader starts the server.
fn unreadable(error: &Error) -> String {
    let reason = if error.reason() == "vault_not_published" {
        let root = std::env::var_os("ATLAS_VAULT_ROOT");
        let of = root
            .map_or_else(String::new, |root| format!(", which takes {} (ATLAS_VAULT_ROOT)", root.to_string_lossy()));
        format!("the vault is not published yet: run `atlas sync`{of}")
    } else {
        error.internal.as_ref().map_or_else(|| error.message.clone(), |why| format!("{} ({why})", error.message))
    };
    format!("# {}", reason.replace(['\n', '\r'], " "))
}

/// A vault path encoded for a URL that a shell does not change.
fn encoded(path: &str) -> impl std::fmt::Display {
    const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');
    utf8_percent_encode(path, PATH)
}

/// A line that posts `body`.
pub(crate) fn post(url: &str, route: &str, body: &Value) -> String {
    let body = body.to_string().replace('\'', "'\\''");
    format!("curl -s {url}{route} -H 'content-type: application/json' -d '{body}'")
}

/// The name of a note of the vault.
pub(crate) async fn first_name(app: &App) -> Option<String> {
    let listed = call(app, atlas_tools::entry::<ListNotes>(), json!({ "limit": 1 })).await.ok()?;
    listed.pointer("/items/0/path").and_then(Value::as_str).map(|path| name_of(path).to_owned())
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md")
}

/// The routes of the Atlas Local Bridge that this vault cannot answer, and why.
pub(crate) async fn unanswered(app: &App) -> Vec<(&'static str, String)> {
    let routes = [
        ("POST /context/current", atlas_tools::entry::<ContextCurrent>(), json!({ "max_sources": 1 })),
        ("POST /query", atlas_tools::entry::<Query>(), json!({ "question": "components" })),
    ];
    let mut unanswered = Vec::new();
    for (route, operation, arguments) in routes {
        if let Err(error) = call(app, operation, arguments).await {
            unanswered.push((route, error.message));
        }
    }
    unanswered
}
