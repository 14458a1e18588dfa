//! obsidian-tc's tools for attachments.

use std::time::Duration;

use atlas_testkit::VaultBuilder;
use atlas_testkit::real_store::{localstack, minio};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::Deployment;
use crate::support::publish::publish;
use crate::support::signing::{fetched, mirror_in, signing};
use crate::support::tools::{Tools, guarded};

const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0picture";

fn vault() -> VaultBuilder {
    VaultBuilder::new()
        .note("a.md", "![[pic.png]] and ![[pic.png]]")
        .note("b.md", "![x](media/pic.png) [[board.canvas]]")
        .file("media/pic.png", PICTURE)
        .file("media/lone.PDF", b"%PDF\0")
        .file("board.canvas", b"{}")
        .file("data.bin", b"\0\x01")
}

fn paths(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn attachments_are_listed_with_how_many_notes_link_to_them() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let all = tools.good("list_attachments", json!({})).await;
    assert_eq!(paths(&all), ["media/lone.PDF", "media/pic.png"]);
    let picture = &all["items"][1];
    assert_eq!((&picture["mime"], &picture["size_bytes"]), (&json!("image/png"), &json!(PICTURE.len())));
    assert_eq!((&picture["reference_count"], &all["items"][0]["reference_count"]), (&json!(2), &json!(0)));
    for (call, expected) in [
        (json!({ "orphans_only": true }), vec!["media/lone.PDF"]),
        (json!({ "referenced_only": true }), vec!["media/pic.png"]),
        (json!({ "extensions": ["bin", ".CANVAS", "md"] }), vec!["board.canvas", "data.bin"]),
        (json!({ "root": "media/", "extensions": ["pdf"] }), vec!["media/lone.PDF"]),
        (json!({ "root": "media", "extensions": ["zip"] }), vec![]),
    ] {
        assert_eq!(paths(&tools.good("list_attachments", call.clone()).await), expected, "{call}");
    }
    tools.bad("list_attachments", json!({ "root": "med" }), "note_not_found").await;
    let first = tools.good("list_attachments", json!({ "limit": 1 })).await;
    let second = tools.good("list_attachments", json!({ "limit": 1, "cursor": first["cursor"] })).await;
    assert_eq!([paths(&first), paths(&second)].concat(), paths(&all));
    tools.bad("list_attachments", json!({ "orphans_only": true, "referenced_only": true }), "invalid_input").await;

    let config = json!({ "acl": { "readPaths": ["media/**", "a.md"] } }).to_string();
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
    let tools = Tools::of(&client);
    let seen = tools.good("list_attachments", json!({ "referenced_only": true })).await;
    assert_eq!((paths(&seen), &seen["items"][0]["reference_count"]), (vec!["media/pic.png"], &json!(1)));
}

#[tokio::test]
async fn a_picture_is_content_of_that_type_through_both_doors() {
    let client = Deployment::of_vault(&vault()).await.client();
    let wanted = json!({ "path": "media/pic.png", "include_data": true });
    let data = BASE64.encode(PICTURE);
    for era in ERAS {
        let result = Agent::new(&client, era).call("get_attachment", wanted.clone()).await;
        assert_eq!(result["content"][1], json!({ "type": "image", "data": data, "mimeType": "image/png" }), "{result}");
        assert!(!result["structuredContent"].to_string().contains(&data), "{result}");
    }
    let call = json!({ "name": "get_attachment", "arguments": wanted });
    for (tool, arguments) in [("get_attachment", &wanted), ("call_capability", &call)] {
        let path = format!("/bridge/v1/tools/{tool}/call");
        let reply = client.post(&path, json!({ "arguments": arguments })).await.ok();
        assert_eq!(reply["content"][1], json!({ "type": "image", "data": data, "mimeType": "image/png" }), "{reply}");
        assert!(!reply["content"][0]["text"].as_str().unwrap().contains(&data), "{reply}");
    }
}

#[tokio::test]
async fn files_are_resources() {
    let client = Deployment::of_vault(&vault()).await.client();
    for era in ERAS {
        let agent = Agent::new(&client, era);
        for (path, mime, bytes) in
            [("media/pic.png", "image/png", PICTURE), ("data.bin", "application/octet-stream", b"\0\x01")]
        {
            let uri = format!("atlas://main/{path}");
            let read = agent.result("resources/read", json!({ "uri": uri })).await;
            let blob = json!({ "uri": uri, "mimeType": mime, "blob": BASE64.encode(bytes) });
            assert_eq!(read["contents"], json!([blob]), "{read}");
        }
        let board = agent.result("resources/read", json!({ "uri": "atlas://main/board.canvas" })).await;
        assert_eq!(
            (&board["contents"][0]["text"], &board["contents"][0]["mimeType"]),
            (&json!("{}"), &json!("application/json"))
        );
    }
}

#[tokio::test]
async fn a_picture_without_room_is_scaled_down() {
    let jpeg = b"smaller".as_slice();
    let client = Deployment::of_vault(&vault()).await.client_with(|mut app| {
        app.atlas.scale_picture = Some(|_, most| Some(b"smaller".to_vec()).filter(|jpeg| jpeg.len() <= most));
        app
    });
    let tools = Tools::of(&client);
    let wanted = |path: &str, most: usize| json!({ "path": path, "include_data": true, "max_bytes": most });
    let got = tools.good("get_attachment", wanted("media/pic.png", jpeg.len())).await;
    assert_eq!(got["data_base64"], BASE64.encode(jpeg), "{got}");
    assert_eq!(
        (&got["mime"], &got["data_mime"], &got["size_bytes"]),
        (&json!("image/png"), &json!("image/jpeg"), &json!(PICTURE.len()))
    );
    let whole = tools.good("get_attachment", wanted("media/pic.png", PICTURE.len())).await;
    assert_eq!((&whole["data_base64"], whole.get("data_mime")), (&json!(BASE64.encode(PICTURE)), None));
    // A picture that cannot be scaled down is refused, and so is a file that is not a picture.
    for (path, most) in [("media/pic.png", jpeg.len() - 1), ("data.bin", 1)] {
        let refused = tools.bad("get_attachment", wanted(path, most), "invalid_input").await;
        assert!(refused["message"].as_str().unwrap().contains("presign"), "{refused}");
    }
    let result = Agent::new(&client, ERAS[0]).call("get_attachment", wanted("media/pic.png", jpeg.len())).await;
    assert_eq!(result["content"][1], json!({ "type": "image", "data": BASE64.encode(jpeg), "mimeType": "image/jpeg" }));
}

#[tokio::test]
async fn an_attachment_comes_whole_or_not_at_all() {
    let client = Deployment::of_vault(&vault()).await.client();
    let tools = Tools::of(&client);
    let told = tools.good("get_attachment", json!({ "path": "media/pic.png" })).await;
    assert_eq!((&told["size_bytes"], told.get("data_base64")), (&json!(PICTURE.len()), None));
    for (path, bytes) in [("media/pic.png", PICTURE), ("board.canvas", b"{}"), ("data.bin", b"\0\x01")] {
        let got = tools.good("get_attachment", json!({ "path": path, "include_data": true })).await;
        assert_eq!(BASE64.decode(got["data_base64"].as_str().unwrap()).unwrap(), bytes, "{path}");
    }
    let few = json!({ "path": "media/pic.png", "include_data": true, "max_bytes": PICTURE.len() - 1 });
    tools.bad("get_attachment", few, "invalid_input").await;
    let refused = tools.bad("read_note", json!({ "path": "media/pic.png" }), "note_not_found").await;
    assert!(refused["message"].as_str().unwrap().contains("get_attachment"), "{refused}");
    for path in ["media/none.png", ".obsidian/app.json"] {
        let code = if path.starts_with('.') { "acl_denied" } else { "note_not_found" };
        tools.bad("get_attachment", json!({ "path": path }), code).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_read_from_a_url_where_the_store_makes_them() {
    let vault = vault();
    let presigned = |path: &str| json!({ "path": path, "presign": true });
    // LocalStack does not check signatures.
    for (store, is_strict) in [(localstack(), false), (minio(), true)] {
        let Some(store) = store else { continue };
        let place = store.fresh();
        publish(vault.root(), &mirror_in(&place), tempfile::tempdir().unwrap().path()).await;
        let client = signing(&place, |app| app);
        let tools = Tools::of(&client);
        let got = tools.good("get_attachment", presigned("media/pic.png")).await;
        let (url, expires): (&str, Timestamp) =
            (got["url"].as_str().unwrap(), got["expires_at"].as_str().unwrap().parse().unwrap());
        assert_eq!(fetched(url).as_deref(), Some(PICTURE));
        assert!(expires > Timestamp::now() && expires < Timestamp::now() + Duration::from_secs(900), "{expires}");
        assert_eq!(got.get("data_base64"), None);
        // Only for this object.
        let other = tools.good("get_attachment", presigned("data.bin")).await["url"].as_str().unwrap().to_owned();
        let (key, signature) = (other.split_once('?').unwrap().0, url.split_once('?').unwrap().1);
        let is_refused = fetched(&format!("{key}?{signature}")).is_none() && fetched(key).is_none();
        assert!(is_refused || !is_strict);
        tools.bad("get_attachment", presigned("board.canvas"), "presign_unsupported").await;
    }
    let client = Deployment::of_vault(&vault).await.client();
    let refused = Tools::of(&client).bad("get_attachment", presigned("media/pic.png"), "presign_unsupported").await;
    assert!(refused["message"].as_str().unwrap().contains("include_data"), "{refused}");
}

#[tokio::test]
async fn a_file_that_is_linked_to_is_deleted_when_it_is_meant_so_and_confirmed() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = guarded(&deployment);
    let tools = Tools::guarded(&client);
    let refused = tools.bad("delete_attachment", json!({ "path": "media/pic.png" }), "invalid_input").await;
    assert_eq!((&refused["details"]["field"], &refused["details"]["reference_count"]), (&json!("force"), &json!(2)));
    let forced = tools.confirmed("delete_attachment", json!({ "path": "media/pic.png", "force": true })).await;
    assert_eq!((&forced["references_at_delete"], &forced["recoverable"]), (&json!(2), &json!(true)));
    assert_eq!(forced["trash_path"], ".trash/media/pic.png");
    tools.bad("get_attachment", json!({ "path": "media/pic.png" }), "note_not_found").await;

    let lone = json!({ "path": "media/lone.PDF", "idempotency_key": "k" });
    let deleted = tools.confirmed("delete_attachment", lone.clone()).await;
    assert_eq!(tools.good("delete_attachment", lone).await, deleted, "made again, it tells the same");
    tools.good("create_canvas", json!({ "path": "own.canvas" })).await;
    tools.good("delete_attachment", json!({ "path": "own.canvas" })).await;
    let hard = tools.confirmed("delete_attachment", json!({ "path": "data.bin", "hard": true })).await;
    assert_eq!((&hard["recoverable"], hard.get("trash_path")), (&json!(false), None));
    for (path, code) in
        [("a.md", "path_invalid"), ("no.png", "note_not_found"), (".trash/media/pic.png", "path_invalid")]
    {
        tools.bad("delete_attachment", json!({ "path": path }), code).await;
    }
}

#[tokio::test]
async fn what_is_deleted_goes_into_the_folders_trash_at_the_next_sync() {
    let vault = vault();
    let deployment = Deployment::empty();
    let state = tempfile::tempdir().unwrap();
    crate::support::publish::publish(vault.root(), &deployment.mirror(), state.path()).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    tools.good("delete_attachment", json!({ "path": "media/lone.PDF" })).await;
    tools.good("delete_attachment", json!({ "path": "data.bin", "hard": true })).await;
    crate::support::publish::publish(vault.root(), &deployment.mirror(), state.path()).await;
    assert_eq!(vault.read(".trash/media/lone.PDF"), b"%PDF\0");
    for path in ["media/lone.PDF", "data.bin", ".trash/data.bin"] {
        assert!(!vault.path(path).exists(), "{path}");
    }
    assert_eq!(vault.read("media/pic.png"), PICTURE);
}
