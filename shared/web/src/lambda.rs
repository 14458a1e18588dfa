//! Running routes as a Lambda function.

use std::borrow::Cow;
use std::net::IpAddr;

use axum::Router;
use lambda_http::RequestExt as _;
use lambda_http::request::RequestContext;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use tower::ServiceBuilder;
use tower::util::MapRequest;

use crate::caller::Caller;
use crate::routes::Routes;
use crate::settings::Settings;
use crate::state::{App, Reach};
use crate::telemetry;

/// A variable that only Lambda itself sets, no emulator.
const ON_LAMBDA: &str = "AWS_LAMBDA_INITIALIZATION_TYPE";

/// Serves `routes` until the runtime ends the process. `variables` is the environment.
///
/// # Errors
/// When a setting is invalid, or the runtime fails.
pub async fn serve(
    routes: Routes,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<(), lambda_http::Error> {
    let variables: Vec<(String, String)> = variables.into_iter().collect();
    let on_lambda = variables.iter().any(|(name, _)| name == ON_LAMBDA);
    let settings = Settings { audit: telemetry::audit(), ..Settings::read(variables)? };
    telemetry::start(&settings.log, on_lambda);
    telemetry::tell_unused(&settings);
    let app = App::open(&settings, reach(on_lambda)).await?;
    let app = App { metrics: app.metrics.clone().embedded(on_lambda), ..app };
    #[cfg(feature = "otlp")]
    let app = App { spans: crate::otlp::Spans::open(&settings, true)?, ..app };
    // Elsewhere it is on loopback, where a web page could reach it by a name of its own.
    let app = if on_lambda { app } else { app.for_its_hosts() };
    lambda_http::run(service(routes.into_router(app))).await
}

/// The service for the runtime: `router`, with requests restored to what clients sent, and their [`Caller`].
pub fn service(router: Router) -> MapRequest<Router, fn(lambda_http::Request) -> lambda_http::Request> {
    let prepare: fn(lambda_http::Request) -> lambda_http::Request = |request| restore(with_caller(request));
    ServiceBuilder::new().map_request(prepare).service(router)
}

/// Adds the caller, if the gateway passes the address.
fn with_caller(mut request: lambda_http::Request) -> lambda_http::Request {
    let address = match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.http.source_ip.as_deref(),
        Some(RequestContext::ApiGatewayV1(context)) => context.identity.source_ip.as_deref(),
        // A load balancer appends the address to the client's header.
        Some(RequestContext::Alb(_)) => {
            let header = request.headers().get_all("x-forwarded-for").iter().next_back();
            header.and_then(|header| header.to_str().ok()?.rsplit(',').next())
        }
        _ => None,
    };
    if let Some(address) = address.and_then(|address| address.trim().parse::<IpAddr>().ok()) {
        request.extensions_mut().insert(Caller::at(address));
    }
    request
}

/// Reverts gateways' changes of paths: HTTP APIs prepend the stage's name, and decode paths, so that a `#` or `?` of a
/// note's name would end the path. Function URLs and load balancers do neither.
fn restore(mut request: lambda_http::Request) -> lambda_http::Request {
    let stage = match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.stage.as_deref().filter(|stage| *stage != "$default"),
        _ => None,
    };
    let raw = request.raw_http_path();
    let without_stage =
        stage.and_then(|stage| raw.strip_prefix('/')?.strip_prefix(stage)).filter(|path| path.starts_with('/'));
    let path = without_stage.unwrap_or(raw);
    let path = if is_encoded(path) { Cow::Borrowed(path) } else { utf8_percent_encode(path, PATH).into() };
    let uri = match request.uri().query() {
        Some(query) => format!("{path}?{query}"),
        None => path.into_owned(),
    };
    // An invalid path stays unchanged: no route accepts it.
    if let Ok(uri) = uri.parse() {
        *request.uri_mut() = uri;
    }
    request
}

/// The ASCII characters that are special or invalid in a URL's path.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'\\')
    .add(b'^')
    .add(b'|');

/// Whether a path can be as a client wrote it. A decoded path can look encoded, when a name has a `%` before two
/// hexadecimal digits; `/notes?path=` is exact for such names too.
fn is_encoded(path: &str) -> bool {
    let hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = path.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => hex(bytes.get(at + 1)) && hex(bytes.get(at + 2)),
        b'"' | b'#' | b'<' | b'>' | b'?' | b'`' | b'{' | b'}' | b'\\' | b'^' | b'|' => false,
        byte => byte.is_ascii_graphic(),
    })
}

/// A function on Lambda can be reached by anyone whom its gateway lets through, so it always requires tokens.
fn reach(on_lambda: bool) -> Reach {
    if !on_lambda {
        return Reach::Loopback;
    }
    let remedy = "on Lambda set ATLAS_AUTH=jwt, and ATLAS_JWT_SECRET or ATLAS_JWKS";
    Reach::Others { place: "this function".to_owned(), remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_starts_open_on_lambda() {
        let refused = async |mode: &str, on_lambda: bool| {
            let secret = "a secret that is long enough to be one";
            let variables = [("ATLAS_STORE", "memory://"), ("ATLAS_AUTH", mode), ("ATLAS_JWT_SECRET", secret)];
            let settings = Settings::read(variables.map(|(name, value)| (name.to_owned(), value.to_owned()))).unwrap();
            App::open(&settings, reach(on_lambda)).await.err().map(|error| error.to_string())
        };
        assert!(refused("none", true).await.unwrap().contains("set ATLAS_AUTH=jwt"));
        for (mode, on_lambda) in [("none", false), ("jwt", true), ("jwt", false)] {
            assert_eq!(refused(mode, on_lambda).await, None);
        }
    }
}
