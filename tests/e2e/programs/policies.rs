//! The roles' permissions in the store, from the policies of the deployment template: on a store that enforces exactly
//! these, every function answers. Commands of the vault's host are in `host_commands`.
//!
//! MinIO issues credentials that are limited by a policy. It does not support the condition on `If-None-Match`, so a
//! proxy in front of it enforces that one.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use atlas_access::authority::AuthorityDocument;
use atlas_mirror::{Store, location};
use atlas_testkit::project::project;
use atlas_testkit::proxy::{Broken, FaultProxy};
use atlas_testkit::real_store::{RealStore, minio, patient};
use atlas_testkit::{Op, VaultBuilder};
use atlas_web::Routes;
use object_store::path::Path as Key;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::{Value, json};

use crate::oauth::site::{AUTHORITY, BASE, PASSPHRASE, Person, redeemed, registered};
use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::{Client, settings};
use crate::support::programs::atlas;
use crate::support::tokens::send;

/// The kinds of objects that are created and never overwritten.
const ONCE: [&str; 3] = ["manifests", "segments", "blobs"];
/// The functions that answer events, not requests.
pub(super) const EVENT_FUNCTIONS: [&str; 3] = ["builder", "publish", "compact"];
/// More than one part of an upload.
const LARGE: usize = 9 << 20;

/// The deployment template. CloudFormation functions are replaced by their arguments.
pub(super) struct Template(Value);

impl Template {
    pub(super) fn read() -> Self {
        let text = std::fs::read_to_string(project().join("infra/template.yaml")).unwrap();
        Self(serde_saphyr::from_str(&text).unwrap())
    }

    /// The functions' names, each with the policies of its role.
    pub(super) fn functions(&self) -> Vec<(String, Vec<String>)> {
        let resources = self.0["Resources"].as_object().unwrap().values();
        let functions = resources.filter(|resource| resource["Type"] == "AWS::Serverless::Function");
        let named = functions.map(|function| {
            let place = function["Properties"]["CodeUri"].as_str().unwrap();
            let name = place.trim_start_matches("../target/lambda/").trim_end_matches("/bootstrap.zip");
            let mut policies = Vec::new();
            for policy in function["Properties"]["Policies"].as_array().unwrap() {
                policies.extend(policy.as_str().map(str::to_owned));
                // With `SearchNotes` a reader writes.
                policies.extend(policy.get(1).and_then(Value::as_str).map(str::to_owned));
            }
            (name.to_owned(), policies)
        });
        named.collect()
    }

    /// The statements of some policies, for the vault `main` in `bucket`; with a configuration document if it has a
    /// key.
    fn statements(&self, policies: &[&str], bucket: &str, config: Option<&str>) -> Vec<Value> {
        let arn = format!("arn:aws:s3:::{bucket}");
        let known = |text: &str| {
            let text = text.replace("Bucket.Arn}", "Bucket}").replace("${Bucket}", &arn).replace("${VaultId}", "main");
            if text == "Bucket.Arn" {
                return arn.clone();
            }
            let text = text.replace("${SourceFolder}", "sources");
            text.replace("${ConfigKey}", config.unwrap_or_default()).replace("${VaultDocuments}", "config/vaults")
        };
        let all = policies.iter().flat_map(|policy| {
            let document = &self.0["Resources"][policy]["Properties"]["PolicyDocument"];
            document["Statement"].as_array().unwrap_or_else(|| panic!("{policy} has no statements")).clone()
        });
        all.filter_map(|statement| resolved(&statement, config.is_some(), &known)).collect()
    }
}

/// `value` without the template's functions: [`None`] if nothing is left.
fn resolved(value: &Value, has_config: bool, known: &impl Fn(&str) -> String) -> Option<Value> {
    let within = |value: &Value| resolved(value, has_config, known);
    match value {
        Value::String(text) if text == "AWS::NoValue" => None,
        Value::String(text) if text == "VaultId" => Some(json!("main")),
        Value::String(text) => Some(known(text).into()),
        Value::Array(items) if items.first().is_some_and(|first| first == "HasConfig") => {
            within(&items[if has_config { 1 } else { 2 }])
        }
        Value::Array(items) if items.first().is_some_and(|first| first == "HasSourceBucket") => within(&items[2]),
        Value::Array(items) if items.get(1).is_some_and(Value::is_object) && items[0].is_string() => {
            let mut text = known(items[0].as_str().unwrap());
            for (name, value) in items[1].as_object().unwrap() {
                text = text.replace(&format!("${{{name}}}"), within(value).unwrap().as_str().unwrap());
            }
            Some(text.into())
        }
        Value::Array(items) => Some(items.iter().filter_map(within).collect()),
        Value::Object(fields) => {
            Some(fields.iter().filter_map(|(name, value)| Some((name.clone(), within(value)?))).collect())
        }
        other => Some(other.clone()),
    }
}

/// An equivalent policy for MinIO, without the conditions that it does not support.
fn for_minio(statements: &[Value]) -> Value {
    let mut said = Vec::new();
    for statement in statements {
        let mut statement = statement.clone();
        let condition = statement.as_object_mut().unwrap().remove("Condition");
        match condition.as_ref().and_then(|condition| condition.get("StringLikeIfExists")) {
            None => said.push(statement),
            Some(like) => {
                for condition in [json!({ "StringLike": like }), json!({ "Null": { "s3:prefix": "true" } })] {
                    statement["Condition"] = condition;
                    said.push(statement.clone());
                }
            }
        }
    }
    json!({ "Version": "2012-10-17", "Statement": said })
}

/// A bucket in MinIO, behind a proxy that accepts new objects of [`ONCE`] with `If-None-Match` only.
pub(super) struct Site {
    pub(super) minio: &'static RealStore,
    proxy: FaultProxy,
    bucket: String,
    pub(super) template: Template,
}

impl Site {
    /// A site, if there is a MinIO.
    pub(super) async fn new() -> Option<Self> {
        static BUCKETS: AtomicUsize = AtomicUsize::new(0);
        let minio = minio()?;
        let bucket = format!("roles-{}-{}", std::process::id(), BUCKETS.fetch_add(1, Relaxed));
        let mut make = Self::root(minio, "s3");
        make.args(["--request", "PUT"]).arg(format!("{}/{bucket}", minio.endpoint()));
        assert!(make.status().unwrap().success());
        let proxy = FaultProxy::new(minio.endpoint()).await;
        for folder in ONCE {
            proxy.always(Op::Put, &format!("/main/{folder}/"), Broken::Answer(403));
        }
        Some(Self { minio, proxy, bucket, template: Template::read() })
    }

    /// curl, as the owner of all buckets.
    fn root(minio: &RealStore, service: &str) -> Command {
        let variables = minio.environment();
        let key = format!("{}:{}", variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"]);
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail-with-body", "--user", &key]);
        curl.args(["--aws-sigv4", &format!("aws:amz:us-east-1:{service}")]);
        curl
    }

    pub(super) fn url(&self) -> String {
        format!("s3://{}", self.bucket)
    }

    /// The variables to connect to the bucket with these policies.
    pub(super) fn role(&self, policies: &[&str], config: Option<&str>) -> Vec<(&'static str, String)> {
        let policy = for_minio(&self.template.statements(policies, &self.bucket, config));
        let mut curl = Self::root(self.minio, "sts");
        for field in ["Action=AssumeRole", "Version=2011-06-15", "DurationSeconds=3600", &format!("Policy={policy}")] {
            curl.args(["--data-urlencode", field]);
        }
        let output = curl.arg(self.minio.endpoint()).output().unwrap();
        let answer = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{answer}");
        let field = |name: &str| {
            let (_, rest) = answer.split_once(&format!("<{name}>")).unwrap();
            rest.split_once('<').unwrap().0.to_owned()
        };
        vec![
            ("AWS_ENDPOINT_URL", self.proxy.endpoint()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", field("AccessKeyId")),
            ("AWS_SECRET_ACCESS_KEY", field("SecretAccessKey")),
            ("AWS_SESSION_TOKEN", field("SessionToken")),
        ]
    }

    /// The bucket, as a role reaches it.
    pub(super) fn open(&self, role: &[(&'static str, String)]) -> Store {
        let variables = role.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        patient(location::open(&self.url(), &variables).unwrap())
    }

    /// The command `words` of `atlas`, on the host of the vault.
    pub(super) fn atlas(&self, role: &[(&'static str, String)], words: &str) -> Command {
        let mut command = atlas();
        command.args(words.split(' ')).args(["--vault", "main", "--store", &self.url()]);
        command.envs(role.iter().map(|(name, value)| (*name, value.as_str())));
        command
    }

    pub(super) fn sync(&self, role: &[(&'static str, String)], root: &Path, state: &Path) -> Command {
        let mut command = self.atlas(role, "sync");
        command.arg("--root").arg(root).arg("--state").arg(state);
        command
    }
}

/// Whether a command says that the store refused it something.
pub(super) fn is_refused(told: &str) -> bool {
    ["denied", "refuses"].iter().any(|word| told.contains(word))
}

#[track_caller]
pub(super) fn works(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !is_refused(&told), "{command:?}: {said}{told}");
    said.into_owned()
}

/// A vault with a file of several parts.
pub(super) fn vault() -> VaultBuilder {
    let large: Vec<u8> = (0..LARGE).map(|n| (n % 251) as u8).collect();
    VaultBuilder::new()
        .note("planning/now.md", "# Now\n\nThe lighthouse, see [[Home]].\n")
        .note("Home.md", "# Home\n\n- [ ] paint the lighthouse\n")
        .note("architecture/ARCHITECTURE.md", "# Components\n\n## Lamp\n")
        .file("large.bin", &large)
}

/// Requests to one function, one after the other.
fn requests(function: &str) -> Vec<(&'static str, &'static str, Value)> {
    let tool = |name: &'static str, arguments: Value| ("POST", name, json!({ "arguments": arguments }));
    let call = |name: &str, arguments: Value| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
        ("POST", "/mcp", call)
    };
    match function {
        "context" => vec![("POST", "/context/current", json!({}))],
        "find" => vec![("POST", "/find", json!({ "term": "lighthouse" }))],
        "search" => vec![("POST", "/search", json!({ "query": "lighthouse" }))],
        "query" => vec![("POST", "/query", json!({ "question": "What are the components?" }))],
        "note" => vec![
            ("GET", "/notes", Value::Null),
            ("GET", "/notes/Home.md", Value::Null),
            ("PUT", "/notes/new.md", json!({ "content": "new" })),
            ("PATCH", "/notes/new.md", json!({ "edits": [{ "op": "append", "text": "more" }] })),
            ("POST", "/notes/new.md", json!({ "content": "more" })),
            ("POST", "/move/new.md", json!({ "to": "newer.md" })),
            ("DELETE", "/notes/newer.md", Value::Null),
            ("POST", "/restore/newer.md", json!({})),
            ("GET", "/history/newer.md", Value::Null),
            ("GET", "/health", Value::Null),
        ],
        "bridge" => vec![
            ("GET", "/bridge/v1/health", Value::Null),
            ("GET", "/bridge/v1/tools", Value::Null),
            tool("/bridge/v1/tools/note_read/call", json!({ "path": "Home.md" })),
            tool(
                "/bridge/v1/tools/write_note/call",
                json!({ "path": "bridge.md", "content": "x", "idempotency_key": "b" }),
            ),
            tool("/bridge/v1/tools/vault_sync/call", json!({})),
            tool("/bridge/v1/tools/read_note/call", json!({ "path": "bridge.md" })),
        ],
        "mcp" => vec![
            call("find", json!({ "term": "lighthouse" })),
            call("write_note", json!({ "path": "mcp.md", "content": "x", "idempotency_key": "m" })),
            call("search_text", json!({ "query": "lighthouse" })),
        ],
        "ui" => vec![("GET", "/ui/sign-in", Value::Null), ("GET", "/ui/assets/style.css", Value::Null)],
        "auth" => vec![
            ("GET", "/ui/sign-in", Value::Null),
            ("GET", "/.well-known/oauth-authorization-server", Value::Null),
            ("GET", "/oauth/jwks", Value::Null),
            ("POST", "/oauth/register", json!({ "redirect_uris": ["https://a.example/"] })),
        ],
        other => panic!("what does {other} answer?"),
    }
}

fn routes_of(function: &str) -> Routes {
    match function {
        "context" => function_context::routes(),
        "find" => function_find::routes(),
        "search" => function_search::routes(),
        "query" => function_query::routes(),
        "note" => function_note::routes(),
        "bridge" => function_bridge::routes(),
        "mcp" => function_mcp::routes(),
        "ui" => function_ui::routes(),
        "auth" => function_auth::routes(),
        other => panic!("there is no {other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_needs_no_more_than_the_policies_of_its_role() {
    let Some(site) = Site::new().await else { return };
    let host = site.role(&["SyncPolicy"], None);
    let (vault, state) = (vault(), tempfile::tempdir().unwrap());
    works(&mut site.sync(&host, vault.root(), state.path()));
    let mut functions = site.template.functions();
    // These answer events.
    functions.retain(|(function, _)| !EVENT_FUNCTIONS.contains(&function.as_str()));
    assert_eq!(functions.len(), 9, "{functions:?}");
    let document = json!({ "throttle": { "maxConcurrentWritesPerVault": 9 } }).to_string();
    let key = "config/atlas.json";
    let owner = location::open(&site.url(), &site.minio.variables(&[])).unwrap();
    owner.inner().put(&Key::from(key), PutPayload::from(document.clone())).await.unwrap();
    for (function, policies) in functions {
        let policies: Vec<&str> = policies.iter().map(String::as_str).collect();
        for config in [None, Some(key)] {
            let role = site.role(&policies, config);
            let place = config.map_or_else(|| document.clone(), |key| format!("store:{key}"));
            let keys = AuthorityDocument { totp: None, ..AUTHORITY.clone() }.write().unwrap();
            let mut variables = vec![("ATLAS_CONFIG", place.as_str()), ("ATLAS_SEARCH_NOTES", "true")];
            if function == "auth" {
                variables.extend([("ATLAS_AUTH", "jwt"), ("ATLAS_RESOURCE", BASE), ("ATLAS_OAUTH_KEYS", &keys)]);
            }
            let settings = settings(&variables);
            let client =
                Client::of_routes(routes_of(&function), &site.open(&role), &settings, Duration::from_secs(30)).await;
            let headers = Agent::new(&client, ERAS[1]).headers;
            for (method, uri, body) in requests(&function) {
                let reply = send(&client, method, uri, &headers, &body).await;
                let text = String::from_utf8_lossy(&reply.body).into_owned();
                let is_again = config.is_some() && reply.status.as_u16() == 409;
                let is_well = (reply.status.is_success() || is_again) && !text.contains("denied");
                assert!(is_well, "{function} {method} {uri} {config:?}: {text}");
            }
            if function == "auth" {
                // The whole way: a session, a code, a grant, and the tokens after it.
                let (id, person) = (registered(&client).await, Person::at(&client));
                assert_eq!(person.tries(PASSPHRASE, "").await.status, 303);
                let code = person.allows(&id, &[("scope", "read:vault")]).await;
                redeemed(&client, &id, &code).await.ok();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_may_do_no_more_than_it_needs() {
    let Some(site) = Site::new().await else { return };
    let owner = location::open(&site.url(), &site.minio.variables(&[])).unwrap();
    let object = |key: &str| Key::from(key.to_owned());
    for key in ["vaults/main/segments/a", "vaults/other/segments/a", "config/other.json"] {
        owner.inner().put(&object(key), PutPayload::from_static(b"x")).await.unwrap();
    }
    for policies in [&["ReaderPolicy"][..], &["ReaderPolicy", "WriterPolicy"], &["SyncPolicy"]] {
        let store = site.open(&site.role(policies, None));
        let get = async |key: &str| store.inner().get(&object(key)).await.is_ok();
        let put = async |key: &str| store.inner().put(&object(key), PutPayload::from_static(b"y")).await.is_ok();
        let delete = async |key: &str| store.inner().delete(&object(key)).await.is_ok();
        let (writes, is_host) = (policies.len() == 2, policies.contains(&"SyncPolicy"));
        assert!(get("vaults/main/segments/a").await, "{policies:?}");
        // A missing object is distinguished from a forbidden one.
        let missing = store.inner().get(&object("vaults/main/manifests/1")).await.unwrap_err();
        assert!(matches!(missing, object_store::Error::NotFound { .. }), "{policies:?}: {missing}");
        for key in ["vaults/other/segments/a", "config/other.json"] {
            assert!(!get(key).await && !put(key).await && !delete(key).await, "{policies:?}: {key}");
        }
        for key in ["vaults/main/segments/a", "vaults/main/manifests/a", "vaults/main/blobs/a"] {
            assert!(!put(key).await, "{policies:?} may write over {key}");
        }
        for key in ["vaults/main/latest", "vaults/main/state/requests/sync", "probes/a"] {
            assert_eq!(put(key).await, writes || is_host, "{policies:?}: {key}");
        }
        assert_eq!(delete("vaults/main/segments/b").await, is_host, "{policies:?}");
    }
}

/// Creators of objects that are never overwritten must use the condition; stores on one machine do not support it.
#[test]
fn what_is_created_once_is_created_on_condition_that_it_is_new() {
    let template = Template::read();
    let anything = |resource: &str| resource.ends_with("/vaults/main/*") || resource.ends_with("/vaults/*");
    let policies = [
        ("WriterPolicy", None, &ONCE[..]),
        ("WriterPolicy", Some("k"), &ONCE),
        ("SyncPolicy", None, &ONCE),
        ("BuilderPolicy", None, &ONCE[1..]),
        ("BuilderPolicy", Some("k"), &ONCE[1..]),
    ];
    for (policy, config, expected) in policies {
        let mut created: Vec<&str> = Vec::new();
        for statement in template.statements(&[policy], "b", config) {
            let list = |name: &str| match &statement[name] {
                Value::Array(all) => all.iter().map(|one| one.as_str().unwrap().to_owned()).collect(),
                one => vec![one.as_str().unwrap().to_owned()],
            };
            if !list("Action").iter().any(|action| action == "s3:PutObject" || action.contains('*')) {
                continue;
            }
            let is_new = statement["Condition"] == json!({ "Null": { "s3:if-none-match": "false" } });
            // Neither the parts of an upload nor its completion need the condition.
            let is_part = statement["Condition"] == json!({ "Bool": { "s3:ObjectCreationOperation": "false" } });
            for resource in list("Resource") {
                assert!(!anything(&resource), "{policy}: {statement}");
                let once = ONCE.iter().find(|folder| resource.ends_with(&format!("/{folder}/*")));
                assert!(once.is_none() || is_new || is_part, "{policy}: {statement}");
                created.extend(once.filter(|_| is_new));
            }
        }
        assert_eq!(created, expected, "{policy}");
    }
}

/// Whether `key` is one of those that `pattern` names, in which a star stands for anything.
fn is_named(pattern: &str, key: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == key,
        Some((before, after)) => key
            .strip_prefix(before)
            .is_some_and(|rest| rest.char_indices().any(|(at, _)| is_named(after, &rest[at..])) || after.is_empty()),
    }
}

/// Whether `statements` allow to put an object at `key`: over another, or only a new one.
fn may_put(statements: &[Value], key: &str, over: bool) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    statements.iter().any(|statement| {
        list(&statement["Action"]).contains(&json!("s3:PutObject"))
            && list(&statement["Resource"]).iter().any(|resource| is_named(resource.as_str().unwrap(), key))
            && (statement.get("Condition").is_none() || !over && statement["Condition"].get("Null").is_some())
    })
}

/// MinIO does not tell these apart.
#[test]
fn what_changes_in_place_may_be_put_over_and_nothing_else() {
    let template = Template::read();
    for (policies, key, over) in [
        (&["AuthPolicy"][..], "state/oauth/devices/5f.asked", true),
        (&["AuthPolicy"], "state/oauth/devices/5f", false),
        (&["AuthPolicy"], "state/oauth/devices/5f.decided", false),
        (&["AuthPolicy"], "state/oauth/grants/5f.ended", false),
        (&["AuthPolicy"], "state/pages/sessions/5f", false),
        (&["ReaderPolicy"], "state/sessions/5f", false),
        (&["WriterPolicy"], "latest", true),
        (&["WriterPolicy"], "state/captures/5f.begun", true),
        (&["BuilderPolicy"], "state/builds/r/5f", false),
        (&["WriterPolicy"], "state/builds/r/published", true),
        (&["SyncPolicy"], "state/synced", true),
        (&["SyncPolicy"], "models/5f", true),
        (&["SyncPolicy"], "models/5f.json", true),
        (&["SyncPolicy"], "blobs/5f", false),
    ] {
        for config in [None, Some("k")] {
            let statements = template.statements(policies, "b", config);
            let key = format!("arn:aws:s3:::b/vaults/main/{key}");
            assert!(may_put(&statements, &key, false), "{policies:?} {key}");
            assert_eq!(may_put(&statements, &key, true), over, "{policies:?} {key}");
        }
    }
}
