//! obsidian-tc's tool surface: what of it works here, as the page of the tools says.

use atlas_tools::surface::{DOMAINS, State};
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS, FLAT, names};
use crate::support::deployment::Deployment;
use crate::support::generated::generated_part;

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

#[tokio::test]
async fn what_needs_the_app_says_which_plugin_and_is_not_listed() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.set_up(&[FLAT]).await;
    for era in ERAS {
        let agent = Agent::new(&client, era);
        let failure = agent.failure("search_dql", json!({ "dql": "TABLE rank FROM #tide" })).await;
        assert_eq!((&failure["code"], &failure["details"]["plugin"]), (&json!("plugin_missing"), &json!("dataview")));
        assert_eq!(agent.failure("search_dql", json!({})).await["code"], "validation_error");
        let tools = agent.tools().await;
        let needs_app = |name: &&str| State::of(name) == State::NeedsObsidian;
        assert!(!names(&tools).iter().any(needs_app) && names(&tools).contains(&"list_tags"));
    }
    let visibility = json!({ "allowed": ["find", "search_dql"] });
    let config = json!({ "toolFacade": { "mode": "flat" }, "toolVisibility": visibility }).to_string();
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
    let tools: Vec<Value> = Agent::new(&client, ERAS[0]).tools().await;
    assert_eq!(names(&tools), ["find", "search_dql"]);
}
