//! `atlas token`

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use atlas_access::mint::Grant;
use atlas_access::{Scope, Secret, mint};
use clap::Args;
use clap::error::ErrorKind;
use jiff::Timestamp;
use serde_json::json;

use crate::commands::Outcome;
use crate::output;

/// Longest time of a token: a year.
const LONGEST: u64 = 366 * 24 * 3600;

/// Arguments of `atlas token`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The caller's name, as shown in the vault's log
    #[arg(long, value_name = "NAME", default_value = "agent")]
    subject: String,
    /// Comma-separated scopes: read:vault, write:vault, delete:vault, bulk:vault, approve:vault, admin, execute:*, read:plur, and those in access rules,
    /// such as team:a
    #[arg(long, value_name = "SCOPES", value_delimiter = ',', default_value = "read:vault", value_parser = scope)]
    scopes: Vec<String>,
    /// The vault that the token is for [default: the deployment's default vault]
    #[arg(long, value_name = "ID")]
    vault: Option<String>,
    /// Seconds until the token expires
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=LONGEST))]
    ttl: u64,
    /// The secret that signs the token, the same as the functions have
    #[arg(long, env = "ATLAS_JWT_SECRET", value_name = "TEXT", hide_env_values = true)]
    secret: Option<String>,
    /// A file with the secret
    #[arg(long, env = "ATLAS_JWT_SECRET_FILE", value_name = "FILE", conflicts_with = "secret")]
    secret_file: Option<PathBuf>,
    /// The issuer (iss), if the functions check it
    #[arg(long, env = "ATLAS_JWT_ISSUER", value_name = "NAME")]
    issuer: Option<String>,
    /// The audience (aud), if the functions check it
    #[arg(long, env = "ATLAS_JWT_AUDIENCE", value_name = "NAME")]
    audience: Option<String>,
    /// The audience if no other is given: the address of the deployment
    #[arg(long, env = "ATLAS_RESOURCE", value_name = "URL", hide = true)]
    resource: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// A scope of operations, or one in access rules, with the form `class:name`.
fn scope(text: &str) -> Result<String, String> {
    let is_of_rules =
        text.contains(':') && !text.ends_with(":vault") && text.bytes().all(|byte| byte.is_ascii_graphic());
    match text.parse::<Scope>() {
        Err(error) if !is_of_rules => Err(format!("{error}, or one of your access rules, such as team:a")),
        _ => Ok(text.to_owned()),
    }
}

/// Runs `atlas token`: for trials and tests; people and agents get tokens from an authorization server.
pub(crate) fn run(arguments: Arguments) -> Outcome {
    let secret = match (arguments.secret, arguments.secret_file) {
        (None, Some(file)) => {
            let unread = |error| format!("{} cannot be read: {error}", file.display());
            Secret::new(fs::read_to_string(&file).map_err(unread)?.trim_end())?
        }
        (Some(secret), _) => Secret::new(secret)?,
        (None, None) => {
            let message = "a token needs the secret that signs it: say --secret-file FILE or --secret TEXT, or set ATLAS_JWT_SECRET\n";
            clap::Error::raw(ErrorKind::MissingRequiredArgument, message).exit()
        }
    };
    // The functions may accept several.
    let first = |list: &Option<String>| list.as_ref().and_then(|list| list.split(',').next()).map(str::to_owned);
    let issuer = first(&arguments.issuer);
    let audience = first(&arguments.audience).or(arguments.resource);
    let grant = Grant {
        subject: &arguments.subject,
        scopes: &arguments.scopes.join(" "),
        vault: arguments.vault.as_deref(),
        issuer: issuer.as_deref(),
        audience: audience.as_deref(),
        client: None,
        time: Duration::from_secs(arguments.ttl),
    };
    let token = mint(&secret, &grant, Timestamp::now())?;
    if arguments.json {
        return output::json(&json!({ "access_token": token, "expires_in": arguments.ttl, "token_type": "Bearer" }));
    }
    output::line(token);
    Ok(())
}
