//! The ObsiScripta Bridge protocol: tools, their hash, calls, and errors.

use std::io::Write as _;
use std::process::{Command, Stdio};

use atlas_access::Scope;
use atlas_testkit::VaultBuilder;
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment, Reply};
use crate::support::tokens::{SECRET, bearer, token};

const READ: &str = "/bridge/v1/tools/note_read/call";
const WRITE: &str = "/bridge/v1/tools/note_upsert/call";
const OTHER: &str = "https://evil.example.org";

async fn send(client: &Client, method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Reply {
    let mut request = Request::builder().method(Method::from_bytes(method.as_bytes()).unwrap()).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.send(request.body(body.into()).unwrap()).await
}

/// The error of a reply that must have `status`, and its details.
#[track_caller]
fn refused(reply: &Reply, status: u16) -> (String, String) {
    assert_eq!(reply.status.as_u16(), status, "{reply:?}");
    let body = reply.json();
    let names: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["details", "error", "message"]);
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    assert!(!text("message").is_empty());
    (text("error"), text("details"))
}

/// A tool's text, and whether it is an error.
async fn said(client: &Client, name: &str, arguments: Value) -> (bool, String) {
    let body = json!({ "arguments": arguments }).to_string();
    let told = send(client, "POST", &format!("/bridge/v1/tools/{name}/call"), &[], body).await.ok();
    let is_error = told.get("isError").is_some();
    assert_eq!(told["success"], !is_error);
    assert_eq!((told["content"].as_array().unwrap().len(), told["content"][0]["type"].as_str()), (1, Some("text")));
    (is_error, told["content"][0]["text"].as_str().unwrap().to_owned())
}

async fn demo(variables: &[(&str, &str)]) -> Client {
    Deployment::of_demo().await.set_up(variables).await
}

#[tokio::test]
async fn health_is_as_the_protocol_has_it() {
    let health = demo(&[]).await.get("/bridge/v1/health").await.ok();
    assert_eq!(health, json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "protocolVersion": "1" }));
}

#[tokio::test]
async fn every_visible_operation_is_a_tool_with_a_schema() {
    let visibility = json!({ "disabled": ["find"], "hidden": ["query"] });
    let visibility = json!({ "toolFacade": { "mode": "flat" }, "toolVisibility": visibility }).to_string();
    let client = demo(&[("ATLAS_CONFIG", &visibility)]).await;
    let listed = client.get("/bridge/v1/tools").await.ok();
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && names.contains(&"note_read") && names.contains(&"search"), "{names:?}");
    assert!(!names.contains(&"find") && !names.contains(&"query"), "{names:?}");
    for tool in tools {
        let members: Vec<_> = tool.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["description", "inputSchema", "name"]);
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        jsonschema::validator_for(&tool["inputSchema"]).unwrap();
        assert!(!tool.to_string().contains("$ref"), "{tool}");
    }
    assert!(!said(&client, "query", json!({ "question": "components" })).await.0, "a hidden tool answers");
    let call = send(&client, "POST", "/bridge/v1/tools/find/call", &[], "{\"arguments\":{\"term\":\"x\"}}").await;
    assert_eq!(refused(&call, 404).0, "Tool not found");
    let all = demo(&[]).await.get("/bridge/v1/tools").await.ok();
    assert_ne!(all["hash"], listed["hash"]);
}

/// The hash by another implementation: a program that reads the answer and prints it.
fn hashed_by(program: &str, source: &str, answer: &Value) -> Option<String> {
    let mut command = Command::new(program);
    let running = command.args([if program == "node" { "-e" } else { "-c" }, source]);
    let mut running = running.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    running.stdin.take().unwrap().write_all(answer.to_string().as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}");
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

const BY_JAVASCRIPT: &str = "
const sorted = (value) => Array.isArray(value) ? value.map(sorted)
  : value && typeof value === 'object'
    ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])])) : value;
const { tools } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const picked = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
picked.sort((a, b) => (a.name < b.name ? -1 : 1));
console.log(require('crypto').createHash('sha256').update(JSON.stringify(sorted(picked))).digest('hex'));";

const BY_PYTHON: &str = "
import hashlib, json, sys
tools = sorted(json.load(sys.stdin)['tools'], key=lambda tool: tool['name'])
text = json.dumps(tools, sort_keys=True, separators=(',', ':'), ensure_ascii=False)
print(hashlib.sha256(text.encode()).hexdigest())";

#[tokio::test]
async fn the_hash_is_what_others_make_of_the_tools() {
    let client = demo(&[]).await;
    let reply = client.get("/bridge/v1/tools").await;
    let answer = reply.ok();
    let hash = answer["hash"].as_str().unwrap();
    let others = [hashed_by("node", BY_JAVASCRIPT, &answer), hashed_by("python3", BY_PYTHON, &answer)];
    assert!(others.iter().any(Option::is_some), "neither node nor python3 is installed");
    assert!(others.iter().flatten().all(|other| other == hash), "{others:?} {hash}");
    let etag = format!("\"{hash}\"");
    assert_eq!(reply.header("etag"), Some(etag.as_str()));
    let known = client.get_with("/bridge/v1/tools", &[("if-none-match", &etag)]).await;
    assert_eq!((known.status.as_u16(), known.body.len(), known.header("etag")), (304, 0, Some(etag.as_str())));
}

#[tokio::test]
async fn a_tool_answers_in_text_and_fails_in_text() {
    let client = demo(&[]).await;
    let (is_error, text) = said(&client, "note_read", json!({ "path": "vault/Home.md" })).await;
    assert!(!is_error);
    let note: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(note["exists"], true);
    // The name may be percent-encoded.
    let (_, again) = said(&client, "note%5Fread", json!({ "path": "vault/Home.md" })).await;
    assert_eq!(again, text);
    for (name, arguments, says) in [
        ("read_note", json!({ "path": "vault/absent.md" }), "Error: there is no note at vault/absent.md"),
        ("note_read", json!({ "path": "../secret" }), "Error: path: "),
        ("note_read", json!({}), "Error: missing field `path`"),
        ("note_read", json!({ "path": 1 }), "Error: path: invalid type"),
    ] {
        let (is_error, text) = said(&client, name, arguments).await;
        assert!(is_error && text.starts_with(says), "{text}");
    }
    let write = json!({ "path": "vault/new.md", "content": "x", "idempotency_key": "k1" });
    let (_, first) = said(&client, "note_upsert", write.clone()).await;
    assert_eq!((first.as_str(), said(&client, "note_upsert", write).await.1), ("{\"created\":true}", first.clone()));
}

#[tokio::test]
async fn every_tool_takes_the_vault_that_it_is_for() {
    let deployment = Deployment::of_demo().await;
    deployment.publish_as("work", VaultBuilder::new().note("w.md", "only here").root()).await;
    let vaults = json!([{ "id": "main" }, { "id": "work" }]);
    let config = json!({ "toolFacade": { "mode": "flat" }, "vaults": vaults }).to_string();
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
    for tool in client.get("/bridge/v1/tools").await.ok()["tools"].as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["properties"]["vault"]["type"], "string", "{tool}");
    }
    let (is_error, text) = said(&client, "read_note", json!({ "path": "w.md", "vault": "work" })).await;
    assert!(!is_error && text.contains("only here"), "{text}");
    assert!(said(&client, "read_note", json!({ "path": "w.md" })).await.0, "the default vault has no such note");
    let write = json!({ "path": "new.md", "content": "x", "vault": "work" });
    assert!(!said(&client, "write_note", write).await.0);
    assert!(said(&client, "read_note", json!({ "path": "new.md" })).await.0, "it was written to the other vault");
    for (vault, says) in [(json!("none"), "Error: "), (json!(7), "Error: vault: must be text")] {
        let (is_error, text) = said(&client, "read_note", json!({ "path": "w.md", "vault": vault })).await;
        assert!(is_error && text.starts_with(says), "{text}");
    }
    let call = json!({ "arguments": { "path": "w.md", "vault": "work" } }).to_string();
    let path = "/bridge/v1/tools/read_note/call";
    let told = send(&client, "POST", path, &[("x-atlas-vault", "main")], call).await.ok();
    assert!(
        told["content"][0]["text"].as_str().unwrap().starts_with("Error: vault: the header says another\n"),
        "{told}"
    );
}

#[tokio::test]
async fn what_is_not_the_protocol_is_refused_as_it_says() {
    let client = demo(&[]).await;
    for body in
        ["", "{", "[]", "null", "\"x\"", "{}", "{\"arguments\":null}", "{\"arguments\":[]}", "{\"arguments\":\"x\"}"]
    {
        assert_eq!(refused(&send(&client, "POST", READ, &[], body).await, 400).0, "Invalid request body", "{body}");
    }
    let large = |bytes: usize| {
        let around = "{\"arguments\":{\"path\":\"\"}}".len();
        format!("{{\"arguments\":{{\"path\":\"{}\"}}}}", "x".repeat(bytes - around))
    };
    send(&client, "POST", READ, &[], large(1 << 20)).await.ok();
    let too_large = send(&client, "POST", READ, &[], large((1 << 20) + 1)).await;
    assert_eq!(refused(&too_large, 413).0, "Request body too large");
    for path in ["/bridge/v1", "/bridge/v1/", "/bridge/v1/nothing", "/bridge/v1/tools/note_read"] {
        assert_eq!(refused(&client.get(path).await, 404).0, "Not found", "{path}");
    }
    for name in ["nothing", "NOTE_READ", "%ff", "note_read%2F", "%20note_read"] {
        let call = send(&client, "POST", &format!("/bridge/v1/tools/{name}/call"), &[], "{\"arguments\":{}}").await;
        assert_eq!(refused(&call, 404).0, "Tool not found", "{name}");
    }
    for (method, path) in [("POST", "/bridge/v1/health"), ("DELETE", "/bridge/v1/tools"), ("GET", READ)] {
        let refusal = send(&client, method, path, &[], Body::empty()).await;
        assert_eq!(refused(&refusal, 405).0, "Method not allowed", "{method} {path}");
        assert!(refusal.header("allow").is_some());
    }
    // Beside the door, errors have the usual form.
    assert_eq!(client.get("/nothing").await.error(404).1, "route_not_found");
}

#[tokio::test]
async fn a_damaged_index_is_the_services_own_error() {
    let deployment = Deployment::of_demo().await;
    crate::support::damage::damage_segments(&deployment).await;
    let client = deployment.client();
    let call = send(&client, "POST", READ, &[], "{\"arguments\":{\"path\":\"vault/Home.md\"}}").await;
    assert_eq!(refused(&call, 500).0, "Internal server error");
}

#[tokio::test]
async fn where_the_configuration_says_so_any_page_may_read_and_none_of_another_site_may_write() {
    let any_origin = json!({ "bridge": { "anyOrigin": true } }).to_string();
    let client = demo(&[("ATLAS_CONFIG", &any_origin)]).await;
    let write = |headers: Vec<(&'static str, &'static str)>| {
        let body = "{\"arguments\":{\"path\":\"page.md\",\"content\":\"x\"}}";
        let client = &client;
        async move { send(client, "POST", WRITE, &headers, body).await }
    };
    for (method, path) in [("GET", "/bridge/v1/tools"), ("GET", "/bridge/v1/nothing"), ("OPTIONS", READ)] {
        let told = send(&client, method, path, &[("origin", OTHER)], Body::empty()).await;
        assert_eq!(told.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(told.header("access-control-allow-methods"), Some("GET, POST, OPTIONS"));
        assert_eq!(told.header("access-control-allow-headers"), Some("Content-Type"));
    }
    let read = send(&client, "POST", READ, &[("origin", OTHER)], "{\"arguments\":{\"path\":\"vault/Home.md\"}}").await;
    assert_eq!((read.ok()["success"].as_bool(), read.header("access-control-allow-origin")), (Some(true), Some("*")));
    assert_eq!(send(&client, "GET", "/notes", &[("origin", OTHER)], Body::empty()).await.status.as_u16(), 403);
    let asked = send(&client, "OPTIONS", WRITE, &[("origin", OTHER)], Body::empty()).await;
    assert_eq!((asked.status.as_u16(), asked.header("access-control-allow-origin")), (403, None));
    for origin in [OTHER, "null", "http://localhost:5000"] {
        let refusal = write(vec![("host", "localhost:3737"), ("origin", origin), ("content-type", "text/plain")]).await;
        assert_eq!(refused(&refusal, 403).0, "Forbidden", "{origin}");
        assert_eq!(refusal.header("access-control-allow-origin"), None);
    }
    // Nor may it write through a tool that calls others; it may search for tools.
    for (tool, may_call) in
        [("call_capability", false), ("call%5Fcapability", false), ("notes_domain", false), ("find_capability", true)]
    {
        let path = format!("/bridge/v1/tools/{tool}/call");
        let told = send(&client, "POST", &path, &[("origin", OTHER)], "{\"arguments\":{}}").await;
        assert_eq!(told.status.as_u16(), if may_call { 200 } else { 403 }, "{tool}");
    }
    write(vec![("host", "localhost:3737"), ("origin", "http://localhost:3737")]).await.ok();
    write(vec![]).await.ok();
    let named = demo(&[("ATLAS_ALLOWED_ORIGINS", OTHER)]).await;
    let body = "{\"arguments\":{\"path\":\"page.md\",\"content\":\"x\"}}";
    send(&named, "POST", WRITE, &[("origin", OTHER)], body).await.ok();
}

#[tokio::test]
async fn with_tokens_the_door_is_as_shut_as_the_others() {
    let any_origin = json!({ "bridge": { "anyOrigin": true } }).to_string();
    let client =
        demo(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET), ("ATLAS_CONFIG", any_origin.as_str())]).await;
    for (method, path) in
        [("GET", "/bridge/v1/health"), ("GET", "/bridge/v1/tools"), ("POST", READ), ("GET", "/bridge/v1/nothing")]
    {
        let refusal = send(&client, method, path, &[("origin", OTHER)], "{}").await;
        assert_eq!(refused(&refusal, 401), ("Unauthorized".to_owned(), "token_missing".to_owned()), "{path}");
        assert!(refusal.header("www-authenticate").unwrap().starts_with("Bearer "));
        assert_eq!(refusal.header("access-control-allow-origin"), None);
    }
    let (name, value) = bearer(&token("agent", &[Scope::ReadVault], None));
    let headers = [(name.as_str(), value.as_str())];
    let read = send(&client, "POST", READ, &headers, "{\"arguments\":{\"path\":\"vault/Home.md\"}}").await.ok();
    assert_eq!(read["success"], true);
    let write = "{\"arguments\":{\"path\":\"page.md\",\"content\":\"x\"}}";
    let refusal = send(&client, "POST", WRITE, &headers, write).await.ok();
    assert!(refusal["content"][0]["text"].as_str().unwrap().starts_with("Error: the token does not grant"));
}

#[tokio::test]
async fn a_page_whose_name_was_made_to_lead_here_is_refused_in_the_protocols_shape() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client_with(atlas_web::App::for_its_hosts);
    let refusal = client.get_with("/bridge/v1/tools", &[("host", "notes.example.org")]).await;
    assert_eq!(refused(&refusal, 403), ("Forbidden".to_owned(), "host_not_allowed".to_owned()));
}

#[tokio::test]
async fn the_description_of_the_door_says_what_it_answers() {
    let client = demo(&[]).await;
    let described = client.get("/openapi.json").await.ok();
    let call = json!({ "arguments": { "path": "vault/Home.md" } });
    for (described_as, answer, status) in [
        ("/bridge/v1/health", client.get("/bridge/v1/health").await, "200"),
        ("/bridge/v1/tools", client.get("/bridge/v1/tools").await, "200"),
        ("/bridge/v1/tools/{name}/call", client.post(READ, call.clone()).await, "200"),
        ("/bridge/v1/tools/{name}/call", client.post(READ, json!({ "arguments": {} })).await, "200"),
        ("/bridge/v1/tools/{name}/call", client.post(READ, json!({})).await, "default"),
    ] {
        let method = if described_as.ends_with("call") { "post" } else { "get" };
        let operation = &described["paths"][described_as][method];
        let content = &operation["responses"][status]["content"]["application/json"]["schema"];
        assert_eq!(content["type"], "object", "{described_as}");
        let schema = jsonschema::validator_for(content).unwrap();
        assert!(schema.is_valid(&answer.json()), "{described_as}: {}", answer.json());
        if let Some(body) = operation.pointer("/requestBody/content/application~1json/schema") {
            assert!(jsonschema::validator_for(body).unwrap().is_valid(&call));
        }
    }
}
