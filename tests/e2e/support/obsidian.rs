//! A stand-in for a running Obsidian with the plugin *Local REST API*, made from that plugin's published description of its routes: status
//! codes, content types, and errors as `{"errorCode", "message"}`. It may have the companion too, whose routes obsidian-tc's specification
//! names.
//!
//! With `OBSIDIAN_REST_URL`, `OBSIDIAN_REST_KEY` and `OBSIDIAN_REST_FINGERPRINT` (SHA-256 of the certificate that the plugin shows) tests that
//! need nothing of the stand-in's own run against a real plugin as well.

use std::sync::{Arc, Mutex};

use atlas_access::Scope;
use atlas_testkit::StandIn;
use atlas_testkit::stand_in::{Asked, Reply};
use atlas_web::state::Reach;
use atlas_web::{App, Settings};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::agent::{Agent, ERAS};
use crate::support::clock;
use crate::support::deployment::{Client, Deployment, settings};
use crate::support::tokens::{SECRET, bearer, token};

/// The plugin's API key.
pub const KEY: &str = "0123456789abcdef-the-key-of-the-plugin";
/// State that functions and the host share.
pub const SHARED: &str = "a secret of functions and the host alone";
/// A command that does nothing that matters.
pub const SAVE: &str = "editor:save-file";

/// The behaviour of a stand-in.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The version of the companion's interface; none without a companion.
    pub companion: Option<&'static str>,
    /// Plugins behind the companion that are not there.
    pub lacks: Vec<&'static str>,
    /// Whether files of `.obsidian` are given.
    pub gives_layout: bool,
    /// The answer to every request, if not the usual one.
    pub instead: Option<Reply>,
}

impl Default for Kind {
    fn default() -> Self {
        Self { companion: Some("1"), lacks: Vec::new(), gives_layout: true, instead: None }
    }
}

/// A stand-in.
pub struct Obsidian {
    pub plugin: StandIn,
    ran: Arc<Mutex<Vec<String>>>,
}

/// Where a plugin is.
#[derive(Clone)]
pub struct Place {
    pub url: String,
    pub key: String,
    pub fingerprint: Option<String>,
}

impl Obsidian {
    pub async fn start(kind: Kind) -> Self {
        let ran: Arc<Mutex<Vec<String>>> = Arc::default();
        let runs = ran.clone();
        let plugin = StandIn::secure("127.0.0.1", move |asked| answer(&kind, &runs, asked)).await;
        Self { plugin, ran }
    }

    /// The ids of commands that were run.
    pub fn ran(&self) -> Vec<String> {
        self.ran.lock().unwrap().clone()
    }

    pub fn place(&self) -> Place {
        let fingerprint = Sha256::digest(self.plugin.certificate()).iter().map(|byte| format!("{byte:02x}")).collect();
        Place { url: self.plugin.address(), key: KEY.to_owned(), fingerprint: Some(fingerprint) }
    }
}

/// A real plugin, where one is named.
pub fn real() -> Option<Place> {
    let variable = |name: &str| std::env::var(name).ok();
    let (url, key) = (variable("OBSIDIAN_REST_URL")?, variable("OBSIDIAN_REST_KEY").expect("OBSIDIAN_REST_KEY"));
    Some(Place { url, key, fingerprint: variable("OBSIDIAN_REST_FINGERPRINT") })
}

impl Place {
    /// The configuration of a vault with this app, and what else is said of it.
    pub fn document(&self, more: &Value) -> String {
        let mut obsidian = json!({ "restApiUrl": self.url, "safeCommands": [SAVE, "workspaces:save"], "timeoutMs": 3000, "probeTimeoutMs": 3000, "ocrTimeoutMs": 3000 });
        if let Some(fingerprint) = &self.fingerprint {
            obsidian["certificateSha256"] = fingerprint.as_str().into();
        }
        let more = more.as_object().cloned().unwrap_or_default();
        let mut vault = json!({ "id": "main", "obsidian": obsidian });
        for (name, value) in more {
            match name.as_str() {
                "acl" => vault["acl"] = value,
                _ => vault["obsidian"][name] = value,
            }
        }
        json!({ "vaults": [vault] }).to_string()
    }

    /// The settings of a process that tells callers apart, with what else is said of the app.
    pub fn settings(&self, more: &Value) -> Settings {
        let document = self.document(more);
        settings(&[
            ("ATLAS_CONFIG", &document),
            ("ATLAS_AUTH", "jwt"),
            ("ATLAS_JWT_SECRET", SECRET),
            ("ATLAS_OBSIDIAN_KEY", &self.key),
            ("ATLAS_OBSIDIAN_SECRET", SHARED),
        ])
    }

    /// A process on the app's machine.
    pub async fn near(&self, deployment: &Deployment, more: Value) -> Client {
        serving(deployment, self.settings(&more).near_apps()).await
    }

    /// A function, which cannot reach the app.
    pub async fn function(&self, deployment: &Deployment, mut more: Value) -> Client {
        more["throughBucket"] = true.into();
        serving(deployment, self.settings(&more)).await
    }
}

/// A process by the test's clock.
pub async fn serving(deployment: &Deployment, settings: Settings) -> Client {
    let app = App::open_in(deployment.store(), &settings, Reach::Loopback, std::time::Duration::ZERO).await.unwrap();
    Client::of(app.with_clock(clock::now), atlas_testkit::CountingStore::new(deployment.objects.clone()))
}

/// An agent that holds these scopes.
pub fn agent<'a>(client: &'a Client, scopes: &[Scope]) -> Agent<'a> {
    Agent::new(client, ERAS[0]).with(bearer(&token("agent", scopes, None)))
}

/// Commands of the app, with those of a plugin that has one for each workspace.
const COMMANDS: [(&str, &str); 5] = [
    (SAVE, "Editor: Save current file"),
    ("app:go-back", "Navigate back"),
    ("global-search:open", "Search: Search in all files"),
    ("workspaces:save", "Workspaces: Save layout"),
    ("workspaces-plus:Early morning", "Workspaces Plus: Load: Early morning"),
];

fn answer(kind: &Kind, ran: &Mutex<Vec<String>>, asked: &Asked) -> Reply {
    if let Some(instead) = &kind.instead {
        return instead.clone();
    }
    let is_known = asked.header("authorization") == format!("Bearer {KEY}");
    let refused = |status: u16, code: u32, message: &str| {
        Reply::Status(status, json!({ "errorCode": code, "message": message }).to_string())
    };
    let (method, path) = (asked.method.as_str(), asked.target.as_str());
    if (method, path) == ("GET", "/") {
        return Reply::json(&json!({
            "status": "OK", "service": "Obsidian Local REST API", "authenticated": is_known,
            "versions": { "obsidian": "1.8.9", "self": "3.2.0" },
        }));
    }
    if !is_known {
        return refused(401, 40101, "Authorization required.");
    }
    if let Some(route) = path.strip_prefix("/obsidian-tc/v1/").filter(|_| kind.companion.is_some()) {
        return companion(kind, route, asked);
    }
    match (method, path) {
        ("GET", "/commands/") => {
            let commands: Vec<Value> = COMMANDS.iter().map(|(id, name)| json!({ "id": id, "name": name })).collect();
            Reply::json(&json!({ "commands": commands }))
        }
        ("POST", path) if path.starts_with("/commands/") => {
            let id = path.trim_start_matches("/commands/").trim_end_matches('/');
            let id = percent_encoding::percent_decode_str(id).decode_utf8().unwrap().into_owned();
            if COMMANDS.iter().all(|(known, _)| *known != id) {
                return refused(404, 40400, "Not Found");
            }
            ran.lock().unwrap().push(id);
            Reply::Status(204, String::new())
        }
        ("GET", "/vault/.obsidian/workspace.json") if kind.gives_layout => {
            Reply::json(&json!({ "main": { "id": "1", "type": "split", "children": [] }, "active": "1" }))
        }
        ("GET", "/vault/.obsidian/workspace.json") => refused(403, 40321, "The configuration directory is off-limits."),
        _ => refused(404, 40400, "Not Found"),
    }
}

fn companion(kind: &Kind, route: &str, asked: &Asked) -> Reply {
    let good = |result: Value| Reply::json(&json!({ "ok": true, "result": result }));
    if (asked.method.as_str(), route) == ("GET", "probe") {
        let known = ["dataview", "tasks", "templater", "quickadd", "excalidraw", "text-extractor", "make-md"];
        let of =
            |name: &&str| ((*name).to_owned(), json!({ "installed": !kind.lacks.contains(name), "version": "1.0" }));
        let capabilities: serde_json::Map<String, Value> = known.iter().map(of).collect();
        return good(json!({
            "plugin_version": "0.9.1", "obsidian_version": "1.8.9", "obsidianTcApiVersion": kind.companion,
            "vault_path": "demo", "capabilities": capabilities, "shape_ok": true,
        }));
    }
    let body = asked.json();
    match route {
        "ocr/attachment" => {
            good(json!({ "path": body["path"], "text": "High water 06:12", "cached": false, "duration_ms": 7 }))
        }
        "ocr/bulk" => {
            let paths = body["paths"].as_array().unwrap();
            let results: Vec<Value> =
                paths.iter().map(|path| json!({ "path": path, "ok": true, "text": "text" })).collect();
            good(json!({ "processed": results.len(), "results": results, "total_duration_ms": 9 }))
        }
        "makemd/spaces" => {
            good(json!({ "spaces": [{ "id": "s", "name": "Books", "path": "Books", "view_count": 1 }] }))
        }
        "makemd/query" => good(json!({ "items": [{ "note_path": "Books/Tides.md", "columns": {} }], "total": 1 })),
        _ => Reply::Status(404, json!({ "errorCode": 40400, "message": "Not Found" }).to_string()),
    }
}
