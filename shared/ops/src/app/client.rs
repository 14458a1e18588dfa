//! Asks the app through its plugin *Local REST API*, and the companion that adds routes to it.
//!
//! The plugin's own description says its routes: `/commands/`, `/vault/`, and `/` without a key. The companion's are below
//! `/obsidian-tc/v1/`, and answer `{"ok": true, "result"}` or `{"ok": false, "code", "message"}`. A probe says which of them are there; it is
//! kept for a short time.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use atlas_outbound::{Answer, Method, Request as Sent, Service};
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::app::{COMPANION, Failure, INTERFACE, REST_API, Request, Route, SAVE_WORKSPACE, WORKSPACES_PLUS};

/// How long a probe that went well is kept, and one that did not.
const KEPT: Duration = Duration::from_secs(30);
const FAILURE_KEPT: Duration = Duration::from_secs(5);
/// The plugin's own name.
const SERVICE: &str = "Obsidian Local REST API";
/// The companion's routes.
const ROUTES: [&str; 2] = ["obsidian-tc", "v1"];
/// The file with the layout of the windows.
const LAYOUT: [&str; 3] = ["vault", ".obsidian", "workspace.json"];
/// Obsidian's command that saves the workspace that is open.
/// Most commands that are told of, and bytes of a text of the plugin's.
const MAX_COMMANDS: usize = 10_000;
const MAX_TEXT: usize = 500;

/// How long an app is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// A probe.
    pub probe: Duration,
    /// A call.
    pub call: Duration,
    /// The recognition of text.
    pub ocr: Duration,
}

impl Default for Times {
    /// 500 ms, 5 s and 30 s, as obsidian-tc has it.
    fn default() -> Self {
        Self { probe: Duration::from_millis(500), call: Duration::from_secs(5), ocr: Duration::from_secs(30) }
    }
}

/// A running Obsidian.
pub struct Client {
    service: Service,
    times: Times,
    probed: Mutex<Option<(Timestamp, Result<ProbeResult, Failure>)>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

/// The result of a probe.
#[derive(Clone, Debug)]
struct ProbeResult {
    /// The plugins behind the companion, and whether they are there; none without a companion.
    capabilities: Option<BTreeMap<String, Capability>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Capability {
    #[serde(default)]
    installed: bool,
}

/// The companion's answer to a probe. What else it says does not matter.
#[derive(Deserialize)]
struct Probe {
    #[serde(default)]
    plugin_version: String,
    #[serde(default, rename = "obsidianTcApiVersion")]
    interface: Option<String>,
    #[serde(default)]
    capabilities: BTreeMap<String, Capability>,
}

/// The plugin's answer at its root.
#[derive(Deserialize)]
struct Root {
    #[serde(default)]
    service: String,
    #[serde(default)]
    authenticated: bool,
}

/// The envelope of a companion's answer.
#[derive(Deserialize)]
struct Envelope {
    ok: bool,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    details: Value,
}

/// The plugin's error.
#[derive(Default, Deserialize)]
struct Refusal {
    #[serde(default)]
    message: String,
}

impl Client {
    /// The app behind `service`, which gets its key with every request.
    #[must_use]
    pub fn new(service: Service, times: Times) -> Self {
        Self { service, times, probed: Mutex::new(None) }
    }

    /// The plugins that can be asked, by the companion's names.
    ///
    /// # Errors
    /// When none can.
    pub async fn detect(&self, now: Timestamp) -> Result<Vec<String>, Failure> {
        let found = self.probed(now).await?;
        let companion = found.capabilities.as_ref().map(|_| COMPANION.to_owned());
        let behind = found.capabilities.into_iter().flatten().filter(|(_, found)| found.installed);
        Ok([REST_API.to_owned()].into_iter().chain(companion).chain(behind.map(|(name, _)| name)).collect())
    }

    /// Sends `request`, and returns the app's answer.
    ///
    /// # Errors
    /// As [`Failure`].
    pub async fn call(&self, request: &Request, now: Timestamp) -> Result<Value, Failure> {
        let found = self.probed(now).await?;
        match request {
            Request::ListCommands {} => self.commands().await,
            Request::Execute { command } => self.execute(command).await,
            Request::Layout {} => self.layout().await,
            Request::OpenWorkspace { name, save_first } => self.open_workspace(name, *save_first).await,
            Request::Companion { route, body } => {
                let time = match route {
                    Route::OcrAttachment | Route::OcrBulk => self.times.ocr,
                    _ => self.times.call,
                };
                self.companion(&found, route.plugin(), route.path(), body, time).await
            }
        }
    }

    async fn probed(&self, now: Timestamp) -> Result<ProbeResult, Failure> {
        let mut probed = self.probed.lock().await;
        if let Some((at, found)) = &*probed {
            let kept = if found.is_ok() { KEPT } else { FAILURE_KEPT };
            if now.duration_since(*at).unsigned_abs() < kept {
                return found.clone();
            }
        }
        let found = self.probe().await;
        *probed = Some((now, found.clone()));
        found
    }

    async fn probe(&self) -> Result<ProbeResult, Failure> {
        let [first, second] = ROUTES;
        let answer = self.send(self.service.request(Method::GET, &[first, second, "probe"]), self.times.probe).await?;
        if answer.status.as_u16() == 404 {
            return self.probe_plain().await;
        }
        let probe: Probe = serde_json::from_value(opened(&answer, COMPANION)?).map_err(|_| garbled(COMPANION))?;
        let interface = probe.interface.unwrap_or_else(|| INTERFACE.to_owned());
        if interface.split('.').next() != Some(INTERFACE) {
            return Err(Failure::Incompatible { version: short(&probe.plugin_version), interface: short(&interface) });
        }
        Ok(ProbeResult { capabilities: Some(probe.capabilities) })
    }

    /// Whether the plugin is there at all, without the companion.
    async fn probe_plain(&self) -> Result<ProbeResult, Failure> {
        let answer = self.send(self.service.request(Method::GET, &[]), self.times.probe).await?;
        let root: Option<Root> = serde_json::from_slice(&answer.body).ok();
        match root.filter(|root| answer.status.is_success() && root.service == SERVICE) {
            None => Err(Failure::Missing { plugin: REST_API.to_owned() }),
            Some(root) if !root.authenticated => Err(wrong_key()),
            Some(_) => Ok(ProbeResult { capabilities: None }),
        }
    }

    /// Obsidian's own command opens a dialog; a plugin has one for each workspace.
    async fn open_workspace(&self, name: &str, save_first: bool) -> Result<Value, Failure> {
        let listed = self.commands().await?;
        let ids = listed.get("items").and_then(Value::as_array).into_iter().flatten();
        let ids: Vec<&str> = ids.filter_map(|item| item.get("id").and_then(Value::as_str)).collect();
        let command = format!("{WORKSPACES_PLUS}:{name}");
        if !ids.contains(&command.as_str()) {
            return Err(match ids.iter().any(|id| id.split(':').next() == Some(WORKSPACES_PLUS)) {
                true => Failure::Wrong {
                    why: format!("there is no workspace {name}: list_workspaces lists those that there are"),
                },
                false => Failure::Missing { plugin: WORKSPACES_PLUS.to_owned() },
            });
        }
        if save_first {
            self.execute(SAVE_WORKSPACE).await?;
        }
        self.execute(&command).await
    }

    async fn commands(&self) -> Result<Value, Failure> {
        #[derive(Deserialize)]
        struct CommandList {
            commands: Vec<Command>,
        }
        #[derive(Deserialize)]
        struct Command {
            id: String,
            #[serde(default)]
            name: String,
        }
        let answer = self.send(self.service.request(Method::GET, &["commands", ""]), self.times.call).await?;
        let listed: CommandList = read(&ok(answer)?, REST_API)?;
        let command = |Command { id, name }| json!({ "id": id, "name": name });
        Ok(json!({ "items": listed.commands.into_iter().take(MAX_COMMANDS).map(command).collect::<Vec<_>>() }))
    }

    async fn execute(&self, command: &str) -> Result<Value, Failure> {
        let unknown = || Failure::Wrong {
            why: format!("there is no command {command}: list_commands lists those that there are"),
        };
        if matches!(command, "." | "..") {
            return Err(unknown());
        }
        let mut request = self.service.request(Method::POST, &["commands", command, ""]);
        request.max_time = Some(self.times.call);
        let answer = self.service.send(request).await.map_err(|error| match error.may_have_happened() {
            true => Failure::Unknown {},
            false => failed(&error),
        })?;
        match answer.status.as_u16() {
            404 => Err(unknown()),
            _ => ok(answer).map(|_| json!({})),
        }
    }

    async fn layout(&self) -> Result<Value, Failure> {
        let answer = self.send(self.service.request(Method::GET, &LAYOUT), self.times.call).await?;
        if matches!(answer.status.as_u16(), 403 | 404) {
            let why = "the plugin does not give the layout of the windows: the person has to turn on `Allow access to the configuration \
                       directory` in its settings; or pass the layout";
            return Err(Failure::Wrong { why: why.to_owned() });
        }
        read(&ok(answer)?, REST_API)
    }

    async fn companion(
        &self,
        found: &ProbeResult,
        plugin: &str,
        route: &str,
        body: &Value,
        time: Duration,
    ) -> Result<Value, Failure> {
        let Some(capabilities) = &found.capabilities else {
            return Err(Failure::Missing { plugin: COMPANION.to_owned() });
        };
        if capabilities.get(plugin).is_some_and(|capability| !capability.installed) {
            return Err(Failure::Missing { plugin: plugin.to_owned() });
        }
        let segments: Vec<&str> = ROUTES.into_iter().chain(route.split('/')).collect();
        let answer = self.send(self.service.json_request(Method::POST, &segments, body.to_string()), time).await?;
        if answer.status.as_u16() == 404 {
            return Err(Failure::Missing { plugin: COMPANION.to_owned() });
        }
        opened(&answer, plugin)
    }

    async fn send(&self, mut request: Sent, time: Duration) -> Result<Answer, Failure> {
        request.max_time = Some(time);
        self.service.send(request).await.map_err(|error| failed(&error))
    }
}

fn failed(error: &atlas_outbound::Error) -> Failure {
    match error {
        atlas_outbound::Error::TooLarge(_) => Failure::TooLarge {},
        error => Failure::Unreachable { plugin: REST_API.to_owned(), why: error.to_string() },
    }
}

/// The result in the companion's envelope.
fn opened(answer: &Answer, plugin: &str) -> Result<Value, Failure> {
    let envelope: Envelope = read(check(answer)?, plugin)?;
    if envelope.ok {
        return Ok(envelope.result);
    }
    let named = || envelope.details.get("plugin").and_then(Value::as_str).unwrap_or(plugin).to_owned();
    let why = short(&envelope.message);
    Err(match envelope.code.as_str() {
        "plugin_missing" => Failure::Missing { plugin: short(&named()) },
        "invalid_input" => Failure::Wrong { why },
        "note_not_found" => Failure::NotFound { why },
        // Its words may name paths of the person's computer.
        code => {
            tracing::warn!(code, why, "the app failed");
            Failure::Unreachable { plugin: short(&named()), why: "it failed".to_owned() }
        }
    })
}

fn ok(answer: Answer) -> Result<Answer, Failure> {
    check(&answer)?;
    Ok(answer)
}

/// The answer, if its status says that all is well.
fn check(answer: &Answer) -> Result<&Answer, Failure> {
    let refused = |why: String| Err(Failure::Unreachable { plugin: REST_API.to_owned(), why });
    match answer.status.as_u16() {
        200..=299 => Ok(answer),
        300..=399 => refused("it sends elsewhere, which is not followed".to_owned()),
        401 => Err(wrong_key()),
        429 => refused("it was shown wrong keys too often".to_owned()),
        404 => Err(Failure::Missing { plugin: REST_API.to_owned() }),
        status => {
            let refusal: Refusal = serde_json::from_slice(&answer.body).unwrap_or_default();
            tracing::warn!(status, message = short(&refusal.message), "the app failed");
            refused(format!("status {status}"))
        }
    }
}

fn read<T: DeserializeOwned>(answer: &Answer, plugin: &str) -> Result<T, Failure> {
    serde_json::from_slice(&answer.body).map_err(|_| garbled(plugin))
}

fn garbled(plugin: &str) -> Failure {
    Failure::Unreachable { plugin: plugin.to_owned(), why: "its answer is not what its description says".to_owned() }
}

fn wrong_key() -> Failure {
    let why = "it does not take the key in ATLAS_OBSIDIAN_KEY".to_owned();
    Failure::Unreachable { plugin: REST_API.to_owned(), why }
}

/// A text of the plugin's, cut, on one line.
fn short(text: &str) -> String {
    let cut = text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default();
    cut.split_whitespace().collect::<Vec<_>>().join(" ")
}
