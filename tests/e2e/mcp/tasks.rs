//! Tasks for an agent, and the calls of a good agent over the default tools. No call has to fail first.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS, names};
use crate::support::deployment::{Client, Deployment};
use crate::support::tool_calls::filled;

/// Most calls per answer, in the median.
const MOST_CALLS: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    task: String,
    /// Calls made before.
    #[serde(default)]
    before: Vec<Call>,
    calls: Vec<Call>,
    /// A text of the last answer.
    shows: Option<String>,
    /// The content of a note afterwards.
    then: Option<Outcome>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    /// The tool to call.
    #[serde(default)]
    tool: Option<String>,
    /// Or the capability, which the previous answer must have named.
    #[serde(default)]
    capability: Option<String>,
    /// `{"$": pointer}` is replaced by the value at this pointer in the answers so far.
    arguments: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outcome {
    path: String,
    has: Option<String>,
    lacks: Option<String>,
}

fn tasks() -> Vec<Task> {
    let text = std::fs::read_to_string(format!("{}/mcp/tasks.json", env!("CARGO_MANIFEST_DIR")));
    serde_json::from_str(&text.unwrap()).unwrap()
}

/// A way to call tools.
enum Through<'a> {
    Mcp(Agent<'a>),
    Bridge(&'a Client),
}

impl Through<'_> {
    async fn tools(&self) -> Vec<Value> {
        match self {
            Self::Mcp(agent) => agent.tools().await,
            Self::Bridge(client) => client.get("/bridge/v1/tools").await.ok()["tools"].as_array().unwrap().clone(),
        }
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Value {
        match self {
            Self::Mcp(agent) => agent.answer(tool, arguments.clone()).await,
            Self::Bridge(client) => {
                let path = format!("/bridge/v1/tools/{tool}/call");
                let reply = client.post(&path, json!({ "arguments": arguments })).await.ok();
                assert_eq!(reply["success"], true, "{tool} {arguments}: {reply}");
                serde_json::from_str(reply["content"][0]["text"].as_str().unwrap()).unwrap()
            }
        }
    }

    /// The answers to the calls, in order.
    async fn answers(&self, calls: &[Call], tools: &[Value]) -> Vec<Value> {
        let mut answers: Vec<Value> = Vec::new();
        for call in calls {
            let arguments = filled(&call.arguments, &json!(answers));
            let answer = match (&call.tool, &call.capability) {
                (Some(tool), None) => {
                    let listed = tools.iter().find(|listed| listed["name"] == **tool);
                    fits(&listed.unwrap_or_else(|| panic!("{tool} is not listed"))["inputSchema"], &arguments);
                    self.call(tool, &arguments).await
                }
                (None, Some(name)) => {
                    let found = answers.last().and_then(|found| found["capabilities"].as_array()).unwrap();
                    let found_all = found;
                    let found = found_all.iter().find(|found| found["name"] == **name);
                    fits(
                        &found.unwrap_or_else(|| panic!("{name} is not among {:?}", names(found_all)))["inputSchema"],
                        &arguments,
                    );
                    self.call("call_capability", &json!({ "name": name, "arguments": arguments })).await
                }
                _ => panic!("a call has a tool or a capability"),
            };
            answers.push(answer);
        }
        answers
    }
}

fn fits(schema: &Value, arguments: &Value) {
    let schema = jsonschema::draft202012::new(schema).unwrap();
    let problem = schema.iter_errors(arguments).next().map(|problem| problem.to_string());
    assert_eq!(problem, None, "{arguments}");
}

async fn done(task: &Task, through: &Through<'_>) {
    let tools = through.tools().await;
    through.answers(&task.before, &tools).await;
    let answers = through.answers(&task.calls, &tools).await;
    let last = answers.last().unwrap().to_string();
    assert!(task.shows.is_some() || task.then.is_some(), "{}: what comes of it is not said", task.task);
    if let Some(shown) = &task.shows {
        assert!(last.contains(shown.as_str()), "{}: {last}", task.task);
    }
    if let Some(Outcome { path, has, lacks }) = &task.then {
        let note = through.call("read_note", &json!({ "path": path })).await;
        let text = note["content"].as_str().unwrap();
        assert!(has.as_ref().is_none_or(|has| text.contains(has.as_str())), "{}: {text}", task.task);
        assert!(lacks.as_ref().is_none_or(|lacks| !text.contains(lacks.as_str())), "{}: {text}", task.task);
    }
}

#[tokio::test]
async fn a_good_agent_does_every_task_over_mcp() {
    for (task, era) in tasks().iter().zip(ERAS.iter().cycle()) {
        let client = Deployment::of_demo().await.client();
        done(task, &Through::Mcp(Agent::new(&client, era))).await;
    }
}

#[tokio::test]
async fn a_good_agent_does_every_task_over_the_bridge() {
    for task in &tasks() {
        let client = Deployment::of_demo().await.client();
        done(task, &Through::Bridge(&client)).await;
    }
}

/// The words of a text, in lower case.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| word.chars().count() > 1).map(str::to_lowercase).collect()
}

/// The texts in a value, except references to an answer.
fn texts<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(members) if members.contains_key("$") => {}
        Value::Object(members) => members.values().for_each(|value| texts(value, into)),
        _ => {}
    }
}

#[tokio::test]
async fn tasks_name_no_tool_and_say_what_their_calls_need() {
    let tasks = tasks();
    assert!(tasks.len() >= 40);
    let mut lengths: Vec<usize> = tasks.iter().map(|task| task.calls.len()).collect();
    lengths.sort_unstable();
    assert!(lengths[lengths.len() / 2] <= MOST_CALLS, "{lengths:?}");
    let client = Deployment::of_demo().await.client();
    let tools = Through::Bridge(&client).tools().await;
    // Values in a schema are known without the task.
    let offered = words(&json!(tools).to_string());
    for Task { task, calls, .. } in &tasks {
        let said = words(task);
        for call in calls {
            let name = call.tool.as_ref().or(call.capability.as_ref()).unwrap();
            assert!(!task.contains(name.as_str()), "{task}: names {name}");
            let mut given = Vec::new();
            texts(&call.arguments, &mut given);
            for text in given {
                let is_choice = !text.contains(' ') && offered.contains(&text.to_lowercase());
                assert!(is_choice || words(text).is_subset(&said), "{task}: {text:?} comes from nowhere");
            }
        }
    }
}
