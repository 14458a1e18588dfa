//! The whole way of a client: from a 401 at `/mcp` to a call, a refresh and a revocation.

use std::time::Duration;

use atlas_testkit::VaultBuilder;
use axum::http::StatusCode;
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::{Value, json};

use crate::support::clock;
use crate::support::tokens::send;

use super::site::{BASE, MCP, Person, Site, authorize_with, error_of, field, location, onward, page, parameter, text};

#[tokio::test]
async fn a_client_finds_its_way_from_a_refusal_to_a_call() {
    let site = Site::new().await;
    let refused = send(&site.client, "POST", "/mcp", &[], &json!({})).await;
    assert_eq!(refused.status, 401);
    let challenge = refused.header("www-authenticate").unwrap();
    let (_, place) = challenge.split_once("resource_metadata=\"").unwrap();
    let place = place.trim_end_matches('"').strip_prefix(BASE).unwrap();
    let resource = site.client.get(place).await.ok();
    assert_eq!((&resource["resource"], &resource["authorization_servers"]), (&json!(MCP), &json!([BASE])));
    let server = site.client.get("/.well-known/oauth-authorization-server").await.ok();
    assert_eq!(server, site.client.get("/.well-known/openid-configuration").await.ok());
    assert_eq!(server["issuer"], BASE);
    // What no client is ever granted is not offered to it.
    assert_eq!(resource["scopes_supported"], server["scopes_supported"]);
    assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(server["authorization_response_iss_parameter_supported"], true);
    for name in ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint", "jwks_uri"]
    {
        assert!(server[name].as_str().unwrap().starts_with(BASE), "{name}");
    }
    assert_eq!(server.get("introspection_endpoint"), None);

    let id = site.registered().await;
    let mut person = Person::at(&site.client);
    let asked = person.get(&super::site::authorize(&id)).await;
    assert_eq!(asked.status, StatusCode::UNAUTHORIZED);
    let next = field(&String::from_utf8_lossy(&asked.body), "next");
    assert!(next.starts_with("/ui/authorize?response_type=code"), "{next}");
    person.signs_in().await;
    let asked = person.asked(&id).await;
    for shown in ["claude.ai", "Claude", "which nobody has verified", "read your notes", "delete notes"] {
        assert!(asked.contains(shown), "{shown}: {asked}");
    }
    assert!(!asked.contains("administer"), "{asked}");
    // Reading alone is chosen first.
    assert_eq!(asked.matches(" checked").count(), 1);
    let reply = person.decides(&id, &[("decision", "allow"), ("scope", "read:vault")]).await;
    let address = onward(&reply);
    assert!(address.starts_with("https://claude.ai/api/mcp/auth_callback?code="), "{address}");
    assert_eq!((parameter(&address, "state"), parameter(&address, "iss")), ("st&te".to_owned(), BASE.to_owned()));

    let tokens = site.redeemed(&id, &parameter(&address, "code")).await.ok();
    assert_eq!(
        (&tokens["token_type"], &tokens["expires_in"], &tokens["scope"]),
        (&json!("Bearer"), &json!(600), &json!("read:vault"))
    );
    assert_eq!(site.call(text(&tokens, "access_token")).await, 200);
    let write = [crate::support::tokens::bearer(text(&tokens, "access_token"))];
    let refused = send(&site.client, "PUT", "/notes/new.md", &write, &json!({ "content": "x" })).await;
    assert_eq!(refused.status, 403);

    let next = site.refreshed(&id, text(&tokens, "refresh_token")).await.ok();
    assert_eq!(site.call(text(&next, "access_token")).await, 200);
    let revoked = site.post("/oauth/revoke", &[("client_id", &id), ("token", text(&next, "refresh_token"))]).await;
    assert_eq!(revoked.status, 200);
    assert_eq!(error_of(&site.refreshed(&id, text(&next, "refresh_token")).await), "invalid_grant");
    clock::pass(Duration::from_secs(700));
    assert_eq!(site.call(text(&next, "access_token")).await, 401);
}

/// A deployment whose vault `boat` only its document names.
async fn site_with_a_boat() -> Site {
    let site = Site::new().await;
    let boat = VaultBuilder::new().note("log.md", "# Lighthouse");
    site.deployment.publish_as("boat", boat.root()).await;
    let document = PutPayload::from_static(br#"{"id": "boat"}"#);
    site.deployment.objects.put(&Path::from("config/vaults/boat.json"), document).await.unwrap();
    site
}

#[tokio::test]
async fn a_token_may_be_for_a_vault_that_only_its_document_names() {
    let site = site_with_a_boat().await;
    let id = site.registered().await;
    let tokens = site.tokens(&id, &[("scope", "read:vault"), ("other-vault", " boat ")]).await;
    let found = site.find(text(&tokens, "access_token")).await.ok();
    assert_eq!(found["results"][0]["path"], "log.md");
    let next = site.refreshed(&id, text(&tokens, "refresh_token")).await.ok();
    assert_eq!(site.find(text(&next, "access_token")).await.ok(), found);

    let mut person = Person::at(&site.client);
    person.signs_in().await;
    for unknown in ["yacht", "../vaults/boat", "Boat"] {
        let choice = [("decision", "allow"), ("scope", "read:vault"), ("other-vault", unknown)];
        let page = page(&person.decides(&id, &choice).await);
        assert!(page.contains("There is no such vault"), "{unknown}: {page}");
    }
}

#[tokio::test]
async fn a_form_with_a_mistake_comes_back_with_all_that_it_had() {
    let site = Site::new().await;
    let id = site.registered().await;
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    let choice = [
        ("decision", "allow"),
        ("scope", "write:vault"),
        ("scope", "delete:vault"),
        ("other-vault", "wrok\"><b>"),
        ("folders", "Projects\nShed <3>"),
        ("time", "3600"),
    ];
    let again = page(&person.decides(&id, &choice).await);
    assert!(again.contains("There is no such vault"), "{again}");
    for kept in [
        "value=\"wrok&quot;&gt;&lt;b&gt;\"",
        ">Projects\nShed &lt;3&gt;</textarea>",
        "value=\"write:vault\" checked",
        "value=\"delete:vault\" checked",
        "<option value=\"3600\" selected>",
    ] {
        assert!(again.contains(kept), "{kept}: {again}");
    }
    assert_eq!(
        (again.matches(" checked").count(), again.matches("<option value=\"2592000\" selected>").count()),
        (2, 0)
    );
}

#[tokio::test]
async fn a_chosen_vault_stays_chosen_after_a_mistake() {
    let site = site_with_a_boat().await;
    let id = site.registered().await;
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    let mistaken = [("decision", "allow"), ("scope", "read:vault"), ("vault", "boat"), ("folders", "../shed")];
    // The address of the first page has the vault listed; the form's own address does not.
    let asked = page(&person.get(&authorize_with(&id, &[("vault", "boat")])).await);
    assert!(asked.contains("<option value=\"boat\">"), "{asked}");
    let again = page(&person.decides_on(&asked, &mistaken).await);
    assert!(again.contains("cannot be a folder"), "{again}");
    assert!(again.contains("name=\"other-vault\" value=\"boat\""), "{again}");

    // For who looks at that vault, every page lists it: in the bar and in the form.
    let token = field(&again, "form_token");
    let looked = person.form("/ui/vault", &[("form_token", &token), ("other-vault", "boat")]).await;
    assert_eq!(location(&looked), "/ui");
    let again = page(&person.decides(&id, &mistaken).await);
    assert!(again.contains("cannot be a folder"), "{again}");
    assert_eq!(again.matches("<option value=\"boat\" selected>").count(), 2, "{again}");
}

#[tokio::test]
async fn a_token_is_for_the_folders_that_the_person_named() {
    let site = Site::new().await;
    let id = site.registered().await;
    let choice = [("scope", "read:vault"), ("scope", "write:vault"), ("folders", "Projects/Boat/\n")];
    let tokens = site.tokens(&id, &choice).await;
    let token = text(&tokens, "access_token");
    let found = site.find(token).await.ok();
    let paths: Vec<&str> = found["results"].as_array().unwrap().iter().map(|found| text(found, "path")).collect();
    assert_eq!(paths, ["Projects/Boat/plan.md"]);
    let headers = [crate::support::tokens::bearer(token)];
    let status = async |method: &str, uri: &str, body: Value| {
        send(&site.client, method, uri, &headers, &body).await.status.as_u16()
    };
    assert_eq!(status("GET", "/notes/Projects/Boat/plan.md", Value::Null).await, 200);
    assert_eq!(status("GET", "/notes/private.md", Value::Null).await, 403);
    // Whether it exists or not.
    assert_eq!(status("GET", "/notes/other.md", Value::Null).await, 403);
    assert_eq!(status("GET", "/notes/Projects/Boatyard.md", Value::Null).await, 403);
    assert_eq!(status("PUT", "/notes/Projects/Boat/new.md", json!({ "content": "x" })).await, 201);
    assert_eq!(status("PUT", "/notes/new.md", json!({ "content": "x" })).await, 403);
    let listed = send(&site.client, "GET", "/notes", &headers, &Value::Null).await.ok();
    assert!(!listed.to_string().contains("private"), "{listed}");
}

#[tokio::test]
async fn the_person_sees_what_they_allowed_and_ends_it() {
    let site = Site::with(json!({ "checkRevocation": true })).await;
    let id = site.registered().await;
    let tokens = site.tokens(&id, &[("scope", "read:vault")]).await;
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    let shown = page(&person.get("/ui/access").await);
    assert!(shown.contains("claude.ai") && shown.contains("Active"), "{shown}");
    assert_eq!(site.call(text(&tokens, "access_token")).await, 200);
    // Another browser is signed in by the client's token.
    let other = Person::at(&site.client);
    let by_token = async || other.form("/ui/sign-in", &[("token", text(&tokens, "access_token"))]).await;
    assert_eq!(location(&by_token().await), "/ui");
    page(&other.get("/ui/search").await);
    let (token, grant) = (field(&shown, "form_token"), field(&shown, "grant"));
    let revoked = person.form("/ui/access/revoke", &[("form_token", &token), ("grant", &grant)]).await;
    assert_eq!(location(&revoked), "/ui/access");
    assert!(page(&person.get("/ui/access").await).contains("Ended"));
    // At once, since this deployment looks.
    assert_eq!(site.call(text(&tokens, "access_token")).await, 401);
    assert_eq!((other.get("/ui/search").await.status.as_u16(), by_token().await.status.as_u16()), (401, 403));
    assert_eq!(error_of(&site.refreshed(&id, text(&tokens, "refresh_token")).await), "invalid_grant");
}

#[tokio::test]
async fn the_person_says_no() {
    let site = Site::new().await;
    let id = site.registered().await;
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    let reply = person.decides(&id, &[("decision", "deny"), ("scope", "read:vault")]).await;
    let address = onward(&reply);
    assert_eq!(
        (parameter(&address, "error"), parameter(&address, "iss")),
        ("access_denied".to_owned(), BASE.to_owned())
    );
    // Nothing chosen is nothing allowed.
    let again = page(&person.decides(&id, &[("decision", "allow")]).await);
    assert!(again.contains("Choose at least one"), "{again}");
}
