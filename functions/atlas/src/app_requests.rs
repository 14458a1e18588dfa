//! Requests to the Obsidian app that functions leave in the bucket: a program on the app's machine takes and answers them.

use std::time::Duration;

use atlas_mirror::Mirror;
use atlas_ops::app::Reach;
use atlas_ops::app::host::Host;
use atlas_web::{App, Settings};
use jiff::Timestamp;
use tokio::time::sleep;

use crate::vault_location::VaultLocation;

/// How often it is looked for them.
const LOOK: Duration = Duration::from_secs(5);
/// How long until the configuration is tried again.
const RETRY: Duration = Duration::from_secs(60);

/// Takes and answers requests for the vault at `location`, if its configuration says so, as long as it is polled.
pub(crate) async fn follow(location: VaultLocation) {
    loop {
        match reach(&location).await {
            Ok(None) => return,
            Ok(Some((mirror, reach))) => return answer(mirror, location.vault.value.to_string(), reach).await,
            // The sync goes on: what is wrong is told, and may be mended.
            Err(error) => tracing::warn!(error, "requests to the Obsidian app are not taken"),
        }
        sleep(RETRY).await;
    }
}

/// How the app is reached, if requests in the bucket are to be taken.
async fn reach(location: &VaultLocation) -> Result<Option<(Mirror, Reach)>, String> {
    if location.config.is_none() {
        return Ok(None);
    }
    let environment = Settings::read(location.variables()).map_err(|error| error.to_string())?.near_apps();
    let settings = App::settings(&environment).await.map_err(|error| error.to_string())?;
    let reach = settings.reach(&location.vault.value).map_err(|error| error.to_string())?;
    if reach.app.is_none() || reach.secret.is_none() {
        return Ok(None);
    }
    let mirror = location.open().map_err(|error| error.to_string())?;
    Ok(Some((mirror, reach)))
}

/// Takes and answers requests as long as it is polled.
pub(crate) async fn answer(mirror: Mirror, vault: String, reach: Reach) {
    let (Some(app), Some(secret)) = (&reach.app, &reach.secret) else { return };
    tracing::info!(vault, "requests to the Obsidian app that are left in the bucket are taken");
    let mut host = Host::new(Timestamp::now());
    loop {
        sleep(LOOK).await;
        let looked = host.answer(&mirror, &vault, secret, app, &reach.safe_commands, Timestamp::now).await;
        if let Err(error) = looked {
            tracing::debug!(%error, "the bucket could not be asked for requests to the Obsidian app");
        }
    }
}
