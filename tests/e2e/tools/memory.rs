//! Entities: notes that agents remember things in, and that people read and edit.

use std::collections::{BTreeMap, BTreeSet};

use atlas_access::Scope;
use atlas_testkit::VaultBuilder;
use futures::future::{join, join_all};
use serde_json::{Value, json};

use crate::support::agent::Agent;
use crate::support::deployment::{Client, Deployment};
use crate::support::tokens::{bearer, token};
use crate::support::tool_calls::agent;
use crate::support::tools::{Tools, guarded};
use crate::support::world::{World, caller};

const ADA: &str = "memory/person/Ada.md";
const CRANE: &str = "memory/project/Crane.md";

fn by<'a>(client: &'a Client, name: &str) -> Agent<'a> {
    agent(client).with(bearer(&token(name, &[Scope::ReadVault, Scope::WriteVault], None)))
}

async fn create(world: &World, kind: &str, name: &str) -> String {
    let made = world.ok("create_entity", json!({ "type": kind, "name": name })).await;
    made["entity_id"].as_str().unwrap().to_owned()
}

async fn link(world: &World, source: &str, kind: &str, target: &str) -> Value {
    world.ok("link_entities", json!({ "source_id": source, "target_id": target, "relation_type": kind })).await
}

/// The names of what is reached, each with its distance.
async fn reached(world: &World, seed: &str, mut more: Value) -> Vec<(String, u64)> {
    more["seed_entity_id"] = seed.into();
    let items = world.pages("query_entity_graph", more, "items").await;
    let item = |item: &Value| (item["name"].as_str().unwrap().to_owned(), item["distance"].as_u64().unwrap());
    items.iter().map(item).collect()
}

fn names(reached: &[(String, u64)]) -> Vec<&str> {
    reached.iter().map(|(name, _)| name.as_str()).collect()
}

#[tokio::test]
async fn an_entity_is_a_note_that_a_person_can_edit() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "x")).await;
    let client = guarded(&deployment);
    let tools = Tools::guarded(&client);
    let ada = json!({ "type": "person", "name": "Ada", "observations": ["Prefers tea"] });
    assert_eq!(tools.good("create_entity", ada.clone()).await["entity_id"], ADA);
    assert_eq!(tools.bad("create_entity", ada, "invalid_input").await["details"]["entity_id"], ADA);
    tools.good("create_entity", json!({ "type": "project", "name": "Crane" })).await;
    let added =
        tools.good("add_observation", json!({ "entity_id": ADA, "observation": " Leads the [[a|crane]] " })).await;
    assert_eq!(added["observation_count"], 2);
    let leads = json!({ "source_id": ADA, "target_id": CRANE, "relation_type": "leads" });
    assert_eq!(tools.good("link_entities", leads.clone()).await["existed_already"], false);
    let again = tools.good("link_entities", leads).await;
    assert_eq!((&again["existed_already"], again.get("created_at")), (&json!(true), None));
    let text = tools.text(ADA).await;
    let (properties, body) = text.split_once("\n---\n").unwrap();
    assert!(
        properties.starts_with("---\nentity_type: person\ncreated: ") && !properties.contains("entity_name"),
        "{text}"
    );
    let body_of_ada = "# Ada\n\n## Observations\n\n- Prefers tea\n- Leads the [[a|crane]]\n\n## Related\n\n- leads [[memory/project/Crane|Crane]]\n";
    assert_eq!(body, body_of_ada);
    // The graph of notes knows the links.
    let backlinks = tools.good("get_backlinks", json!({ "path": CRANE })).await;
    assert_eq!(backlinks["items"][0]["source_path"], ADA);
    // A person adds a line and another entity by hand, and moves a note.
    let edit = json!({ "path": ADA, "old_string": "- Prefers tea\n", "new_string": "- Prefers tea\n  (without sugar)\n* Sings\n" });
    tools.good("patch_note", edit).await;
    tools
        .good(
            "write_note",
            json!({ "path": "memory/Bob.md", "content": "---\nentity_type: person\n---\n## Related\n- [[Ada]]\n" }),
        )
        .await;
    tools.confirmed("move_note", json!({ "from": CRANE, "to": "memory/old/Kran.md" })).await;
    let told = tools.good("get_entity", json!({ "type": "person", "name": "Ada" })).await;
    assert_eq!(told["observations"], json!(["Prefers tea\n(without sugar)", "Sings", "Leads the [[a|crane]]"]));
    let related = |id: &str, name: &str, kind: &str, relation: &str, direction: &str| json!({ "target_id": id, "target_name": name, "target_type": kind, "relation_type": relation, "direction": direction });
    let expected = json!([
        related("memory/old/Kran.md", "Kran", "project", "leads", "out"),
        related("memory/Bob.md", "Bob", "person", "related", "in"),
    ]);
    assert_eq!((&told["relations"], &told["truncated"]), (&expected, &json!(false)));
    assert!(told["created_at"].is_string() && told["updated_at"].is_string());
    assert_eq!(tools.good("get_entity", json!({ "entity_id": ADA })).await, told);
}

#[tokio::test]
async fn writers_in_two_processes_lose_nothing() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "x")).await;
    let clients = [guarded(&deployment), guarded(&deployment)];
    let agents = [by(&clients[0], "ida"), by(&clients[1], "eve")];
    let new = json!({ "type": "person", "name": "Ada" });
    let (one, other) = join(agents[0].call("create_entity", new.clone()), agents[1].call("create_entity", new)).await;
    assert_ne!(one["isError"], other["isError"], "one makes it: {one} {other}");
    let facts: Vec<String> = (0..12).map(|n| format!("fact {n}")).collect();
    let adds = facts
        .iter()
        .enumerate()
        .map(|(n, fact)| agents[n % 2].answer("add_observation", json!({ "entity_id": ADA, "observation": fact })));
    join_all(adds).await;
    let told = agents[0].answer("get_entity", json!({ "entity_id": ADA })).await;
    let known: BTreeSet<&str> =
        told["observations"].as_array().unwrap().iter().map(|fact| fact.as_str().unwrap()).collect();
    assert_eq!(known, facts.iter().map(String::as_str).collect());
    // Names of which some systems would make one file.
    let names = ["Bob", "bob", "A/B", "A-B"];
    let made = names
        .iter()
        .enumerate()
        .map(|(n, name)| agents[n % 2].answer("create_entity", json!({ "type": "person", "name": name })));
    let made: Vec<Value> = join_all(made).await;
    let files: BTreeSet<String> = made.iter().map(|one| one["vault_path"].as_str().unwrap().to_lowercase()).collect();
    assert_eq!(files.len(), names.len(), "{files:?}");
    for (name, made) in names.iter().zip(&made) {
        let told = agents[1].answer("get_entity", json!({ "name": name })).await;
        assert_eq!((&told["entity_id"], &told["name"]), (&made["entity_id"], &json!(name)));
    }
}

#[tokio::test]
async fn a_call_with_a_key_adds_once_also_after_a_restart() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "x")).await;
    let client = guarded(&deployment);
    let ida = by(&client, "ida");
    let new = json!({ "type": "person", "name": "Ada", "idempotency_key": "new" });
    let made = ida.answer("create_entity", new.clone()).await;
    let fact = json!({ "entity_id": ADA, "observation": "x", "idempotency_key": "fact" });
    let added = ida.answer("add_observation", fact.clone()).await;
    let restarted = guarded(&deployment);
    let ida = by(&restarted, "ida");
    assert_eq!(ida.answer("create_entity", new).await, made);
    assert_eq!(ida.answer("add_observation", fact).await, added);
    // Without a key it is another fact.
    let unkeyed = json!({ "entity_id": ADA, "observation": "x" });
    assert_eq!(ida.answer("add_observation", unkeyed).await["observation_count"], 2);
}

#[tokio::test]
async fn names_of_all_kinds_are_kept() {
    let world = World::open(&[("memory/person/Taken.md", "a person's note")]).await;
    let long = "very long ".repeat(50);
    for name in [
        "../../etc/passwd",
        "a/b\\c",
        "CON",
        "👩\u{200D}🚀",
        "\u{202E}olleh",
        "[[x]] #y | z",
        ".hidden",
        "%2e%2e",
        "日本",
        long.trim(),
    ] {
        let id = create(&world, "person", name).await;
        assert!(id.starts_with("memory/person/") && id.matches('/').count() == 2, "{id}");
        let told = world.ok("get_entity", json!({ "type": "person", "name": name })).await;
        assert_eq!((told["entity_id"].as_str(), told["name"].as_str()), (Some(&*id), Some(name)));
        assert_eq!(link(&world, &id, "is", &id).await["existed_already"], false);
        assert_eq!(link(&world, &id, "is", &id).await["existed_already"], true, "{id}");
    }
    for (name, arguments, reason) in [
        ("create_entity", json!({ "type": "person", "name": "Taken" }), "note_exists"),
        ("create_entity", json!({ "type": "person", "name": "two\nlines" }), "invalid_input"),
        ("create_entity", json!({ "type": "person", "name": "Bob", "observations": ["a\nb"] }), "invalid_input"),
        ("create_entity", json!({ "type": "person", "name": "Bob", "materialize": false }), "invalid_input"),
        ("add_observation", json!({ "entity_id": "memory/person/None.md", "observation": "x" }), "invalid_input"),
        ("add_observation", json!({ "entity_id": "memory/person/Taken.md", "observation": "x" }), "invalid_input"),
        ("add_observation", json!({ "entity_id": "../x.md", "observation": "x" }), "invalid_input"),
        (
            "add_observation",
            json!({ "entity_id": "memory/person/日本.md", "observation": "%% opens" }),
            "invalid_input",
        ),
        ("get_entity", json!({}), "invalid_input"),
        ("get_entity", json!({ "type": "person" }), "invalid_input"),
        ("query_entity_graph", json!({ "seed_entity_id": "memory/person/Taken.md" }), "invalid_input"),
    ] {
        assert_eq!(world.refused(name, arguments.clone()).await, reason, "{name} {arguments}");
    }
    assert_eq!(world.ok("note_read", json!({ "path": "memory/person/Taken.md" })).await["content"], "a person's note");
    create(&world, "dog", "日本").await;
    let ambiguous = world.told("get_entity", json!({ "name": "日本" })).await;
    assert_eq!(ambiguous["details"]["candidates"].as_array().map(Vec::len), Some(2), "{ambiguous}");
}

#[tokio::test]
async fn relations_are_followed_both_ways_by_kind_and_type() {
    let world = World::open(&[("a.md", "x")]).await;
    let mut ids = BTreeMap::new();
    for (kind, name) in
        [("person", "Ada"), ("person", "Bob"), ("project", "Crane"), ("place", "Port"), ("person", "Cy")]
    {
        ids.insert(name, create(&world, kind, name).await);
    }
    // A cycle of three, a self link, and a tail.
    for (source, kind, target) in [
        ("Ada", "leads", "Crane"),
        ("Crane", "is in", "Port"),
        ("Port", "run by", "Ada"),
        ("Ada", "knows", "Ada"),
        ("Bob", "works on", "Crane"),
        ("Cy", "knows", "Bob"),
        ("Cy", "likes", "Bob"),
    ] {
        link(&world, &ids[source], kind, &ids[target]).await;
    }
    let ada = ids["Ada"].as_str();
    let all = reached(&world, ada, json!({ "limit": 1 })).await;
    assert_eq!(all, [("Crane".into(), 1), ("Port".into(), 1), ("Bob".into(), 2)]);
    assert_eq!(names(&reached(&world, ada, json!({ "depth": 5 })).await), ["Crane", "Port", "Bob", "Cy"]);
    assert_eq!(names(&reached(&world, ada, json!({ "depth": 1, "direction": "out" })).await), ["Crane"]);
    assert_eq!(names(&reached(&world, ada, json!({ "direction": "in" })).await), ["Port", "Crane"]);
    let kinds = json!({ "depth": 5, "relation_types": ["leads", "works on"] });
    assert_eq!(names(&reached(&world, ada, kinds).await), ["Crane", "Bob"]);
    let types = json!({ "depth": 5, "entity_types": ["person"] });
    assert_eq!(names(&reached(&world, ada, types).await), [] as [&str; 0], "no person is reached through persons only");
    let found = world
        .ok("query_entity_graph", json!({ "seed_entity_id": ada, "depth": 3, "entity_types": ["project", "person"] }))
        .await;
    let cy = &found["items"][2];
    let steps = json!([
        { "via_entity_id": ids["Ada"], "via_relation": "leads" },
        { "via_entity_id": ids["Crane"], "via_relation": "works on" },
        { "via_entity_id": ids["Bob"], "via_relation": "knows" },
    ]);
    assert_eq!((&cy["name"], &cy["distance"], &cy["path"]), (&json!("Cy"), &json!(3), &steps));
    assert_eq!((&found["total_count"], found.get("partial")), (&json!(3), None));
}

#[tokio::test]
async fn hidden_entities_are_nowhere_and_lead_nowhere() {
    let entity = |kind: &str, links: &str| format!("---\nentity_type: {kind}\n---\n## Related\n{links}");
    let notes: BTreeMap<String, String> = [
        ("memory/Ada.md", entity("person", "- knows [[Spy]]\n- knows [[Bob]]\n")),
        ("memory/Bob.md", entity("person", "")),
        ("memory/Cy.md", entity("person", "")),
        ("memory/secret/Spy.md", entity("person", "- runs [[Cy]]\n- hunts [[Bob]]\n")),
        ("memory/secret/Bob.md", entity("person", "")),
    ]
    .map(|(path, text)| (path.to_owned(), text))
    .into();
    let acl = json!({ "rules": [{ "glob": "memory/secret/**", "scopes": ["read:secret"] }] });
    let world = World::of(std::slice::from_ref(&notes), &acl, caller(&[])).await;
    let whole = World::of(&[notes], &acl, caller(&["read:secret".to_owned()])).await;
    assert_eq!(names(&reached(&world, "memory/Ada.md", json!({ "depth": 5 })).await), ["Bob"]);
    assert_eq!(names(&reached(&whole, "memory/Ada.md", json!({ "depth": 5 })).await), ["Spy", "Bob", "Cy", "Bob"]);
    let bob = world.ok("get_entity", json!({ "name": "Bob" })).await;
    assert_eq!(bob["relations"].as_array().unwrap().len(), 1, "{bob}");
    assert_eq!(whole.refused("get_entity", json!({ "name": "Bob" })).await, "invalid_input");
    assert_eq!(world.refused("get_entity", json!({ "name": "Spy" })).await, "invalid_input");
    // The same whether it is there.
    for path in ["memory/secret/Spy.md", "memory/secret/None.md"] {
        for (name, arguments) in [
            ("get_entity", json!({ "entity_id": path })),
            ("query_entity_graph", json!({ "seed_entity_id": path })),
            ("add_observation", json!({ "entity_id": path, "observation": "x" })),
            ("link_entities", json!({ "source_id": "memory/Ada.md", "target_id": path, "relation_type": "x" })),
        ] {
            assert_eq!(world.refused(name, arguments).await, "acl_denied", "{name} {path}");
        }
    }
    let made = world.refused("create_entity", json!({ "type": "secret", "name": "Spy" })).await;
    assert_eq!(made, "acl_denied");
    assert_eq!(world.ok("create_entity", json!({ "type": "person", "name": "Spy" })).await["name"], "Spy");
}

#[tokio::test]
async fn hostile_notes_are_answered_within_limits() {
    let many: String = (0..100_000).map(|n| format!("- fact {n}\n")).collect();
    let links: String = (0..3000).map(|n| format!("- knows [[e{n}]]\n")).collect();
    let hub = format!("---\nentity_type: x\n---\n## Observations\n{many}\n## Related\n{links}- knows [[hub]]\n");
    let mut notes: BTreeMap<String, String> = (0..3000)
        .map(|n| {
            (
                format!("memory/e{n}.md"),
                format!("---\nentity_type: x\n---\n## Related\n- back [[hub]]\n- next [[e{}]]\n", n + 1),
            )
        })
        .collect();
    notes.insert("memory/hub.md".to_owned(), hub);
    for (name, text) in [
        ("open", "%% \n## Related\n- x [[hub]]"),
        ("deep", &"> ".repeat(5000)),
        ("fence", "```\n## Related\n- x [[hub]]"),
    ] {
        notes.insert(format!("memory/{name}.md"), format!("---\nentity_type: y\n---\n{text}"));
    }
    let world = World::of(&[notes], &json!({}), caller(&[])).await;
    let told = world.ok("get_entity", json!({ "entity_id": "memory/hub.md" })).await;
    assert_eq!((&told["observation_count"], &told["truncated"]), (&json!(100_000), &json!(true)));
    let relations = told["relations"].as_array().unwrap().len();
    let observations = told["observations"].as_array().unwrap().len();
    assert!(relations == 500 && (1000..100_000).contains(&observations), "{relations} {observations}");
    let page = world.ok("query_entity_graph", json!({ "seed_entity_id": "memory/hub.md", "depth": 5 })).await;
    assert_eq!((page["items"].as_array().map(Vec::len), &page["total_count"]), (Some(100), &json!(3000)));
    assert!(page["partial"].is_string(), "not all 3,000 notes are read");
    for name in ["open", "deep", "fence"] {
        let id = format!("memory/{name}.md");
        assert_eq!(world.ok("get_entity", json!({ "entity_id": id })).await["relations"], json!([]), "{name}");
    }
    let one_more = json!({ "entity_id": "memory/hub.md", "observation": "the last" });
    assert_eq!(world.ok("add_observation", one_more).await["observation_count"], 100_001);
}

#[tokio::test]
async fn the_configuration_names_the_folder() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "x")).await;
    let config = json!({ "vaults": [{ "id": "main", "memory": { "folder": "Brain/People" } }] }).to_string();
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
    let made = agent(&client).answer("create_entity", json!({ "type": "Person", "name": "Ada" })).await;
    assert_eq!((&made["entity_id"], &made["type"]), (&json!("Brain/People/person/Ada.md"), &json!("Person")));
    for folder in ["", "../x", ".obsidian", "a#b", "a/.b"] {
        let config = json!({ "vaults": [{ "id": "main", "memory": { "folder": folder } }] }).to_string();
        let refused = deployment.try_set_up(&[("ATLAS_CONFIG", &config)], std::time::Duration::ZERO).await;
        assert!(refused.is_err_and(|error| error.contains("memory.folder")), "{folder}");
    }
}
