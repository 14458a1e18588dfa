//! `atlas serve`: all functions in one process.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use atlas_web::server::Server;
use atlas_web::tls::Certificate;
use atlas_web::{Routes, Settings, telemetry};
use clap::Args;

use crate::commands::Outcome;
use crate::examples;
use crate::features;
use crate::local;
use crate::output;
use crate::serving::{self, Served, Serving};
use crate::signals::told_to_stop;
use crate::vault::DeploymentArguments;

/// Arguments of `atlas serve`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The address to listen on [default: 127.0.0.1, with the port ATLAS_PORT or 3737]
    #[arg(long, value_name = "ADDRESS:PORT")]
    addr: Option<SocketAddr>,
    /// Serve HTTPS with the certificate in this PEM file; a changed file is used without a restart
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's key, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    #[command(flatten)]
    deployment: DeploymentArguments,
}

/// All functions.
pub(crate) fn routes() -> Routes {
    function_context::routes()
        .merge(function_find::routes())
        .merge(function_search::routes())
        .merge(function_query::routes())
        .merge(function_note::routes())
        .merge(function_bridge::routes())
        .merge(function_mcp::routes())
        .merge(function_ui::routes())
        .merge(function_auth::routes_beside_ui())
        .metrics()
}

/// Runs `atlas serve`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let location = arguments.deployment.find()?;
    let settings = Settings {
        audit: telemetry::audit(),
        scale_picture: features::SCALE_PICTURE,
        ..Settings::read(location.variables())?.near_apps()
    };
    telemetry::start(&settings.log, false);
    let address = arguments.addr.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), settings.port));
    // Others than the person at this machine may have other days.
    let settings =
        if address.ip().is_loopback() { Settings { current: local::current(), ..settings } } else { settings };
    let certificate = match (arguments.tls_cert, arguments.tls_key) {
        (Some(certificate), Some(key)) => Some(Certificate::read(&certificate, &key)?),
        _ => None,
    };
    let server = Server::listen(routes(), &settings, address).await?;
    let server = if certificate.is_some() { server } else { server.with_page()? };
    let app = server.app().clone();
    tokio::spawn(async move { local::ask_who_writes(&app.atlas).await });
    let address = server.address()?;
    let vault = server.app().atlas.vault(None)?.id.clone();
    if let Some(certificate) = certificate {
        // Only its owner knows the name of the certificate, and how it reaches this address.
        output::line(format_args!("Serving the vault {vault} on https://{address} until Ctrl-C."));
        server.with_certificate(certificate).run(told_to_stop()).await?;
        return Ok(());
    }
    let url = server.url()?;
    let vaults = serving::vaults(&server.app().atlas)?;
    let _known = Serving::of(&location, &vaults, &Served { url: url.clone(), links: vault.parse()? });
    output::line(format_args!("Serving the vault {vault} on http://{address} until Ctrl-C. To try it:"));
    let has_tokens = server.app().gate.is_shut();
    if has_tokens {
        output::line("  TOKEN=$(atlas token)");
    }
    for example in examples::lines(server.app(), &url).await {
        let shown = if has_tokens { " -H \"authorization: Bearer $TOKEN\"" } else { "" };
        output::line(format_args!("  {example}{shown}"));
    }
    output::line(format_args!(
        "The page for people is at {url}/ui: `atlas ui --url {url}` prints a link that opens it."
    ));
    server.run(told_to_stop()).await?;
    Ok(())
}
