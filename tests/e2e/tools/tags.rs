//! obsidian-tc's tools for tags.

use atlas_testkit::VaultBuilder;
use serde_json::json;

use crate::support::deployment::Deployment;
use crate::support::tools::Tools;

const NOTE: &str = "---\ntags: [ 'home', Work ]  # mine\n---\nText #Home/now #work and `#code`.\n#work\n";

async fn vault() -> Deployment {
    Deployment::of_vault(&VaultBuilder::new().note("a.md", NOTE).note("plain.md", "text")).await
}

#[tokio::test]
async fn a_notes_tags_are_told_with_where_they_stand() {
    let client = vault().await.client();
    let tools = Tools::of(&client);
    let answer = tools.good("get_note_tags", json!({ "path": "a.md" })).await;
    let at = |what: &str| NOTE.match_indices(what).map(|(at, _)| at).collect::<Vec<_>>();
    assert_eq!(
        answer["tags"],
        json!([
            { "tag": "home", "source": "frontmatter" },
            { "tag": "Work", "source": "frontmatter" },
            { "tag": "Home/now", "source": "inline", "positions": at("#Home/now") },
            { "tag": "work", "source": "inline", "positions": at("#work") },
        ])
    );
    assert_eq!(tools.good("get_note_tags", json!({ "path": "plain.md" })).await["tags"], json!([]));
    tools.bad("get_note_tags", json!({ "path": "no.md" }), "note_not_found").await;
    tools.bad("get_note_tags", json!({ "path": "../a.md" }), "path_invalid").await;
}

#[tokio::test]
async fn a_tag_is_added_once_and_removed_without_a_trace() {
    let client = vault().await.client();
    let tools = Tools::of(&client);
    let add = json!({ "path": "a.md", "tag": "#new" });
    let answer = tools.good("add_tag", add.clone()).await;
    assert_eq!(answer["added"], true);
    assert_eq!(tools.text("a.md").await, NOTE.replace("Work ]", "Work, new ]"));
    let again = tools.good("add_tag", add).await;
    assert_eq!(
        (&again["added"], &again["content_hash"], &again["updated_at"]),
        (&json!(false), &answer["content_hash"], &answer["updated_at"])
    );
    let inline = json!({ "path": "a.md", "tag": "new", "location": "inline-end" });
    assert_eq!(tools.good("add_tag", inline).await["added"], true);
    assert!(tools.text("a.md").await.ends_with("#work\n#new\n"));
    let removed = tools.good("remove_tag", json!({ "path": "a.md", "tag": "NEW" })).await;
    assert_eq!(removed["removed_from"], json!(["frontmatter", "inline"]));
    assert_eq!(tools.text("a.md").await, NOTE);
    let removed = tools.good("remove_tag", json!({ "path": "a.md", "tag": "new" })).await;
    assert_eq!(removed["removed_from"], json!([]));

    let removed = tools.good("remove_tag", json!({ "path": "a.md", "tag": "work", "from": "inline" })).await;
    assert_eq!(removed["removed_from"], json!(["inline"]));
    assert_eq!(tools.text("a.md").await, NOTE.replace(" #work", "").replace("#work\n", ""));
    let at = json!({ "path": "plain.md", "tag": "new", "location": "inline-end", "inline_position": 0 });
    tools.good("add_tag", at).await;
    assert_eq!(tools.text("plain.md").await, "#new text");
}

#[tokio::test]
async fn what_is_no_tag_or_would_be_none_there_is_refused() {
    let client = vault().await.client();
    let tools = Tools::of(&client);
    for (tool, arguments, field) in [
        ("add_tag", json!({ "tag": "2024" }), "tag"),
        ("add_tag", json!({ "tag": "a b" }), "tag"),
        ("remove_tag", json!({ "tag": "a,b" }), "tag"),
        ("add_tag", json!({ "tag": "x", "inline_position": 3 }), "inline_position"),
        ("add_tag", json!({ "tag": "x", "location": "inline-end", "inline_position": 9 }), "inline_position"),
        ("add_tag", json!({ "tag": "x", "location": "inline-end", "inline_position": 5000 }), "inline_position"),
    ] {
        let mut call = arguments;
        call["path"] = json!("a.md");
        assert_eq!(tools.bad(tool, call, "invalid_input").await["details"]["field"], field);
    }
    for tool in ["add_tag", "remove_tag"] {
        tools.bad(tool, json!({ "path": "no.md", "tag": "x" }), "note_not_found").await;
    }
    assert_eq!(tools.text("a.md").await, NOTE);
}
