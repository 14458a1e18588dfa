//! The MCP door, in this process: both eras of the protocol.

use atlas_access::Scope;
use atlas_testkit::VaultBuilder;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS, FLAT, listed, names};
use crate::support::deployment::Deployment;
use crate::support::tokens::{SECRET, bearer, send, token};

#[tokio::test]
async fn an_agent_of_either_era_lists_tools_and_calls_them() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.set_up(&[FLAT]).await;
    for era in ERAS {
        let agent = Agent::new(&client, era);
        let tools = agent.tools().await;
        let all: Vec<&str> = listed().map(|entry| entry.info.name).collect();
        assert_eq!(names(&tools), all);
        let found = agent.answer("find", json!({ "term": "surge checklist" })).await;
        assert_eq!(found, client.post("/find", json!({ "term": "surge checklist" })).await.ok());
        let reply = agent.ask("tools/call", json!({ "name": "find", "arguments": { "term": "berth" } })).await;
        assert_eq!(reply.header("x-atlas-generation"), Some("1"));
    }
}

#[tokio::test]
async fn each_era_is_greeted_in_its_own_way() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    let [modern, legacy] = ERAS.map(|era| Agent::new(&client, era));
    let discovered = modern.result("server/discover", json!({})).await;
    let versions = discovered["supportedVersions"].as_array().unwrap();
    assert!(ERAS.iter().all(|era| versions.contains(&json!(era))), "{discovered}");
    let hello =
        json!({ "protocolVersion": ERAS[1], "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let reply = legacy.ask("initialize", hello).await;
    assert_eq!(reply.header("mcp-session-id"), None, "there are no sessions");
    let greeted = &reply.ok()["result"];
    assert_eq!(
        (&greeted["protocolVersion"], &greeted["serverInfo"]["name"]),
        (&json!(ERAS[1]), &json!("atlas-mirror"))
    );
    for said in [&discovered, greeted] {
        assert!(said["capabilities"]["tools"].is_object() && said["instructions"].is_string(), "{said}");
    }
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(send(&client, "POST", "/mcp", &legacy.headers, &initialized).await.status, StatusCode::ACCEPTED);
    // The client that got lists may cache them.
    let listed = modern.result("tools/list", json!({})).await;
    assert_eq!((&listed["ttlMs"], &listed["cacheScope"]), (&json!(60_000), &json!("private")));
}

#[tokio::test]
async fn each_tool_says_what_it_takes_returns_and_does() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.set_up(&[FLAT]).await;
    let agent = Agent::new(&client, ERAS[0]);
    let tools = agent.tools().await;
    for (tool, entry) in tools.iter().zip(listed()) {
        let name = entry.info.name;
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{name}");
            jsonschema::draft202012::new(&tool[schema]).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let takes = |argument: &str| tool["inputSchema"]["properties"][argument]["type"] == "string";
        assert!(takes("vault"), "{name}");
        assert_eq!(takes("idempotency_key"), entry.info.writes(), "{name}");
        assert_eq!(takes("elicit_token"), entry.info.writes(), "{name}");
        let mut hints =
            json!({ "readOnlyHint": entry.info.changes_nothing(), "openWorldHint": entry.info.asks_outside });
        if !entry.info.changes_nothing() {
            hints["destructiveHint"] = entry.info.destructive.into();
            hints["idempotentHint"] = entry.info.idempotent.into();
        }
        assert_eq!(tool["annotations"], hints, "{name}");
        assert_eq!((&tool["title"], &tool["description"]), (&json!(entry.info.title), &json!(entry.info.description)));
    }
}

#[tokio::test]
async fn a_tool_that_fails_says_what_to_do() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    for era in ERAS {
        let agent = Agent::new(&client, era);
        let missing = agent.failure("read_note", json!({ "path": "no/such.md" })).await;
        assert_eq!((&missing["code"], missing["message"].is_string()), (&json!("note_not_found"), true));
        for (arguments, field) in [
            (json!({}), "term"),
            (json!({ "term": 7 }), "term"),
            (json!({ "term": "x", "max_results": "many" }), "max_results"),
            (json!({ "term": "x", "colour": "red" }), "colour"),
            (json!({ "term": "x", "vault": 1 }), "vault"),
        ] {
            let failure = agent.failure("find", arguments).await;
            assert_eq!(failure["code"], "validation_error", "{failure}");
            assert!(failure["message"].as_str().unwrap().contains(field), "{failure}");
        }
        let elsewhere = agent.failure("find", json!({ "term": "x", "vault": "elsewhere" })).await;
        assert_eq!(elsewhere["code"], "vault_not_found");
    }
}

#[tokio::test]
async fn what_is_no_tool_is_the_protocols_error() {
    let deployment = Deployment::of_demo().await;
    let visibility = json!({ "disabled": ["query"], "hidden": ["search"] });
    let config = json!({ "toolFacade": { "mode": "flat" }, "toolVisibility": visibility }).to_string();
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
    for era in ERAS {
        let agent = Agent::new(&client, era);
        let tools = agent.tools().await;
        assert!(
            names(&tools).contains(&"find") && !names(&tools).contains(&"query") && !names(&tools).contains(&"search")
        );
        for name in ["query", "nothing", ""] {
            let refused = agent.refusal("tools/call", json!({ "name": name, "arguments": { "question": "x" } })).await;
            assert_eq!(refused, (-32602, format!("Unknown tool: {name}")));
        }
        // A hidden one can be called by name.
        agent.answer("search", json!({ "query": "berth" })).await;
        assert_eq!(agent.refusal("nothing/here", json!({})).await.0, -32601);
        for params in [json!({}), json!({ "name": 7 }), json!({ "name": "find", "arguments": ["berth"] })] {
            assert_eq!(agent.refusal("tools/call", params.clone()).await.0, -32602, "{params}");
        }
    }
}

#[tokio::test]
async fn what_is_no_request_of_the_protocol_is_refused_at_once() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    for era in ERAS {
        let agent = Agent::new(&client, era);
        for method in ["GET", "DELETE", "PUT"] {
            let reply = send(&client, method, "/mcp", &agent.headers, &Value::Null).await;
            assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED, "{method}");
        }
        for (body, id, code) in [
            (json!([{ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }]), Value::Null, -32600),
            (json!({ "jsonrpc": "1.0", "id": 1, "method": "tools/list" }), json!(1), -32600),
            (json!({ "jsonrpc": "2.0", "id": 1_u64 << 63, "method": "tools/list" }), json!(1_u64 << 63), -32600),
            (json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": [] }), json!("a"), -32602),
            (
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": "x" } }),
                json!(1),
                -32602,
            ),
            (json!("tools/list"), Value::Null, -32600),
        ] {
            let reply = send(&client, "POST", "/mcp", &agent.headers, &body).await;
            let answer = reply.json();
            assert_eq!(
                (reply.status, &answer["id"], &answer["error"]["code"]),
                (StatusCode::BAD_REQUEST, &id, &json!(code)),
                "{body}"
            );
        }
    }
    assert_eq!(client.requests.take().count(), 0, "the store was asked");
}

#[tokio::test]
async fn a_page_may_call_only_from_its_own_host_or_one_that_is_allowed() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.set_up(&[("ATLAS_ALLOWED_ORIGINS", "https://notes.example.org")]).await;
    for (origin, allowed) in [
        ("http://localhost", true),
        ("https://notes.example.org", true),
        ("https://evil.example.org", false),
        ("https://notes.example.org.evil", false),
        ("http://localhost:81", false),
        ("null", false),
        ("", false),
    ] {
        let agent = Agent::new(&client, ERAS[1]).with(("origin".to_owned(), origin.to_owned()));
        let reply = agent.ask("tools/list", json!({})).await;
        if allowed {
            reply.ok();
        } else {
            assert_eq!(reply.error(403).1, "origin_not_allowed", "{origin}");
        }
    }
}

#[tokio::test]
async fn the_door_asks_for_a_token_and_says_where_there_is_one() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.set_up(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET)]).await;
    for era in ERAS {
        let stranger = Agent::new(&client, era);
        let reply = stranger.ask("tools/list", json!({})).await;
        assert_eq!(reply.error(401).1, "token_missing");
        let challenge = reply.header("www-authenticate").unwrap();
        let (_, place) = challenge.split_once("resource_metadata=\"http://localhost").unwrap();
        let place = place.trim_end_matches('"');
        assert_eq!(place, "/.well-known/oauth-protected-resource/mcp");
        let description = client.get_with(place, &[("host", "localhost")]).await.ok();
        assert_eq!(description["resource"], "http://localhost/mcp");
        let reader = Agent::new(&client, era).with(bearer(&token("agent", &[Scope::ReadVault], None)));
        reader.answer("find", json!({ "term": "berth" })).await;
        let refused = reader.failure("write_note", json!({ "path": "a.md", "content": "x" })).await;
        assert_eq!(
            (&refused["code"], &refused["details"]["required"]),
            (&json!("scope_missing"), &json!(["write:vault"]))
        );
        let foreign = reader.failure("find", json!({ "term": "berth", "vault": "work" })).await;
        assert_eq!(foreign["code"], "vault_forbidden");
    }
}

#[tokio::test]
async fn notes_are_resources_page_by_page() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    for era in ERAS {
        let agent = Agent::new(&client, era);
        let mut paths = Vec::new();
        let mut page = agent.result("resources/list", json!({})).await;
        loop {
            for note in page["resources"].as_array().unwrap() {
                assert_eq!(note["mimeType"], "text/markdown");
                paths.push(note["name"].as_str().unwrap().to_owned());
            }
            let Some(cursor) = page.get("nextCursor") else { break };
            page = agent.result("resources/list", json!({ "cursor": cursor })).await;
        }
        let listed = client.get("/notes?limit=1000").await.ok();
        let notes: Vec<&str> =
            listed["items"].as_array().unwrap().iter().map(|note| note["path"].as_str().unwrap()).collect();
        assert_eq!(paths, notes);

        let storm = "vault/reference/🌊 Storm surge checklist.md";
        let page = agent.result("resources/list", json!({})).await;
        let uri =
            page["resources"].as_array().unwrap().iter().find(|note| note["name"] == storm).unwrap()["uri"].clone();
        let read = agent.result("resources/read", json!({ "uri": uri })).await;
        let note = client.get(&format!("/notes?path={}", crate::support::deployment::encoded(storm))).await.ok();
        assert_eq!(read["contents"], json!([{ "uri": uri, "mimeType": "text/markdown", "text": note["content"] }]));

        let templates = agent.result("resources/templates/list", json!({})).await;
        assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "atlas://{vault}/{+path}");
        // The newer era has one error for all parameters that name nothing.
        let not_found = if era == ERAS[0] { -32602 } else { -32002 };
        for uri in ["atlas://main/no/such.md", "atlas://elsewhere/vault/Home.md", "file:///etc/passwd"] {
            assert_eq!(agent.refusal("resources/read", json!({ "uri": uri })).await.0, not_found, "{uri}");
        }
        let (code, message) = agent.refusal("resources/read", json!({ "uri": "atlas://main/../secret.md" })).await;
        assert!(code == -32602 && message.starts_with("path: "), "{code} {message}");
        assert_eq!(agent.refusal("resources/list", json!({ "cursor": "x" })).await.0, -32602);
    }
}

#[tokio::test]
async fn a_long_note_says_where_it_goes_on() {
    let vault = VaultBuilder::new().note("long.md", &"All the tides of a year. ".repeat(100));
    let deployment = Deployment::of_vault(&vault).await.with_limits(|limits| limits.max_bytes = 1000);
    let client = deployment.client();
    let agent = Agent::new(&client, ERAS[0]);
    let (mut text, mut uri) = (String::new(), Some(json!("atlas://main/long.md")));
    while let Some(at) = uri {
        let read = agent.result("resources/read", json!({ "uri": at })).await;
        text.push_str(read["contents"][0]["text"].as_str().unwrap());
        uri = read["contents"][0]["_meta"].get("atlas-mirror/next").cloned();
        // The next pages are of the version that the first was of.
        agent.answer("append_note", json!({ "path": "long.md", "content": "new", "position": "start" })).await;
    }
    assert_eq!(text, "All the tides of a year. ".repeat(100));
    let gone = json!({ "uri": "atlas://main/long.md?generation=99&offset=10" });
    let (_, message) = agent.refusal("resources/read", gone).await;
    assert!(message.ends_with("begin again at atlas://main/long.md"), "{message}");
}
