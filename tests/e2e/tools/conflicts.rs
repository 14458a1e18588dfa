//! Conflict copies of files whose names are too long for the copy's.

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Put, by};
use atlas_vault::conflict::copy_path;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::support::deployment::Deployment;
use crate::support::note_calls::notes;
use crate::support::tool_calls::{confirmed, guarded};
use crate::support::tools::Tools;

fn copy_of(path: &str) -> String {
    let time: Timestamp = "2026-11-21T14:03:00Z".parse().unwrap();
    copy_path(path, "agent", &time.to_zoned(TimeZone::UTC), 1)
}

#[tokio::test]
async fn a_copy_with_a_shortened_name_is_of_the_one_file_that_fits() {
    let one = format!("a/{}.md", "潮".repeat(80));
    let copy = copy_of(&one);
    // An earlier version cut names without a sign.
    let earlier = copy.replace("… (", "潮 (");
    for copy in [copy, earlier] {
        let (begin, _) = copy.split_once(" (").unwrap();
        let cut = format!("{}.md", begin.trim_end_matches('…'));
        let vault = VaultBuilder::new().note(&one, "mine\n").note(&copy, "theirs\n").note("a/潮.md", "another\n");
        let deployment = Deployment::of_vault(&vault).await;
        let client = guarded(&deployment).await;
        let tools = Tools::guarded(&client);
        let listed = tools.good("list_conflicts", json!({})).await;
        assert_eq!((&listed["items"][0]["original"], &listed["items"][0]["has_original"]), (&json!(one), &json!(true)));
        let read = tools.good("read_conflict", json!({ "path": copy })).await;
        assert_eq!((&read["original"], read["mine"].is_object()), (&json!(one), true));
        // Another note fits too.
        let other = one.replace("潮.md", "汐.md");
        deployment.mirror().commit(&by("ada"), &Put::note(&other, "another\n")).await.unwrap();
        let keep = json!({ "path": copy, "keep": "theirs" });
        // A person is asked nothing that cannot be done.
        tools.bad("resolve_conflict", keep.clone(), "invalid_input").await;
        let unclear = tools.bad("read_conflict", json!({ "path": copy }), "invalid_input").await;
        let message = unclear["message"].as_str().unwrap();
        assert!(message.contains(&one) && message.contains(&other), "{unclear}");
        let listed = tools.good("list_conflicts", json!({})).await;
        assert_eq!(listed["items"][0]["has_original"], false);
        confirmed(&client, "delete_note", json!({ "path": other })).await;
        let done = confirmed(&client, "resolve_conflict", keep).await;
        assert_eq!(
            (&done["original"], &done["done"]),
            (&json!(one), &json!("kept the other version; yours is in the trash"))
        );
        let left = notes(&deployment).await;
        assert_eq!((left[&one].as_str(), left[&format!(".trash/{one}")].as_str()), ("theirs\n", "mine\n"));
        assert!(!left.contains_key(&copy) && !left.contains_key(&cut), "{:?}", left.keys());
    }
}

#[tokio::test]
async fn what_is_told_of_a_file_that_is_gone_is_so() {
    let copy = copy_of("a/Harbour.md");
    let deployment = Deployment::of_vault(&VaultBuilder::new().note(&copy, "theirs\n")).await;
    let client = guarded(&deployment).await;
    let done = confirmed(&client, "resolve_conflict", json!({ "path": copy, "keep": "theirs" })).await;
    assert_eq!(done["done"], "kept the other version; there was none of yours");
    assert_eq!(notes(&deployment).await["a/Harbour.md"], "theirs\n");
}
