//! `atlas serve`: all functions in one process.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use atlas_access::Caller;
use atlas_ops::{Call, Entry, Error, dispatch};
use atlas_tools::bridge::context_current::ContextCurrent;
use atlas_tools::bridge::query::Query;
use atlas_tools::notes::list_notes::ListNotes;
use atlas_web::server::Server;
use atlas_web::tls::Certificate;
use atlas_web::{App, Routes, Settings, telemetry};
use clap::Args;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::commands::Outcome;
use crate::output;
use crate::store::DeploymentArguments;

/// Arguments of `atlas serve`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The address to listen on [default: 127.0.0.1, with the port ATLAS_PORT or 3737]
    #[arg(long, value_name = "ADDRESS:PORT")]
    addr: Option<SocketAddr>,
    /// Serve HTTPS with the certificate in this PEM file; a new one there is used without a restart
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's key, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    #[command(flatten)]
    deployment: DeploymentArguments,
}

/// All functions.
fn routes() -> Routes {
    function_context::routes()
        .merge(function_find::routes())
        .merge(function_search::routes())
        .merge(function_query::routes())
        .merge(function_note::routes())
        .merge(function_bridge::routes())
        .merge(function_mcp::routes())
        .metrics()
}

/// Runs `atlas serve`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let settings = Settings { audit: telemetry::audit(), ..Settings::read(arguments.deployment.variables())? };
    telemetry::start(&settings.log, false);
    let address = arguments.addr.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), settings.port));
    let certificate = match (arguments.tls_cert, arguments.tls_key) {
        (Some(certificate), Some(key)) => Some(Certificate::read(&certificate, &key)?),
        _ => None,
    };
    let server = Server::listen(routes(), &settings, address).await?;
    let address = server.address()?;
    let vault = server.app().atlas.vault(None)?.id.clone();
    if let Some(certificate) = certificate {
        // For which name the certificate is, and how it reaches this address, only its owner knows.
        output::line(format_args!("Serving the vault {vault} on https://{address} until Ctrl-C."));
        server.with_certificate(certificate).run(told_to_stop()).await?;
        return Ok(());
    }
    let url = format!("http://{address}");
    output::line(format_args!("Serving the vault {vault} on {url} until Ctrl-C. To try it:"));
    let has_tokens = server.app().gate.is_shut();
    if has_tokens {
        output::line("  TOKEN=$(atlas token)");
    }
    for example in examples(server.app(), &url).await {
        let shown = if has_tokens { " -H \"authorization: Bearer $TOKEN\"" } else { "" };
        output::line(format_args!("  {example}{shown}"));
    }
    server.run(told_to_stop()).await?;
    Ok(())
}

/// Done when the process gets an interrupt or is asked to end.
async fn told_to_stop() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = interrupt => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    // Where signals cannot be heard, the process can only be killed.
    if interrupt.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Command lines that work on this vault as they are printed.
async fn examples(app: &App, url: &str) -> Vec<String> {
    let mut lines = vec![format!("curl -s {url}/health")];
    let post = |route: &str, body: &Value| {
        let body = body.to_string().replace('\'', "'\\''");
        format!("curl -s {url}{route} -H 'content-type: application/json' -d '{body}'")
    };
    let listed = match call(app, atlas_tools::entry::<ListNotes>(), json!({ "limit": 1 })).await {
        Ok(listed) => listed,
        Err(error) => {
            lines.push(unreadable(&error));
            return lines;
        }
    };
    if call(app, atlas_tools::entry::<ContextCurrent>(), json!({ "max_sources": 1 })).await.is_ok() {
        lines.push(post("/context/current", &json!({ "max_sources": 3 })));
    }
    if call(app, atlas_tools::entry::<Query>(), json!({ "question": "components" })).await.is_ok() {
        lines.push(post("/query", &json!({ "question": "What are the components?" })));
    }
    if let Some(path) = listed.pointer("/items/0/path").and_then(Value::as_str) {
        let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md");
        lines.push(post("/find", &json!({ "term": name })));
        lines.push(format!("curl -s '{url}/notes?limit=5'"));
        lines.push(format!("curl -s {url}/notes/{} -H 'accept: text/markdown'", encoded(path)));
    }
    lines
}

async fn call(app: &App, operation: &'static Entry, arguments: Value) -> Result<Value, Error> {
    let call = Call::new(operation, arguments, Caller::trusted("host"), Timestamp::now);
    Ok(dispatch(&app.atlas, call).await?.value)
}

/// Why there is nothing to try, as a comment for a shell. It has the whole reason, since the reader is who starts the server.
fn unreadable(error: &Error) -> String {
    let reason = if error.reason() == "vault_not_published" {
        let root = std::env::var_os("ATLAS_VAULT_ROOT");
        let of = root
            .map_or_else(String::new, |root| format!(", which takes {} (ATLAS_VAULT_ROOT)", root.to_string_lossy()));
        format!("the vault is not published yet: run `atlas sync`{of}")
    } else {
        error.internal.as_ref().map_or_else(|| error.message.clone(), |why| format!("{} ({why})", error.message))
    };
    format!("# {}", reason.replace(['\n', '\r'], " "))
}

/// A vault path as it stands in a URL that a shell takes as it is.
fn encoded(path: &str) -> impl std::fmt::Display {
    const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');
    utf8_percent_encode(path, PATH)
}
