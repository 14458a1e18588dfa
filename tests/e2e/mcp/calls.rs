//! The calls of `mcp/calls.json`, in order, which other makers' clients make too: the results and errors of each
//! operation.

use atlas_tools::operations;
use atlas_tools::surface;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::Deployment;
use crate::support::tool_calls::filled;
use crate::support::tools::Tools;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    /// `{"$": pointer}` stands for what is at this place in the last good answers so far, by their tools.
    arguments: Value,
    /// The error code, if it must fail.
    error: Option<String>,
}

fn calls() -> Vec<Call> {
    let text = std::fs::read_to_string(format!("{}/mcp/calls.json", env!("CARGO_MANIFEST_DIR")));
    serde_json::from_str(&text.unwrap()).unwrap()
}

#[tokio::test]
async fn each_call_is_answered_as_its_schemas_say_or_refused_with_its_code() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let mut answers = json!({});
    for Call { tool, arguments, error } in calls() {
        let arguments = filled(&arguments, &answers);
        match error {
            None => answers[&tool] = tools.good(&tool, arguments).await,
            Some(code) => drop(tools.bad(&tool, arguments, &code).await),
        }
    }
}

/// Clients send the call of an idempotent tool again when they saw no answer.
#[tokio::test]
async fn a_call_that_is_called_idempotent_changes_nothing_more_when_it_is_made_again() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    let (agent, mirror) = (Agent::new(&client, ERAS[0]), deployment.mirror());
    let mut answers = json!({});
    let mut repeated = 0;
    for Call { tool, arguments, error } in calls() {
        let arguments = filled(&arguments, &answers);
        if error.is_some() {
            continue;
        }
        let result = agent.call(&tool, arguments.clone()).await;
        answers[&tool] = result["structuredContent"].clone();
        if !operations().iter().any(|entry| entry.info.name == tool && entry.info.idempotent) {
            continue;
        }
        let once = mirror.head().await.unwrap().generation();
        // It may fail, as where there is no longer a note to move.
        agent.call(&tool, arguments.clone()).await;
        assert_eq!(mirror.head().await.unwrap().generation(), once, "{tool} {arguments}");
        repeated += 1;
    }
    assert!(repeated > 20, "{repeated}");
}

/// Calls that succeed only elsewhere: over a bucket, where a call waits, and where there is an embedding model.
const ELSEWHERE: [&str; 5] = ["upload_attachment", "refuse", "search_semantic", "vault_graph_search", "find_similar"];

#[test]
fn each_operation_has_a_good_call_and_a_bad_one() {
    let calls = calls();
    for entry in operations() {
        let name = entry.info.name;
        let ends: Vec<Option<&str>> =
            calls.iter().filter(|call| call.tool == name).map(|call| call.error.as_deref()).collect();
        if surface::needs_more(&entry.info) {
            assert_eq!(ends, [Some("plugin_missing")], "{name}");
        } else {
            let is_good = ends.contains(&None) || ELSEWHERE.contains(&name);
            assert!(is_good && ends.iter().any(Option::is_some), "{name}: {ends:?}");
        }
    }
}
