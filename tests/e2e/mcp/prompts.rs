//! Prompts over MCP: those for common tasks, and those of the vault.

use atlas_testkit::VaultBuilder;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS, names};
use crate::support::deployment::Deployment;
use crate::support::world::{World, caller};

#[tokio::test]
async fn prompts_name_what_to_do_and_their_arguments_are_completed() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    for era in ERAS {
        let agent = Agent::new(&client, era);
        let listed = agent.result("prompts/list", json!({})).await;
        assert_eq!(
            names(listed["prompts"].as_array().unwrap()),
            ["find-and-cite", "daily-review", "review-tag", "record-devlog"]
        );
        let get = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
        let prompt = agent.result("prompts/get", get("find-and-cite", json!({ "question": "Why {tides}?" }))).await;
        assert!(prompt["messages"][0]["content"]["text"].as_str().unwrap().contains("alone: Why {tides}?\n"));
        for (name, arguments, says) in [
            ("nothing", json!({}), "no prompt nothing"),
            ("record-devlog", json!({ "path": "a.md" }), "summary is missing"),
            ("record-devlog", json!({ "path": "a.md", "summary": 7 }), "summary: must be text"),
            ("daily-review", json!({ "colour": "red" }), "colour: "),
        ] {
            let (code, message) = agent.refusal("prompts/get", get(name, arguments)).await;
            assert!(code == -32602 && message.contains(says), "{code} {message}");
        }
        let complete = |reference: Value, name: &str, value: &str| json!({ "ref": reference, "argument": { "name": name, "value": value } });
        let template = json!({ "type": "ref/resource", "uri": "atlas://{vault}/{+path}" });
        let prompt = json!({ "type": "ref/prompt", "name": "record-devlog" });
        let of_tag = json!({ "type": "ref/prompt", "name": "review-tag" });
        for (reference, name, value, expected) in [
            (&template, "path", "vault/devlog/t", json!(["vault/devlog/tide-engine-rewrite.md"])),
            (&prompt, "path", "vault/devlog/g", json!(["vault/devlog/gauge-feed.md"])),
            (&prompt, "summary", "x", json!([])),
            (&of_tag, "tag", "#berth/NO", json!(["berth/north-quay"])),
            (&template, "vault", "m", json!(["main"])),
            (&template, "vault", "x", json!([])),
        ] {
            let completed = agent.result("completion/complete", complete(reference.clone(), name, value)).await;
            assert_eq!(completed["completion"]["values"], expected, "{name}: {value}");
        }
        let unknown = complete(json!({ "type": "ref/prompt", "name": "nothing" }), "path", "x");
        assert_eq!(agent.refusal("completion/complete", unknown).await.0, -32602);
    }
}

const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\nnot much more";

#[tokio::test]
async fn a_note_of_the_vault_is_a_prompt_with_what_it_embeds() {
    let review = "---\ndescription: Reviews a week\narguments:\n  topic: The topic, as a tag\n---\nReview {{topic}} in {{length:five}} lines.\n\n![[Plan]]\n\nLook at ![[berths.png]] and ![[{{note}}]].\n";
    let vault = VaultBuilder::new()
        .note("Prompts/Work/Weekly review.md", review)
        .note("Prompts/find-and-cite.md", "---\ndescription: Mine\n---\nMine")
        .note("Prompts/no prompt.md", "text")
        .note("Elsewhere/note.md", "---\ndescription: d\n---\nx")
        .note("Projects/Plan.md", "# Plan\n")
        .file("berths.png", PICTURE);
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    for era in ERAS {
        let agent = Agent::new(&client, era);
        let listed = agent.result("prompts/list", json!({})).await;
        let own: Vec<&Value> = listed["prompts"].as_array().unwrap().iter().skip(4).collect();
        let arguments = json!([
            { "name": "topic", "description": "The topic, as a tag", "required": true },
            { "name": "length", "description": "Usually: five", "required": false },
            { "name": "note", "required": true },
        ]);
        let expected = json!({ "name": "Work/Weekly review", "description": "Reviews a week", "arguments": arguments });
        assert_eq!(own, [&expected]);

        let get = |arguments: Value| json!({ "name": "Work/Weekly review", "arguments": arguments });
        let arguments = json!({ "topic": "{{note}} ![[Plan]]", "note": "no such note" });
        let prompt = agent.result("prompts/get", get(arguments)).await;
        let contents: Vec<&Value> =
            prompt["messages"].as_array().unwrap().iter().map(|message| &message["content"]).collect();
        let plan = json!({ "uri": "atlas://main/Projects/Plan.md", "mimeType": "text/markdown", "text": "# Plan\n" });
        let expected = [
            json!({ "type": "text", "text": "Review {{note}} ![[Plan]] in five lines." }),
            json!({ "type": "resource", "resource": plan }),
            json!({ "type": "text", "text": "Look at" }),
            json!({ "type": "image", "data": BASE64.encode(PICTURE), "mimeType": "image/png" }),
            json!({ "type": "text", "text": "and" }),
            json!({ "type": "text", "text": "![[no such note]]" }),
            json!({ "type": "text", "text": "." }),
        ];
        assert_eq!(contents, expected.iter().collect::<Vec<_>>());
        for (arguments, says) in [
            (json!({ "topic": "x" }), "note is missing"),
            (json!({ "topic": "x", "note": "y", "colour": "red" }), "no argument colour"),
        ] {
            let (code, message) = agent.refusal("prompts/get", get(arguments)).await;
            assert!(code == -32602 && message.contains(says), "{code} {message}");
        }
        let reference = json!({ "type": "ref/prompt", "name": "Work/Weekly review" });
        let complete = json!({ "ref": reference, "argument": { "name": "topic", "value": "x" } });
        assert_eq!(agent.result("completion/complete", complete).await["completion"]["values"], json!([]));
    }
}

#[tokio::test]
async fn prompts_and_what_they_embed_are_those_that_the_caller_may_read() {
    let notes = [
        ("Prompts/Open.md", "---\ndescription: Open\n---\nSee ![[Plan]] and ![[{{note}}]]."),
        ("Prompts/Secret/Hidden.md", "---\ndescription: Hidden\n---\nx"),
        ("Secret/Plan.md", "hidden text"),
    ];
    let notes = notes.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let acl = json!({ "rules": [
        { "glob": "Prompts/Secret/**", "scopes": ["read:secret"] },
        { "glob": "Secret/**", "scopes": ["read:secret"] },
    ] });
    let world = World::of(&[notes], &acl, caller(&[])).await;
    let listed = world.ok("list_prompts", json!({})).await;
    let names: Vec<&Value> = listed["items"].as_array().unwrap().iter().map(|prompt| &prompt["name"]).collect();
    assert_eq!(names, [&json!("Open")]);
    assert_eq!(world.refused("get_prompt", json!({ "name": "Secret/Hidden" })).await, "note_not_found");
    let prompt = world.ok("get_prompt", json!({ "name": "Open", "arguments": { "note": "Secret/Plan" } })).await;
    let parts =
        ["See", "![[Plan]]", "and", "![[Secret/Plan]]", "."].map(|text| json!({ "type": "text", "text": text }));
    assert_eq!(prompt["parts"], json!(parts));
}
