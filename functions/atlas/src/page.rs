//! Links to the page, and the browser that opens them.

use std::error::Error;
use std::process::{Command, Stdio};

use atlas_mirror::Mirror;
use jiff::Timestamp;

use crate::local::whole_reason;
use crate::output;
use crate::vault::author;

/// The programs that open a page in the browser, the first that is there.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// A link for the person at this host, which works once, to the page of the server at `url`.
///
///
/// # Errors When the store cannot keep it.
pub(crate) async fn link(mirror: &Mirror, url: &str) -> Result<String, Box<dyn Error>> {
    let code = atlas_ui::session::make_link(mirror, &author(), Timestamp::now()).await.map_err(whole_reason)?;
    Ok(format!("{}/ui/open/{code}", url.trim_end_matches('/')))
}

/// Opens a page in the browser.
pub(crate) fn open(page: &str) {
    let starts = |program: &&str| {
        let quiet =
            Command::new(program).arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        quiet.is_ok()
    };
    if !OPENERS.iter().any(starts) {
        output::note("no program was found that opens a browser: open the line `Page` in yours");
    }
}
