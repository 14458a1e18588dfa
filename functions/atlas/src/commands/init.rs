//! `atlas init`

use atlas_mirror::location::bucket;
use atlas_mirror::probe_conditional_writes;
use clap::Args;
use serde::Serialize;

use crate::bucket::{Admin, State};
use crate::commands::Outcome;
use crate::output;
use crate::store::variables;
use crate::vault_location::LocationArguments;

/// Not an error if missing: it only costs space, and MinIO does it by itself.
const UPLOADS: &str = "unfinished uploads expire";

/// Arguments of `atlas init`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    location: LocationArguments,
    /// Correct every wrong setting, even of an existing bucket
    #[arg(long)]
    apply: bool,
    /// Days to keep objects that were overwritten or deleted
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3650))]
    keep_days: u16,
    /// Print the findings and changes as JSON
    #[arg(long)]
    json: bool,
}

/// A check and its result.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    #[serde(flatten)]
    state: State,
}

/// Runs `atlas init`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let location = arguments.location.find(None, None)?;
    let store = location.store()?;
    let mut findings = Vec::new();
    let mut tell = |what: &'static str, state: State| {
        if !arguments.json {
            output::line(format_args!("{what}: {state}"));
        }
        findings.push(Finding { what, state });
    };
    if let Some(bucket) = bucket(&location.store.value, &variables().collect())? {
        let admin = Admin::new(bucket, store.prefix(), arguments.keep_days).await?;
        let made = admin.make().await?;
        // An existing bucket may have other uses.
        let change = arguments.apply || made == State::Set;
        tell("the bucket is there", made);
        tell("public access is blocked", admin.block_public_access(change).await?);
        tell("versions are kept", admin.keep_versions(change).await?);
        tell("old versions expire", admin.expire_versions(change).await?);
        tell(UPLOADS, admin.expire_uploads(change).await?);
    }
    probe_conditional_writes(&store).await?;
    tell("conditional writes work", State::Right);
    if arguments.json {
        output::json(&findings)?;
    }
    if findings.iter().any(|finding| finding.state == State::Wrong && finding.what != UPLOADS) {
        return Err("the bucket already exists and was left unchanged: run `atlas init --apply` to change it".into());
    }
    Ok(())
}
