//! The commands of `atlas` on the host of the vault, with exactly the rights of its policy.

use atlas_mirror::location;
use atlas_testkit::project::project;
use futures::TryStreamExt as _;
use object_store::path::Path as Key;
use object_store::{ObjectStore as _, ObjectStoreExt as _, PutPayload};
use serde_json::{Value, json};

use super::policies::{Site, is_refused, vault, works};
use crate::support::programs::{Place, json_of};

/// The key of the configuration.
const CONFIG: &str = "config/atlas.json";

#[tokio::test(flavor = "multi_thread")]
async fn the_host_of_the_vault_needs_no_more_than_its_policy() {
    let Some(site) = Site::new().await else { return };
    let role = site.role(&["SyncPolicy"], None);
    let (vault, state, to) = (vault(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sync = || works(&mut site.sync(&role, vault.root(), state.path()));
    sync();
    std::fs::write(vault.root().join("Home.md"), "# Home\n\nAnother text.\n").unwrap();
    std::fs::remove_file(vault.root().join("planning/now.md")).unwrap();
    sync();
    sync();
    let checks = || json_of(site.atlas(&role, "doctor").args(["--json", "--checksum"]));
    let are_ok = |checks: &Value| checks.as_array().unwrap().iter().all(|check| check["ok"] == true);
    assert!(are_ok(&checks()), "{}", checks());
    // Damage is found and repaired, including the copy of the newest manifest.
    let owner = location::open(&site.url(), &site.minio.variables(&[])).unwrap();
    let listed: Vec<_> = owner.inner().list(Some(&Key::from("vaults/main"))).try_collect().await.unwrap();
    let newest =
        |part: &str| listed.iter().map(|object| &object.location).filter(|key| key.as_ref().contains(part)).max();
    for part in ["/segments/", "/blobs/", "/manifests/"] {
        owner.inner().delete(newest(part).unwrap()).await.unwrap();
    }
    assert!(!are_ok(
        &serde_json::from_slice(&site.atlas(&role, "doctor").arg("--json").output().unwrap().stdout).unwrap()
    ));
    let repaired = json_of(site.sync(&role, vault.root(), state.path()).args(["--repair", "--json"]));
    assert!(repaired["repaired"]["flaws"].is_array() && repaired["repaired"]["put_back"].is_u64(), "{repaired}");
    assert!(are_ok(&checks()), "{}", checks());
    assert!(owner.inner().get(&Key::from("vaults/main/state/synced")).await.is_ok(), "no sync was told");
    for (name, arguments) in [
        ("log", &["--limit", "3"][..]),
        ("export", &["--to", to.path().to_str().unwrap()]),
        ("approve", &["--operation", "delete_note", "--args-hash", "826b25aa5348b27992342b87391afbc0"]),
    ] {
        works(site.atlas(&role, name).args(arguments));
    }
    let mut status = site.atlas(&role, "status");
    works(status.arg("--check").arg("--root").arg(vault.root()).arg("--state").arg(state.path()));
    // The parts of an abandoned upload are deleted.
    let store = site.open(&role);
    let mut upload = store.inner().put_multipart(&Key::from("vaults/main/blobs/given-up")).await.unwrap();
    upload.abort().await.unwrap();
    // Some find nothing to do; none is refused anything.
    for (name, arguments) in [
        ("search", &["Another"][..]),
        ("read", &["Home.md"]),
        ("table", &["TABLE file.name"]),
        ("approvals", &[]),
        ("undo", &["2"]),
        ("restore", &["planning/now.md"]),
        ("purge", &["planning/now.md", "--confirm", "planning/now.md"]),
    ] {
        let done = site.atlas(&role, name).args(arguments).output().unwrap();
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(matches!(done.status.code(), Some(0 | 1 | 3)) && !is_refused(&told), "{name}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_puts_models_and_reads_the_configuration_of_the_functions() {
    let Some(site) = Site::new().await else { return };
    let owner = location::open(&site.url(), &site.minio.variables(&[])).unwrap();
    let document = json!({ "embeddings": { "provider": "static", "model": "mean" } }).to_string();
    owner.inner().put(&Key::from(CONFIG), PutPayload::from(document)).await.unwrap();
    let role = site.role(&["SyncPolicy"], Some(CONFIG));
    let (vault, state) = (vault(), tempfile::tempdir().unwrap());
    works(&mut site.sync(&role, vault.root(), state.path()));
    let model = project().join("shared/embeddings/tests/fixtures/bert_mean");
    works(site.atlas(&role, "model add").arg(model).args(["--name", "mean"]));
    assert_eq!(json_of(site.atlas(&role, "model list").arg("--json"))[0]["name"], "mean");
    let with_config = |role: &[(&'static str, String)]| {
        vault.write("new.md", b"# New\n");
        let mut sync = site.sync(role, vault.root(), state.path());
        sync.arg("--json").env("ATLAS_CONFIG", format!("store:{CONFIG}"));
        sync.output().unwrap()
    };
    // Without the right to read the configuration the folder is in sync, and the person is told.
    let unread = with_config(&site.role(&["SyncPolicy"], None));
    let summary: Value = serde_json::from_slice(&unread.stdout).unwrap();
    assert_eq!(unread.status.code(), Some(3), "{summary}");
    assert!(summary["embedding_failure"].as_str().unwrap().contains(CONFIG), "{summary}");
    let read = with_config(&role);
    let summary: Value = serde_json::from_slice(&read.stdout).unwrap();
    assert!(read.status.success() && !is_refused(&String::from_utf8_lossy(&read.stderr)), "{read:?}");
    assert_eq!(summary.get("embedding_failure"), None, "{summary}");
    works(site.atlas(&role, "config validate").env("ATLAS_CONFIG", format!("store:{CONFIG}")));
    works(&mut site.atlas(&role, "model remove mean"));
    // Another vault's document is none of its business.
    for vault in ["main", "other"] {
        let key = Key::from(format!("config/vaults/{vault}.json"));
        owner.inner().put(&key, PutPayload::from_static(b"{}")).await.unwrap();
        assert_eq!(site.open(&role).inner().get(&key).await.is_ok(), vault == "main", "{key}");
    }
}

#[test]
fn a_sync_without_its_configuration_says_so_and_waits_for_a_person() {
    let (vault, place) = (vault(), Place::new());
    let sync = |configuration: &str| {
        let done = place.sync(vault.root()).arg("--json").env("ATLAS_CONFIG", configuration).output().unwrap();
        (done.status.code(), serde_json::from_slice::<Value>(&done.stdout).unwrap())
    };
    let (status, summary) = sync("store:config/none.json");
    assert!(summary["embedding_failure"].as_str().unwrap().contains("there is no such object"), "{summary}");
    assert_eq!((status, &summary["notes"]), (Some(3), &json!(3)), "the folder is in sync nevertheless");
    let (status, summary) = sync("{}");
    assert_eq!((status, summary.get("embedding_failure")), (Some(0), None), "{summary}");
}
