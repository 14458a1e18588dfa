//! Calls of tools by authenticated callers.

use atlas_access::{Scope, scope};
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::{Client, Deployment};
use crate::support::tokens::{SECRET, bearer, send, token};

/// A client of the tools.
pub fn agent(client: &Client) -> Agent<'_> {
    Agent::new(client, ERAS[0])
}

/// A process that authenticates callers.
pub async fn guarded(deployment: &Deployment) -> Client {
    let config = json!({ "throttle": { "enabled": false } }).to_string();
    deployment.set_up(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET), ("ATLAS_CONFIG", &config)]).await
}

/// One of its callers.
pub fn caller<'a>(client: &'a Client, scopes: &[Scope]) -> Agent<'a> {
    agent(client).with(bearer(&token("agent", scopes, None)))
}

/// A tool's result after a person has confirmed the call, which is refused before.
pub async fn confirmed(client: &Client, tool: &str, mut arguments: Value) -> Value {
    let agent = caller(client, &scope::ALL);
    let refused = agent.failure(tool, arguments.clone()).await;
    assert_eq!(refused["code"], "elicit_required", "{tool}: {refused}");
    let call = json!({ "operation": tool, "args_hash": refused["details"]["args_hash"] });
    let person = [bearer(&token("person", &[Scope::Admin], None))];
    let approved = send(client, "POST", "/approve", &person, &call).await.ok();
    arguments["elicit_token"] = approved["token"].clone();
    agent.checked(tool, arguments).await
}

/// Arguments with what earlier answers had in the places that refer to them: `{"$": pointer}`.
pub fn filled(arguments: &Value, answers: &Value) -> Value {
    match arguments {
        Value::Object(members) => match members.get("$").and_then(Value::as_str) {
            Some(pointer) => answers.pointer(pointer).unwrap_or_else(|| panic!("{pointer} of {answers}")).clone(),
            None => members.iter().map(|(name, value)| (name.clone(), filled(value, answers))).collect(),
        },
        Value::Array(items) => items.iter().map(|item| filled(item, answers)).collect(),
        plain => plain.clone(),
    }
}
