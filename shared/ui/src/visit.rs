//! A request of a visitor with a session, and a form that they sent.

use std::sync::{Mutex, PoisonError};

use atlas_mirror::Mirror;
use atlas_ops::{Code, Entry, Error, Reason};
use atlas_vault::visible::visible;
use atlas_web::routes::{VAULT, call};
use atlas_web::telemetry::Cost;
use atlas_web::{App, Door, request};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::entrance;
use crate::frame::{self, FORM_TOKEN, OF_VAULT, Section, Who};
use crate::response;
use crate::session::{self, Visitor, cookie};

/// Most vaults to choose from.
const MAX_VAULTS: usize = 200;
/// The parameter with the id of a vault.
pub(crate) const PARAMETER: &str = "vault";
/// Where forms do nothing in the vault that the visitor looks at.
const OF_ANY_VAULT: [&str; 4] = ["/ui/vault", "/ui/sign-out", "/ui/authorize", "/ui/device"];
/// Most fields of a form.
const MAX_FIELDS: usize = 500;
/// A request of a visitor with a session.
pub(crate) struct Visit {
    pub(crate) visitor: Visitor,
    pub(crate) headers: HeaderMap,
    pub(crate) uri: Uri,
    parameters: Map<String, Value>,
    /// The vaults that the visitor may look at, by their ids and names; and the id of the one that they do.
    vaults: Vec<(String, String)>,
    vault: String,
    door: Door,
    /// The cost of the first call, for the log.
    cost: Mutex<Option<Cost>>,
}

impl FromRequestParts<App> for Visit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let visitor = session::visitor(app, &parts.headers, (app.clock)()).await.map_err(|error| failed(&error))?;
        let Some(visitor) = visitor else { return Err(entrance::needed(app, parts)) };
        let mut app = app.for_caller(&visitor.caller).await.map_err(|error| failed(&error))?;
        let parameters = request::parameters(&parts.uri).map_err(|error| failed(&error))?;
        if visitor.is_person {
            let asked = parameters.get(PARAMETER).and_then(Value::as_str);
            for id in [cookie::vault(&parts.headers), asked].into_iter().flatten() {
                // One that cannot be opened is as one that is not there.
                app = app.with_vault(id).await.unwrap_or(app);
            }
        }
        let app = &app;
        // The caller of the calls is the visitor: no header of the request has a say in them.
        let asked_by = parts.extensions.get::<atlas_web::caller::Caller>().copied();
        let mut door = Door::of(app, visitor.caller.clone(), asked_by);
        let named = app.atlas.vaults_of(&visitor.caller).take(MAX_VAULTS);
        let vaults: Vec<(String, String)> = named.map(|vault| (vault.id.clone(), vault.name().to_owned())).collect();
        let vault = app.atlas.vault(visitor.caller.vault()).map_err(|error| failed(&error))?;
        let chosen = cookie::vault(&parts.headers).filter(|id| vaults.iter().any(|(vault, _)| vault == id));
        let vault = chosen.unwrap_or(&vault.id).to_owned();
        if let Some(vault) = chosen.and_then(|vault| HeaderValue::from_str(vault).ok()) {
            door.headers.insert(VAULT, vault);
        }
        let (headers, uri) = (parts.headers.clone(), parts.uri.clone());
        Ok(Self { visitor, headers, uri, parameters, vaults, vault, door, cost: Mutex::default() })
    }
}

impl Visit {
    /// The answer to a call of `operation` as the visitor.
    pub(crate) async fn call(&self, operation: &'static Entry, arguments: Value) -> Result<Value, Error> {
        let (result, cost) = call(&self.door, operation, arguments).await.into_parts();
        self.cost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cost);
        result.map(|answer| answer.value)
    }

    /// The parameter with this name; empty if there is none.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.parameters.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// All parameters.
    pub(crate) const fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    /// The same, if it is not empty.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        Some(self.parameter(name)).filter(|value| !value.is_empty())
    }

    /// The number in the parameter with this name.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.parameter(name).parse().ok()
    }

    /// The same visit, whose answers may have so many bytes.
    pub(crate) fn with_room(mut self, bytes: usize) -> Self {
        self.door.app.atlas.limits.max_response_bytes = bytes;
        self
    }

    /// The same visit, in which a note is read in parts of so many bytes.
    pub(crate) fn in_parts(mut self, bytes: usize) -> Self {
        let limits = &mut self.door.app.atlas.limits;
        limits.max_bytes = limits.max_bytes.min(bytes);
        self
    }

    pub(crate) const fn app(&self) -> &App {
        &self.door.app
    }

    /// The vaults that the visitor may look at, by their ids and names.
    pub(crate) fn vaults(&self) -> &[(String, String)] {
        &self.vaults
    }

    /// Whether the visitor may look at the vault `id`.
    pub(crate) async fn may_look_at(&self, id: &str) -> bool {
        let is_listed = self.vaults.iter().any(|(listed, _)| listed == id);
        is_listed || (self.visitor.is_person && self.app().has_vault(id).await.unwrap_or_default())
    }

    /// The id of the vault that the visitor looks at.
    pub(crate) fn vault(&self) -> &str {
        &self.vault
    }

    /// The name of the vault that the visitor looks at.
    pub(crate) fn vault_name(&self) -> &str {
        self.vaults.iter().find(|(id, _)| *id == self.vault).map_or(&self.vault, |(_, name)| name)
    }

    /// The mirror that keeps the visitor's session.
    pub(crate) fn mirror(&self) -> Result<&Mirror, Error> {
        Ok(&self.app().atlas.vault(self.visitor.caller.vault())?.mirror)
    }

    fn who(&self) -> Who<'_> {
        let (name, form_token) = (self.visitor.caller.name(), self.visitor.form_token.as_str());
        let takes_id = self.visitor.is_person && self.app().has_documented_vaults();
        Who { name, form_token, vaults: &self.vaults, vault: &self.vault, takes_id }
    }

    /// A page with this title.
    pub(crate) fn page(&self, section: Section, title: &str, content: Markup) -> Response {
        self.told(response::page(StatusCode::OK, frame::page(Some(self.who()), section, title, content)))
    }

    /// The response, with the cost of the first call for the log.
    pub(crate) fn told(&self, mut response: Response) -> Response {
        if let Some(cost) = self.cost.lock().unwrap_or_else(PoisonError::into_inner).take() {
            response.extensions_mut().insert(cost);
        }
        response
    }

    /// The page that tells of an error.
    pub(crate) fn failed(&self, error: &Error) -> Response {
        atlas_web::response::log(error);
        let content = html! {
            h1 { (title(error)) }
            p { (visible(&error.message)) }
            @let near = error.details.get("suggestions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            @if !near.is_empty() {
                p { "There is:" }
                ul { @for path in near.iter().filter_map(Value::as_str) { li { a.path href=(crate::links::document(path)) { (visible(path)) } } } }
            }
        };
        let page = frame::page(Some(self.who()), Section::Other, title(error), content);
        self.told(response::page(atlas_web::response::status(error.code), page))
    }

    /// The page that tells of a call of the visitor's that somebody else has to approve first; of another error, that.
    pub(crate) fn refused(&self, section: Section, error: &Error) -> Response {
        if !error.is(Reason::ElicitRequired) {
            return self.failed(error);
        }
        let content = html! {
            h1 { "Somebody else has to approve this" }
            p { "You are signed in by a token, and nobody approves their own calls. It now waits under Approvals, for the person at the host or another administrator; then repeat it here." }
        };
        self.page(section, "Waits for approval", content)
    }

    /// The hidden fields that every form has.
    pub(crate) fn form_token(&self) -> Markup {
        self.who().field()
    }
}

/// The page that tells of an error before it is known who asks.
pub(crate) fn failed(error: &Error) -> Response {
    atlas_web::response::log(error);
    let content = html! { h1 { (title(error)) } p { (error.message) } };
    response::page(atlas_web::response::status(error.code), frame::page(None, Section::Other, title(error), content))
}

const fn title(error: &Error) -> &'static str {
    match error.code {
        Code::NotFound => "Not there",
        Code::Unauthorized | Code::Forbidden => "Not allowed",
        Code::Conflict | Code::PreconditionFailed => "Changed meanwhile",
        Code::Unavailable | Code::TooManyRequests => "Not now",
        _ => "That did not work",
    }
}

/// A form that a visitor sent from a page of their session.
pub(crate) struct Form {
    pub(crate) visit: Visit,
    fields: Fields,
}

/// The fields of a form, in their order.
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// The first field with this name; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
    }

    /// All fields with this name.
    pub(crate) fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Reads the form that a page of this very origin sent.
    pub(crate) async fn read(request: Request) -> Result<Self, Error> {
        is_own(request.headers())?;
        let bytes = request::bytes(request.into_body()).await?;
        let text = String::from_utf8_lossy(&bytes);
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).take(MAX_FIELDS).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((request::decode(&name.replace('+', " "))?, request::decode(&value.replace('+', " "))?))
        });
        pairs.collect::<Result<_, Error>>().map(Self)
    }
}

impl FromRequest<App> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, app: &App) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visit = Visit::from_request_parts(&mut parts, app).await?;
        let fields = Fields::read(Request::from_parts(parts, body)).await.map_err(|error| visit.failed(&error))?;
        if fields.text(FORM_TOKEN) != visit.visitor.form_token {
            let message = "this form is not of a page of your session: go back, load the page again, and repeat it";
            return Err(visit.failed(&Error::new(Code::Forbidden, Reason::OriginNotAllowed, message)));
        }
        let of = fields.text(OF_VAULT);
        if !of.is_empty() && of != visit.vault && !OF_ANY_VAULT.contains(&visit.uri.path()) {
            let message = format!(
                "this form is of the vault {of}, and you look at {} now: switch to {of}, load the page again, and repeat it",
                visit.vault
            );
            return Err(visit.failed(&Error::new(Code::Conflict, Reason::VaultNotFound, message)));
        }
        Ok(Self { visit, fields })
    }
}

impl Form {
    /// The first field with this name; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.fields.text(name)
    }

    /// The same, without white space around it, if there is more.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        Some(self.text(name).trim()).filter(|value| !value.is_empty())
    }

    /// All fields with this name.
    pub(crate) fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.fields.all(name)
    }
}

/// Checks that a form comes from a page of this very origin. Browsers say where every form comes from.
fn is_own(headers: &HeaderMap) -> Result<(), Error> {
    let text = |name| headers.get(name).and_then(|value: &axum::http::HeaderValue| value.to_str().ok());
    let of = text(ORIGIN).and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
    let is_own = of.zip(text(HOST)).is_some_and(|(of, host)| of.eq_ignore_ascii_case(host));
    let is_same = text(axum::http::HeaderName::from_static("sec-fetch-site")).is_none_or(|site| site == "same-origin");
    if is_own && is_same {
        return Ok(());
    }
    let message = "forms of this page are sent from this page only";
    Err(Error::new(Code::Forbidden, Reason::OriginNotAllowed, message))
}
