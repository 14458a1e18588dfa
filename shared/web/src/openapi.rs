//! The OpenAPI document: made from the routes and from the operations' own types.

use atlas_ops::Entry;
use serde_json::{Map, Value, json};
use utoipa::openapi::{InfoBuilder, OpenApiBuilder};

use crate::auth::OPEN;
use crate::gate::Gate;

mod twins;

/// The media type of JSON.
pub const JSON: &str = "application/json";
/// The media type of markdown.
pub const MARKDOWN: &str = "text/markdown";

/// A route of several operations, as an OpenAPI Path Item Object.
pub type Item = fn() -> Value;

/// A route, as described in the document.
#[derive(Clone, Copy)]
pub struct Route {
    path: &'static str,
    method: &'static str,
    operation: &'static Entry,
    parameters: &'static [RouteParameter],
    answers: &'static [RouteAnswer],
    bodies: &'static [&'static str],
    needs_body: bool,
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

/// An answer of a route to a call that succeeds.
#[derive(Clone, Copy, Debug)]
pub struct RouteAnswer {
    /// Its status.
    pub status: u16,
    /// When it is given.
    pub description: &'static str,
    /// The media types that it can have; none if it has no content.
    pub media_types: &'static [&'static str],
}

impl ParameterPlace {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
        }
    }
}

impl RouteParameter {
    /// The name of the argument.
    fn argument(&self) -> String {
        self.name.to_ascii_lowercase().replace('-', "_")
    }
}

impl RouteAnswer {
    /// The answer, as JSON.
    pub const OK: Self = Self { status: 200, description: "The answer.", media_types: &[JSON] };
    /// The answer if the call created a file.
    pub const CREATED: Self = Self { status: 201, description: "The answer, if it was created.", media_types: &[JSON] };
}

impl Route {
    const fn new(method: &'static str, path: &'static str, operation: &'static Entry) -> Self {
        Self {
            path,
            method,
            operation,
            parameters: &[],
            answers: &[RouteAnswer::OK],
            bodies: &[JSON],
            needs_body: false,
        }
    }

    /// A POST route with arguments as a JSON body, except those that are parameters.
    pub const fn post(path: &'static str, operation: &'static Entry) -> Self {
        Self::new("post", path, operation)
    }

    /// A PUT route with arguments as a JSON body, except those that are parameters.
    pub const fn put(path: &'static str, operation: &'static Entry) -> Self {
        Self::new("put", path, operation)
    }

    /// A PATCH route with arguments as a JSON body, except those that are parameters.
    pub const fn patch(path: &'static str, operation: &'static Entry) -> Self {
        Self::new("patch", path, operation)
    }

    /// A GET route: arguments that are no other parameters are those of the query.
    pub const fn get(path: &'static str, operation: &'static Entry) -> Self {
        Self { bodies: &[], ..Self::new("get", path, operation) }
    }

    /// A DELETE route: arguments that are no other parameters are those of the query.
    pub const fn delete(path: &'static str, operation: &'static Entry) -> Self {
        Self { bodies: &[], ..Self::new("delete", path, operation) }
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

    /// The same route with other answers than [`RouteAnswer::OK`].
    #[must_use]
    pub const fn answering(self, answers: &'static [RouteAnswer]) -> Self {
        Self { answers, ..self }
    }

    /// The same route with bodies of other media types than JSON alone.
    #[must_use]
    pub const fn taking(self, bodies: &'static [&'static str]) -> Self {
        Self { bodies, ..self }
    }

    /// The same route, which refuses a request without a body, even if no argument is required: one that a page on another site can send.
    #[must_use]
    pub const fn needing_body(self) -> Self {
        Self { needs_body: true, ..self }
    }

    /// The name of the schema of its answer.
    fn answer_name(&self) -> String {
        format!("{}_answer", self.operation.info.name)
    }

    /// The schema of its answer.
    fn answer_schema(&self) -> Value {
        let mut schema = self.operation.output_schema();
        if self.path == OPEN {
            // It answers with no more than this to callers without a token, and while the configuration is unusable.
            schema["required"] = json!(["ok"]);
        }
        schema
    }

    /// The name of the schema of a body, which has all arguments except those that are parameters.
    fn body_name(&self) -> String {
        format!("{}_body", self.operation.info.name)
    }

    /// The schema of that body.
    fn body_schema(&self) -> Value {
        let mut schema = self.operation.arguments_schema();
        let arguments: Vec<String> = self.parameters.iter().map(RouteParameter::argument).collect();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !arguments.contains(name));
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| name.as_str().is_none_or(|name| !arguments.iter().any(|argument| argument == name)));
        }
        schema
    }
}

/// Parameters of every route that changes the vault.
const OF_WRITES: [RouteParameter; 3] = [
    RouteParameter {
        name: "Idempotency-Key",
        place: ParameterPlace::Header,
        description: "A repeated call with the same key is not executed again: it gets the first answer.",
    },
    RouteParameter {
        name: "X-Atlas-Confirmation",
        place: ParameterPlace::Header,
        description: "The token of a person's confirmation; the error `elicit_required` means that one is needed.",
    },
    RouteParameter {
        name: "X-Atlas-Session",
        place: ParameterPlace::Header,
        description: "Your name for the work that this call belongs to: it is logged, and the person can undo the session as one.",
    },
];

/// A parameter of every route.
const VAULT: RouteParameter = RouteParameter {
    name: "X-Atlas-Vault",
    place: ParameterPlace::Header,
    description: "The id of the vault, if the deployment has several; the default one if not given.",
};

/// The document that describes `routes`, and the paths of `items`, behind `gate`.
pub fn document(routes: &[Route], items: &[(&'static str, Item)], gate: &Gate) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for route in routes {
        twins::add(&mut paths, route.path, route.method, operation(route, gate));
        schemas.insert(route.answer_name(), route.answer_schema());
        if !route.bodies.is_empty() {
            schemas.insert(route.body_name(), route.body_schema());
        }
    }
    for route in routes {
        if let Some((path, twin)) = twins::of(route.path, operation(route, gate)) {
            twins::add(&mut paths, path, route.method, twin);
        }
    }
    paths.extend(items.iter().map(|(path, item)| ((*path).to_owned(), item())));
    schemas.insert("Error".to_owned(), error_schema());
    let info = InfoBuilder::new()
        .title("Atlas Mirror")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("A markdown vault, mirrored in an object store, for agents."))
        .build();
    let mut document = serde_json::to_value(OpenApiBuilder::new().info(info).build()).unwrap_or_default();
    let mut components = json!({ "schemas": schemas });
    if gate.is_shut() {
        components["securitySchemes"] = json!({ "bearer": { "type": "http", "scheme": "bearer" } });
        document["security"] = security(gate.takes_signed());
    }
    document["components"] = components;
    document["paths"] = Value::Object(paths);
    document.sort_all_objects();
    document
}

/// A token, that a call may go without unless it `is_required`.
fn security(is_required: bool) -> Value {
    if is_required { json!([{ "bearer": [] }]) } else { json!([{ "bearer": [] }, {}]) }
}

/// The Operation Object of a route.
fn operation(route: &Route, gate: &Gate) -> Value {
    let info = &route.operation.info;
    let mut operation = json!({
        "operationId": info.name,
        "summary": info.title,
        "description": info.description,
        "parameters": parameters(route),
        "responses": responses(route),
    });
    if !route.bodies.is_empty() {
        let is_required =
            route.body_schema().get("required").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        operation["requestBody"] = json!({
            "required": is_required || route.needs_body,
            "content": content(route.bodies, &route.body_name()),
        });
        if route.needs_body && !is_required {
            operation["requestBody"]["description"] = "The arguments; `{}` if there are none.".into();
        }
    }
    if gate.is_shut() && route.path == OPEN {
        operation["security"] = security(false);
    }
    operation
}

/// The parameters of a route, with the types and limits of the arguments that they are.
fn parameters(route: &Route) -> Vec<Value> {
    let arguments = route.operation.arguments_schema();
    let empty = Map::new();
    let properties = arguments.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let is_required = |name: &str| {
        arguments.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|other| other == name))
    };
    let described = |parameter: &RouteParameter| {
        let is_required = match parameter.place {
            ParameterPlace::Path => true,
            ParameterPlace::Query => is_required(&parameter.argument()),
            ParameterPlace::Header => false,
        };
        let schema = properties.get(&parameter.argument()).cloned().unwrap_or_else(|| json!({ "type": "string" }));
        described(parameter.name, parameter.place, Some(parameter.description), is_required, schema)
    };
    let of_writes = OF_WRITES.iter().filter(|_| route.operation.info.writes());
    let all = route.parameters.iter().chain(of_writes).chain([&VAULT]).map(described);
    let given: Vec<String> = route.parameters.iter().map(RouteParameter::argument).collect();
    let of_query = properties.iter().filter(|(name, _)| route.bodies.is_empty() && !given.contains(name));
    let of_query = of_query
        .map(|(name, schema)| self::described(name, ParameterPlace::Query, None, is_required(name), schema.clone()));
    all.chain(of_query).collect()
}

/// A Parameter Object; without a `description` that of its schema.
fn described(
    name: &str,
    place: ParameterPlace,
    description: Option<&str>,
    is_required: bool,
    mut schema: Value,
) -> Value {
    let own = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    let description = description.map(Value::from).or(own);
    let is_list = schema["type"] == "array";
    let mut parameter = json!({ "name": name, "in": place.as_str(), "required": is_required, "schema": schema });
    if let Some(description) = description {
        parameter["description"] = description;
    }
    if is_list {
        // Comma-separated.
        parameter["style"] = json!("form");
        parameter["explode"] = json!(false);
    }
    parameter
}

/// The Responses Object of a route.
fn responses(route: &Route) -> Value {
    let error = json!({ "description": "An error.", "content": content(&[JSON], "Error") });
    let mut responses = Map::from_iter([("default".to_owned(), error)]);
    for RouteAnswer { status, description, media_types } in route.answers {
        let mut response = json!({ "description": description });
        if !media_types.is_empty() {
            response["content"] = content(media_types, &route.answer_name());
        }
        responses.insert(status.to_string(), response);
    }
    Value::Object(responses)
}

/// Content of these media types: JSON is of the schema `name`, everything else is text.
fn content(media_types: &[&str], name: &str) -> Value {
    let schema = |media_type: &str| match media_type {
        JSON => json!({ "$ref": format!("#/components/schemas/{name}") }),
        _ => json!({ "type": "string" }),
    };
    let content =
        media_types.iter().map(|media_type| ((*media_type).to_owned(), json!({ "schema": schema(media_type) })));
    Value::Object(content.collect())
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
