//! An agent that calls tools over MCP, and holds what they take and return against the schemas that they give.

use std::collections::HashMap;

use atlas_access::{Scope, ThrottleConfig, scope};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::{Client, Deployment};
use crate::support::throttled::throttled;
use crate::support::tokens::{bearer, send, token};

/// The tools of a client, as an agent sees them.
pub struct Tools<'a> {
    client: &'a Client,
    agent: Agent<'a>,
    schemas: HashMap<String, [Validator; 2]>,
}

/// A process that tells callers apart, and lets them call as often as they like.
pub fn guarded(deployment: &Deployment) -> Client {
    deployment.client_with(throttled(ThrottleConfig { enabled: false, ..ThrottleConfig::default() }))
}

impl<'a> Tools<'a> {
    /// For a caller who is trusted.
    pub async fn of(client: &'a Client) -> Self {
        Self::for_agent(client, Agent::new(client, ERAS[0])).await
    }

    /// For a caller who holds all scopes, of a client that tells callers apart.
    pub async fn guarded(client: &'a Client) -> Self {
        let agent = Agent::new(client, ERAS[0]).with(bearer(&token("agent", &scope::ALL, None)));
        Self::for_agent(client, agent).await
    }

    async fn for_agent(client: &'a Client, agent: Agent<'a>) -> Self {
        let validator = |schema: &Value| jsonschema::draft202012::new(schema).unwrap();
        let of_tool = |tool: Value| {
            let schemas = [validator(&tool["inputSchema"]), validator(&tool["outputSchema"])];
            (tool["name"].as_str().unwrap().to_owned(), schemas)
        };
        let schemas = agent.tools().await.into_iter().map(of_tool).collect();
        Self { client, agent, schemas }
    }

    /// What a tool returns.
    pub async fn good(&self, tool: &str, arguments: Value) -> Value {
        let [taken, returned] = &self.schemas[tool];
        assert!(taken.is_valid(&arguments), "{tool}: {:?}", taken.iter_errors(&arguments).next().unwrap());
        let answer = self.agent.answer(tool, arguments).await;
        assert!(returned.is_valid(&answer), "{tool}: {:?}\n{answer}", returned.iter_errors(&answer).next().unwrap());
        answer
    }

    /// The error of a tool that must fail with this code.
    pub async fn bad(&self, tool: &str, arguments: Value, code: &str) -> Value {
        let error = self.agent.failure(tool, arguments.clone()).await;
        assert_eq!(error["code"], code, "{tool} {arguments}: {error}");
        error
    }

    /// What a tool returns that asks for a confirmation first, and gets it.
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
