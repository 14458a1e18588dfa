//! `atlas ui`

use std::error::Error;

use atlas_web::Settings;
use clap::Args;

use crate::commands::Outcome;
use crate::local::whole_reason;
use crate::output;
use crate::page;
use crate::serving;
use crate::store::variables;
use crate::vault::author;
use crate::vault_location::{LocationArguments, VaultLocation};

/// Arguments of `atlas ui`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    location: LocationArguments,
    /// The address of the server [default: that of the `atlas up` or `atlas serve` which serves the vault on this machine, or else of what answers at port
    /// 3737, or ATLAS_PORT]
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
    let mut location = arguments.location.find(None, None)?;
    let served = if arguments.url.is_none() { serving::known(&location) } else { None };
    if arguments.sign_out {
        for mirror in serving::states(&location).await? {
            atlas_ui::session::end_all(&mirror, &author()).await.map_err(whole_reason)?;
        }
        output::note("all sessions of the page have ended");
        return Ok(());
    }
    // A server of several vaults looks for links in one of them.
    if let Some(served) = &served {
        location.vault.value = served.links.clone();
    }
    let mirror = location.published().await?;
    let url = match arguments.url.or_else(|| served.map(|served| served.url)) {
        Some(url) => url,
        None => at_default_port(&location).await?,
    };
    let page = page::link(&mirror, &url).await?;
    output::line(&page);
    if arguments.open {
        page::open(&page);
    }
    Ok(())
}

/// The address of the server at the default port, which may be that of this vault: a service of another user tells it nowhere.
async fn at_default_port(location: &VaultLocation) -> Result<String, Box<dyn Error>> {
    let (vault, store) = (&location.vault.value, &location.store.value);
    let port = Settings::read(variables().filter(|(name, _)| name == "ATLAS_PORT"))?.port;
    let Some(url) = serving::at_port(port).await else {
        return Err(format!("nothing on this machine serves the vault {vault} of {store}: start `atlas up` in its folder, or name the server's address with --url").into());
    };
    output::note(format_args!(
        "{url} answers as Atlas Mirror, but does not tell which vaults it has: if it does not have {vault} first, the link opens nothing, so name the \
         server's address with --url"
    ));
    Ok(url)
}
