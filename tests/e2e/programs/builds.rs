//! Builds and compactions: the programs as processes, and with no more than the policies of their roles.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use atlas_build::events::{BuildEvent, QueueEvent, Settings};
use atlas_build::publish::Run;
use atlas_build::records::Shard;
use atlas_mirror::Store;
use atlas_mirror::keys::path_of;
use atlas_testkit::project::{project, skip};
use atlas_testkit::real_store::minio;
use atlas_testkit::stand_in::Reply;
use atlas_testkit::{StandIn, VaultBuilder};
use jiff::Timestamp;
use object_store::ObjectStoreExt as _;
use serde_json::{Value, json};

use super::policies::{EVENT_FUNCTIONS, Site};
use crate::support::programs::{Place, Running, free_port, function, json_of, until};

/// More than one part of an upload.
const LARGE: usize = 9 << 20;

/// A folder store, and MinIO if there is one.
fn places() -> Vec<Place> {
    [Some(Place::new()), minio().map(Place::on)].into_iter().flatten().collect()
}

fn event(name: &str) -> String {
    format!("{}/events/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

/// Puts the files of a folder below `sources/main` of a store, as `aws s3 sync` does.
async fn put_source(store: &Store, root: &Path) {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            let key = match store.prefix() {
                "" => format!("sources/main/{name}"),
                prefix => format!("{prefix}/sources/main/{name}"),
            };
            store.inner().put(&path_of(&key).unwrap(), std::fs::read(&path).unwrap().into()).await.unwrap();
        }
    }
}

/// The program of a function on the store of `place`.
fn program(place: &Place, name: &str, event: &str) -> Command {
    let mut command = place.reached_by(function(name, event));
    command.env("ATLAS_STORE", &place.store).env("ATLAS_SOURCE", format!("{}/sources", place.store));
    command.env("ATLAS_SHARD_BYTES", "8000");
    command
}

/// The items of the plan that a program made.
async fn items(place: &Place, planned: &Value) -> Vec<Value> {
    let key = path_of(planned["key"].as_str().unwrap()).unwrap();
    let plan = place.open().inner().get(&key).await.unwrap().bytes().await.unwrap();
    serde_json::from_slice(&plan).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_build_a_vault_that_answers() {
    let vault = (0..60).fold(VaultBuilder::new(), |vault, n| {
        let text = format!("# Note {n}\n\nThe lighthouse of day {n}.\n{}", "and more words\n".repeat(100));
        vault.note(&format!("folder {}/ä note {n}.md", n % 7), &text)
    });
    let vault = vault.file("picture.png", &[7; LARGE]).file("plan.canvas", b"{}");
    for place in places() {
        put_source(&place.open(), vault.root()).await;
        let planned = json_of(&mut program(&place, "builder", &event("build-plan")));
        let items = items(&place, &planned).await;
        assert!(items.len() > 8 && planned["shards"] == json!(items.len()), "{planned}");
        // All at once; the first is killed and built again.
        let mut killed = program(&place, "builder", &items[0].to_string()).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        killed.kill().unwrap();
        killed.wait().unwrap();
        let spawned = items.iter().map(|item| {
            program(&place, "builder", &item.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        });
        for process in spawned.collect::<Vec<_>>() {
            let output = process.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let published = json_of(&mut program(&place, "publish", &event("publish")));
        assert_eq!((&published["generation"], &published["changes"]["added"]), (&json!(1), &json!(62)), "{published}");
        assert_eq!(published, json_of(&mut program(&place, "publish", &event("publish"))), "a repetition");
        assert_eq!(place.exports(vault.root()), 1);
        let found = json_of(place.atlas("search").args(["lighthouse of day 41", "--json"]));
        assert!(found.to_string().contains("note 41.md"), "{found}");
        let answer = json_of(&mut program(&place, "compact", &event("sqs-compact")));
        assert_eq!(answer, json!({ "batchItemFailures": [] }));
        assert!(place.mirror().head().await.unwrap().segments().len() <= 2, "small segments are merged");
        place.exports(vault.root());
    }
}

#[test]
fn a_program_says_what_is_wrong_with_its_event() {
    let place = Place::new();
    for (name, event, expected) in [
        ("builder", "{}", "the event cannot be read"),
        ("builder", "/no/such/file", "/no/such/file"),
        ("builder", r#"{"plan":{"vault":"../x","run":"r"}}"#, "a vault id is"),
        ("builder", r#"{"plan":{"vault":"main","run":"a/b"}}"#, "cannot be a run's name"),
        ("publish", r#"{"vault":"main","run":"never"}"#, "not built"),
    ] {
        let output = program(&place, name, event).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains(expected), "{name} {event}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_of_a_build_needs_no_more_than_the_policies_of_its_role() {
    let Some(site) = Site::new().await else { return };
    let vault = VaultBuilder::new().note("a.md", "a\n").note("b/c.md", "c\n").file("large.bin", &[1; LARGE]);
    let owner = atlas_mirror::location::open(&site.url(), &site.minio.variables(&[])).unwrap();
    put_source(&owner, vault.root()).await;
    let functions = site.template.functions();
    for (run, config) in [("one", None), ("two", Some("config/atlas.json"))] {
        let settings = |function: &str| {
            let (_, policies) = functions.iter().find(|(name, _)| name == function).unwrap();
            let policies: Vec<&str> = policies.iter().map(String::as_str).collect();
            let role = site.role(&policies, config).into_iter().map(|(name, value)| (name.to_owned(), value));
            let store = [("ATLAS_STORE", site.url()), ("ATLAS_SOURCE", format!("{}/sources", site.url()))];
            Settings::read(role.chain(store.map(|(name, value)| (name.to_owned(), value)))).unwrap()
        };
        let [builder, publish, compact] = EVENT_FUNCTIONS.map(settings);
        let run = || Run { vault: "main".to_owned(), run: run.to_owned(), allow_mass_delete: false };
        let plan = BuildEvent::Plan { plan: run() };
        let planned = serde_json::to_value(builder.build(plan, Timestamp::now()).await.unwrap()).unwrap();
        let key = path_of(planned["key"].as_str().unwrap()).unwrap();
        let plan = owner.inner().get(&key).await.unwrap().bytes().await.unwrap();
        for shard in serde_json::from_slice::<Vec<Shard>>(&plan).unwrap() {
            builder.build(BuildEvent::Shard(shard), Timestamp::now()).await.unwrap();
        }
        publish.publish(run(), Timestamp::now()).await.unwrap();
        let messages: QueueEvent =
            serde_json::from_str(&std::fs::read_to_string(event("sqs-compact")).unwrap()).unwrap();
        let answer = compact.compact(messages, Timestamp::now()).await;
        assert_eq!(answer.batch_item_failures, []);
        put_source(&owner, VaultBuilder::new().note("new.md", "new\n").root()).await;
    }
    let head = atlas_mirror::Mirror::open(
        owner,
        "main".parse().unwrap(),
        atlas_mirror::PartCache::new(0).into(),
        atlas_mirror::Options::default(),
    );
    assert_eq!(head.unwrap().head().await.unwrap().manifest().totals.documents, 4);
}

#[test]
fn functions_of_events_get_no_secret_of_callers() {
    let template = std::fs::read_to_string(project().join("infra/template.yaml")).unwrap();
    let template: Value = serde_saphyr::from_str(&template).unwrap();
    let secrets: Vec<&str> = template["Globals"]["Function"]["Environment"]["Variables"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .filter(|name| name.contains("SECRET"))
        .collect();
    assert_eq!(secrets, ["ATLAS_JWT_SECRET", "ATLAS_OBSIDIAN_SECRET"]);
    for name in ["BuilderFunction", "PublishFunction", "CompactFunction"] {
        let variables = &template["Resources"][name]["Properties"]["Environment"]["Variables"];
        assert!(secrets.iter().all(|secret| variables[*secret] == "AWS::NoValue"), "{name}: {variables}");
    }
}

/// Lambda's runtime interface, for one event.
#[tokio::test(flavor = "multi_thread")]
async fn on_lambda_a_program_answers_the_events_of_the_runtime() {
    let place = Place::new();
    let events = AtomicUsize::new(0);
    let message = json!({ "Records": [{ "messageId": "1", "body": "{\"vault\":\"main\"}" }] }).to_string();
    let runtime = StandIn::new(move |asked| {
        let is_next = asked.target.ends_with("/invocation/next");
        if !is_next || events.fetch_add(1, Relaxed) > 0 {
            return if is_next { Reply::Silence(Duration::from_secs(60)) } else { Reply::Status(202, String::new()) };
        }
        let head = [
            "HTTP/1.1 200 OK",
            "lambda-runtime-aws-request-id: one",
            "lambda-runtime-deadline-ms: 9999999999999",
            "lambda-runtime-invoked-function-arn: arn:aws:lambda:us-east-1:123456789012:function:compact",
            &format!("content-length: {}", message.len()),
            "connection: close",
        ];
        Reply::Raw(format!("{}\r\n\r\n{message}", head.join("\r\n")).into_bytes())
    })
    .await;
    let mut compact = program(&place, "compact", "");
    compact.env("AWS_LAMBDA_RUNTIME_API", runtime.address().trim_start_matches("http://"));
    for name in ["FUNCTION_NAME", "FUNCTION_VERSION", "LOG_GROUP_NAME", "LOG_STREAM_NAME"] {
        compact.env(format!("AWS_LAMBDA_{name}"), "compact");
    }
    let _running =
        Running(compact.env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512").stderr(Stdio::null()).spawn().unwrap());
    let answer = until(Duration::from_secs(30), "the answer", || {
        let asked = runtime.asked();
        asked.into_iter().find(|asked| asked.target.ends_with("/invocation/one/response")).ok_or("none")
    });
    assert_eq!(answer.json(), json!({ "batchItemFailures": [] }));
}

/// LocalStack with more than S3, on a port of its own.
struct LocalStack(String);

impl LocalStack {
    fn start() -> Option<(Self, Vec<(String, String)>)> {
        if !project().join("target/tools/localstack/bin/python").exists() {
            skip("the state machines on LocalStack, which is not installed; run: make setup-localstack");
            return None;
        }
        let running = Self(free_port().to_string());
        let mut start = Command::new(project().join("localstack/start.sh"));
        start.args(["localstack", &running.0]).env("SERVICES", "s3,stepfunctions,sqs,events,iam,sts");
        let output = start.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let variables = text.lines().filter_map(|line| line.strip_prefix("export ")?.split_once('='));
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Some((running, variables))
    }
}

impl Drop for LocalStack {
    fn drop(&mut self) {
        let _ = Command::new(project().join("localstack/stop.sh")).args(["localstack", &self.0]).status();
    }
}

#[test]
fn the_state_machines_build_a_vault_and_ask_for_its_compaction() {
    let Some((_running, variables)) = LocalStack::start() else { return };
    let programs = Path::new(function("builder", "").get_program()).parent().unwrap().to_owned();
    let mut script = Command::new(project().join("target/tools/localstack/bin/python"));
    script.arg(project().join("localstack/state_machines.py")).arg(programs).arg(project().join("tests/vaults/demo"));
    let done = json_of(script.envs(variables));
    let (published, vault) = (&done["published"], &done["vault"]);
    assert!(published["files"].as_u64() > Some(50) && published["changes"]["added"] == published["files"], "{done}");
    assert_eq!((&published["generation"], &published["left"]), (&json!(1), &json!(0)), "{done}");
    assert_eq!(done["groups"][0], *vault, "the build asks for the compaction of its vault");
    assert_eq!(done["is_other"], true, "a hundredth generation asks for that of its vault");
    assert_ne!(done["groups"][1], *vault);
    assert_eq!(done["compacted"], json!({ "batchItemFailures": [] }));
}

/// The events are those that the state machine of the template sends.
#[test]
fn sample_events_are_readable() {
    let read = |name: &str| std::fs::read_to_string(event(name)).unwrap();
    assert!(matches!(serde_json::from_str(&read("build-plan")).unwrap(), BuildEvent::Plan { .. }));
    assert!(matches!(serde_json::from_str(&read("build-shard")).unwrap(), BuildEvent::Shard(_)));
    assert_eq!(serde_json::from_str::<Run>(&read("publish")).unwrap().vault, "main");
    assert_eq!(serde_json::from_str::<QueueEvent>(&read("sqs-compact")).unwrap().records.len(), 1);
}
