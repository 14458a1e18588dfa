//! Tools that ask a running Obsidian: directly, and through the bucket.

use std::time::Duration;

use atlas_access::scope::EXECUTE;
use atlas_access::visibility::NEEDS_APP;
use atlas_access::{Scope, Secret};
use atlas_mirror::Mirror;
use atlas_ops::app::host::{Host, Looked};
use atlas_testkit::stand_in::Reply;
use atlas_tools::operations;
use serde_json::{Value, json};

use crate::support::agent::Agent;
use crate::support::clock;
use crate::support::deployment::{Client, Deployment};
use crate::support::obsidian::{Kind, Obsidian, Place, SAVE, SHARED, agent, real, serving};
use crate::support::tokens::{bearer, send, token};

/// All that a caller can hold but administration.
fn all() -> Vec<Scope> {
    [Scope::ReadVault, Scope::WriteVault].into_iter().chain(EXECUTE).collect()
}

/// A call of each tool that needs the app.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("list_commands", json!({ "filter": "SAVE" })),
        ("execute_command", json!({ "command_id": SAVE })),
        ("ocr_attachment", json!({ "path": "vault/attachments/tide-2026-11-18.png" })),
        ("ocr_bulk", json!({ "root": "vault" })),
        ("makemd_list_spaces", json!({})),
        ("makemd_query", json!({ "space_id": "s", "limit": 3 })),
        ("open_workspace", json!({ "name": "Early morning", "save_current_first": true })),
        ("save_workspace", json!({ "name": "Evening" })),
    ]
}

async fn started(kind: Kind) -> (Deployment, Obsidian) {
    (Deployment::of_demo().await, Obsidian::start(kind).await)
}

async fn person(client: &Client, uri: &str, body: Value) -> Value {
    let person = [bearer(&token("person", &[Scope::ReadVault, Scope::Admin], None))];
    send(client, "POST", uri, &person, &body).await.ok()
}

#[tokio::test]
async fn each_tool_that_needs_the_app_works_over_the_bridge() {
    let (deployment, obsidian) = started(Kind::default()).await;
    let client = obsidian.place().near(&deployment, json!({})).await;
    let agent = agent(&client, &all());
    let needing = operations().iter().filter(|entry| entry.info.tags.contains(&NEEDS_APP));
    let mut names: Vec<&str> = needing.map(|entry| entry.info.name).filter(|name| !name.starts_with("plur")).collect();
    let mut called: Vec<&str> = calls().iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    called.sort_unstable();
    assert!(names == called && names.len() <= 9, "{names:?}");
    let expected = [
        ("list_commands", "total_count", json!(2)),
        ("execute_command", "command_id", json!(SAVE)),
        ("ocr_attachment", "text", json!("High water 06:12")),
        ("ocr_bulk", "processed", json!(1)),
        ("makemd_list_spaces", "spaces", json!([{ "id": "s", "name": "Books", "path": "Books", "view_count": 1 }])),
        ("makemd_query", "total", json!(1)),
        ("open_workspace", "name", json!("Early morning")),
        ("save_workspace", "name", json!("Evening")),
    ];
    for ((tool, arguments), (name, field, value)) in calls().into_iter().zip(expected) {
        let answer = agent.checked(tool, arguments).await;
        assert_eq!((tool, &answer[field]), (name, &value), "{answer}");
        assert_eq!(answer.get("pending"), None, "{answer}");
    }
    assert_eq!(obsidian.ran(), [SAVE, "workspaces:save", "workspaces-plus:Early morning"]);
    let listed = agent.answer("list_workspaces", json!({})).await;
    assert_eq!(listed["workspaces"][0]["name"], "Evening", "{listed}");
}

#[tokio::test]
async fn without_the_companion_the_plugins_own_routes_answer() {
    let (deployment, obsidian) = started(Kind { companion: None, ..Kind::default() }).await;
    let client = obsidian.place().near(&deployment, json!({})).await;
    let agent = agent(&client, &all());
    for tool in ["list_commands", "execute_command", "open_workspace"] {
        let (_, arguments) = calls().into_iter().find(|(name, _)| *name == tool).unwrap();
        agent.checked(tool, arguments).await;
    }
    let lacking = ["ocr_attachment", "ocr_bulk", "makemd_list_spaces", "makemd_query"];
    for (tool, arguments) in calls().into_iter().filter(|(tool, _)| lacking.contains(tool)) {
        let error = agent.failure(tool, arguments).await;
        assert_eq!(
            (&error["code"], &error["details"]["plugin"]),
            (&json!("plugin_missing"), &json!("obsidian-tc-companion"))
        );
    }
    // One that does not give the layout.
    let newer = Obsidian::start(Kind { companion: None, gives_layout: false, ..Kind::default() }).await;
    let client = newer.place().near(&deployment, json!({})).await;
    let agent = self::agent(&client, &all());
    assert_eq!(agent.refused("save_workspace", json!({ "name": "Evening" })).await, "invalid_input");
    agent.checked("save_workspace", json!({ "name": "Evening", "layout": { "main": {} } })).await;
}

#[tokio::test]
async fn each_tool_says_which_way_the_app_is_not_there() {
    let gone = Obsidian::start(Kind::default()).await.place();
    let unreachable = Obsidian::start(Kind { instead: Some(Reply::Status(500, "{}".into())), ..Kind::default() }).await;
    let other = Obsidian::start(Kind { instead: Some(Reply::Status(404, "{}".into())), ..Kind::default() }).await;
    let newer = Obsidian::start(Kind { companion: Some("2.1"), ..Kind::default() }).await;
    let deployment = Deployment::of_demo().await;
    for (place, code) in [
        (gone, "plugin_unreachable"),
        (unreachable.place(), "plugin_unreachable"),
        (other.place(), "plugin_missing"),
        (newer.place(), "plugin_incompatible"),
    ] {
        let client = place.near(&deployment, json!({})).await;
        let agent = agent(&client, &all());
        for (tool, arguments) in calls() {
            assert_eq!(agent.refused(tool, arguments).await, code, "{tool}");
        }
    }
    let error = {
        let client = newer.place().near(&deployment, json!({})).await;
        agent(&client, &all()).failure("list_commands", json!({})).await
    };
    assert_eq!((&error["details"]["version"], &error["details"]["expected"]), (&json!("0.9.1"), &json!("1")));
    // Where nothing is configured, as in a function.
    let client = serving(&deployment, crate::support::deployment::settings(&[])).await;
    for (tool, arguments) in calls() {
        assert_eq!(
            Agent::new(&client, crate::support::agent::ERAS[0]).refused(tool, arguments).await,
            "plugin_missing"
        );
    }
    // A plugin behind the companion.
    let lacking = Obsidian::start(Kind { lacks: vec!["text-extractor", "make-md"], ..Kind::default() }).await;
    let client = lacking.place().near(&deployment, json!({})).await;
    for (tool, plugin) in [("ocr_bulk", "text-extractor"), ("makemd_query", "make-md")] {
        let (_, arguments) = calls().into_iter().find(|(name, _)| *name == tool).unwrap();
        let error = agent(&client, &all()).failure(tool, arguments).await;
        assert_eq!((&error["code"], &error["details"]["plugin"]), (&json!("plugin_missing"), &json!(plugin)));
    }
}

#[tokio::test]
async fn a_real_plugin_and_its_stand_in_list_and_run_commands_alike() {
    let (deployment, obsidian) = started(Kind { companion: None, ..Kind::default() }).await;
    for place in [Some(obsidian.place()), real()].into_iter().flatten() {
        let client = place.near(&deployment, json!({})).await;
        let agent = agent(&client, &all());
        let listed = agent.checked("list_commands", json!({ "filter": SAVE, "limit": 1 })).await;
        assert_eq!(
            (&listed["items"][0]["id"], &listed["items"][0]["is_safe"]),
            (&json!(SAVE), &json!(true)),
            "{listed}"
        );
        let ran = agent.checked("execute_command", json!({ "command_id": SAVE })).await;
        assert!(ran["fired_at"].is_string(), "{ran}");
        let unknown = json!({ "command_id": "no:such-command" });
        let safe = place.near(&deployment, json!({ "safeCommands": ["no:such-command", ".."] })).await;
        assert_eq!(self::agent(&safe, &all()).refused("execute_command", unknown).await, "invalid_input");
        assert_eq!(
            self::agent(&safe, &all()).refused("execute_command", json!({ "command_id": ".." })).await,
            "invalid_input"
        );
        let wrong = Place { key: "wrong-key-of-nobody".to_owned(), ..place };
        let client = wrong.near(&deployment, json!({})).await;
        let error = self::agent(&client, &all()).failure("list_commands", json!({})).await;
        assert!(error["code"] == "plugin_unreachable" && !error.to_string().contains("wrong-key-of-nobody"), "{error}");
    }
}

#[tokio::test]
async fn commands_are_listed_page_by_page() {
    let (deployment, obsidian) = started(Kind::default()).await;
    let client = obsidian.place().near(&deployment, json!({})).await;
    let agent = agent(&client, &all());
    let (mut ids, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut arguments = json!({ "limit": 2 });
        if !cursor.is_null() {
            arguments["cursor"] = cursor;
        }
        let page = agent.checked("list_commands", arguments).await;
        ids.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        cursor = page["cursor"].clone();
        assert_eq!(page["total_count"], 5);
        if cursor.is_null() {
            break;
        }
    }
    assert!(ids.len() == 5 && ids.is_sorted(), "{ids:?}");
    assert_eq!(agent.refused("list_commands", json!({ "cursor": "x" })).await, "cursor_invalid");
}

#[tokio::test]
async fn a_command_that_is_not_safe_runs_once_a_person_approved_it() {
    let (deployment, obsidian) = started(Kind::default()).await;
    let client = obsidian.place().near(&deployment, json!({})).await;
    let agent = agent(&client, &all());
    let go_back = json!({ "command_id": "app:go-back" });
    let error = agent.failure("execute_command", go_back.clone()).await;
    assert_eq!(error["code"], "elicit_required", "{error}");
    let id = error["details"]["approval"]["id"].clone();
    let waiting = person(&client, "/list_approvals", json!({})).await;
    let shown = &waiting["approvals"][0];
    assert_eq!((&shown["operation"], &shown["arguments"]), (&json!("execute_command"), &go_back), "{waiting}");
    assert!(obsidian.ran().is_empty());
    person(&client, "/approve", json!({ "id": id })).await;
    agent.checked("execute_command", go_back.clone()).await;
    assert_eq!(obsidian.ran(), ["app:go-back"]);
    assert_eq!(agent.refused("execute_command", go_back).await, "elicit_required");
    assert_eq!(obsidian.ran().len(), 1);
    assert_eq!(
        agent.refused("execute_command", json!({ "command_id": SAVE, "args": { "a": 1 } })).await,
        "invalid_input"
    );
}

#[tokio::test]
async fn where_nobody_can_confirm_only_safe_commands_run() {
    let (deployment, obsidian) = started(Kind::default()).await;
    let document = obsidian.place().document(&json!({}));
    let variables = [("ATLAS_CONFIG", document.as_str()), ("ATLAS_OBSIDIAN_KEY", crate::support::obsidian::KEY)];
    let client = serving(&deployment, crate::support::deployment::settings(&variables).near_apps()).await;
    let trusted = Agent::new(&client, crate::support::agent::ERAS[0]);
    trusted.answer("execute_command", json!({ "command_id": SAVE })).await;
    assert_eq!(trusted.refused("execute_command", json!({ "command_id": "app:go-back" })).await, "elicit_required");
    assert_eq!(obsidian.ran(), [SAVE]);
    let flat = trusted.answer("get_server_config", json!({})).await;
    let detected = flat["plugins_detected"]["main"].as_array().unwrap();
    assert!(detected.contains(&json!("obsidian-local-rest-api")) && detected.contains(&json!("dataview")), "{flat}");
    assert!(!flat.to_string().contains(crate::support::obsidian::KEY));
}

#[tokio::test]
async fn a_command_with_a_key_runs_once() {
    let (deployment, obsidian) = started(Kind::default()).await;
    let client = obsidian.place().near(&deployment, json!({})).await;
    let agent = agent(&client, &all());
    for _ in 0..3 {
        agent.answer("execute_command", json!({ "command_id": SAVE, "idempotency_key": "once" })).await;
    }
    assert_eq!(obsidian.ran(), [SAVE]);
    agent.answer("execute_command", json!({ "command_id": SAVE, "idempotency_key": "twice" })).await;
    assert_eq!(obsidian.ran().len(), 2);
}

#[tokio::test]
async fn who_lacks_a_scope_or_may_read_a_part_only_asks_the_app_nothing() {
    let (deployment, obsidian) = started(Kind::default()).await;
    let client = obsidian.place().near(&deployment, json!({})).await;
    for (tool, arguments) in calls() {
        let without = agent(&client, &[Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault, Scope::BulkVault]);
        let error = without.failure(tool, arguments.clone()).await;
        let required = error["details"]["required"].to_string();
        assert!(error["code"] == "scope_missing" && required.contains("execute:"), "{tool}: {error}");
        let every = Agent::new(&client, crate::support::agent::ERAS[0])
            .with(bearer(&crate::support::tokens::token_of("agent", "read:vault write:vault execute:*", None)));
        every.answer(tool, arguments).await;
    }
    let asked = obsidian.plugin.asked().len();
    let partial = obsidian.place().near(&deployment, json!({ "acl": { "readPaths": ["vault/Home.md"] } })).await;
    for tool in ["makemd_list_spaces", "makemd_query", "ocr_attachment"] {
        let (_, arguments) = calls().into_iter().find(|(name, _)| *name == tool).unwrap();
        assert_eq!(agent(&partial, &all()).refused(tool, arguments).await, "acl_denied", "{tool}");
    }
    let frozen = obsidian.place().near(&deployment, json!({ "acl": { "readOnly": true } })).await;
    for tool in ["execute_command", "open_workspace", "save_workspace"] {
        let (_, arguments) = calls().into_iter().find(|(name, _)| *name == tool).unwrap();
        assert_eq!(agent(&frozen, &all()).refused(tool, arguments).await, "read_only_mode", "{tool}");
    }
    assert_eq!(obsidian.plugin.asked().len(), asked);
}

#[tokio::test]
async fn another_certificate_a_redirect_and_too_much_are_not_believed() {
    let deployment = Deployment::of_demo().await;
    let elsewhere = Obsidian::start(Kind::default()).await;
    let moved = format!(
        "HTTP/1.1 307 Moved\r\nlocation: {}/commands/\r\ncontent-length: 0\r\n\r\n",
        elsewhere.plugin.address()
    );
    let kinds = [
        Reply::Raw(moved.into_bytes()),
        Reply::Status(200, "<html>".to_owned()),
        Reply::Status(200, json!({ "ok": true }).to_string()),
        Reply::Silence(Duration::from_secs(30)),
        Reply::Endless("HTTP/1.1 200 So\r\ncontent-type: application/json\r\n\r\n".to_owned()),
    ];
    for instead in kinds {
        let obsidian = Obsidian::start(Kind { instead: Some(instead.clone()), ..Kind::default() }).await;
        let client = obsidian.place().near(&deployment, json!({ "probeTimeoutMs": 300 })).await;
        let error = agent(&client, &all()).failure("list_commands", json!({})).await;
        let is_told =
            error["code"] == "plugin_unreachable" || error["code"] == "plugin_missing" || error["code"] == "overflow";
        assert!(is_told && !error.to_string().contains(crate::support::obsidian::KEY), "{instead:?}: {error}");
    }
    assert!(elsewhere.plugin.asked().is_empty(), "a redirect is not followed");
    let obsidian = Obsidian::start(Kind::default()).await;
    let pinned = Place { fingerprint: elsewhere.place().fingerprint, ..obsidian.place() };
    let unpinned = Place { fingerprint: None, ..obsidian.place() };
    for place in [pinned, unpinned] {
        let client = place.near(&deployment, json!({})).await;
        assert_eq!(agent(&client, &all()).refused("list_commands", json!({})).await, "plugin_unreachable");
    }
    assert!(obsidian.plugin.asked().is_empty(), "the key was not sent");
}

/// The host of an app, over the same bucket.
struct Near {
    host: Host,
    place: Place,
    mirror: Mirror,
}

impl Near {
    fn start(deployment: &Deployment, place: Place) -> Self {
        Self { host: Host::new(clock::now()), place, mirror: deployment.mirror() }
    }

    async fn look(&mut self) -> Looked {
        let settings = self.place.settings(&json!({ "throughBucket": true })).near_apps();
        let settings = atlas_web::App::settings(&settings).await.unwrap();
        let reach = settings.reach(&"main".parse().unwrap()).unwrap();
        let app = reach.app.as_ref().unwrap();
        let secret = Secret::new(SHARED).unwrap();
        self.host.answer(&self.mirror, "main", &secret, app, &reach.safe_commands, clock::now).await.unwrap()
    }
}

async fn requests(mirror: &Mirror) -> Vec<String> {
    mirror.list_state("app/requests", None).await.unwrap().into_iter().map(|made| made.name).collect()
}

const NOTHING: Looked = Looked { answered: 0, left: 0 };
const ANSWERED: Looked = Looked { answered: 1, left: 0 };
const LEFT: Looked = Looked { answered: 0, left: 1 };

#[tokio::test]
async fn each_tool_works_through_the_bucket() {
    clock::stop();
    let (deployment, obsidian) = started(Kind::default()).await;
    let client = obsidian.place().function(&deployment, json!({})).await;
    let mut near = Near::start(&deployment, obsidian.place());
    let agent = agent(&client, &all());
    for (tool, arguments) in calls() {
        let first = agent.checked(tool, arguments.clone()).await;
        let pending = &first["pending"];
        assert!(pending["request_id"].is_string() && pending["retry_after_seconds"] == 5, "{tool}: {first}");
        assert_eq!(agent.answer(tool, arguments.clone()).await["pending"], *pending, "the same request waits");
        assert_eq!(near.look().await, ANSWERED, "{tool}");
        assert_eq!(near.look().await, NOTHING);
        let second = agent.checked(tool, arguments).await;
        assert_eq!(second.get("pending"), None, "{tool}: {second}");
        clock::pass(Duration::from_secs(1));
    }
    assert_eq!(obsidian.ran(), [SAVE, "workspaces:save", "workspaces-plus:Early morning"]);
}

#[tokio::test]
async fn the_same_call_is_another_one_a_minute_later_and_with_a_key_never() {
    clock::stop();
    let (deployment, obsidian) = started(Kind::default()).await;
    let client = obsidian.place().function(&deployment, json!({})).await;
    let mut near = Near::start(&deployment, obsidian.place());
    let agent = agent(&client, &all());
    let (plain, keyed) = (json!({ "command_id": SAVE }), json!({ "command_id": SAVE, "idempotency_key": "k" }));
    for call in [&plain, &keyed] {
        agent.answer("execute_command", call.clone()).await;
    }
    assert_eq!(near.look().await, Looked { answered: 2, left: 0 });
    clock::pass(Duration::from_secs(59));
    for call in [&plain, &keyed] {
        assert!(agent.answer("execute_command", call.clone()).await["fired_at"].is_string());
    }
    clock::pass(Duration::from_secs(400));
    assert!(agent.answer("execute_command", plain).await["pending"].is_object());
    assert!(agent.answer("execute_command", keyed.clone()).await["fired_at"].is_string());
    assert_eq!(near.look().await, ANSWERED);
    assert_eq!(obsidian.ran().len(), 3);
    let other = json!({ "command_id": "app:go-back", "idempotency_key": "k" });
    assert_eq!(agent.refused("execute_command", other).await, "idempotency_key_mismatch");
}

#[tokio::test]
async fn a_command_that_is_not_safe_is_left_in_the_bucket_once_it_was_approved() {
    let (deployment, obsidian) = started(Kind::default()).await;
    let client = obsidian.place().function(&deployment, json!({})).await;
    let mut near = Near::start(&deployment, obsidian.place());
    let agent = agent(&client, &all());
    let go_back = json!({ "command_id": "app:go-back" });
    let error = agent.failure("execute_command", go_back.clone()).await;
    assert!(error["code"] == "elicit_required" && requests(&near.mirror).await.is_empty(), "{error}");
    person(&client, "/approve", json!({ "id": error["details"]["approval"]["id"] })).await;
    assert!(agent.answer("execute_command", go_back.clone()).await["pending"].is_object());
    assert_eq!(near.look().await, ANSWERED);
    assert!(agent.answer("execute_command", go_back).await["fired_at"].is_string());
    assert_eq!(obsidian.ran(), ["app:go-back"]);
    // A function whose list is longer than the host's cannot have the host run what nobody confirmed.
    let lax = obsidian.place().function(&deployment, json!({ "safeCommands": ["global-search:open"] })).await;
    let lax = self::agent(&lax, &all());
    let search = json!({ "command_id": "global-search:open" });
    lax.answer("execute_command", search.clone()).await;
    assert_eq!(near.look().await, ANSWERED);
    assert_eq!(lax.refused("execute_command", search).await, "elicit_required");
    assert_eq!(obsidian.ran().len(), 1);
}

#[tokio::test]
async fn a_forged_moved_or_changed_request_is_not_taken() {
    clock::stop();
    let (deployment, obsidian) = started(Kind::default()).await;
    let client = obsidian.place().function(&deployment, json!({})).await;
    let mut near = Near::start(&deployment, obsidian.place());
    let agent = agent(&client, &all());
    agent.answer("execute_command", json!({ "command_id": SAVE })).await;
    let mirror = near.mirror.clone();
    let name = requests(&mirror).await.remove(0);
    let good: Value = mirror.get_state_up_to(&format!("app/requests/{name}"), 1 << 20).await.unwrap().unwrap();
    mirror.delete_state(&format!("app/requests/{name}")).await.unwrap();
    let text = good["text"].as_str().unwrap();
    let confirmed = text.replace("\"confirmed\":false", "\"confirmed\":true").replace(SAVE, "app:go-back");
    assert_ne!(confirmed, text);
    let at = |number: u32| format!("{}{number:08x}", &name[..name.len() - 8]);
    for (number, object) in [
        json!({ "text": confirmed, "seal": good["seal"] }),
        json!({ "text": text, "seal": "0".repeat(64) }),
        json!({ "text": text, "seal": "" }),
        // Sealed for another name.
        good.clone(),
        json!({ "seal": good["seal"] }),
        json!("x".repeat(100_000)),
    ]
    .iter()
    .enumerate()
    {
        let key = format!("app/requests/{}", at(number as u32));
        assert!(mirror.create_state_if_absent(&key, object).await.unwrap());
        assert_eq!(near.look().await, LEFT, "{object}");
    }
    assert!(obsidian.ran().is_empty());
    // An answer that somebody else wrote is none.
    let waits = agent.answer("list_commands", json!({})).await["pending"]["request_id"].as_str().unwrap().to_owned();
    let forged = json!({ "text": json!({ "outcome": { "Ok": { "items": [] } }, "at": clock::now() }).to_string(), "seal": good["seal"] });
    mirror.create_state_if_absent(&format!("app/answers/{waits}"), &forged).await.unwrap();
    assert!(agent.answer("list_commands", json!({})).await["pending"].is_object());
}

#[tokio::test]
async fn a_request_is_taken_once_and_not_after_its_time() {
    clock::stop();
    let (deployment, obsidian) = started(Kind::default()).await;
    let client = obsidian.place().function(&deployment, json!({})).await;
    let agent = agent(&client, &all());
    let mut near = Near::start(&deployment, obsidian.place());
    let (mut second, mirror) = (Near::start(&deployment, obsidian.place()), near.mirror.clone());
    agent.answer("execute_command", json!({ "command_id": SAVE })).await;
    assert_eq!((near.look().await, second.look().await), (ANSWERED, LEFT), "two hosts");
    assert_eq!(obsidian.ran().len(), 1);
    // Somebody deletes the claim and the answer, and leaves the request again: this host has seen it, and one that begins now is younger.
    let name = requests(&mirror).await.remove(0);
    for key in [format!("app/taken/{name}"), format!("app/answers/{name}")] {
        mirror.delete_state(&key).await.unwrap();
    }
    clock::pass(Duration::from_secs(2));
    let mut restarted = Near::start(&deployment, obsidian.place());
    assert_eq!((near.look().await, restarted.look().await), (NOTHING, LEFT));
    assert_eq!(obsidian.ran().len(), 1);
    // Nor one that is away for a look, and back then.
    let key = format!("app/requests/{name}");
    let copy: Value = mirror.get_state_up_to(&key, 1 << 20).await.unwrap().unwrap();
    mirror.delete_state(&key).await.unwrap();
    assert_eq!(near.look().await, NOTHING);
    assert!(mirror.create_state_if_absent(&key, &copy).await.unwrap());
    assert_eq!((near.look().await, obsidian.ran().len()), (NOTHING, 1));
    // One that nobody took in time.
    agent.answer("execute_command", json!({ "command_id": SAVE, "idempotency_key": "late" })).await;
    clock::pass(Duration::from_secs(301));
    assert_eq!(near.look().await.answered, 0);
    assert_eq!(obsidian.ran().len(), 1);
    let again = agent.answer("execute_command", json!({ "command_id": SAVE, "idempotency_key": "late" })).await;
    assert!(again["pending"].is_object(), "it is left anew: {again}");
    assert_eq!(near.look().await, ANSWERED);
    // One that the host took and said nothing of.
    agent.answer("execute_command", json!({ "command_id": SAVE, "idempotency_key": "lost" })).await;
    near.look().await;
    for made in mirror.list_state("app/answers", None).await.unwrap() {
        mirror.delete_state(&format!("app/answers/{}", made.name)).await.unwrap();
    }
    clock::pass(Duration::from_secs(301));
    let lost = json!({ "command_id": SAVE, "idempotency_key": "lost" });
    assert_eq!(agent.refused("execute_command", lost).await, "commit_unknown");
}

#[tokio::test]
async fn a_hundred_requests_wait_at_most() {
    clock::stop();
    let (deployment, obsidian) = started(Kind::default()).await;
    let client = obsidian.place().function(&deployment, json!({})).await;
    let agent = agent(&client, &all());
    for number in 0..100 {
        agent.answer("makemd_query", json!({ "space_id": format!("{number}") })).await;
    }
    assert_eq!(agent.refused("makemd_query", json!({ "space_id": "x" })).await, "throttled");
    clock::pass(Duration::from_secs(600));
    assert!(agent.answer("makemd_query", json!({ "space_id": "x" })).await["pending"].is_object());
}
