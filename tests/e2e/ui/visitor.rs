//! A visitor of the page, as a browser: with its host, its cookie and its forms.

use atlas_access::{Scope, scope};
use atlas_ui::session::make_link;
use atlas_web::App;
use axum::body::Body;
use axum::http::{Method, Request};

use crate::access::unthrottled;
use crate::support::clock;
use crate::support::deployment::{Client, Deployment, Reply};
use crate::support::tokens::token;

pub(super) const LOCAL: &str = "127.0.0.1:3737";
pub(super) const PUBLIC: &str = "notes.example.org";

/// A server on the host of the vault, whose callers have signed tokens.
pub(super) fn on_host(deployment: &Deployment) -> Client {
    deployment.client_with(|app: App| unthrottled()(app).for_its_hosts().with_page("http://127.0.0.1:3737/ui"))
}

/// A function, which others reach by a public name.
pub(super) fn function(deployment: &Deployment) -> Client {
    deployment.client_with(unthrottled())
}

/// A browser.
pub(super) struct Visitor<'a> {
    pub(super) client: &'a Client,
    pub(super) host: &'static str,
    pub(super) cookie: String,
}

/// A page.
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) text: String,
    pub(super) reply: Reply,
}

impl Page {
    fn of(reply: Reply) -> Self {
        Self { status: reply.status.as_u16(), text: String::from_utf8_lossy(&reply.body).into_owned(), reply }
    }

    #[track_caller]
    pub(super) fn ok(self) -> String {
        assert_eq!(self.status, 200, "{}", self.text);
        self.text
    }

    /// Where it leads.
    #[track_caller]
    pub(super) fn leads(&self) -> &str {
        assert_eq!(self.status, 303, "{}", self.text);
        self.reply.header("location").unwrap()
    }

    /// The cookie that it sets, as a browser sends it.
    pub(super) fn cookie(&self) -> Option<String> {
        Some(self.reply.header("set-cookie")?.split(';').next()?.to_owned())
    }
}

impl<'a> Visitor<'a> {
    /// Somebody without a session.
    pub(super) fn stranger(client: &'a Client, host: &'static str) -> Self {
        Self { client, host, cookie: String::new() }
    }

    /// The person at the host.
    pub(super) async fn person(deployment: &Deployment, client: &'a Client) -> Self {
        let mut person = Self::stranger(client, LOCAL);
        let opened = person.get(&link(deployment).await).await;
        assert_eq!(opened.leads(), "/ui");
        person.cookie = opened.cookie().unwrap();
        person
    }

    /// Somebody with a token for these scopes.
    pub(super) async fn with_token(client: &'a Client, name: &str, scopes: &[Scope]) -> Self {
        Self::signed_in(client, &token(name, scopes, None)).await
    }

    /// An administrator of one vault.
    pub(super) async fn of_vault(client: &'a Client, vault: &str) -> Self {
        Self::signed_in(client, &token("tenant", &scope::ALL, Some(vault))).await
    }

    async fn signed_in(client: &'a Client, token: &str) -> Self {
        let mut visitor = Self::stranger(client, PUBLIC);
        let signed_in = visitor.sign_in(token).await;
        visitor.cookie = signed_in.cookie().expect("a session");
        visitor
    }

    pub(super) async fn administrator(client: &'a Client) -> Self {
        Self::with_token(client, "person", &scope::ALL).await
    }

    pub(super) async fn sign_in(&self, token: &str) -> Page {
        self.send("POST", "/ui/sign-in", &[("origin", &self.origin())], &encoded(&[("token", token)])).await
    }

    pub(super) fn origin(&self) -> String {
        format!("{}://{}", if self.host == LOCAL { "http" } else { "https" }, self.host)
    }

    pub(super) async fn send(&self, method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> Page {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request =
            Request::builder().method(method).uri(uri).header("host", self.host).header("accept", "text/html");
        if !self.cookie.is_empty() {
            request = request.header("cookie", &self.cookie);
        }
        if !body.is_empty() {
            request = request.header("content-type", "application/x-www-form-urlencoded");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Page::of(self.client.send(request.body(Body::from(body.to_owned())).unwrap()).await)
    }

    pub(super) async fn get(&self, uri: &str) -> Page {
        self.send("GET", uri, &[], "").await
    }

    /// Sends a form of the page at `at`, with its token.
    pub(super) async fn form(&self, at: &str, action: &str, fields: &[(&str, &str)]) -> Page {
        let page = self.get(at).await.ok();
        let token = form_token(&page);
        let fields: Vec<(&str, &str)> =
            [("form_token", token.as_str())].into_iter().chain(fields.iter().copied()).collect();
        self.send("POST", action, &[("origin", &self.origin())], &encoded(&fields)).await
    }
}

/// The token in the forms of a page.
pub(super) fn form_token(page: &str) -> String {
    form_value(page, "form_token")
}

/// The value of the first hidden field of a page with this name.
pub(super) fn form_value(page: &str, name: &str) -> String {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).expect("a form");
    rest.split('"').next().unwrap().to_owned()
}

pub(super) fn encoded(fields: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{name}={}", crate::support::deployment::encoded(value));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// A link for the person at the host.
pub(super) async fn link(deployment: &Deployment) -> String {
    format!("/ui/open/{}", make_link(&deployment.mirror(), "ada", clock::now()).await.unwrap())
}
