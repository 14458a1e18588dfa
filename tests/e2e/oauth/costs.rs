//! The price of signing in and of tokens, in requests to the store.

use serde_json::json;

use super::site::{Person, Site, text};

#[tokio::test]
async fn signing_in_and_getting_tokens_makes_at_most_twelve_requests() {
    let site = Site::new().await;
    let id = site.registered().await;
    // The store is asked once a process whether it keeps conditional writes.
    let first = site.tokens(&id, &[("scope", "read:vault")]).await;
    site.client.requests.take();
    let tokens = site.tokens(&id, &[("scope", "read:vault")]).await;
    let count = site.client.requests.take().count();
    assert!(count <= 12, "{count} requests");
    assert_ne!(text(&first, "refresh_token"), text(&tokens, "refresh_token"));
    site.refreshed(&id, text(&tokens, "refresh_token")).await.ok();
    let count = site.client.requests.take().count();
    assert!(count <= 5, "{count} requests");
}

#[tokio::test]
async fn a_registration_costs_the_store_nothing() {
    let site = Site::new().await;
    site.client.requests.take();
    for number in 0..50 {
        site.registers(&json!({ "redirect_uris": [format!("https://a{number}.example/cb")] })).await;
    }
    assert_eq!(site.client.requests.take().count(), 0);
}

#[tokio::test]
async fn a_call_costs_no_more_than_with_any_other_token() {
    let site = Site::new().await;
    let looking = Site::with(json!({ "checkRevocation": true })).await;
    let mut counts = Vec::new();
    for site in [&site, &looking] {
        let id = site.registered().await;
        let tokens = site.tokens(&id, &[("scope", "read:vault")]).await;
        let token = text(&tokens, "access_token");
        site.find(token).await.ok();
        site.client.requests.take();
        site.find(token).await.ok();
        counts.push(site.client.requests.take().count());
    }
    // A warm call asks for the newest generation; where revocation is looked for, for that too.
    assert_eq!(counts, [1, 2]);
    let mut person = Person::at(&site.client);
    person.signs_in().await;
}
