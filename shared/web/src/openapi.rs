//! The OpenAPI document: made from the routes and from the operations' own types.

use atlas_ops::Entry;
use serde_json::{Map, Value, json};
use utoipa::openapi::path::{OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::{
    ContentBuilder, HttpMethod, InfoBuilder, OpenApiBuilder, PathItem, PathsBuilder, Ref, Required, ResponseBuilder,
};

/// A route of several operations, as an OpenAPI Path Item Object.
pub type Item = fn() -> Value;

/// A route, as described in the document.
#[derive(Clone)]
pub struct Route {
    path: &'static str,
    method: HttpMethod,
    operation: &'static Entry,
    parameters: &'static [RouteParameter],
}

/// A parameter of a route.
#[derive(Clone, Copy, Debug)]
pub struct RouteParameter {
    /// Its name.
    pub name: &'static str,
    /// Its place.
    pub place: ParameterPlace,
    /// Its meaning.
    pub description: &'static str,
}

/// The place of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterPlace {
    /// In the path.
    Path,
    /// In the query.
    Query,
    /// In a header.
    Header,
}

impl RouteParameter {
    /// The name of the argument.
    fn argument(&self) -> String {
        self.name.to_ascii_lowercase().replace('-', "_")
    }
}

impl Route {
    /// A POST route with arguments as a JSON body, except those that are parameters.
    pub const fn post(path: &'static str, operation: &'static Entry) -> Self {
        Self { path, method: HttpMethod::Post, operation, parameters: &[] }
    }

    /// A PUT route with arguments as a JSON body, except those that are parameters.
    pub const fn put(path: &'static str, operation: &'static Entry) -> Self {
        Self { path, method: HttpMethod::Put, operation, parameters: &[] }
    }

    /// A GET route with parameters only.
    pub const fn get(path: &'static str, operation: &'static Entry) -> Self {
        Self { path, method: HttpMethod::Get, operation, parameters: &[] }
    }

    /// A PATCH route with arguments as a JSON body, except those that are parameters.
    pub const fn patch(path: &'static str, operation: &'static Entry) -> Self {
        Self { path, method: HttpMethod::Patch, operation, parameters: &[] }
    }

    /// A DELETE route with parameters only.
    pub const fn delete(path: &'static str, operation: &'static Entry) -> Self {
        Self { path, method: HttpMethod::Delete, operation, parameters: &[] }
    }

    /// Its operation.
    pub(crate) const fn operation(&self) -> &'static Entry {
        self.operation
    }

    /// The same route with parameters.
    #[must_use]
    pub const fn with(self, parameters: &'static [RouteParameter]) -> Self {
        Self { parameters, ..self }
    }
}

/// A parameter of every route that changes the vault.
const IDEMPOTENCY_KEY: RouteParameter = RouteParameter {
    name: "Idempotency-Key",
    place: ParameterPlace::Header,
    description: "A repeated call with the same key is not executed again: it gets the first answer.",
};

/// A parameter of every route whose calls may need a confirmation.
const CONFIRMATION: RouteParameter = RouteParameter {
    name: "X-Atlas-Confirmation",
    place: ParameterPlace::Header,
    description: "The token of a person's confirmation; the error `elicit_required` means that one is needed.",
};

/// A parameter of every route that changes the vault.
const SESSION: RouteParameter = RouteParameter {
    name: "X-Atlas-Session",
    place: ParameterPlace::Header,
    description: "Your name for the work that this call belongs to: it is logged, and the person can undo the session as one.",
};

/// The document that describes `routes`, and the paths of `items`.
pub fn document(routes: &[Route], items: &[(&'static str, Item)]) -> Value {
    let mut paths = PathsBuilder::new();
    let mut schemas = Map::new();
    for route in routes {
        paths = paths.path(route.path, path_item(route));
        schemas.insert(answer_name(route), route.operation.output_schema());
        if has_body(route) {
            schemas.insert(body_name(route), body_schema(route));
        }
    }
    let info = InfoBuilder::new()
        .title("Atlas Mirror")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("A markdown vault, mirrored in an object store, for agents."))
        .build();
    let document = OpenApiBuilder::new().info(info).paths(paths.build()).build();
    let mut document = serde_json::to_value(document).unwrap_or_default();
    schemas.insert("Error".to_owned(), error_schema());
    if let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) {
        paths.extend(items.iter().map(|(path, item)| ((*path).to_owned(), item())));
    }
    if let Some(document) = document.as_object_mut() {
        document.insert("components".to_owned(), json!({ "schemas": schemas }));
    }
    document.sort_all_objects();
    document
}

fn path_item(route: &Route) -> PathItem {
    let info = &route.operation.info;
    let of_every_call = [&IDEMPOTENCY_KEY, &CONFIRMATION, &SESSION].into_iter().filter(|_| info.writes());
    let mut operation = OperationBuilder::new()
        .operation_id(Some(info.name))
        .summary(Some(info.title))
        .description(Some(info.description))
        .parameters(Some(route.parameters.iter().chain(of_every_call).map(parameter)))
        .response(
            "200",
            ResponseBuilder::new()
                .description("The answer.")
                .content("application/json", reference(&answer_name(route)))
                .build(),
        )
        .response(
            "default",
            ResponseBuilder::new().description("An error.").content("application/json", reference("Error")).build(),
        );
    if has_body(route) {
        let body = reference(&body_name(route));
        let body = RequestBodyBuilder::new().required(Some(Required::True)).content("application/json", body).build();
        operation = operation.request_body(Some(body));
    }
    PathItem::new(route.method.clone(), operation.build())
}

fn has_body(route: &Route) -> bool {
    matches!(route.method, HttpMethod::Post | HttpMethod::Put | HttpMethod::Patch)
}

/// The name of the schema of an answer.
fn answer_name(route: &Route) -> String {
    format!("{}_answer", route.operation.info.name)
}

/// The name of the schema of a body, which has all arguments except those that are parameters.
fn body_name(route: &Route) -> String {
    format!("{}_body", route.operation.info.name)
}

/// The schema of that body.
fn body_schema(route: &Route) -> Value {
    let mut schema = route.operation.arguments_schema();
    let arguments: Vec<String> = route.parameters.iter().map(RouteParameter::argument).collect();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !arguments.contains(name));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name.as_str().is_none_or(|name| !arguments.iter().any(|argument| argument == name)));
    }
    schema
}

fn parameter(parameter: &RouteParameter) -> Parameter {
    ParameterBuilder::new()
        .name(parameter.name)
        .parameter_in(match parameter.place {
            ParameterPlace::Path => ParameterIn::Path,
            ParameterPlace::Query => ParameterIn::Query,
            ParameterPlace::Header => ParameterIn::Header,
        })
        .required(if parameter.place == ParameterPlace::Path { Required::True } else { Required::False })
        .description(Some(parameter.description))
        .schema(Some(utoipa::openapi::Object::with_type(utoipa::openapi::Type::String)))
        .build()
}

fn reference(name: &str) -> utoipa::openapi::Content {
    ContentBuilder::new().schema(Some(Ref::from_schema_name(name))).build()
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "details"],
                "properties": {
                    "code": { "type": "string", "description": "The class of the error, for example BAD_REQUEST or NOT_FOUND." },
                    "message": { "type": "string" },
                    "details": { "type": "object", "properties": { "reason": { "type": "string" } } }
                }
            }
        }
    })
}
