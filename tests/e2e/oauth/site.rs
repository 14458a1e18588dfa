//! A deployment with an authorization server, a person with a browser, and a client.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use atlas_access::authority::{AuthorityDocument, KeyDocument};
use atlas_mirror::{Store, StoreOptions};
use atlas_oauth::passphrase::hash_passphrase;
use atlas_oauth::person::code_at;
use atlas_testkit::{CountingStore, VaultBuilder};
use atlas_web::App;
use atlas_web::state::Reach;
use axum::body::Body;
use axum::http::{Method, Request};
use jiff::Timestamp;
use object_store::ObjectStore;
use serde_json::{Value, json};

use crate::support::clock;
use crate::support::deployment::{Client, Deployment, Reply, settings};
use crate::support::tokens::{bearer, send};

pub(crate) const HOST: &str = "notes.example.org";
pub(crate) const BASE: &str = "https://notes.example.org";
pub(crate) const MCP: &str = "https://notes.example.org/mcp";
pub(crate) const CALLBACK: &str = "https://claude.ai/api/mcp/auth_callback";
pub(crate) const PASSPHRASE: &str = "correct horse battery staple";
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// What an OpenID provider knows the deployment by.
pub(crate) const UPSTREAM_SECRET: &str = "a:secret/of+the=provider";
const CODE_SECRET: &[u8] = b"12345678901234567890";

/// The secrets of the server, with a one-time code.
pub(crate) static AUTHORITY: LazyLock<AuthorityDocument> = LazyLock::new(|| AuthorityDocument {
    person: "ada".to_owned(),
    passphrase: Some(hash_passphrase(PASSPHRASE).unwrap()),
    totp: Some("MTIzNDU2Nzg5MDEyMzQ1Njc4OTA=".to_owned()),
    secret: "0123456789abcdef".repeat(4),
    keys: vec![KeyDocument::make(Timestamp::UNIX_EPOCH).unwrap()],
});

/// The deployment.
pub(crate) struct Site {
    pub(crate) deployment: Deployment,
    pub(crate) client: Client,
}

impl Site {
    pub(crate) async fn new() -> Self {
        Self::with(json!({})).await
    }

    /// One whose configuration has these fields of `auth`.
    pub(crate) async fn with(auth: Value) -> Self {
        Self::changed(auth, |app| app).await
    }

    /// The same, changed by `change`.
    pub(crate) async fn changed(auth: Value, change: impl FnOnce(App) -> App) -> Self {
        let vault = VaultBuilder::new()
            .note("Projects/Boat/plan.md", "# Plan\n\nPaint the lighthouse.\n")
            .note("private.md", "the lighthouse is mine\n");
        let deployment = Deployment::of_vault(&vault).await;
        let client = process_with(&deployment, &AUTHORITY, &auth, change).await;
        Self { deployment, client }
    }

    /// Another instance over the same store.
    pub(crate) async fn other(&self) -> Client {
        process(&self.deployment, &AUTHORITY, &json!({})).await
    }

    pub(crate) async fn registered(&self) -> String {
        registered(&self.client).await
    }

    pub(crate) async fn registers(&self, metadata: &Value) -> String {
        registers(&self.client, metadata).await
    }

    /// Posts a form to one of the server's routes.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        post(&self.client, path, fields).await
    }

    /// The tokens that the person gives a client for what they choose on the page.
    pub(crate) async fn tokens(&self, id: &str, choice: &[(&str, &str)]) -> Value {
        let mut person = Person::at(&self.client);
        person.signs_in().await;
        let code = person.allows(id, choice).await;
        self.redeemed(id, &code).await.ok()
    }

    pub(crate) async fn redeemed(&self, id: &str, code: &str) -> Reply {
        redeemed(&self.client, id, code).await
    }

    pub(crate) async fn refreshed(&self, id: &str, refresh: &str) -> Reply {
        let fields = [("grant_type", "refresh_token"), ("client_id", id), ("refresh_token", refresh)];
        self.post("/oauth/token", &fields).await
    }

    /// The status of a call with `token`.
    pub(crate) async fn call(&self, token: &str) -> u16 {
        self.find(token).await.status.as_u16()
    }

    pub(crate) async fn find(&self, token: &str) -> Reply {
        send(&self.client, "POST", "/find", &[bearer(token)], &json!({ "term": "lighthouse" })).await
    }
}

/// A process with the secrets `authority`, whose configuration has these fields of `auth`.
pub(crate) async fn process(deployment: &Deployment, authority: &AuthorityDocument, auth: &Value) -> Client {
    process_with(deployment, authority, auth, |app| app).await
}

/// The same, changed by `change`.
async fn process_with(
    deployment: &Deployment,
    authority: &AuthorityDocument,
    auth: &Value,
    change: impl FnOnce(App) -> App,
) -> Client {
    process_over(deployment.objects.clone(), authority, auth, change).await
}

/// The same over this store.
pub(crate) async fn process_over(
    objects: Arc<dyn ObjectStore>,
    authority: &AuthorityDocument,
    auth: &Value,
    change: impl FnOnce(App) -> App,
) -> Client {
    let (keys, document) =
        (authority.write().unwrap(), json!({ "auth": auth, "vaultDocuments": "store:config/vaults" }).to_string());
    let mut variables = vec![
        ("ATLAS_AUTH", "jwt"),
        ("ATLAS_RESOURCE", BASE),
        ("ATLAS_OAUTH_KEYS", keys.as_str()),
        ("ATLAS_CONFIG", document.as_str()),
    ];
    if auth.get("upstream").is_some() {
        variables.push(("ATLAS_UPSTREAM_SECRET", UPSTREAM_SECRET));
    }
    let requests = CountingStore::new(objects);
    let store = Store::new(requests.clone(), "", StoreOptions::default()).unwrap();
    let app = App::open_in(store, &settings(&variables), Reach::Loopback, Duration::from_secs(30)).await.unwrap();
    Client::of(change(app.with_clock(clock::now)), requests)
}

pub(crate) async fn post(client: &Client, path: &str, fields: &[(&str, &str)]) -> Reply {
    let request = Request::builder().method(Method::POST).uri(path).header("host", HOST);
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    client.send(request.body(Body::from(encoded(fields))).unwrap()).await
}

pub(crate) async fn redeemed(client: &Client, id: &str, code: &str) -> Reply {
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", id),
        ("code", code),
        ("code_verifier", VERIFIER),
        ("redirect_uri", CALLBACK),
        ("resource", MCP),
    ];
    post(client, "/oauth/token", &fields).await
}

/// The id of a client that registered itself.
pub(crate) async fn registered(client: &Client) -> String {
    registers(client, &json!({ "redirect_uris": [CALLBACK], "client_name": "Claude" })).await
}

async fn registers(client: &Client, metadata: &Value) -> String {
    let reply = send(client, "POST", "/oauth/register", &[], metadata).await;
    assert_eq!(reply.status, 201, "{reply:?}");
    reply.json()["client_id"].as_str().unwrap().to_owned()
}

/// The error of a reply that is one.
#[track_caller]
pub(crate) fn error_of(reply: &Reply) -> String {
    assert!(!reply.status.is_success(), "{}", String::from_utf8_lossy(&reply.body));
    reply.json()["error"].as_str().unwrap().to_owned()
}

#[track_caller]
pub(crate) fn text<'v>(tokens: &'v Value, name: &str) -> &'v str {
    tokens[name].as_str().unwrap_or_else(|| panic!("no {name} in {tokens}"))
}

/// A person with a browser.
pub(crate) struct Person<'a> {
    client: &'a Client,
    cookies: RefCell<BTreeMap<String, String>>,
}

impl<'a> Person<'a> {
    pub(crate) fn at(client: &'a Client) -> Self {
        Self { client, cookies: RefCell::default() }
    }

    pub(crate) async fn send(&self, method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut request = Request::builder().method(method).uri(uri).header("host", HOST).header("accept", "text/html");
        let cookies: Vec<String> =
            self.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        if !body.is_empty() {
            request = request.header("content-type", "application/x-www-form-urlencoded");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let reply = self.client.send(request.body(Body::from(body.to_owned())).unwrap()).await;
        for cookie in reply.headers.get_all("set-cookie") {
            let (name, rest) = cookie.to_str().unwrap().split_once('=').unwrap();
            self.cookies.borrow_mut().insert(name.to_owned(), rest.split(';').next().unwrap().to_owned());
        }
        reply
    }

    pub(crate) async fn get(&self, uri: &str) -> Reply {
        self.send("GET", uri, &[], "").await
    }

    /// Sends a form from a page of this site.
    pub(crate) async fn form(&self, uri: &str, fields: &[(&str, &str)]) -> Reply {
        self.send("POST", uri, &[("origin", BASE)], &encoded(fields)).await
    }

    /// Forgets the session, and is still the same browser.
    pub(crate) fn closes(&self) {
        self.cookies.borrow_mut().retain(|name, _| name.contains("browser"));
    }

    pub(crate) fn cookie(&self, part: &str) -> Option<String> {
        self.cookies.borrow().iter().find(|(name, _)| name.contains(part)).map(|(_, value)| value.clone())
    }

    pub(crate) async fn tries(&self, passphrase: &str, code: &str) -> Reply {
        self.form("/ui/sign-in", &[("passphrase", passphrase), ("code", code), ("next", "/ui/access")]).await
    }

    pub(crate) async fn signs_in(&mut self) {
        let reply = self.tries(PASSPHRASE, &one_time()).await;
        assert_eq!(reply.status, 303, "{}", String::from_utf8_lossy(&reply.body));
        // The code is used up.
        clock::pass(Duration::from_secs(31));
    }

    /// The consent page that the client leads to.
    pub(crate) async fn asked(&self, id: &str) -> String {
        page(&self.get(&authorize(id)).await)
    }

    /// Decides on the consent page.
    pub(crate) async fn decides(&self, id: &str, fields: &[(&str, &str)]) -> Reply {
        let asked = self.asked(id).await;
        self.decides_on(&asked, fields).await
    }

    pub(crate) async fn decides_on(&self, asked: &str, fields: &[(&str, &str)]) -> Reply {
        let (token, request) = (field(asked, "form_token"), field(asked, "request"));
        let kept = [("form_token", token.as_str()), ("request", &request), ("vault", "main"), ("time", "2592000")];
        let given = |name: &str| fields.iter().any(|(given, _)| *given == name);
        let fields: Vec<(&str, &str)> =
            kept.into_iter().filter(|(name, _)| !given(name)).chain(fields.iter().copied()).collect();
        self.form("/ui/authorize", &fields).await
    }

    /// Allows it: the code that the client gets.
    pub(crate) async fn allows(&self, id: &str, choice: &[(&str, &str)]) -> String {
        let choice: Vec<_> = choice.iter().copied().chain([("decision", "allow")]).collect();
        let reply = self.decides(id, &choice).await;
        parameter(&onward(&reply), "code")
    }
}

/// A valid one-time code.
pub(crate) fn one_time() -> String {
    code_at(CODE_SECRET, clock::now().as_second() / 30)
}

#[track_caller]
pub(crate) fn page(reply: &Reply) -> String {
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    assert_eq!(reply.status, 200, "{text}");
    text
}

#[track_caller]
pub(crate) fn location(reply: &Reply) -> &str {
    assert_eq!(reply.status, 303, "{}", String::from_utf8_lossy(&reply.body));
    reply.header("location").unwrap()
}

/// The address that a page leads the browser to at once.
#[track_caller]
pub(crate) fn onward(reply: &Reply) -> String {
    let page = page(reply);
    let (_, rest) = page.split_once("content=\"0;url=").unwrap_or_else(|| panic!("it leads nowhere: {page}"));
    rest.split('"').next().unwrap().replace("&amp;", "&")
}

/// A parameter of an address.
#[track_caller]
pub(crate) fn parameter(address: &str, name: &str) -> String {
    let (_, query) = address.split_once('?').unwrap();
    let pair = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(of, _)| *of == name);
    let (_, value) = pair.unwrap_or_else(|| panic!("no {name} in {address}"));
    percent_encoding::percent_decode_str(value).decode_utf8().unwrap().into_owned()
}

/// The value of a hidden field of a page.
#[track_caller]
pub(crate) fn field(page: &str, name: &str) -> String {
    let (_, rest) =
        page.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("no {name}: {page}"));
    rest.split('"').next().unwrap().replace("&amp;", "&")
}

/// The address that a client leads the browser to.
pub(crate) fn authorize(id: &str) -> String {
    authorize_with(id, &[])
}

/// The same with other parameters; an empty one is left out.
pub(crate) fn authorize_with(id: &str, change: &[(&str, &str)]) -> String {
    let mut fields: Vec<(&str, &str)> = vec![
        ("response_type", "code"),
        ("client_id", id),
        ("redirect_uri", CALLBACK),
        ("scope", "read:vault write:vault delete:vault admin"),
        ("state", "st&te"),
        ("resource", MCP),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    for (name, value) in change {
        fields.retain(|(field, _)| field != name);
        if !value.is_empty() {
            fields.push((name, value));
        }
    }
    format!("/ui/authorize?{}", encoded(&fields))
}

pub(crate) fn encoded(fields: &[(&str, &str)]) -> String {
    let text = |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    fields.iter().map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<_>>().join("&")
}
