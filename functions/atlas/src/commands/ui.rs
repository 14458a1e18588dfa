//! `atlas ui`

use clap::Args;

use crate::commands::Outcome;
use crate::local::whole_reason;
use crate::output;
use crate::page;
use crate::serving;
use crate::vault::author;
use crate::vault_location::LocationArguments;

/// Arguments of `atlas ui`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    location: LocationArguments,
    /// The address of the server [default: that of the `atlas up` or `atlas serve` which serves the vault on this machine]
    #[arg(long, value_name = "URL", conflicts_with = "sign_out")]
    url: Option<String>,
    /// Open the page in the browser
    #[arg(long, conflicts_with = "sign_out")]
    open: bool,
    /// End all sessions of the page
    #[arg(long)]
    sign_out: bool,
}

/// Runs `atlas ui`: prints a link to the page, which works once.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let location = arguments.location.find(None, None)?;
    let mirror = location.published().await?;
    if arguments.sign_out {
        atlas_ui::session::end_all(&mirror, &author()).await.map_err(whole_reason)?;
        output::note("all sessions of the page have ended");
        return Ok(());
    }
    let url = match arguments.url {
        Some(url) => url,
        None => serving::address(&location).ok_or_else(|| {
            let (vault, store) = (&location.vault.value, &location.store.value);
            format!("nothing on this machine serves the vault {vault} of {store}: start `atlas up` in its folder, or name the server's address with --url")
        })?,
    };
    let page = page::link(&mirror, &url).await?;
    output::line(&page);
    if arguments.open {
        page::open(&page);
    }
    Ok(())
}
