//! A terminal gets tokens by a code that the person types in.

use std::time::Duration;

use serde_json::Value;

use crate::support::clock;

use super::site::{MCP, Person, Site, error_of, field, page, text};

const KIND: &str = "urn:ietf:params:oauth:grant-type:device_code";

async fn begun(site: &Site, id: &str) -> Value {
    let fields = [("client_id", id), ("scope", "read:vault write:vault"), ("resource", MCP)];
    site.post("/oauth/device_authorization", &fields).await.ok()
}

async fn polled(site: &Site, id: &str, begun: &Value) -> crate::support::deployment::Reply {
    let fields = [("grant_type", KIND), ("client_id", id), ("device_code", text(begun, "device_code"))];
    site.post("/oauth/token", &fields).await
}

/// The page that asks about the terminal.
async fn asked(person: &Person<'_>, begun: &Value) -> String {
    let uri = format!("/ui/device?user_code={}", text(begun, "user_code").to_lowercase());
    let asked = page(&person.get(&uri).await);
    assert!(asked.contains("in your own terminal"), "{asked}");
    asked
}

/// The page after the form of the page `asked` was sent with this choice.
async fn chosen(person: &Person<'_>, asked: &str, choice: &[(&str, &str)]) -> String {
    let (token, code) = (field(asked, "form_token"), field(asked, "user_code"));
    let kept = [("form_token", token.as_str()), ("user_code", code.as_str())];
    let fields: Vec<(&str, &str)> = kept.into_iter().chain(choice.iter().copied()).collect();
    String::from_utf8_lossy(&person.form("/ui/device", &fields).await.body).into_owned()
}

async fn decided(person: &Person<'_>, begun: &Value, decision: &str) -> String {
    let choice = [("vault", "main"), ("time", "86400"), ("scope", "read:vault"), ("decision", decision)];
    chosen(person, &asked(person, begun).await, &choice).await
}

#[tokio::test]
async fn a_terminal_waits_for_the_person() {
    let site = Site::new().await;
    let id = site.registered().await;
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    let device = begun(&site, &id).await;
    assert_eq!(error_of(&polled(&site, &id, &device).await), "authorization_pending");
    assert!(decided(&person, &device, "allow").await.contains("Go on in the terminal"));
    let other = site.registers(&serde_json::json!({ "redirect_uris": ["https://evil.example/"] })).await;
    assert_eq!(error_of(&polled(&site, &other, &device).await), "invalid_grant");
    let tokens = polled(&site, &id, &device).await.ok();
    assert_eq!(tokens["scope"], "read:vault");
    assert_eq!(site.call(text(&tokens, "access_token")).await, 200);
    // Once: the second time somebody else has the code.
    assert_eq!(error_of(&polled(&site, &id, &device).await), "invalid_grant");
    assert_eq!(error_of(&site.refreshed(&id, text(&tokens, "refresh_token")).await), "invalid_grant");
    assert!(decided(&person, &device, "deny").await.contains("decided before"));
}

#[tokio::test]
async fn a_terminals_form_with_a_mistake_comes_back_with_all_that_it_had() {
    let site = Site::new().await;
    let id = site.registered().await;
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    let device = begun(&site, &id).await;
    let choice = |other| {
        [
            ("decision", "allow"),
            ("scope", "write:vault"),
            ("vault", "main"),
            ("other-vault", other),
            ("folders", "Projects\nShed <3>"),
            ("time", "3600"),
        ]
    };
    let again = chosen(&person, &asked(&person, &device).await, &choice("wrok\"><b>")).await;
    assert!(again.contains("There is no such vault"), "{again}");
    for kept in [
        "name=\"other-vault\" value=\"wrok&quot;&gt;&lt;b&gt;\"",
        ">Projects\nShed &lt;3&gt;</textarea>",
        "value=\"write:vault\" checked",
        "<option value=\"3600\" selected>",
    ] {
        assert!(again.contains(kept), "{kept}: {again}");
    }
    assert_eq!(again.matches(" checked").count(), 1, "{again}");
    assert!(!again.contains("<option value=\"2592000\" selected>"), "{again}");
    // Nothing was decided by it.
    assert_eq!(error_of(&polled(&site, &id, &device).await), "authorization_pending");
    let done = chosen(&person, &again, &choice("")).await;
    assert!(done.contains("Go on in the terminal"), "{done}");
}

#[tokio::test]
async fn a_terminal_is_told_no_and_that_it_took_too_long() {
    let site = Site::new().await;
    let id = site.registered().await;
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    let device = begun(&site, &id).await;
    decided(&person, &device, "deny").await;
    assert_eq!(error_of(&polled(&site, &id, &device).await), "access_denied");
    let device = begun(&site, &id).await;
    clock::pass(Duration::from_secs(601));
    assert_eq!(error_of(&polled(&site, &id, &device).await), "expired_token");
    let late = page(&person.get(&format!("/ui/device?user_code={}", text(&device, "user_code"))).await);
    assert!(late.contains("not known"), "{late}");
    for typed in ["", "BCDF", "BCDFGHJK", "%3Cscript%3E"] {
        let shown = page(&person.get(&format!("/ui/device?user_code={typed}")).await);
        assert!(shown.contains("The code that the terminal shows") && !shown.contains("<script>"), "{shown}");
    }
}

#[tokio::test]
async fn a_terminal_that_asks_too_often_is_told_to_slow_down() {
    let site = Site::new().await;
    let id = site.registered().await;
    let device = begun(&site, &id).await;
    let asked = async |seconds| {
        clock::pass(Duration::from_secs(seconds));
        error_of(&polled(&site, &id, &device).await)
    };
    assert_eq!(device["interval"], 5);
    // It waits five seconds, then asks at once: from then on ten are asked for.
    for (seconds, answer) in [
        (0, "authorization_pending"),
        (5, "authorization_pending"),
        (1, "slow_down"),
        (5, "slow_down"),
        (15, "authorization_pending"),
        (15, "authorization_pending"),
    ] {
        assert_eq!(asked(seconds).await, answer, "after {seconds} s");
    }
    for _ in 0..20 {
        assert_eq!(asked(1).await, "slow_down");
    }
    assert_eq!(asked(60).await, "authorization_pending", "the wait has a bound");
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    decided(&person, &device, "allow").await;
    assert_eq!(polled(&site, &id, &device).await.ok()["scope"], "read:vault");
}
