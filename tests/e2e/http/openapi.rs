//! `/openapi.json`, and real answers held against it.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Map, Value, json};

use crate::support::deployment::{Client, Deployment, Reply};

/// The document of a client, and how it answers.
struct Described {
    client: Client,
    document: Value,
}

/// A request: the method, the address, the media type of the body or the one that is asked for, and the body.
type Call = (&'static str, &'static str, &'static str, &'static str);

impl Described {
    async fn demo() -> Self {
        let client = Deployment::of_demo().await.client();
        let document = client.get("/openapi.json").await.ok();
        Self { client, document }
    }

    fn operation(&self, method: &str, path: &str) -> &Value {
        let operation = &self.document["paths"][path][method.to_ascii_lowercase()];
        assert!(operation.is_object(), "{method} {path} is not described");
        operation
    }

    /// The parameter `name` of an operation.
    #[track_caller]
    fn parameter(&self, method: &str, path: &str, name: &str) -> &Value {
        let parameters = self.operation(method, path)["parameters"].as_array().unwrap();
        parameters
            .iter()
            .find(|parameter| parameter["name"] == name)
            .unwrap_or_else(|| panic!("{method} {path}: {name}"))
    }

    async fn send(&self, (method, uri, media_type, body): Call) -> Reply {
        let request = Request::builder().method(method).uri(uri);
        let header = if body.is_empty() { "accept" } else { "content-type" };
        let request = if media_type.is_empty() { request } else { request.header(header, media_type) };
        self.client.send(request.body(Body::from(body)).unwrap()).await
    }

    /// Holds the reply to a call of the route at `path` against the document.
    #[track_caller]
    fn check(&self, method: &str, path: &str, reply: &Reply) {
        let responses = &self.operation(method, path)["responses"];
        let status = reply.status.as_u16().to_string();
        let response = responses.get(&status).unwrap_or(&responses["default"]);
        let is_error = reply.status.is_client_error() || reply.status.is_server_error();
        assert_eq!(is_error, responses.get(&status).is_none(), "{method} {path}: {status} is not described");
        let Some(content) = response.get("content") else {
            assert!(reply.body.is_empty(), "{method} {path}: {status} has a body");
            return;
        };
        let media_type = reply.header("content-type").unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default();
        let content = content.get(media_type).unwrap_or_else(|| panic!("{method} {path}: {media_type} in {content}"));
        let body = match media_type {
            "application/json" => reply.json(),
            _ => Value::from(String::from_utf8(reply.body.to_vec()).unwrap()),
        };
        let errors = self.errors(&content["schema"], &body);
        assert!(errors.is_empty(), "{method} {path}: {errors:?}\n{body:#}");
    }

    /// What `schema` does not allow in `value`.
    fn errors(&self, schema: &Value, value: &Value) -> Vec<String> {
        let mut whole = Map::from_iter([("components".to_owned(), self.document["components"].clone())]);
        whole.extend(schema.as_object().unwrap().clone());
        let validator = jsonschema::options().build(&Value::Object(whole)).unwrap();
        validator.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect()
    }
}

#[tokio::test]
async fn real_answers_are_as_the_document_says() {
    let described = Described::demo().await;
    let markdown = "text/markdown";
    let json = "application/json";
    let calls: [(&str, Call); 29] = [
        ("/notes", ("GET", "/notes?limit=2&sort=newest&modified_after=2000-01-01&extensions=.md,.pdf", "", "")),
        ("/notes", ("GET", "/notes?path=vault/Home.md", "", "")),
        ("/notes", ("GET", "/notes?path=vault/Home.md", markdown, "")),
        ("/notes", ("GET", "/notes?limit=0", "", "")),
        ("/notes/{path}", ("GET", "/notes/vault/Home.md?include_stats=true", "", "")),
        ("/notes/{path}", ("GET", "/notes/vault/Home.md", markdown, "")),
        ("/notes/{path}", ("GET", "/notes/nowhere.md", "", "")),
        ("/notes/{path}", ("PUT", "/notes/new.md", markdown, "# New\n")),
        ("/notes/{path}", ("PUT", "/notes/new.md", markdown, "# Newer\n")),
        ("/notes/{path}", ("PUT", "/notes/new.md", "text/plain", "# Newer\n")),
        ("/notes", ("PUT", "/notes?path=other.md", json, r#"{"content": "x"}"#)),
        ("/notes", ("PUT", "/notes?path=a.md&cursor=x", json, r#"{"content": "x"}"#)),
        ("/notes/{path}", ("POST", "/notes/added.md", json, r#"{"content": "x"}"#)),
        ("/notes/{path}", ("POST", "/notes/added.md", markdown, "y")),
        ("/notes/{path}", ("PATCH", "/notes/added.md", json, r#"{"edits": [{"op": "append", "text": "z"}]}"#)),
        ("/notes/{path}", ("PATCH", "/notes/added.md", markdown, "z")),
        ("/move/{from}", ("POST", "/move/added.md", json, r#"{"to": "moved.md"}"#)),
        ("/move", ("POST", "/move?from=moved.md", json, r#"{"to": "moved2.md"}"#)),
        ("/notes/{path}", ("DELETE", "/notes/other.md?hard=false", "", "")),
        ("/restore/{path}", ("POST", "/restore/other.md", json, "{}")),
        ("/history/{path}", ("GET", "/history/other.md?limit=2", "", "")),
        ("/history", ("GET", "/history?path=other.md", "", "")),
        ("/tables", ("GET", "/tables?query=TABLE%20file.name", "", "")),
        ("/tables", ("GET", "/tables?query=TABLE%20file.name&format=jsonl&limit=2", "", "")),
        ("/tables", ("GET", "/tables?query=TABLE%20file.name", markdown, "")),
        ("/tables", ("GET", "/tables?query=TABLE%20file.name&format=json", "", "")),
        ("/tables", ("GET", "/tables", "", "")),
        ("/context/current", ("POST", "/context/current", "", "")),
        ("/health", ("GET", "/health", "", "")),
    ];
    let mut statuses = Vec::new();
    for (path, call) in calls {
        let reply = described.send(call).await;
        described.check(call.0, path, &reply);
        statuses.push(reply.status.as_u16());
    }
    let expected = [
        200, 200, 200, 400, 200, 200, 404, 201, 428, 400, 201, 400, 201, 200, 200, 400, 200, 200, 200, 201, 200, 200,
        200, 200, 200, 200, 400, 200, 200,
    ];
    assert_eq!(statuses, expected);
    let etag = described.client.get("/notes/new.md").await.header("etag").unwrap().to_owned();
    let known = Request::builder().uri("/notes/new.md").header("if-none-match", etag).body(Body::empty()).unwrap();
    let known = described.client.send(known).await;
    assert_eq!(known.status.as_u16(), 304);
    described.check("GET", "/notes/{path}", &known);
}

#[tokio::test]
async fn arguments_are_described_with_their_types_and_limits() {
    let described = Described::demo().await;
    for (method, path, name, place, required, kind) in [
        ("GET", "/notes", "limit", "query", false, "integer"),
        ("GET", "/notes", "recursive", "query", false, "boolean"),
        ("GET", "/notes", "extensions", "query", false, "array"),
        ("GET", "/notes", "modified_after", "query", false, "string"),
        ("GET", "/notes", "path", "query", false, "string"),
        ("GET", "/notes/{path}", "path", "path", true, "string"),
        ("GET", "/notes/{path}", "offset", "query", false, "integer"),
        ("GET", "/notes/{path}", "anchor", "query", false, "string"),
        ("PUT", "/notes", "path", "query", true, "string"),
        ("PUT", "/notes/{path}", "If-Match", "header", false, "string"),
        ("DELETE", "/notes/{path}", "hard", "query", false, "boolean"),
        ("GET", "/history/{path}", "limit", "query", false, "integer"),
        ("GET", "/tables", "query", "query", true, "string"),
        ("GET", "/tables", "X-Atlas-Vault", "header", false, "string"),
    ] {
        let parameter = described.parameter(method, path, name);
        let told = (&parameter["in"], &parameter["required"], &parameter["schema"]["type"]);
        assert_eq!(told, (&json!(place), &json!(required), &json!(kind)), "{method} {path}: {name}");
    }
    assert_eq!(described.parameter("GET", "/history/{path}", "limit")["schema"]["maximum"], 50);
    let body = |method: &str, path: &str| &described.operation(method, path)["requestBody"];
    for (path, required) in [("/context/current", false), ("/list_approvals", false), ("/find", true)] {
        assert_eq!(body("POST", path)["required"], required, "{path}");
    }
    for method in ["PUT", "POST"] {
        assert_eq!(body(method, "/notes/{path}")["content"]["text/markdown"]["schema"]["type"], "string");
    }
    assert_eq!(body("PATCH", "/notes/{path}")["content"].get("text/markdown"), None);
    assert_eq!(described.document.get("security"), None);
}

/// A body that may be left out can be: without it the request is refused for its arguments at most.
#[tokio::test]
async fn a_body_that_is_optional_may_be_left_out() {
    let described = Described::demo().await;
    let (mut optional, mut needed) = (Vec::new(), Vec::new());
    for (path, item) in described.document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(body) = operation.get("requestBody") else { continue };
            if body["required"] == true {
                needed.push(path.as_str());
                continue;
            }
            optional.push(path.as_str());
            let uri = path.replace("{path}", "vault/Home.md").replace("{from}", "vault/Home.md");
            let request = Request::builder().method(method.to_ascii_uppercase().as_str()).uri(uri);
            let reply = described.client.send(request.body(Body::empty()).unwrap()).await;
            let told = String::from_utf8_lossy(&reply.body);
            assert!(!told.contains("content_type_invalid"), "{method} {path}: {told}");
        }
    }
    assert!(optional.contains(&"/context/current") && optional.contains(&"/list_approvals"), "{optional:?}");
    // What a page on another site could send changes nothing.
    for (path, uri) in [("/restore/{path}", "/restore/vault/Home.md"), ("/restore", "/restore?path=vault/Home.md")] {
        assert!(needed.contains(&path), "{path}: {needed:?}");
        let refused = described.send(("POST", uri, "", "")).await;
        assert_eq!(refused.error(400).1, "content_type_invalid", "{path}");
    }
}

/// Every method that `Allow` names is described, at a path and at its parameter.
#[tokio::test]
async fn every_method_that_is_allowed_is_described() {
    let described = Described::demo().await;
    for (path, uri) in
        [("/notes", "/notes"), ("/notes/{path}", "/notes/a.md"), ("/move", "/move"), ("/history", "/history")]
    {
        let reply = described.send(("TRACE", uri, "", "")).await;
        let allowed = reply.header("allow").unwrap();
        for method in allowed.split(',').map(str::trim).filter(|method| *method != "HEAD") {
            described.operation(method, path);
        }
    }
}

#[tokio::test]
async fn where_tokens_are_needed_the_document_says_so() {
    let deployment = Deployment::of_demo().await;
    let routes = atlas_web::openapi::document(&[], &[], &deployment.app().gate);
    assert_eq!((routes.get("security"), routes["components"].get("securitySchemes")), (None, None));
    let secret = "a secret of at least thirty-two bytes";
    let app = deployment
        .app_of(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", secret), ("ATLAS_RESOURCE", "https://a.example")])
        .await;
    let document = atlas_web::openapi::document(&[], &[], &app.gate);
    assert_eq!(document["security"], json!([{ "bearer": [] }]));
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
}

#[tokio::test]
async fn an_error_says_what_the_route_takes() {
    let described = Described::demo().await;
    for (call, says) in [
        (
            ("PUT", "/notes/b.md", "text/plain", "# B\n"),
            &["`Content-Type: text/markdown`", "`Content-Type: application/json`"][..],
        ),
        (("PUT", "/notes/b.md", "application/x-www-form-urlencoded", "# B\n"), &["`Content-Type: text/markdown`"]),
        (("PATCH", "/notes/vault/Home.md", "text/markdown", "# B\n"), &["send the body as JSON"]),
        (("PUT", "/notes?cursor=x", "application/json", "{}"), &["cursor: this route has no such argument"]),
        (("PUT", "/notes?content=x", "application/json", "{}"), &["content: give it in the body"]),
        (("PUT", "/notes?prev_hash=x", "application/json", "{}"), &["prev_hash: give it in the body"]),
        (
            ("POST", "/notes/x.md?idempotency_key=k", "application/json", "{}"),
            &["idempotency_key: give it in the body, or as the header idempotency-key"],
        ),
        (
            ("PATCH", "/notes/x.md?elicit_token=k", "application/json", "{}"),
            &["elicit_token: give it in the body, or as the header x-atlas-confirmation"],
        ),
        (
            ("POST", "/restore/x.md?session=k", "application/json", "{}"),
            &["session: give it in the body, or as the header x-atlas-session"],
        ),
        (
            ("POST", "/move/x.md?bulk_idempotency_key=k", "application/json", "{}"),
            &["bulk_idempotency_key: give it as the header idempotency-key"],
        ),
        (("PUT", "/notes?vault=main", "application/json", "{}"), &["vault: give it as the header x-atlas-vault"]),
        (("GET", "/notes?limit=0", "", ""), &["limit: must be an integer, 1 at least"]),
    ] {
        let message = described.send(call).await.error(400).2;
        assert!(says.iter().all(|says| message.contains(says)), "{call:?}: {message}");
    }
}
