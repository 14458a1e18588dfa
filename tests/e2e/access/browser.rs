//! A web page in a real browser, with `atlas serve` in its default configuration: pages of other origins can neither
//! read nor change the vault.
//!
//! The page tries the requests that pages can make (`browser.html`) and reports the results to its own server. Where it
//! is permitted, all of them succeed.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use atlas_testkit::project::skip;
use serde_json::Value;

use crate::support::programs::{Place, Running, json_of, serve};

/// A text that only the vault's owner may read.
const SECRET: &str = "the harbour master's secret";
/// The notes that the page tries to write, each by another kind of request.
const WRITTEN: [&str; 5] = ["asked_write", "blind_write", "form", "put", "simple_write"];
/// The reads that the page tries.
const READ: [&str; 4] = ["bridge_read", "find", "get", "list"];
/// The time limit of a page on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);
/// Most bytes of a request's head.
const MAX_HEAD: usize = 1 << 16;

/// The result of each request by the page.
type Told = BTreeMap<String, Value>;

/// The page's server. It forwards other requests to `atlas serve`: to a browser that is one server under one name, as
/// after DNS rebinding.
struct Pages {
    port: u16,
    atlas: Arc<OnceLock<String>>,
    told: Receiver<Told>,
}

impl Pages {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (atlas, (tell, told)) = (Arc::new(OnceLock::new()), channel());
        let passed_to = atlas.clone();
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (atlas, tell) = (passed_to.clone(), tell.clone());
                thread::spawn(move || answer(connection, &atlas, &tell));
            }
        });
        Self { port, atlas, told }
    }

    /// The results of the page that `host` serves, and that tries `base`.
    fn visited(&self, host: &str, base: &str) -> Told {
        let (port, profile) = (self.port, tempfile::tempdir().unwrap());
        let page = format!("http://{host}:{port}/page.html?atlas={base}&report=http://report.test:{port}/report");
        // `timeout` ends it if this process is killed.
        let mut browser = Command::new("timeout");
        browser.args(["--kill-after=5", &LIMIT.as_secs().to_string(), "chromium"]).args(FLAGS);
        browser.arg(format!("--user-data-dir={}", profile.path().display())).arg(page);
        let _browser = Running(browser.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        self.told.recv_timeout(LIMIT).expect("the page tells what it came to")
    }
}

const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP *.test 127.0.0.1",
];

fn answer(mut connection: TcpStream, atlas: &OnceLock<String>, tell: &Sender<Told>) {
    let (mut request, mut piece) = (Vec::new(), [0; 4096]);
    let ends = loop {
        match connection.read(&mut piece) {
            Ok(1..) if request.len() > MAX_HEAD => return,
            Ok(read @ 1..) => request.extend_from_slice(&piece[..read]),
            _ => return,
        }
        if let Some(at) = request.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = String::from_utf8_lossy(&request[..ends]).to_lowercase();
    let page = match head.split(' ').nth(1).unwrap_or_default() {
        path if path.starts_with("/page.html") => include_str!("browser.html"),
        "/report" => {
            let length = head.split_once("content-length: ").and_then(|(_, rest)| rest.split("\r\n").next());
            let missing = length.unwrap().parse::<u64>().unwrap() - (request.len() - ends) as u64;
            connection.try_clone().unwrap().take(missing).read_to_end(&mut request).unwrap();
            tell.send(serde_json::from_slice(&request[ends..]).unwrap()).unwrap();
            ""
        }
        _ => return pass_on(&request, connection, atlas.get().unwrap()),
    };
    let head = format!("content-type: text/html\r\ncontent-length: {}\r\nconnection: close", page.len());
    write!(connection, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{page}").unwrap();
}

fn pass_on(begun: &[u8], mut from: TcpStream, atlas: &str) {
    let mut to = TcpStream::connect(atlas).unwrap();
    to.write_all(begun).unwrap();
    let (mut answers, mut back) = (to.try_clone().unwrap(), from.try_clone().unwrap());
    thread::spawn(move || {
        let _ = copy(&mut answers, &mut back);
        let _ = back.shutdown(Shutdown::Both);
    });
    let _ = copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// A vault with one secret, published, and `atlas serve` on it.
struct Site {
    _server: Running,
    place: Place,
    folder: PathBuf,
    pages: Pages,
    /// The address of `atlas serve`.
    atlas: String,
}

impl Site {
    /// [`None`], with a message, if there is no browser. `settings` get the page's address.
    fn new(settings: impl Fn(&Pages) -> Vec<(&'static str, String)>) -> Option<Self> {
        if Command::new("chromium").arg("--version").stderr(Stdio::null()).output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "chromium is not installed");
            skip("pages in a browser, because chromium is not installed; run: make setup-browser");
            return None;
        }
        let (place, pages) = (Place::new(), Pages::new());
        let folder = place.path("vault");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("secret.md"), format!("# Secret\n\n{SECRET}\n")).unwrap();
        json_of(place.sync(&folder).arg("--json"));
        let (server, lines) = serve(&place, settings(&pages));
        let address = |line: String| Some(line.split_once("http://")?.1.split([' ', '/']).next()?.to_owned());
        let atlas = lines.into_iter().find_map(address).expect("the server says where it is");
        pages.atlas.set(atlas.clone()).unwrap();
        Some(Self { _server: server, place, folder, pages, atlas })
    }

    #[track_caller]
    fn is_as_it_was(&self, told: &Told) {
        assert_eq!(told.len(), READ.len() + WRITTEN.len() + 1, "{told:#?}");
        assert!(!serde_json::to_string(told).unwrap().contains("harbour"), "{told:#?}");
        assert_eq!(self.place.exports(&self.folder), 1, "{told:#?}");
    }

    #[track_caller]
    fn is_read_and_written(&self, told: &Told) {
        for name in READ {
            assert!(
                told[name].to_string().contains(if name == "list" { "secret.md" } else { SECRET }),
                "{name}: {told:#?}"
            );
            assert_eq!(told[name]["status"], 200, "{name}: {told:#?}");
        }
        json_of(self.place.sync(&self.folder).arg("--json"));
        for name in WRITTEN {
            let text = std::fs::read_to_string(self.folder.join(format!("{name}.md"))).unwrap_or_default();
            assert!(text.starts_with("from a page") || name == "form" && text.contains("a=b"), "{name}: {told:#?}");
        }
    }
}

#[test]
fn a_page_of_another_origin_in_a_browser_reads_and_changes_nothing() {
    let Some(site) = Site::new(|_| Vec::new()) else { return };
    let atlas = format!("http://{}", site.atlas);
    for host in ["127.0.0.1", "localhost", "notes.test"] {
        let told = site.pages.visited(host, &atlas);
        site.is_as_it_was(&told);
        for (name, came_to) in told.iter().filter(|(name, _)| READ.contains(&name.as_str())) {
            assert!(came_to["error"].is_string(), "{name}: {came_to}");
        }
    }
}

#[test]
fn a_page_whose_name_was_made_to_lead_here_reads_and_changes_nothing() {
    let Some(site) = Site::new(|_| Vec::new()) else { return };
    let told = site.pages.visited("notes.test", "");
    site.is_as_it_was(&told);
    assert!(READ.iter().all(|name| told[*name]["status"] == 403), "{told:#?}");
    // Under the server's own name the page has the server's origin.
    let told = site.pages.visited("127.0.0.1", "");
    site.is_read_and_written(&told);
}

#[test]
fn a_page_of_an_origin_that_is_named_reads_and_writes_in_a_browser() {
    let page = |pages: &Pages| vec![("ATLAS_ALLOWED_ORIGINS", format!("http://127.0.0.1:{}", pages.port))];
    let Some(site) = Site::new(page) else { return };
    let atlas = format!("http://{}", site.atlas);
    let told = site.pages.visited("localhost", &atlas);
    site.is_as_it_was(&told);
    let told = site.pages.visited("127.0.0.1", &atlas);
    site.is_read_and_written(&told);
}
