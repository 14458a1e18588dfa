//! `/notes`, `/notes/{path}`, `/move/{path}`, `/restore/{path}`, `/history/{path}`: lists, reads, writes, deletes,
//! moves and restores notes, and returns their history. `/list_approvals`, `/approve`, `/refuse`: the calls that wait
//! for approval. A path can also be given as `?path=…`, since API gateways decode paths and cut them at `?`.

mod representation;

use atlas_ops::pipeline::gates::arguments_of_calls;
use atlas_ops::{Entry, Error, Operation as _, Reason};
use atlas_tools::Listed;
use atlas_tools::access::approve::Approve;
use atlas_tools::access::inspect_acl::InspectAcl;
use atlas_tools::access::list_approvals::ListApprovals;
use atlas_tools::access::refuse::Refuse;
use atlas_tools::history::note_history::NoteHistory;
use atlas_tools::history::restore_note::RestoreNote;
use atlas_tools::notes::delete_note::DeleteNote;
use atlas_tools::notes::edit_note::EditNote;
use atlas_tools::notes::list_notes::ListNotes;
use atlas_tools::notes::move_note::MoveNote;
use atlas_tools::notes::read_note::ReadNote;
use atlas_tools::notes::upsert_note::UpsertNote;
use atlas_tools::notes::write_note::WriteNote;
use atlas_web::openapi::{JSON, MARKDOWN, ParameterPlace, Route, RouteAnswer, RouteParameter};
use atlas_web::routes::{CONFIRMATION, KEY, SESSION, VAULT, call};
use atlas_web::state::Offer;
use atlas_web::{Door, Routes, request, response};
use axum::body::Body;
use axum::http::header::{HeaderName, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::routing::{delete as delete_method, get, patch, post, put};
use serde_json::{Map, Value};

const PATH: RouteParameter = RouteParameter {
    name: "path",
    place: ParameterPlace::Path,
    description: "The note's path; slashes need no encoding.",
};

const LIST: Route = Route::get("/notes", atlas_tools::entry::<ListNotes>());
const READ: Route = Route::get("/notes/{path}", atlas_tools::entry::<ReadNote>()).with(&[PATH]).answering(&[
    RouteAnswer { media_types: &[JSON, MARKDOWN], ..RouteAnswer::OK },
    RouteAnswer { status: 304, description: "The caller has it: `If-None-Match` names its ETag.", media_types: &[] },
]);

/// The answers of routes that may create a note.
const CREATES: [RouteAnswer; 2] = [RouteAnswer::OK, RouteAnswer::CREATED];
/// The bodies of routes that take a whole note.
const NOTE: [&str; 2] = [JSON, MARKDOWN];
/// The version that a new one replaces.
const REPLACED: RouteParameter = RouteParameter {
    name: "If-Match",
    place: ParameterPlace::Header,
    description: "The ETag of the version to replace, or `*`.",
};
/// The operations of those routes.
const TAKE_NOTES: [&str; 2] = [WriteNote::INFO.name, UpsertNote::INFO.name];

const WRITE: Route = Route::put("/notes/{path}", atlas_tools::entry::<WriteNote>())
    .with(&[
        PATH,
        REPLACED,
        RouteParameter {
            name: "If-None-Match",
            place: ParameterPlace::Header,
            description: "`*`: only if there is no note.",
        },
    ])
    .answering(&CREATES)
    .taking(&NOTE);

const EDIT: Route = Route::patch("/notes/{path}", atlas_tools::entry::<EditNote>()).with(&[
    PATH,
    RouteParameter { name: "If-Match", place: ParameterPlace::Header, description: "The ETag of the version to edit." },
]);
const UPSERT: Route =
    Route::post("/notes/{path}", atlas_tools::entry::<UpsertNote>()).with(&[PATH]).answering(&CREATES).taking(&NOTE);
const DELETE: Route = Route::delete("/notes/{path}", atlas_tools::entry::<DeleteNote>()).with(&[
    PATH,
    RouteParameter {
        name: "If-Match",
        place: ParameterPlace::Header,
        description: "The ETag of the version to delete.",
    },
]);
const MOVE: Route = Route::post("/move/{from}", atlas_tools::entry::<MoveNote>()).with(&[
    RouteParameter { name: "from", ..PATH },
    RouteParameter { name: "If-Match", place: ParameterPlace::Header, description: "The ETag of the version to move." },
]);
const HISTORY: Route = Route::get("/history/{path}", atlas_tools::entry::<NoteHistory>()).with(&[PATH]);

const RESTORE: Route = Route::post("/restore/{path}", atlas_tools::entry::<RestoreNote>())
    .with(&[PATH, REPLACED])
    .answering(&CREATES)
    .needing_body();

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    let (list, read) = (atlas_tools::entry::<ListNotes>(), atlas_tools::entry::<ReadNote>());
    let (write, edit, upsert) =
        (atlas_tools::entry::<WriteNote>(), atlas_tools::entry::<EditNote>(), atlas_tools::entry::<UpsertNote>());
    let (delete, moves) = (atlas_tools::entry::<DeleteNote>(), atlas_tools::entry::<MoveNote>());
    let (history, restore) = (atlas_tools::entry::<NoteHistory>(), atlas_tools::entry::<RestoreNote>());
    Routes::default()
        .describe(LIST)
        .serve("/notes", &[list, read], get(list_or_read))
        .describe(READ)
        .serve("/notes/{*path}", &[read], get(read_at_path))
        .describe(WRITE)
        .serve("/notes", &[write], put(write_at_parameter::<WriteNote>))
        .serve("/notes/{*path}", &[write], put(write_at_path::<WriteNote>))
        .describe(EDIT)
        .serve("/notes", &[edit], patch(write_at_parameter::<EditNote>))
        .serve("/notes/{*path}", &[edit], patch(write_at_path::<EditNote>))
        .describe(UPSERT)
        .serve("/notes", &[upsert], post(write_at_parameter::<UpsertNote>))
        .serve("/notes/{*path}", &[upsert], post(write_at_path::<UpsertNote>))
        .describe(DELETE)
        .serve("/notes", &[delete], delete_method(delete_at_parameter))
        .serve("/notes/{*path}", &[delete], delete_method(delete_at_path))
        .describe(MOVE)
        .serve("/move", &[moves], post(write_at_parameter::<MoveNote>))
        .serve("/move/{*path}", &[moves], post(move_at_path))
        .describe(HISTORY)
        .serve("/history", &[history], get(history_at_parameter))
        .serve("/history/{*path}", &[history], get(history_at_path))
        .describe(RESTORE)
        .serve("/restore", &[restore], post(restore_at_parameter))
        .serve("/restore/{*path}", &[restore], post(restore_at_path))
        .post("/list_approvals", atlas_tools::entry::<ListApprovals>())
        .post("/approve", atlas_tools::entry::<Approve>())
        .post("/refuse", atlas_tools::entry::<Refuse>())
        .post("/inspect_acl", atlas_tools::entry::<InspectAcl>())
}

/// A list, or the note at `path`. If one of the two operations is disabled, the route behaves as if only the other
/// existed.
async fn list_or_read(door: Door, uri: Uri) -> Response {
    let is_there = |operation: &Entry| door.app.offers(operation) != Offer::Disabled;
    let (lists, reads) = (is_there(atlas_tools::entry::<ListNotes>()), is_there(atlas_tools::entry::<ReadNote>()));
    match request::parameters(&uri) {
        Ok(parameters) if reads && (parameters.contains_key("path") || !lists) => read(&door, parameters).await,
        Ok(mut parameters) => {
            request::number(&mut parameters, "limit");
            request::flag(&mut parameters, "recursive");
            request::flag(&mut parameters, "include_folders");
            if let Some(Value::String(extensions)) = parameters.get("extensions") {
                let extensions = extensions.split(',').map(str::trim).filter(|extension| !extension.is_empty());
                let extensions = Value::from_iter(extensions);
                parameters.insert("extensions".to_owned(), extensions);
            }
            call(&door, atlas_tools::entry::<ListNotes>(), Value::Object(parameters)).await.respond(response::ok)
        }
        Err(error) => response::error(&error),
    }
}

async fn read_at_path(door: Door, uri: Uri) -> Response {
    match arguments_at_path(&uri, "/notes/") {
        Ok(arguments) => read(&door, arguments).await,
        Err(error) => response::error(&error),
    }
}

async fn read(door: &Door, mut arguments: Map<String, Value>) -> Response {
    request::number(&mut arguments, "offset");
    request::number(&mut arguments, "generation");
    for part in ["include_content", "include_frontmatter", "include_stats", "render_queries"] {
        request::flag(&mut arguments, part);
    }
    let called = call(door, atlas_tools::entry::<ReadNote>(), Value::Object(arguments)).await;
    called.respond(|answer| representation::of(&door.headers, answer))
}

async fn write_at_path<O: Listed>(door: Door, uri: Uri, body: Body) -> Response {
    write(&door, atlas_tools::entry::<O>(), arguments_at_path(&uri, "/notes/"), body).await
}

async fn write_at_parameter<O: Listed>(door: Door, uri: Uri, body: Body) -> Response {
    write(&door, atlas_tools::entry::<O>(), request::parameters(&uri), body).await
}

async fn move_at_path(door: Door, uri: Uri, body: Body) -> Response {
    let arguments = arguments_at(&uri, "/move/", "from");
    write(&door, atlas_tools::entry::<MoveNote>(), arguments, body).await
}

async fn write(
    door: &Door,
    operation: &'static Entry,
    parameters: Result<Map<String, Value>, Error>,
    body: Body,
) -> Response {
    let arguments = async {
        let mut arguments = parameters?;
        // A page on another site can make a browser post to any address, but not with a JSON body.
        if let Some(name) = arguments.keys().find(|name| !["path", "from"].contains(&name.as_str())) {
            let message = format!("{name}: {}", elsewhere(operation, name));
            return Err(Error::bad_request(Reason::ValidationError, message).with("field", name.as_str()));
        }
        add_preconditions(&mut arguments, &door.headers)?;
        let body = match TAKE_NOTES.contains(&operation.info.name) {
            true => request::note(&door.headers, body).await?,
            false => request::json(&door.headers, body).await?,
        };
        if let Value::Object(body) = body {
            for (name, value) in body {
                add(&mut arguments, &name, value)?;
            }
        }
        Ok(Value::Object(arguments))
    };
    let arguments = match arguments.await {
        Ok(arguments) => arguments,
        Err(error) => return response::error(&error),
    };
    let called = call(door, operation, arguments).await;
    called.respond(|answer| {
        let mut response = response::ok(answer);
        if answer.value.get("created") == Some(&Value::from(true)) {
            *response.status_mut() = StatusCode::CREATED;
        }
        let sha256 = answer.value.get("sha256").and_then(Value::as_str).unwrap_or_default();
        response::insert_etag(&mut response, sha256);
        response
    })
}

/// How to give the parameter `name` of the query to a route that takes its arguments elsewhere.
fn elsewhere(operation: &Entry, name: &str) -> String {
    // Left out, the key, the token or the session would make another call of this one.
    let header = match name {
        "vault" => return format!("give it as the header {VAULT}"),
        "idempotency_key" | "bulk_idempotency_key" => KEY,
        "elicit_token" => CONFIRMATION,
        "session" => SESSION,
        _ if takes(operation, name) => return "give it in the body".to_owned(),
        _ => return "this route has no such argument; leave it out".to_owned(),
    };
    match arguments_of_calls(&operation.info).any(|(own, _)| own == name) {
        true => format!("give it in the body, or as the header {header}"),
        false => format!("give it as the header {header}"),
    }
}

/// Whether an operation has an argument of this name, or takes another by it.
fn takes(operation: &Entry, name: &str) -> bool {
    let is_alias = operation.info.aliases.iter().any(|alias| alias.given() == name);
    is_alias || operation.arguments_schema()["properties"].get(name).is_some()
}

async fn delete_at_path(door: Door, uri: Uri) -> Response {
    delete(&door, arguments_at_path(&uri, "/notes/")).await
}

async fn delete_at_parameter(door: Door, uri: Uri) -> Response {
    delete(&door, request::parameters(&uri)).await
}

async fn delete(door: &Door, parameters: Result<Map<String, Value>, Error>) -> Response {
    let arguments = parameters.and_then(|mut arguments| {
        request::flag(&mut arguments, "hard");
        add_preconditions(&mut arguments, &door.headers)?;
        Ok(Value::Object(arguments))
    });
    match arguments {
        Ok(arguments) => call(door, atlas_tools::entry::<DeleteNote>(), arguments).await.respond(response::ok),
        Err(error) => response::error(&error),
    }
}

async fn history_at_path(door: Door, uri: Uri) -> Response {
    history(&door, arguments_at_path(&uri, "/history/")).await
}

async fn history_at_parameter(door: Door, uri: Uri) -> Response {
    history(&door, request::parameters(&uri)).await
}

async fn history(door: &Door, parameters: Result<Map<String, Value>, Error>) -> Response {
    match parameters {
        Ok(mut arguments) => {
            request::number(&mut arguments, "limit");
            request::number(&mut arguments, "before");
            call(door, atlas_tools::entry::<NoteHistory>(), Value::Object(arguments)).await.respond(response::ok)
        }
        Err(error) => response::error(&error),
    }
}

async fn restore_at_path(door: Door, uri: Uri, body: Body) -> Response {
    restore(&door, arguments_at_path(&uri, "/restore/"), body).await
}

async fn restore_at_parameter(door: Door, uri: Uri, body: Body) -> Response {
    restore(&door, request::parameters(&uri), body).await
}

async fn restore(door: &Door, parameters: Result<Map<String, Value>, Error>, body: Body) -> Response {
    // No argument is required, so a body that says nothing has to be JSON too.
    let parameters = request::said_to_be_json(&door.headers).and(parameters);
    write(door, atlas_tools::entry::<RestoreNote>(), parameters, body).await
}

/// The parameters of the query, and the path after `prefix` as the argument `path`.
fn arguments_at_path(uri: &Uri, prefix: &str) -> Result<Map<String, Value>, Error> {
    arguments_at(uri, prefix, "path")
}

/// Like [`arguments_at_path`], with the path as the argument `name`.
fn arguments_at(uri: &Uri, prefix: &str, name: &str) -> Result<Map<String, Value>, Error> {
    let mut arguments = request::parameters(uri)?;
    add(&mut arguments, name, Value::from(request::path_after(uri, prefix)?))?;
    Ok(arguments)
}

fn add_preconditions(arguments: &mut Map<String, Value>, headers: &HeaderMap) -> Result<(), Error> {
    for (name, header) in [("if_match", IF_MATCH), ("if_none_match", IF_NONE_MATCH)] {
        if let Some(tags) = entity_tags(headers, &header) {
            add(arguments, name, Value::from(tags))?;
        }
    }
    Ok(())
}

fn add(arguments: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), Error> {
    match arguments.insert(name.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(Error::bad_request(Reason::ValidationError, format!("{name} is given twice"))),
    }
}

/// The entity tags of a precondition without their quotes, comma-separated (RFC 9110, section 13.1); a weak one stays
/// unchanged, and so matches nothing.
fn entity_tags(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let values: Vec<&str> = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default()).collect();
    let tags = values.iter().flat_map(|value| value.split(',')).map(str::trim);
    let tags: Vec<&str> =
        tags.map(|tag| tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap_or(tag)).collect();
    (!values.is_empty()).then(|| tags.join(","))
}
