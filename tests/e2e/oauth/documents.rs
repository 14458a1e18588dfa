//! Clients that are named by the address of a document that they publish.

use std::net::IpAddr;
use std::sync::Arc;

use atlas_outbound::public::Resolver;
use atlas_outbound::{Documents, Public, Trust};
use atlas_testkit::StandIn;
use atlas_testkit::stand_in::Reply;
use serde_json::{Value, json};

use super::site::{CALLBACK, Person, Site, authorize, error_of, page, text};

const NAME: &str = "client.example";

/// A service that publishes what a client at its address is.
async fn published(document: impl Fn(&str) -> Value + Send + Sync + 'static) -> (StandIn, Documents, String) {
    // The document says its own address, which is known once the service listens.
    let stand_in = StandIn::secure(NAME, move |asked| {
        Reply::json(&document(&format!("https://{}{}", asked.header("host"), asked.target)))
    })
    .await;
    let port: u16 = stand_in.address().rsplit(':').next().unwrap().parse().unwrap();
    let resolver: Resolver = Arc::new(|_| Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) }));
    let trust = Trust::pinned(stand_in.certificate());
    let documents = Documents::new(Public { resolver, is_public: |address| address.is_loopback(), port }, trust);
    (stand_in, documents, format!("https://{NAME}:{port}/client.json"))
}

async fn site(documents: Documents) -> Site {
    let documents = Arc::new(documents);
    Site::changed(json!({ "server": { "clientMetadataDocuments": true } }), |mut app| {
        app.documents = documents;
        app
    })
    .await
}

#[tokio::test]
async fn a_client_is_known_by_the_document_that_it_publishes() {
    let document =
        |address: &str| json!({ "client_id": address, "client_name": "Claude", "redirect_uris": [CALLBACK] });
    let (stand_in, documents, id) = published(document).await;
    let site = site(documents).await;
    let metadata = site.client.get("/.well-known/oauth-authorization-server").await.ok();
    assert_eq!(metadata["client_id_metadata_document_supported"], true);
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    let asked = person.asked(&id).await;
    assert!(asked.contains("<strong>client.example</strong> wants to use your notes"), "{asked}");
    let code = person.allows(&id, &[("scope", "read:vault")]).await;
    let tokens = site.redeemed(&id, &code).await.ok();
    assert_eq!(site.call(text(&tokens, "access_token")).await, 200);
    site.refreshed(&id, text(&tokens, "refresh_token")).await.ok();
    // A terminal of this client is asked about by the name in the document.
    let device = site.post("/oauth/device_authorization", &[("client_id", &id)]).await.ok();
    let shown = page(&person.get(&format!("/ui/device?user_code={}", text(&device, "user_code"))).await);
    assert!(shown.contains("It calls itself <q>Claude</q>"), "{shown}");
    // Asked once, and not at all for tokens.
    assert_eq!(stand_in.asked().len(), 1);
}

#[tokio::test]
async fn a_document_that_is_of_another_client_or_none_is_refused() {
    for document in [
        json!({ "client_id": "https://client.example/other.json", "redirect_uris": [CALLBACK] }),
        json!({ "redirect_uris": [CALLBACK] }),
        json!({ "client_id": "own", "redirect_uris": ["https://evil.example/"] }),
        json!("text"),
        json!([]),
    ] {
        let shown = document.clone();
        let own = move |address: &str| {
            let mut document = document.clone();
            if document["client_id"] == "own" {
                document["client_id"] = address.into();
            }
            document
        };
        let (_stand_in, documents, id) = published(own).await;
        let site = site(documents).await;
        let mut person = Person::at(&site.client);
        person.signs_in().await;
        let reply = person.get(&authorize(&id)).await;
        assert_eq!((reply.status.as_u16(), reply.header("location")), (400, None), "{shown}");
    }
}

#[tokio::test]
async fn nothing_is_fetched_for_strangers_or_unless_it_is_allowed() {
    let (stand_in, documents, id) =
        published(|address| json!({ "client_id": address, "redirect_uris": [CALLBACK] })).await;
    let allowed = site(documents).await;
    // Only the person leads the server to an address.
    assert_eq!(Person::at(&allowed.client).get(&authorize(&id)).await.status, 401);
    allowed.post("/oauth/device_authorization", &[("client_id", &id)]).await.ok();
    let (other, documents, _) = published(|_| json!({})).await;
    let documents = Arc::new(documents);
    let closed = Site::changed(json!({}), |mut app| {
        app.documents = documents;
        app
    })
    .await;
    let mut person = Person::at(&closed.client);
    person.signs_in().await;
    assert_eq!(person.get(&authorize(&id)).await.status, 400);
    for odd in [
        format!("{id}?x"),
        format!("{id}#x"),
        format!("https://{NAME}/"),
        id.replace("/client", "/./client"),
        id.replace("client.example", "CLIENT.example"),
    ] {
        let mut person = Person::at(&allowed.client);
        person.signs_in().await;
        assert_eq!(person.get(&authorize(&odd)).await.status, 400, "{odd}");
        let device = allowed.post("/oauth/device_authorization", &[("client_id", &odd)]).await;
        assert_eq!(error_of(&device), "invalid_client", "{odd}");
    }
    assert!(stand_in.asked().is_empty() && other.asked().is_empty());
}
