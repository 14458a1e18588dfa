//! A browser, steered by the WebDriver protocol.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use atlas_testkit::project::skip;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::support::programs::{Running, curl, free_port, until};

/// Time limits: of what a page does on a busy machine, and of the whole browser.
pub(super) const SOON: Duration = Duration::from_secs(40);
const LIMIT: &str = "600";
/// The member of an element's reference.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub(super) const TAB: &str = "\u{E004}";
pub(super) const ENTER: &str = "\u{E007}";
pub(super) const DOWN: &str = "\u{E015}";

/// The driver of a browser.
struct Driver {
    base: String,
    body: tempfile::NamedTempFile,
    _driver: Running,
}

impl Driver {
    /// The value of the answer, which must be a success.
    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.base);
        fs::write(self.body.path(), body.to_string()).unwrap();
        let data = format!("@{}", self.body.path().display());
        let mut arguments = vec!["-X", method, &url];
        if !body.is_null() {
            arguments.extend(["-H", "content-type: application/json", "--data-binary", &data]);
        }
        let (status, text) = curl(&arguments).expect("the driver answers");
        assert_eq!(status, 200, "{method} {path}: {text}");
        serde_json::from_str::<Value>(&text).unwrap()["value"].take()
    }
}

/// Chromium, without a window.
pub(super) struct Browser {
    driver: Driver,
    session: String,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = curl(&["-X", "DELETE", &format!("{}{}", self.driver.base, self.session)]);
    }
}

impl Browser {
    /// [`None`], with a message, if there is no browser or no driver of it.
    pub(super) fn start() -> Option<Self> {
        let is_there = |program| {
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        };
        if !is_there("chromium") || !is_there("chromedriver") {
            skip("the page in a browser, because chromium or its driver is not installed; run: make setup-browser");
            return None;
        }
        let port = free_port();
        // `timeout` ends it if this process is killed.
        let mut driver = Command::new("timeout");
        driver.args(["--kill-after=5", LIMIT, "chromedriver", &format!("--port={port}")]);
        let driver = Running(driver.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let base = format!("http://127.0.0.1:{port}");
        let status = format!("{base}/status");
        until(SOON, "the driver", || curl(&[&status]).filter(|(status, _)| *status == 200).ok_or("no answer"));
        let driver = Driver { base, body: tempfile::NamedTempFile::new().unwrap(), _driver: driver };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            // Other names lead nowhere.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
        ];
        let capabilities = json!({
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let made = driver.ask("POST", "/session", &json!({ "capabilities": { "alwaysMatch": capabilities } }));
        let session = format!("/session/{}", made["sessionId"].as_str().unwrap());
        let browser = Self { driver, session };
        browser.resize(1280, 800);
        Some(browser)
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        self.driver.ask("POST", &format!("{}{path}", self.session), body)
    }

    /// A command of Chromium's own.
    fn command(&self, name: &str, parameters: &Value) {
        self.post("/goog/cdp/execute", &json!({ "cmd": name, "params": parameters }));
    }

    pub(super) fn resize(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.command("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Prefers the colours of this scheme: `light` or `dark`.
    pub(super) fn prefer(&self, scheme: &str) {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.command("Emulation.setEmulatedMedia", &features);
    }

    /// Runs a script at the beginning of every page.
    pub(super) fn begin_with(&self, script: &str) {
        self.command("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": script }));
    }

    pub(super) fn open(&self, address: &str) {
        self.post("/url", &json!({ "url": address }));
    }

    /// The value of a script.
    #[track_caller]
    pub(super) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// The value that a script passes to its last argument.
    #[track_caller]
    pub(super) fn wait_for(&self, script: &str) -> Value {
        self.post("/execute/async", &json!({ "script": script, "args": [] }))
    }

    pub(super) fn text(&self) -> String {
        self.run("return document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn address(&self) -> String {
        self.run("return location.pathname + location.search").as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page says `text`.
    #[track_caller]
    pub(super) fn sees(&self, text: &str) {
        until(SOON, text, || {
            let said = self.text();
            if said.contains(text) { Ok(()) } else { Err(said) }
        });
    }

    /// Clicks on the first element that this XPath finds, with the mouse.
    #[track_caller]
    pub(super) fn click(&self, path: &str) {
        let found = self.post("/element", &json!({ "using": "xpath", "value": path }));
        let id = found[ELEMENT].as_str().unwrap();
        self.post(&format!("/element/{id}/click"), &json!({}));
    }

    /// Presses keys, one after the other.
    pub(super) fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() })))
            .collect();
        self.post("/actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }));
    }

    /// The text of the element with the focus, or its name.
    pub(super) fn focus(&self) -> String {
        let script = "const one = document.activeElement; return one.innerText || one.name || one.tagName";
        self.run(script).as_str().unwrap_or_default().trim().to_owned()
    }

    /// Goes to what begins with this text by the tab key alone.
    #[track_caller]
    pub(super) fn tab_to(&self, text: &str) {
        for _ in 0..80 {
            self.press(TAB);
            if self.focus().starts_with(text) {
                return;
            }
        }
        panic!("the tab key does not lead to {text}: {}", self.text());
    }

    pub(super) fn picture(&self, file: &Path) {
        let picture = self.driver.ask("GET", &format!("{}/screenshot", self.session), &Value::Null);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, BASE64.decode(picture.as_str().unwrap()).unwrap()).unwrap();
    }

    /// The browser's complaints since the last time.
    pub(super) fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({ "type": "browser" }));
        log.as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
