//! Vaults with documents of their own: a deployment of many behaves as one of few.

use std::process::Command;
use std::time::{Duration, Instant};

use atlas_access::scope;
use atlas_testkit::VaultBuilder;
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment, Reply};
use crate::support::programs::{Place, atlas, json_of, serve};
use crate::support::tokens::{SECRET, bearer, send, token};

const MANY: usize = 10_000;

fn of_tenant(number: usize) -> String {
    format!("tenant-{number}")
}

async fn put(deployment: &Deployment, vault: &str, document: &str) {
    let path = Path::from(format!("config/vaults/{vault}.json"));
    deployment.objects.put(&path, PutPayload::from(document.to_owned())).await.unwrap();
}

async fn deployed(deployment: &Deployment, vaults: &[&str], more: &str, max_age: Duration) -> Client {
    let listed: Vec<Value> = vaults.iter().map(|id| json!({ "id": id })).collect();
    let listed = json!(listed);
    let document =
        format!(r#"{{"vaults": {listed}, "vaultDocuments": "store:config/vaults", "auth": {{"mode": "jwt"}}{more}}}"#);
    let variables = [("ATLAS_CONFIG", document.as_str()), ("ATLAS_JWT_SECRET", SECRET)];
    deployment.try_set_up(&variables, max_age).await.unwrap()
}

async fn read(client: &Client, vault: &str) -> Reply {
    let headers = [bearer(&token("agent", &scope::ALL, Some(vault)))];
    send(client, "GET", "/notes/note.md", &headers, &Value::Null).await
}

/// A store with the vault `main` and two tenants.
async fn tenants() -> Deployment {
    let vault = |text: &str| VaultBuilder::new().note("note.md", text);
    let deployment = Deployment::of_vault(&vault("# Main")).await;
    for number in 0..2 {
        deployment.publish_as(&of_tenant(number), vault(&format!("# Tenant {number}")).root()).await;
        let id = of_tenant(number);
        put(&deployment, &id, &json!({ "id": id }).to_string()).await;
    }
    deployment
}

#[tokio::test]
async fn among_ten_thousand_vaults_a_call_costs_one_request_more() {
    let deployment = tenants().await;
    let listed = deployed(&deployment, &["main", "tenant-1"], "", Duration::from_secs(30)).await;
    assert_eq!(read(&listed, "tenant-1").await.ok()["content"], "# Tenant 1");
    let usual = listed.requests.take();
    for number in 2..MANY {
        let id = of_tenant(number);
        put(&deployment, &id, &format!(r#"{{"id": "{id}"}}"#)).await;
    }
    let client = deployed(&deployment, &["main"], "", Duration::from_secs(30)).await;
    client.requests.take();
    assert_eq!(read(&client, "tenant-1").await.ok()["content"], "# Tenant 1");
    let cold = client.requests.take();
    assert_eq!(cold.count(), usual.count() + 1, "{cold}\n{usual}");
    assert_eq!(cold.without("config/vaults/tenant-1.json").count(), usual.count());
    // Warm, the document is not asked for again.
    read(&client, "tenant-1").await.ok();
    let warm = client.requests.take();
    read(&listed, "tenant-1").await.ok();
    assert_eq!(warm.count(), listed.requests.take().count(), "{warm}");
    assert_eq!(read(&client, "tenant-0").await.ok()["content"], "# Tenant 0");
}

#[tokio::test]
async fn a_vault_without_a_document_is_as_one_that_the_token_is_not_for() {
    let deployment = tenants().await;
    let client = deployed(&deployment, &["main"], "", Duration::ZERO).await;
    for vault in ["attic", "tenant-9", "../config", "a/b"] {
        assert_eq!(read(&client, vault).await.error(403).1, "vault_forbidden", "{vault}");
    }
    let headers = [bearer(&token("agent", &scope::ALL, None)), ("x-atlas-vault".to_owned(), "tenant-1".to_owned())];
    let reply = send(&client, "GET", "/notes/note.md", &headers, &Value::Null).await;
    assert_eq!(reply.error(403).1, "vault_forbidden");
    // One that gets its document is there from the next request on.
    deployment.publish_as("tenant-9", VaultBuilder::new().note("note.md", "# New").root()).await;
    put(&deployment, "tenant-9", r#"{"id": "tenant-9"}"#).await;
    assert_eq!(read(&client, "tenant-9").await.ok()["content"], "# New");
    deployment.objects.delete(&Path::from("config/vaults/tenant-9.json")).await.unwrap();
    assert_eq!(read(&client, "tenant-9").await.error(403).1, "vault_forbidden");
}

#[tokio::test]
async fn each_document_has_rules_of_its_own_or_the_roots() {
    let deployment = tenants().await;
    put(&deployment, "tenant-0", r#"{"id": "tenant-0", "acl": {"writePaths": ["inbox/**"]}}"#).await;
    let client = deployed(&deployment, &["main"], r#", "acl": {"readOnly": true}"#, Duration::ZERO).await;
    let write = async |vault: &str, path: &str| {
        let headers = [bearer(&token("agent", &scope::ALL, Some(vault)))];
        let content = json!({ "content": "x" });
        send(&client, "PUT", &format!("/notes/{path}"), &headers, &content).await.status.as_u16()
    };
    assert_eq!(write("tenant-0", "inbox/a.md").await, 201);
    assert_eq!(write("tenant-0", "a.md").await, 403);
    assert_eq!(write("tenant-1", "inbox/a.md").await, 403);
    // A changed rule holds from the next request on.
    put(&deployment, "tenant-0", r#"{"id": "tenant-0", "acl": {"readPaths": ["other/**"]}}"#).await;
    assert_eq!(read(&client, "tenant-0").await.status.as_u16(), 403);
    assert_eq!(read(&client, "tenant-1").await.ok()["content"], "# Tenant 1");
}

#[tokio::test]
async fn a_document_that_cannot_be_used_stops_its_vault_alone() {
    let deployment = tenants().await;
    let client = deployed(&deployment, &["main"], "", Duration::ZERO).await;
    read(&client, "tenant-0").await.ok();
    let long = format!(r#"{{"id": "tenant-0"{}}}"#, " ".repeat(300_000));
    for bad in [
        "",
        "{",
        "[]",
        r#"[{"id": "tenant-0"}]"#,
        r#"{"name": "without an id"}"#,
        r#"{"id": "tenant-1"}"#,
        r#"{"id": "tenant-0", "acl": {"readOnly": "yes"}}"#,
        r#"{"id": "tenant-0", "secret": 1}"#,
        r#"{"id": "tenant-0"}], "acl": {"readOnly": false}, "vaults": [{"id": "tenant-0"}"#,
        &long,
    ] {
        put(&deployment, "tenant-0", bad).await;
        assert_eq!(read(&client, "tenant-0").await.error(503).1, "config_unusable", "{bad:.60}");
        assert_eq!(read(&client, "tenant-1").await.ok()["content"], "# Tenant 1");
        assert_eq!(read(&client, "main").await.ok()["content"], "# Main");
    }
    put(&deployment, "tenant-0", r#"{"id": "tenant-0"}"#).await;
    assert_eq!(read(&client, "tenant-0").await.ok()["content"], "# Tenant 0");
}

/// The statuses of so many requests, one after the other.
fn statuses(address: &str, vault: &str, calls: usize) -> Vec<String> {
    let output = Command::new("curl")
        .args(["--silent", "--max-time", "60", "--output", "/dev/null", "--write-out", "%{http_code}\n"])
        .args(["--header", &format!("x-atlas-vault: {vault}"), &format!("{address}/notes/note.md#[1-{calls}]")])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_noisy_vault_takes_its_own_tokens_alone_from_processes_that_all_share() {
    const BURST: usize = 30;
    let place = Place::new();
    let folder = VaultBuilder::new().note("note.md", "# Note");
    json_of(place.sync(folder.root()).arg("--json"));
    let mut sync = atlas();
    sync.args(["sync", "--json", "--vault", "quiet", "--store", &place.store]).arg("--state").arg(place.path("quiet"));
    json_of(sync.arg("--root").arg(folder.root()));
    let tier = |burst: usize| json!({ "read": { "perMinute": 60, "burst": burst } });
    let throttle = json!({ "tiers": tier(10_000), "vaultTiers": tier(BURST) });
    let document = json!({ "vaults": [{ "id": "main" }, { "id": "quiet" }], "throttle": throttle }).to_string();
    let processes = [(); 2].map(|()| {
        let (process, mut lines) =
            serve(&place, [("ATLAS_CONFIG", document.clone()), ("ATLAS_LOG", "error".to_owned())]);
        let address =
            |line: String| Some(format!("http://{}", line.split_once("http://")?.1.split([' ', '/']).next()?));
        (process, lines.find_map(address).expect("the server says where it is"))
    });
    let begun = Instant::now();
    let count = |answers: &[String], status: &str| answers.iter().filter(|answer| *answer == status).count();
    std::thread::scope(|scope| {
        let floods: Vec<_> = processes
            .iter()
            .flat_map(|(_, address)| [address; 4])
            .map(|address| scope.spawn(move || statuses(address, "main", 250)))
            .collect();
        // While that goes on, and after it, the other vault is answered.
        let quiet: Vec<String> =
            processes.iter().flat_map(|(_, address)| statuses(address, "quiet", BURST / 2)).collect();
        assert_eq!(count(&quiet, "200"), BURST, "{quiet:?}");
        let flood: Vec<String> = floods.into_iter().flat_map(|flood| flood.join().unwrap()).collect();
        let (done, refused) = (count(&flood, "200"), count(&flood, "429"));
        let most = 2 * (BURST + begun.elapsed().as_secs() as usize + 1);
        assert!(done > BURST && done <= most, "{done} of at most {most}");
        assert_eq!(done + refused, 8 * 250);
    });
    for (_, address) in &processes {
        assert_eq!(statuses(address, "quiet", 5), ["200"; 5]);
    }
}
