//! The lists of tools that agents see: their size, and that they name only tools that the agent may call.

use atlas_access::{Scope, scope};
use atlas_mirror::{Store, StoreOptions};
use atlas_ops::Limits;
use atlas_testkit::{Fault, FaultStore, Op, VaultBuilder};
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS, FLAT, listed, names};
use crate::support::deployment::{Client, Deployment};
use crate::support::tokens::{bearer, token};
use crate::support::tools::guarded;

/// A client of the demo vault with this facade.
async fn with_facade(deployment: &Deployment, mode: &str) -> Client {
    let config = json!({ "toolFacade": { "mode": mode } }).to_string();
    deployment.set_up(&[("ATLAS_CONFIG", &config)]).await
}

/// Bytes of a list of tools, as JSON.
fn bytes(tools: &[Value]) -> usize {
    tools.iter().map(|tool| tool.to_string().len() + 1).sum()
}

#[tokio::test]
async fn a_list_of_tools_is_no_longer_than_its_bound() {
    let deployment = Deployment::of_demo().await;
    deployment.publish_as("work", VaultBuilder::new().note("w.md", "x").root()).await;
    for (mode, count, bound) in [
        ("agent", 16, 20_000),
        ("vault-mcp", 8, 8_000),
        ("code", 5, 6_000),
        ("triad", 3, 3_000),
        ("domain", 25, 100_000),
        ("connector", 2, 4_000),
        ("flat", listed().count(), 380_000),
    ] {
        // With two vaults each tool has an argument for the vault.
        let vaults = json!([{ "id": "main" }, { "id": "work" }]);
        let config = json!({ "toolFacade": { "mode": mode }, "vaults": vaults }).to_string();
        let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
        for era in ERAS {
            let tools = Agent::new(&client, era).tools().await;
            let bytes = bytes(&tools);
            assert_eq!(tools.len(), count, "{mode}: {:?}", names(&tools));
            assert!((bound / 2..=bound).contains(&bytes), "{mode}: {bytes} bytes of {bound}");
        }
    }
}

#[tokio::test]
async fn the_vault_is_an_argument_where_there_are_several() {
    let deployment = Deployment::of_demo().await;
    let takes_vault = async |client: &Client| {
        let tools = Agent::new(client, ERAS[0]).tools().await;
        tools.iter().filter(|tool| tool["inputSchema"]["properties"].get("vault").is_some()).count()
    };
    assert_eq!(takes_vault(&deployment.client()).await, 0);
    let config = json!({ "vaults": [{ "id": "main" }, { "id": "work" }] }).to_string();
    assert_eq!(takes_vault(&deployment.set_up(&[("ATLAS_CONFIG", &config)]).await).await, 14);
}

#[tokio::test]
async fn callers_see_the_tools_that_they_may_call_and_hear_of_no_others() {
    let deployment = Deployment::of_demo().await;
    let client = guarded(&deployment);
    for (scopes, sees, not) in [
        (
            vec![Scope::ReadVault],
            vec!["read_note", "find_capability"],
            vec!["write_note", "append_note", "delete_note"],
        ),
        (vec![Scope::ReadVault, Scope::WriteVault], vec!["write_note", "patch_note"], vec!["delete_note", "move_note"]),
        (vec![Scope::WriteVault], vec!["write_note", "append_note"], vec!["read_note", "patch_note", "search"]),
        (scope::ALL.to_vec(), vec!["delete_note", "move_note", "read_note"], vec![]),
    ] {
        let agent = Agent::new(&client, ERAS[0]).with(bearer(&token("agent", &scopes, None)));
        let tools = agent.tools().await;
        let names = names(&tools);
        assert!(sees.iter().all(|name| names.contains(name)), "{scopes:?}: {names:?}");
        assert!(!not.iter().any(|name| names.contains(name)), "{scopes:?}: {names:?}");
        let found = agent.answer("find_capability", json!({})).await;
        let found: Vec<&str> =
            found["capabilities"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
        assert!(!not.iter().any(|name| found.contains(name)), "{scopes:?}: {found:?}");
        let said = agent.result("server/discover", json!({})).await["instructions"].as_str().unwrap().to_owned();
        let named: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
        let fields = ["message", "sha256", "if_match"];
        assert!(named.iter().all(|name| fields.contains(name) || names.contains(name)), "{scopes:?}: {said}");
    }
}

#[tokio::test]
async fn prompts_name_tools_that_are_listed() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    let agent = Agent::new(&client, ERAS[0]);
    let tools = agent.tools().await;
    let prompts = agent.result("prompts/list", json!({})).await["prompts"].as_array().unwrap().clone();
    for prompt in prompts {
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        let arguments: Value = arguments.map(|one| (one["name"].as_str().unwrap().to_owned(), json!("x"))).collect();
        let asked = json!({ "name": prompt["name"], "arguments": arguments });
        let text =
            agent.result("prompts/get", asked).await["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
        for name in text.split('`').skip(1).step_by(2) {
            assert!(names(&tools).contains(&name), "{}: {name}", prompt["name"]);
        }
    }
}

#[tokio::test]
async fn a_vault_that_is_only_read_has_no_writing_tools() {
    let deployment = Deployment::of_demo().await;
    let config = json!({ "vaults": [{ "id": "main", "acl": { "readOnly": true } }] }).to_string();
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
    let agent = Agent::new(&client, ERAS[0]);
    let tools = agent.tools().await;
    let writing = tools.iter().filter(|tool| tool["annotations"]["readOnlyHint"] == false);
    assert_eq!(writing.map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(), ["call_capability"]);
    let found = agent.answer("find_capability", json!({ "query": "append to a note" })).await;
    assert!(!found.to_string().contains("\"append_note\""), "{found}");
    assert_eq!(
        agent.refused("append_note", json!({ "path": "vault/Home.md", "content": "x" })).await,
        "read_only_mode"
    );
}

#[tokio::test]
async fn a_store_that_is_only_read_has_no_writing_tools_once_that_is_known() {
    let deployment = Deployment::of_demo().await;
    let faults = FaultStore::new(deployment.objects.clone());
    let store = Store::new(faults.clone(), "", StoreOptions::default()).unwrap();
    let client = Client::over_app(&store, Limits::default(), |app| app);
    let agent = Agent::new(&client, ERAS[0]);
    let writing = async || {
        let tools = agent.tools().await;
        let writing = tools.iter().filter(|tool| tool["annotations"]["readOnlyHint"] == false);
        writing.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let append = json!({ "path": "vault/Home.md", "content": "x" });
    faults.always(Op::Create, "", Fault::Refused);
    assert_eq!(agent.refused("append_note", append.clone()).await, "read_only_mode");
    assert_eq!(writing().await, ["call_capability"]);
    let vaults = agent.answer("call_capability", json!({ "name": "list_vaults" })).await;
    assert_eq!(vaults["vaults"][0]["read_only"], true, "{vaults}");
    // The next call asks the store again: its operator may have mended it.
    faults.heal();
    agent.call("append_note", append).await;
    assert!(writing().await.contains(&"append_note".to_owned()));
}

/// An agent can call a found tool at once: the schema comes with it.
#[tokio::test]
async fn what_is_not_listed_is_found_and_called_through_both_doors() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    let agent = Agent::new(&client, ERAS[0]);
    let mut missed = Vec::new();
    for (words, name) in [
        ("add text to today's daily note", "append_to_periodic_note"),
        ("tick off a task", "update_task"),
        ("notes with a tag", "find_notes_by_tag"),
        ("remove a tag from a note", "remove_tag"),
        ("undo what I did", "undo_changes"),
        ("several edits at once", "edit_note"),
        ("bring back an old version", "restore_note"),
        ("copy a note", "copy_note"),
        ("broken links", "find_unresolved_links"),
        ("read many notes", "read_notes"),
        ("upload a picture", "upload_attachment"),
        ("attach a file", "upload_attachment"),
        ("show a picture", "get_attachment"),
        ("which notes changed last week", "list_notes"),
        ("notes that nobody links to", "find_orphans"),
        ("what links out of this note", "get_outgoing_links"),
        ("notes similar to this one", "suggest_links"),
        ("rename a heading and keep links to it", "rewrite_link"),
        ("set a property of all notes in a folder", "bulk_set_property"),
        ("list the folders", "list_notes"),
        ("recover a deleted note", "restore_note"),
        ("statistics about the vault", "vault_health_score"),
        ("who changed this note", "note_history"),
        ("mark a todo as done", "update_task"),
        ("what did I do yesterday", "get_periodic_note"),
    ] {
        let found = agent.answer("find_capability", json!({ "query": words })).await;
        let found = found["capabilities"].as_array().unwrap();
        match found.iter().find(|one| one["name"] == name) {
            Some(one) => assert!(one["inputSchema"]["properties"].is_object() && found.len() <= 5, "{words}"),
            None => missed.push(format!("{words}: {:?}", names(found))),
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
    let call = json!({ "name": "list_tags", "arguments": { "limit": 3 } });
    let answer = agent.answer("call_capability", call.clone()).await;
    let reply = client.post("/bridge/v1/tools/call_capability/call", json!({ "arguments": call })).await.ok();
    let text: Value = serde_json::from_str(reply["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, answer);
    let unknown = json!({ "arguments": { "name": "list_tgas" } });
    let reply = client.post("/bridge/v1/tools/call_capability/call", unknown).await.ok();
    assert_eq!(reply["isError"], true, "{reply}");
    let suggested = agent.failure("call_capability", json!({ "name": "list_tgas" })).await;
    assert_eq!(suggested["details"]["suggestions"][0], "list_tags");
}

#[tokio::test]
async fn both_doors_list_the_same_tools() {
    let deployment = Deployment::of_demo().await;
    for mode in ["agent", "vault-mcp", "triad", "domain", "connector", "flat"] {
        let client = with_facade(&deployment, mode).await;
        let over_mcp = Agent::new(&client, ERAS[0]).tools().await;
        let over_bridge = client.get("/bridge/v1/tools").await.ok()["tools"].as_array().unwrap().clone();
        let (mut one, mut other) = (names(&over_mcp), names(&over_bridge));
        one.sort_unstable();
        other.sort_unstable();
        assert_eq!(one, other, "{mode}");
    }
    let flat = deployment.set_up(&[FLAT]).await;
    assert_eq!(Agent::new(&flat, ERAS[0]).tools().await.len(), listed().count());
}

#[tokio::test]
async fn few_tools_can_stand_for_many() {
    let deployment = Deployment::of_demo().await;
    let with_facade = async |mode: &str| {
        let config = json!({ "toolFacade": { "mode": mode }, "toolVisibility": { "disabled": ["query"] } }).to_string();
        deployment.set_up(&[("ATLAS_CONFIG", &config)]).await
    };
    let (triad, domain) = (with_facade("triad").await, with_facade("domain").await);
    for era in ERAS {
        let agent = Agent::new(&triad, era);
        assert_eq!(names(&agent.tools().await), ["find_capability", "describe_capability", "call_capability"]);
        let found = agent.answer("find_capability", json!({ "query": "note history" })).await;
        assert_eq!(found["capabilities"][0]["name"], "note_history");
        let all = agent.answer("find_capability", json!({})).await;
        assert_eq!(all["total"], listed().count() - 1);
        assert!(!all.to_string().contains("\"query\""), "a disabled operation is told");
        let described = agent.answer("describe_capability", json!({ "name": "find" })).await;
        assert_eq!(described["inputSchema"]["required"], json!(["term"]));
        let call = json!({ "name": "find", "arguments": { "term": "berth" } });
        let found = agent.answer("find", call["arguments"].clone()).await;
        assert_eq!(agent.answer("call_capability", call).await, found);
        for (arguments, code) in [
            (json!({ "name": "query", "arguments": { "question": "x" } }), "operation_not_found"),
            (json!({ "name": "nothing" }), "operation_not_found"),
            (json!({ "name": "find" }), "validation_error"),
            (json!({ "arguments": {} }), "validation_error"),
            (json!({ "name": "find", "term": "x" }), "validation_error"),
        ] {
            assert_eq!(agent.failure("call_capability", arguments.clone()).await["code"], code, "{arguments}");
        }

        let agent = Agent::new(&domain, era);
        let tools = agent.tools().await;
        assert!(tools.len() < listed().count() && names(&tools).contains(&"notes_domain"), "{tools:?}");
        let read = json!({ "name": "read_note", "arguments": { "path": "vault/Home.md" } });
        let note = agent.answer("notes_domain", read.clone()).await;
        assert_eq!(note, agent.answer("read_note", read["arguments"].clone()).await);
        let foreign = agent.failure("notes_domain", json!({ "name": "find", "arguments": { "term": "x" } })).await;
        assert_eq!(foreign["code"], "operation_not_found");
    }
}

#[tokio::test]
async fn chat_connectors_find_the_two_tools_that_they_expect() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.set_up(&[("ATLAS_CONFIG", r#"{"toolFacade": {"mode": "connector"}}"#)]).await;
    for era in ERAS {
        let agent = Agent::new(&client, era);
        assert_eq!(names(&agent.tools().await), ["search", "fetch"]);
        let found = agent.answer("search", json!({ "query": "berth" })).await;
        let first = &found["results"][0];
        assert!(first["title"].is_string() && first["url"].is_string(), "{found}");
        let fetched = agent.answer("fetch", json!({ "id": first["id"] })).await;
        assert_eq!((&fetched["id"], &fetched["title"]), (&first["id"], &first["title"]));
        assert!(!fetched["text"].as_str().unwrap().is_empty());
        assert!(agent.answer("find", json!({ "term": "berth" })).await["results"].is_array());
    }
}
