//! `atlas ui`

use atlas_web::Settings;
use clap::Args;

use crate::commands::Outcome;
use crate::local::whole_reason;
use crate::output;
use crate::page;
use crate::store::variables;
use crate::vault::author;
use crate::vault_location::LocationArguments;

/// Arguments of `atlas ui`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    location: LocationArguments,
    /// The address of the server [default: http://127.0.0.1, with the port ATLAS_PORT or 3737]
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
    let mirror = arguments.location.find(None, None)?.open()?;
    if arguments.sign_out {
        atlas_ui::session::end_all(&mirror, &author()).await.map_err(whole_reason)?;
        output::note("all sessions of the page have ended");
        return Ok(());
    }
    let url = match arguments.url {
        Some(url) => url,
        None => format!("http://127.0.0.1:{}", Settings::read(variables())?.port),
    };
    let page = page::link(&mirror, &url).await?;
    output::line(&page);
    if arguments.open {
        page::open(&page);
    }
    Ok(())
}
