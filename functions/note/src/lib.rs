//! `GET /notes`, `GET /notes/{path}`: lists and reads notes. A path can also be given as `/notes?path=…`,
//! since API gateways decode paths and cut them at `?`.

mod representation;

use atlas_ops::list_notes::ListNotes;
use atlas_ops::read_note::ReadNote;
use atlas_ops::{Entry, Error};
use atlas_web::openapi::{Route, RouteParameter};
use atlas_web::routes::call;
use atlas_web::{App, Routes, request, response};
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::get;
use serde_json::Value;

const LIST: Route = Route::get("/notes", Entry::of::<ListNotes>()).with(&[
    RouteParameter { name: "prefix", in_path: false, description: "Only paths that begin so." },
    RouteParameter { name: "limit", in_path: false, description: "Most notes to return, up to 1000." },
    RouteParameter { name: "cursor", in_path: false, description: "The cursor of the page before." },
]);
const READ: Route = Route::get("/notes/{path}", Entry::of::<ReadNote>()).with(&[
    RouteParameter { name: "path", in_path: true, description: "The note's path; its slashes may stand as they are." },
    RouteParameter {
        name: "offset",
        in_path: false,
        description: "The byte to begin at, for notes that come in pages.",
    },
]);

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    Routes::default()
        .describe(LIST)
        .add("/notes", get(list_or_read))
        .describe(READ)
        .add("/notes/{*path}", get(read_at_path))
}

async fn list_or_read(State(app): State<App>, headers: HeaderMap, uri: Uri) -> Response {
    match request::parameters(&uri) {
        Ok(parameters) if parameters.contains_key("path") => read(&app, &headers, parameters).await,
        Ok(mut parameters) => {
            request::number(&mut parameters, "limit");
            call(&app, &headers, Entry::of::<ListNotes>(), Value::Object(parameters)).await.respond(response::ok)
        }
        Err(error) => response::error(&error),
    }
}

async fn read_at_path(State(app): State<App>, headers: HeaderMap, uri: Uri) -> Response {
    let arguments = request::parameters(&uri).and_then(|mut parameters| {
        let path = request::path_after(&uri, "/notes/")?;
        if parameters.insert("path".to_owned(), Value::from(path)).is_some() {
            return Err(Error::bad_request("validation_error", "path is given twice"));
        }
        Ok(parameters)
    });
    match arguments {
        Ok(arguments) => read(&app, &headers, arguments).await,
        Err(error) => response::error(&error),
    }
}

async fn read(app: &App, headers: &HeaderMap, mut arguments: serde_json::Map<String, Value>) -> Response {
    request::number(&mut arguments, "offset");
    let called = call(app, headers, Entry::of::<ReadNote>(), Value::Object(arguments)).await;
    called.respond(|answer| representation::of(headers, answer))
}
