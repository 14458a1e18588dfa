//! A client connects through Chromium: it leads the person to the page, they sign in and decide, and the browser brings the client its code.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::browser::{WIDTHS, judged};
use super::webdriver::{Browser, ENTER, SOON};
use crate::oauth::site::{CHALLENGE, PASSPHRASE, VERIFIER, encoded, parameter};
use crate::support::deployment::demo;
use crate::support::programs::{Place, Running, atlas, curl, free_port, until};

/// A program that waits for its code on loopback: its address.
fn client() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/callback", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut connection in listener.incoming().map_while(Result::ok) {
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nconnected");
        }
    });
    address
}

#[test]
fn a_client_connects_through_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
    assert!(place.sync(&demo()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    let (keys, base) = (place.path("auth.json"), format!("http://127.0.0.1:{}", free_port()));
    let mut init = atlas();
    init.args(["auth", "init", "--without-codes", "--person", "ada", "--file"]).arg(&keys);
    let mut init = init.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    writeln!(init.stdin.take().unwrap(), "{PASSPHRASE}").unwrap();
    assert!(init.wait().unwrap().success());
    let mut serve: Command = place.atlas("serve");
    serve.args(["--addr", base.trim_start_matches("http://")]);
    serve.env("ATLAS_AUTH", "jwt").env("ATLAS_RESOURCE", &base).env("ATLAS_OAUTH_KEYS_FILE", &keys);
    let _running = Running(serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let health = format!("{base}/health");
    until(SOON, "the server answers", || curl(&[&health]).filter(|(status, _)| *status == 200).ok_or(()));

    let ask = |path: &str, arguments: &[&str]| -> Value {
        let url = format!("{base}{path}");
        let (status, said) = curl(&[&[url.as_str()], arguments].concat()).unwrap();
        assert!((200..300).contains(&status), "{path}: {said}");
        serde_json::from_str(&said).unwrap()
    };
    let callback = client();
    let metadata = json!({ "client_name": "A client", "redirect_uris": ["http://127.0.0.1/callback"] }).to_string();
    let client = ask("/oauth/register", &["-H", "content-type: application/json", "-d", &metadata]);
    let id = client["client_id"].as_str().unwrap();
    let asked = encoded(&[
        ("response_type", "code"),
        ("client_id", id),
        ("redirect_uri", &callback),
        ("scope", "read:vault write:vault"),
        ("state", "a state"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ]);
    browser.open(&format!("{base}/ui/authorize?{asked}"));
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
    assert!(address.starts_with("/callback?") && parameter(&address, "iss") == base, "{address}");
    let code = parameter(&address, "code");
    let form = encoded(&[
        ("grant_type", "authorization_code"),
        ("client_id", id),
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
        ("client_id", id),
        ("refresh_token", tokens["refresh_token"].as_str().unwrap()),
    ]);
    let (status, said) = curl(&[&format!("{base}/oauth/token"), "-d", &form]).unwrap();
    assert!(status == 400 && said.contains("invalid_grant"), "{said}");
    assert_eq!(
        browser.complaints().into_iter().filter(|said| !said.contains("401")).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
}
