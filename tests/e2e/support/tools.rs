//! An agent that calls tools over MCP, and checks arguments and results against their schemas.

use atlas_access::{Scope, ThrottleConfig, scope};
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::{Client, Deployment};
use crate::support::throttled::throttled;
use crate::support::tokens::{bearer, send, token};

/// The tools of a client, as an agent sees them.
pub struct Tools<'a> {
    client: &'a Client,
    agent: Agent<'a>,
}

/// A process that authenticates callers, without a throttle.
pub fn guarded(deployment: &Deployment) -> Client {
    deployment.client_with(throttled(ThrottleConfig { enabled: false, ..ThrottleConfig::default() }))
}

impl<'a> Tools<'a> {
    /// For a trusted caller.
    pub fn of(client: &'a Client) -> Self {
        Self { client, agent: Agent::new(client, ERAS[0]) }
    }

    /// For a caller with all scopes, of a client that authenticates callers.
    pub fn guarded(client: &'a Client) -> Self {
        Self { client, agent: Agent::new(client, ERAS[0]).with(bearer(&token("agent", &scope::ALL, None))) }
    }

    /// A tool's result.
    pub async fn good(&self, tool: &str, arguments: Value) -> Value {
        self.agent.checked(tool, arguments).await
    }

    /// The error of a tool that must fail with this code.
    pub async fn bad(&self, tool: &str, arguments: Value, code: &str) -> Value {
        let error = self.agent.failure(tool, arguments.clone()).await;
        assert_eq!(error["code"], code, "{tool} {arguments}: {error}");
        error
    }

    /// The result of a tool that requires a confirmation, and gets it.
    pub async fn confirmed(&self, tool: &str, mut arguments: Value) -> Value {
        let details = self.bad(tool, arguments.clone(), "elicit_required").await["details"].clone();
        let call = json!({ "operation": details["operation"], "args_hash": details["args_hash"] });
        let person = [bearer(&token("person", &[Scope::Admin], None))];
        let approved = send(self.client, "POST", "/approve", &person, &call).await.ok();
        arguments["elicit_token"] = approved["token"].clone();
        self.good(tool, arguments).await
    }

    /// The text of a note.
    pub async fn text(&self, path: &str) -> String {
        self.agent.answer("read_note", json!({ "path": path })).await["content"].as_str().unwrap().to_owned()
    }
}
