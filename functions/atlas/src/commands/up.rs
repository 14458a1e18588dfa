//! `atlas up`: syncs a folder, and serves it on this machine, in one process.

use std::env;
use std::error::Error;
use std::future::ready;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::Mirror;
use atlas_sync::{Skipped, Summary, SyncError};
use atlas_web::server::Server;
use atlas_web::{App, Settings, telemetry};
use clap::Args;
use indicatif::HumanCount;
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::announce::announce;
use crate::app_requests;
use crate::bar::{self, Phases};
use crate::clients::ClientList;
use crate::commands::Outcome;
use crate::commands::serve::routes;
use crate::examples;
use crate::features;
use crate::local;
use crate::newcomer;
use crate::output::{self, Ended};
use crate::page;
use crate::report;
use crate::runner::{Runner, SyncRules};
use crate::serving::{self, Served, Serving};
use crate::signals::{until, until_told_to_stop};
use crate::vault::FolderArguments;
use crate::vault_location::VaultLocation;
use crate::watch::Watch;

/// The folder is synced after this time even if no change was seen.
const PAUSE: Duration = Duration::from_secs(60);
/// How often the last sync is tried while another process syncs the folder, and the pause after each.
const LAST_TRIES: u32 = 20;
const LAST_PAUSE: Duration = Duration::from_millis(250);
/// The client in the printed line.
const CLIENT: &str = "claude";

/// Arguments of `atlas up`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    folder: FolderArguments,
    #[command(flatten)]
    rules: SyncRules,
    /// The configuration: the path of a file, store:KEY for an object of the store, or the JSON itself [env: ATLAS_CONFIG]
    #[arg(long, value_name = "PLACE")]
    config: Option<String>,
    /// The port to listen on [default: ATLAS_PORT or 3737]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

/// Runs `atlas up`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    let location = arguments.folder.find(Some(env::current_dir()?), arguments.config.as_deref())?;
    let folder = location.folder()?;
    newcomer::check(&location)?;
    location.tell_remembered();
    let runner = Runner {
        location: &location,
        rules: &arguments.rules,
        rclone: arguments.rules.rclone()?,
        dry_run: false,
        checksum: false,
        repair: false,
        message: None,
        is_watching: true,
        embedding: Arc::default(),
    };
    // A store that cannot be opened is told to whom alerts go.
    runner.open().await?;
    let clients = ClientList::of(&location.state()?);
    // The synced vault is served, whatever vault the configuration has first.
    let synced = ("ATLAS_VAULT".to_owned(), location.vault.value.to_string());
    let settings = Settings::read(location.variables().chain([synced]))?.near_apps();
    let log = if settings.said.environment.contains("ATLAS_LOG") { &settings.log } else { output::log_level() };
    telemetry::start(log, false);
    let settings = Settings {
        clients: Some(clients.by_token()),
        audit: telemetry::audit(),
        scale_picture: features::SCALE_PICTURE,
        current: local::current(),
        ..settings
    };
    let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), arguments.port.unwrap_or(settings.port));
    let server = Server::listen(routes(), &settings, address).await?.with_page()?;
    let url = format!("http://{}", server.address()?);
    let vaults = serving::vaults(&server.app().atlas)?;
    let _known = Serving::of(&location, &vaults, &Served { url: url.clone(), links: location.vault.value.clone() });
    let app = server.app().clone();
    let vault = app.atlas.vault(None)?;
    let mirror = vault.mirror.clone();
    tokio::spawn(app_requests::answer(mirror.clone(), vault.id.clone(), vault.app.clone()));
    let (stop, stopped) = watch::channel(false);
    // Started again, it answers from the published vault while the first sync runs.
    let serving = tokio::spawn(server.run(until(stopped.clone())));
    let phases = Phases::over(bar::start(false));
    let work = async {
        // Changes during the first sync are seen by the next.
        let mut watch = Watch::new(PAUSE);
        watch.begin(folder);
        let first = runner.run(&mirror, phases.clone()).await?;
        phases.end();
        let client = clients.add(CLIENT, Timestamp::now())?;
        // After a stop the lines to try are useless.
        if !*stopped.borrow() {
            print_start(folder, &location, &first);
            print_lines(&app, &url, &client.token).await;
            match page::link(&mirror, &url).await {
                Ok(page) => {
                    row("Page", &page);
                    if arguments.open {
                        page::open(&page);
                    }
                }
                Err(error) => output::error(&*error),
            }
            row("Stop", "Ctrl-C");
        }
        follow(&runner, folder, &mirror, first, watch, stopped).await
    };
    let outcome = until_told_to_stop(work, &stop, &phases).await;
    stop.send_replace(true);
    serving.await??;
    outcome
}

/// Syncs whenever either side changed, until it is time to stop; then once more, and says what is not synced.
async fn follow(
    runner: &Runner<'_>,
    folder: &Path,
    mirror: &Mirror,
    first: Summary,
    mut watch: Watch,
    stopped: watch::Receiver<bool>,
) -> Outcome {
    let is_folder = runner.location.store_folder().is_some();
    let mut announced = pin!(announce(mirror, is_folder));
    let mut skipped = Vec::new();
    let mut generation = first.generation;
    print_changes(&first, None, &mut skipped);
    let mut is_reading = first.texts_waiting > 0;
    let (mut failures, mut told) = (0_u32, String::new());
    loop {
        watch.begin(folder);
        tokio::select! {
            () = ready(()), if is_reading => {}
            () = watch.wait_to_try_again(failures, Some(mirror)), if failures > 0 => {}
            () = watch.wait_on_both(mirror, generation, is_folder), if failures == 0 => {}
            () = announced.as_mut() => {}
            () = until(stopped.clone()) => break,
        }
        match runner.run(mirror, Arc::new(())).await {
            Ok(summary) => {
                generation = summary.generation;
                is_reading = summary.texts_waiting > 0;
                failures = 0;
                told.clear();
                print_changes(&summary, Some(&format!("{:.0} ", Timestamp::now())), &mut skipped);
            }
            Err(error) => {
                is_reading = false;
                failures = failures.saturating_add(1);
                // A failure that lasts is told once.
                let text = error.to_string();
                if text != told {
                    output::error(&*error);
                    told = text;
                }
            }
        }
    }
    let last = last_sync(runner, mirror).await.map_err(|error| format!("the last sync failed: {error}"))?;
    print_changes(&last, Some(&format!("{:.0} ", Timestamp::now())), &mut skipped);
    let left = last.waiting + last.conflicts.len() as u64;
    output::note(match left {
        0 => "stopped; folder and mirror are in sync".to_owned(),
        count => format!("stopped; {count} paths are not in sync: `atlas status` names them"),
    });
    Ended::waiting(left > 0)
}

/// One more sync, after that of another process which is about to end.
async fn last_sync(runner: &Runner<'_>, mirror: &Mirror) -> Result<Summary, Box<dyn Error>> {
    let mut tries = 1;
    loop {
        match runner.run(mirror, Arc::new(())).await {
            Err(error) if tries < LAST_TRIES && matches!(error.downcast_ref(), Some(SyncError::Locked { .. })) => {
                tries += 1;
                sleep(LAST_PAUSE).await;
            }
            ended => return ended,
        }
    }
}

/// Prints the changes, after `time` if given, and newly skipped files.
fn print_changes(summary: &Summary, time: Option<&str>, skipped: &mut Vec<String>) {
    if let Some(time) = time {
        report::name(time, &summary.changed, summary.pushed.sum() + summary.pulled.sum());
    }
    let now: Vec<String> = summary.skipped.iter().map(Skipped::to_string).collect();
    now.iter().filter(|one| !skipped.contains(one)).for_each(output::note);
    *skipped = now;
    report::texts(summary);
    report::links(summary);
    report::conflicts(summary);
    report::waiting(summary);
}

fn print_start(folder: &Path, location: &VaultLocation, summary: &Summary) {
    let seconds = Duration::from_millis(summary.duration_ms).as_secs_f64();
    let (notes, changed) = (HumanCount(summary.notes), summary.pushed.sum() + summary.pulled.sum());
    let what = match changed {
        0 => format!("{notes} notes are in sync since {seconds:.1} s"),
        _ if summary.pushed.added >= summary.notes => format!("{notes} notes published in {seconds:.1} s"),
        changed => format!("{notes} notes, {} changes synced in {seconds:.1} s", HumanCount(changed)),
    };
    let store = location.store_folder().map_or_else(|| location.store.value.clone(), |folder| output::short(&folder));
    output::line(format_args!("{}: {what} (store: {store}; follows every change)", output::short(folder)));
}

/// Prints command lines that work, and the routes that this vault cannot answer.
async fn print_lines(app: &App, url: &str, token: &str) {
    // A deployment for signed tokens accepts no others.
    let takes_signed = app.atlas.about.auth_mode == "jwt";
    let token = if takes_signed { "$(atlas token)" } else { token };
    let bearer = format!("\"Authorization: Bearer {token}\"");
    row("MCP", &format!("claude mcp add --transport http atlas {url}/mcp --header {bearer}"));
    let shown = if takes_signed { format!(" -H {bearer}") } else { String::new() };
    let name = examples::first_name(app).await.unwrap_or_else(|| "plan".to_owned());
    row("REST", &format!("{}{shown}", examples::post(url, "/search", &json!({ "query": name }))));
    for (route, why) in examples::unanswered(app).await {
        row("Not yet", &format!("{route}: {why}"));
    }
}

fn row(name: &str, text: &str) {
    output::line(format_args!("{name:<9} {text}"));
}
