//! A client connects through Chromium: it leads the person to the page, they sign in and decide, and the browser brings the client its code.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::browser::{WIDTHS, judged};
use super::webdriver::{Browser, ENTER, SOON};
use crate::oauth::provider::Provider;
use crate::oauth::site::{CHALLENGE, PASSPHRASE, UPSTREAM_SECRET, VERIFIER, encoded, parameter};
use crate::support::deployment::demo;
use crate::support::programs::{Place, Running, atlas, curl, free_port, until};

/// A program that waits for its code on loopback: its address. From there it leads on to another origin, as clients do that are a page and a program.
fn client() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            // A browser opens connections that it may not use.
            std::thread::spawn(move || answer(connection, place.port()));
        }
    });
    format!("http://{place}/callback")
}

fn answer(mut connection: TcpStream, port: u16) {
    let mut head = [0; 4096];
    let length = connection.read(&mut head).unwrap_or_default();
    let head = String::from_utf8_lossy(&head[..length]);
    let target = head.split(' ').nth(1).unwrap_or_default();
    let _ = match target.strip_prefix("/callback") {
        Some(query) => write!(
            connection,
            "HTTP/1.1 302 Found\r\nlocation: http://localhost:{port}/done{query}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ),
        None => write!(connection, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nconnected"),
    };
}

/// A server that gives tokens, as long as it is needed.
struct Serving {
    base: String,
    _place: Place,
    _running: Running,
}

impl Serving {
    /// One whose secrets `atlas auth init` made with these arguments, with these variables.
    fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let place = Place::new();
        assert!(place.sync(&demo()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
        let (keys, base) = (place.path("auth.json"), format!("http://127.0.0.1:{}", free_port()));
        let mut init = atlas();
        init.args(["auth", "init", "--person", "ada", "--file"]).arg(&keys).args(arguments);
        let mut init = init.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // It may not ask for one.
        let _ = writeln!(init.stdin.take().unwrap(), "{PASSPHRASE}");
        assert!(init.wait().unwrap().success());
        let mut serve: Command = place.atlas("serve");
        serve.args(["--addr", base.trim_start_matches("http://")]).envs(variables.iter().copied());
        serve.env("ATLAS_AUTH", "jwt").env("ATLAS_RESOURCE", &base).env("ATLAS_OAUTH_KEYS_FILE", &keys);
        let running = Running(serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let health = format!("{base}/health");
        until(SOON, "the server answers", || curl(&[&health]).filter(|(status, _)| *status == 200).ok_or(()));
        Self { base, _place: place, _running: running }
    }

    /// The id of a client whose codes go to this machine.
    fn registered(&self) -> String {
        let metadata = json!({ "client_name": "A client", "redirect_uris": ["http://127.0.0.1/callback"] }).to_string();
        let address = format!("{}/oauth/register", self.base);
        let (status, said) = curl(&[&address, "-H", "content-type: application/json", "-d", &metadata]).unwrap();
        assert_eq!(status, 201, "{said}");
        serde_json::from_str::<Value>(&said).unwrap()["client_id"].as_str().unwrap().to_owned()
    }

    /// The page that a client leads to.
    fn asked(&self, id: &str, callback: &str) -> String {
        let asked = encoded(&[
            ("response_type", "code"),
            ("client_id", id),
            ("redirect_uri", callback),
            ("scope", "read:vault write:vault"),
            ("state", "a state"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ]);
        format!("{}/ui/authorize?{asked}", self.base)
    }
}

#[test]
fn who_signs_in_at_a_provider_comes_back_to_the_consent_page() {
    let Some(browser) = Browser::start() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let provider = runtime.block_on(Provider::start());
    // Another site than the server, as it is outside of tests: the browser leaves cookies out that are for this site alone.
    let mut upstream = provider.configuration();
    upstream["issuer"] = provider.issuer().replace("127.0.0.1", "localhost").into();
    let configuration = json!({ "auth": { "upstream": upstream } }).to_string();
    let variables = [("ATLAS_CONFIG", configuration.as_str()), ("ATLAS_UPSTREAM_SECRET", UPSTREAM_SECRET)];
    let serving = Serving::start(&["--without-passphrase"], &variables);
    let (callback, id) = (client(), serving.registered());
    browser.open(&serving.asked(&id, &callback));
    browser.sees("Sign in with Example");
    assert!(!browser.text().contains("Your passphrase"));
    judged(&browser, "signing in elsewhere");
    browser.click("//button[text()='Sign in with Example']");
    browser.sees("a program on your own machine wants to use your notes");
    browser.click("//button[text()='Allow']");
    browser.sees("connected");
    // Who is a stranger reads what to do.
    provider.script().claims = json!({ "sub": "stranger" });
    browser.open(&format!("{}/ui/sign-in", serving.base));
    browser.click("//button[text()='Sign in with Example']");
    browser.sees("Example knows you as stranger, who may not sign in here");
    judged(&browser, "a stranger");
    let unexpected = |said: &String| !said.contains("401") && !said.contains("403");
    assert_eq!(browser.complaints().into_iter().filter(unexpected).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_client_connects_through_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let serving = Serving::start(&["--without-codes"], &[]);
    let base = &serving.base;

    let ask = |path: &str, arguments: &[&str]| -> Value {
        let url = format!("{base}{path}");
        let (status, said) = curl(&[&[url.as_str()], arguments].concat()).unwrap();
        assert!((200..300).contains(&status), "{path}: {said}");
        serde_json::from_str(&said).unwrap()
    };
    let callback = client();
    let id = serving.registered();
    browser.open(&serving.asked(&id, &callback));
    browser.sees("Your passphrase");
    judged(&browser, "signing in");
    browser.click("//input[@name='passphrase']");
    browser.press(&format!("{PASSPHRASE}{ENTER}"));
    browser.sees("a program on your own machine wants to use your notes");
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        judged(&browser, scheme);
        for width in WIDTHS {
            browser.resize(width, 800);
            let wide = browser.run("return document.documentElement.scrollWidth");
            assert!(wide.as_u64().unwrap() <= u64::from(width), "it is {wide} wide on a screen of {width}");
        }
    }
    browser.resize(1280, 800);
    browser.click("//button[text()='Allow']");
    browser.sees("connected");
    let address = browser.address();
    assert!(address.starts_with("/done?") && parameter(&address, "iss") == *base, "{address}");
    let code = parameter(&address, "code");
    let form = encoded(&[
        ("grant_type", "authorization_code"),
        ("client_id", &id),
        ("code", &code),
        ("code_verifier", VERIFIER),
        ("redirect_uri", &callback),
    ]);
    let tokens = ask("/oauth/token", &["-d", &form]);
    assert_eq!(tokens["scope"], "read:vault");
    let bearer = format!("authorization: Bearer {}", tokens["access_token"].as_str().unwrap());
    ask("/find", &["-H", &bearer, "-H", "content-type: application/json", "-d", r#"{"term":"berth"}"#]);
    // Revoked on the page, it is over.
    browser.open(&format!("{base}/ui/access"));
    browser.sees("Clients that you allowed");
    judged(&browser, "access");
    browser.click("//button[text()='Revoke']");
    browser.sees("Ended");
    let form = encoded(&[
        ("grant_type", "refresh_token"),
        ("client_id", &id),
        ("refresh_token", tokens["refresh_token"].as_str().unwrap()),
    ]);
    let (status, said) = curl(&[&format!("{base}/oauth/token"), "-d", &form]).unwrap();
    assert!(status == 400 && said.contains("invalid_grant"), "{said}");
    assert_eq!(
        browser.complaints().into_iter().filter(|said| !said.contains("401")).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
}
