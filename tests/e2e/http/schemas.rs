//! The JSON Schemas of the Atlas Local Bridge specification, and answers and requests held against them.

use jsonschema::{Registry, Validator};
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment};

fn schema(name: &str) -> Value {
    let path = format!("{}/schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The validator for one of the specification's schemas.
pub fn validator(name: &str) -> Validator {
    let citation = schema("citation");
    let registry =
        Registry::new().add("https://atlas.local/schemas/citation.json", citation).unwrap().prepare().unwrap();
    jsonschema::options().with_registry(&registry).should_validate_formats(true).build(&schema(name)).unwrap()
}

#[track_caller]
fn assert_valid(name: &str, value: &Value) {
    let errors: Vec<String> =
        validator(name).iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{name}: {errors:?}\n{value:#}");
}

#[tokio::test]
async fn every_answer_is_as_the_schemas_say() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    for body in [
        json!({}),
        json!({ "max_sources": 1 }),
        json!({ "max_sources": 50, "include": ["vault/explainers/chart-datum.md", "vault/nowhere.md"] }),
    ] {
        assert_valid("context-current-request", &body);
        assert_valid("context-current-response", &client.post("/context/current", body).await.ok());
    }
    for term in ["now", "Components", "the", "潮", "ä", "🌊", "zzzz", "a", "#2", ".md", "|", "\\"] {
        for most in [1, 10, 50] {
            let body = json!({ "term": term, "max_results": most });
            assert_valid("find-request", &body);
            let answer = client.post("/find", body).await.ok();
            assert_valid("find-response", &answer);
            assert!(answer["results"].as_array().unwrap().len() <= most);
        }
    }
    for question in [
        "What are the components?",
        "responsibilities",
        "Where is \"Berth windows\" defined?",
        "where is the ledger",
        "Where is zzzz defined?",
        "Why?",
        "defined",
    ] {
        let body = json!({ "question": question });
        assert_valid("query-request", &body);
        assert_valid("query-response", &client.post("/query", body).await.ok());
    }
}

/// The service refuses and accepts the same requests as the schemas.
#[tokio::test]
async fn requests_are_judged_as_the_schemas_judge_them() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    let routes =
        [("/context/current", "context-current-request"), ("/find", "find-request"), ("/query", "query-request")];
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(50),
        json!(51),
        json!(-1),
        json!(2.5),
        json!(3.0),
        json!(""),
        json!("now"),
        json!([]),
        json!(["vault/Home.md"]),
        json!([1]),
        json!({}),
    ];
    for (route, name) in routes {
        let validator = validator(name);
        let mut bodies = vec![json!({}), json!([]), json!("now"), json!(1), json!(null)];
        for field in ["term", "question", "max_results", "max_sources", "include", "extra"] {
            for value in &values {
                bodies.push(json!({ field: value }));
                bodies.push(json!({ field: value, "term": "now" }));
                bodies.push(json!({ field: value, "question": "where is the ledger" }));
            }
        }
        for body in bodies {
            let reply = client.post(route, body.clone()).await;
            if validator.is_valid(&body) {
                reply.ok();
            } else {
                assert_eq!(reply.status.as_u16(), 400, "{route} takes {body}");
                let (code, reason, message) = reply.error(400);
                assert_eq!(
                    (code.as_str(), reason.as_str(), message.is_empty()),
                    ("BAD_REQUEST", "validation_error", false),
                    "{body}"
                );
            }
        }
    }
}

/// Operations with a route of their own; agents' doors offer all.
const WITH_ROUTE: [&str; 19] = [
    "approve",
    "context_current",
    "delete_note",
    "edit_note",
    "find",
    "health",
    "inspect_acl",
    "list_approvals",
    "list_notes",
    "move_note",
    "note_history",
    "query",
    "query_notes",
    "read_note",
    "refuse",
    "restore_note",
    "search",
    "upsert_note",
    "write_note",
];

#[tokio::test]
async fn the_openapi_document_describes_every_route_and_is_whole() {
    let deployment = Deployment::of_demo().await;
    let document = deployment.client().get("/openapi.json").await.ok();
    let paths = document["paths"].as_object().unwrap();
    let put = document.pointer("/paths/~1notes~1{path}/put/parameters").unwrap().to_string();
    assert!(put.contains("Idempotency-Key") && put.contains("X-Atlas-Confirmation"), "{put}");
    for path in ["/context/current", "/find", "/query", "/notes", "/notes/{path}", "/restore/{path}", "/health"] {
        assert!(paths.contains_key(path), "{path}");
    }
    let methods = paths.values().flat_map(|path| path.as_object().unwrap().values());
    let described = methods.map(|method| method["operationId"].as_str().unwrap());
    let (of_the_bridge, mut described): (Vec<_>, Vec<_>) = described.partition(|id| id.starts_with("bridge_"));
    assert_eq!(of_the_bridge, ["bridge_health", "bridge_tools", "bridge_call_tool"]);
    // Those that take a path in the query too.
    described.retain(|id| !id.ends_with("_by_path") && !id.ends_with("_by_from"));
    described.sort_unstable();
    assert_eq!(described, WITH_ROUTE, "each has one route");
    assert_eq!(document["components"]["schemas"]["find_body"]["properties"]["max_results"]["maximum"], 50);
    let text = document.to_string();
    for unknown in ["int64", "uint", "uint32", "uint64", "double"] {
        assert!(!text.contains(&format!(r#""format":"{unknown}""#)), "JSON Schema knows no format {unknown}");
    }
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 10);
    for reference in references {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference} leads nowhere");
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| match member {
            Value::String(reference) if name == "$ref" => found.push(reference.clone()),
            member => collect_references(member, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

/// A single function has only its own routes, `/health`, and `/openapi.json`.
#[tokio::test]
async fn a_function_serves_its_own_routes_only() {
    let deployment = Deployment::of_demo().await;
    let client: Client = deployment.client_of(function_find::routes());
    client.post("/find", json!({ "term": "now" })).await.ok();
    client.get("/health").await.ok();
    assert_eq!(client.post("/query", json!({ "question": "components" })).await.error(404).1, "route_not_found");
    assert!(client.get("/openapi.json").await.ok()["paths"].get("/query").is_none());
}
