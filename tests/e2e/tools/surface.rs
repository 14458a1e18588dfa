//! obsidian-tc's tool surface: which tools work here, according to the page of the tools.

use atlas_ops::arguments::VAULT;
use atlas_ops::pipeline::aliases::{Alias, OF_ALL};
use atlas_tools::operations;
use atlas_tools::surface::{DOMAINS, State, needs_more};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS, FLAT, names};
use crate::support::deployment::Deployment;
use crate::support::generated::generated_part;
use crate::support::models;
use crate::support::tool_calls::filled;

/// The table of all tools, by domain.
fn table() -> String {
    let states = [State::Works, State::NeedsObsidian, State::NotYet];
    let mut table = "| domain |".to_owned();
    for state in states {
        table += &format!(" {} |", state.as_str());
    }
    table += "\n|---|---|---|---|\n";
    for (domain, tools) in DOMAINS {
        table += &format!("| {domain} |");
        for state in states {
            let there: Vec<String> =
                tools.iter().filter(|tool| State::of(tool) == state).map(|tool| format!("`{tool}`")).collect();
            table += &format!(" {} |", there.join(", "));
        }
        table.push('\n');
    }
    let count = |state| DOMAINS.iter().flat_map(|(_, tools)| *tools).filter(|tool| State::of(tool) == state).count();
    let [works, needs, not_yet] = states.map(count);
    let all = works + needs + not_yet;
    table + &format!("\nOf the {all} tools {works} work, {needs} need Obsidian, and {not_yet} are not there yet.\n")
}

#[test]
fn the_readme_says_what_works() {
    generated_part("shared/tools/README.md", "obsidian-tc's tools", &table());
}

/// The other names of arguments, by tool.
fn aliases() -> String {
    let mut table = "| tool | also takes |\n|---|---|\n".to_owned();
    let told = |alias: &Alias| match alias {
        Alias::Name(given, name) => format!("`{given}` for `{name}`"),
        Alias::Only(given, value) => format!("`{given}` as `{value}`"),
        Alias::Ignored(given) => format!("`{given}`, without effect"),
    };
    let row = |name: &str, aliases: &[Alias]| {
        format!("| {name} | {} |\n", aliases.iter().map(told).collect::<Vec<_>>().join(", "))
    };
    table += &row("all", OF_ALL);
    for entry in operations().iter().filter(|entry| !entry.info.aliases.is_empty()) {
        table += &row(&format!("`{}`", entry.info.name), entry.info.aliases);
    }
    table
}

#[test]
fn the_readme_says_what_works_by_other_names() {
    generated_part("shared/tools/README.md", "other names of arguments", &aliases());
    for entry in operations() {
        let known = entry.arguments_schema()["properties"].clone();
        for alias in entry.info.aliases {
            assert!(known.get(alias.given()).is_none(), "{}: {alias:?}", entry.info.name);
            if let Alias::Name(_, name) = alias {
                assert!(*name == VAULT || known.get(name).is_some(), "{}: {alias:?}", entry.info.name);
            }
        }
    }
}

/// A call as obsidian-tc's program accepts it.
#[derive(Deserialize)]
struct Call {
    tool: String,
    arguments: Value,
    /// Whether it is refused, because notes link to the file.
    #[serde(default)]
    linked: bool,
}

#[tokio::test]
async fn every_tool_that_works_takes_the_names_that_the_program_has() {
    let text = std::fs::read_to_string(format!("{}/mcp/shipped_names.json", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let calls: Vec<Call> = serde_json::from_str(&text).unwrap();
    let tools = DOMAINS.iter().flat_map(|(_, tools)| *tools).filter(|tool| State::of(tool) == State::Works);
    let needs_more = |tool: &&str| operations().iter().any(|entry| entry.info.name == *tool && needs_more(&entry.info));
    for tool in tools.filter(|tool| !needs_more(tool)) {
        assert!(calls.iter().any(|call| call.tool == *tool), "{tool} is not called");
    }
    // By its own name, and through the program's capabilities.
    for through_capability in [false, true] {
        let deployment = Deployment::of_demo().await;
        models::add(&deployment.mirror(), 1).await;
        let client = deployment.client();
        let agent = Agent::new(&client, ERAS[0]);
        agent.answer("write_note", json!({ "path": "made/task.md", "content": "- [ ] one\n" })).await;
        let mut answers = json!({});
        for Call { tool, arguments, linked } in &calls {
            let arguments = &filled(arguments, &answers);
            let capability = json!({ "action": tool, "args": arguments });
            let (name, arguments) =
                if through_capability { ("call_capability", &capability) } else { (tool.as_str(), arguments) };
            if *linked {
                assert_eq!(agent.failure(name, arguments.clone()).await["details"]["field"], "force", "{tool}");
            } else {
                answers[tool] = agent.answer(name, arguments.clone()).await;
            }
        }
    }
}

#[tokio::test]
async fn what_needs_the_app_says_which_plugin_and_is_not_listed() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.set_up(&[FLAT]).await;
    for era in ERAS {
        let agent = Agent::new(&client, era);
        let failure = agent.failure("makemd_query", json!({ "space_id": "tides" })).await;
        assert_eq!((&failure["code"], &failure["details"]["plugin"]), (&json!("plugin_missing"), &json!("make-md")));
        assert_eq!(agent.failure("makemd_query", json!({})).await["code"], "validation_error");
        let tools = agent.tools().await;
        let needs_app = |name: &&str| State::of(name) == State::NeedsObsidian;
        assert!(!names(&tools).iter().any(needs_app) && names(&tools).contains(&"list_tags"));
    }
    let visibility = json!({ "allowed": ["find", "makemd_query"] });
    let config = json!({ "toolFacade": { "mode": "flat" }, "toolVisibility": visibility }).to_string();
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
    let tools: Vec<Value> = Agent::new(&client, ERAS[0]).tools().await;
    assert_eq!(names(&tools), ["find", "makemd_query"]);
}
