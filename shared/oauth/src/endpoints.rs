//! The routes that programs ask, without a cookie and without a token: what they send proves itself.

use atlas_web::App;
use atlas_web::request;
use atlas_web::response::json_response;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
    CACHE_CONTROL, CONTENT_TYPE, ORIGIN,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::client::{GRANT_TYPES, Metadata, register};
use crate::clients::unasked_client_of;
use crate::error::{Code, OAuthError};
use crate::request::{resource_of, scopes_of, text};
use crate::server::Server;

/// Most bytes of a registration.
const MAX_REGISTRATION: usize = 16 << 10;

/// `GET` of the server's metadata.
pub(crate) async fn metadata(State(app): State<App>, headers: HeaderMap) -> Response {
    answered(&app, &headers, async |server| Ok(Some(crate::metadata::of(server.issuer)))).await
}

/// `GET` of the public keys.
pub(crate) async fn keys(State(app): State<App>, headers: HeaderMap) -> Response {
    answered(&app, &headers, async |server| Ok(Some(server.issuer.authority.public()))).await
}

/// `POST` of a registration.
pub(crate) async fn registration(State(app): State<App>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = answered(&app, &parts.headers, async |server| {
        if !server.issuer.options.dynamic_registration {
            return Ok(None);
        }
        let refused = |text: &str| OAuthError::new(Code::InvalidClientMetadata, text);
        let is_json = request::said_to_be_json(&parts.headers).is_ok();
        let bytes = request::bytes(body).await.map_err(|_| refused("send the metadata at once"))?;
        if !is_json || bytes.len() > MAX_REGISTRATION {
            return Err(refused("send the metadata as JSON (application/json), 16 kB at most"));
        }
        let metadata: Metadata =
            serde_json::from_slice(&bytes).map_err(|_| refused("the metadata is not what RFC 7591 has"))?;
        register(&server.issuer.authority.secret, &metadata, server.now).map(Some)
    })
    .await;
    if response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::CREATED;
    }
    response
}

/// `POST` of what tokens are given for.
pub(crate) async fn token(State(app): State<App>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let form = form(&parts.headers, body).await;
    answered(&app, &parts.headers, async |server| {
        let form = form?;
        let client = needed(&form, "client_id")?;
        let resource = text(&form, "resource");
        let tokens = match needed(&form, "grant_type")? {
            "authorization_code" => {
                let (code, verifier) = (needed(&form, "code")?, needed(&form, "code_verifier")?);
                server.redeem(code, client, text(&form, "redirect_uri"), verifier, resource).await
            }
            "refresh_token" => {
                server.refresh(needed(&form, "refresh_token")?, client, text(&form, "scope"), resource).await
            }
            kind if kind == GRANT_TYPES[2] => server.redeem_device(needed(&form, "device_code")?, client).await,
            _ => Err(OAuthError::new(
                Code::UnsupportedGrantType,
                format!("grant_type: write {}", GRANT_TYPES.join(", ")),
            )),
        };
        tokens.map(|tokens| Some(tokens.json()))
    })
    .await
}

/// `POST` of a token that is not wanted any more.
pub(crate) async fn revocation(State(app): State<App>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let form = form(&parts.headers, body).await;
    answered(&app, &parts.headers, async |server| {
        let form = form?;
        let (token, client) = (needed(&form, "token")?, needed(&form, "client_id")?);
        let caller = app.gate.caller_of(token, server.now).filter(|caller| caller.client() == Some(client));
        match caller.as_ref().and_then(|caller| caller.grant()?.parse().ok()) {
            Some(grant) => server.end(grant, "client").await?,
            None => server.revoke(token, client).await?,
        }
        Ok(Some(json!({})))
    })
    .await
}

/// `POST` of a terminal that wants a code to show.
pub(crate) async fn device(State(app): State<App>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let form = form(&parts.headers, body).await;
    answered(&app, &parts.headers, async |server| {
        if !server.issuer.options.device_authorization {
            return Ok(None);
        }
        let form = form?;
        // A stranger has nothing fetched. The page looks at the client's document, for the person.
        let client = unasked_client_of(&server, needed(&form, "client_id")?)?;
        let resource = resource_of(text(&form, "resource"), &server.issuer.resources())?;
        server.begin_device(&client, &scopes_of(text(&form, "scope")), &resource).await.map(Some)
    })
    .await
}

/// `OPTIONS`: pages of any origin may ask, since nothing here depends on who they are.
pub(crate) async fn preflight(State(app): State<App>, headers: HeaderMap) -> Response {
    let mut response = json_response(StatusCode::NO_CONTENT, &Value::Null);
    *response.body_mut() = Body::empty();
    open(&app, &headers, &mut response);
    let told = response.headers_mut();
    told.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    told.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("content-type, mcp-protocol-version, authorization"),
    );
    told.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// The answer of the deployment's server; the answer of an unknown route where it has none, or not this.
async fn answered(
    app: &App,
    headers: &HeaderMap,
    ask: impl AsyncFnOnce(Server<'_>) -> Result<Option<Value>, OAuthError>,
) -> Response {
    let asked = match Server::of(app) {
        Some(server) => ask(server).await,
        None => Ok(None),
    };
    let mut response = match asked {
        Ok(Some(value)) => json_response(StatusCode::OK, &value),
        Ok(None) => {
            let text = "this deployment has no authorization server of its own, or does not offer this";
            json_response(StatusCode::NOT_FOUND, &OAuthError::request(text).json())
        }
        Err(error) => failed(&error),
    };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    open(app, headers, &mut response);
    response
}

fn failed(error: &OAuthError) -> Response {
    if let Some(internal) = &error.internal {
        tracing::error!(internal, "{error}");
    }
    let status = match error.code {
        Code::InvalidClient => StatusCode::UNAUTHORIZED,
        Code::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    };
    json_response(status, &error.json())
}

/// Lets pages of any origin read the answer. Those of the configured origins may already.
fn open(app: &App, headers: &HeaderMap, response: &mut Response) {
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    if origin.is_none_or(|origin| app.origins.iter().all(|known| known != origin)) {
        response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
}

/// The fields of a form, each of which is there once.
async fn form(headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, OAuthError> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().is_none_or(|kind| !kind.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded"))
    {
        return Err(OAuthError::request("send a form: application/x-www-form-urlencoded"));
    }
    let bytes = request::bytes(body).await.map_err(|_| OAuthError::request("send the form at once"))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| OAuthError::request("the form is not UTF-8"))?;
    request::form(text).map_err(|_| OAuthError::request("a field of the form is given twice, or is not UTF-8"))
}

fn needed<'a>(form: &'a Map<String, Value>, name: &str) -> Result<&'a str, OAuthError> {
    text(form, name).ok_or_else(|| {
        // A client that does not say who it is cannot be known.
        let code = if name == "client_id" { Code::InvalidClient } else { Code::InvalidRequest };
        OAuthError::new(code, format!("{name} is missing"))
    })
}
