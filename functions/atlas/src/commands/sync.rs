//! `atlas sync`

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use atlas_sync::folder::Folder;
use atlas_sync::{PushOptions, Summary, is_inside, push};
use clap::Args;
use indicatif::DecimalBytes;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::bar;
use crate::commands::Outcome;
use crate::output;
use crate::store::StoreArguments;

/// Arguments of `atlas sync`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The vault's folder
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    #[command(flatten)]
    store: StoreArguments,
    /// Where to keep what the last sync left [default: a folder below $XDG_STATE_HOME/atlas-mirror]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Sync again and again, with a pause of this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    watch: Option<u64>,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Read all files, also those whose size and time are as they were
    #[arg(long)]
    checksum: bool,
    /// Go on when many notes vanished or became empty
    #[arg(long)]
    allow_mass_delete: bool,
    /// Why, for the log
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `atlas sync`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let Some(seconds) = arguments.watch else {
        let summary = once(&arguments, bar::start(arguments.json)).await?;
        return print(&arguments, &summary);
    };
    loop {
        match once(&arguments, std::sync::Arc::new(())).await {
            Ok(summary) => print(&arguments, &summary)?,
            Err(error) => output::error(&*error),
        }
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}

async fn once(
    arguments: &Arguments,
    progress: std::sync::Arc<dyn atlas_sync::Progress>,
) -> Result<Summary, Box<dyn Error>> {
    let begun = Instant::now();
    let began = Timestamp::now();
    let folder = Folder::open(&arguments.root)?;
    if arguments.store.folder().is_some_and(|store| is_inside(&folder, &store)) {
        return Err("the store lies inside the vault, which would publish it: name a store outside of it".into());
    }
    let state = match &arguments.state {
        Some(state) => state.clone(),
        None => state_folder(folder.path(), &arguments.store)?,
    };
    let options = PushOptions {
        root: arguments.root.clone(),
        state,
        author: author(),
        message: arguments.message.clone(),
        began,
        checksum: arguments.checksum,
        dry_run: arguments.dry_run,
        allow_mass_delete: arguments.allow_mass_delete,
    };
    let mut summary = push(&arguments.store.open()?, &options, progress).await?;
    summary.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(summary)
}

fn print(arguments: &Arguments, summary: &Summary) -> Outcome {
    if arguments.json {
        return output::json(summary);
    }
    for skipped in &summary.skipped {
        output::note(skipped);
    }
    for path in &summary.conflicts {
        output::note(format_args!("{path}: it changed both in the folder and in the mirror, and was left as it is"));
    }
    let Summary { generation, notes, attachments, added, changed, removed, unchanged, waiting, .. } = summary;
    let what = if arguments.dry_run { "would change" } else { "generation" };
    let seconds = Duration::from_millis(summary.duration_ms).as_secs_f64();
    output::line(format_args!(
        "{what} {generation}: {notes} notes, {attachments} attachments; +{added} ~{changed} -{removed}, {unchanged} unchanged; \
         {} uploaded in {seconds:.2} s",
        DecimalBytes(summary.uploaded_bytes)
    ));
    if *waiting > 0 {
        output::note(format_args!("{waiting} paths changed in the mirror and are not in the folder yet"));
    }
    Ok(())
}

/// Who commits: the one who runs the program.
pub(crate) fn author() -> String {
    let user = env::var("USER").or_else(|_| env::var("LOGNAME"));
    user.ok().filter(|user| !user.is_empty()).unwrap_or_else(|| "host".to_owned())
}

/// Where the sync state is by default: one folder for each vault folder, vault and store.
fn state_folder(root: &Path, store: &StoreArguments) -> Result<PathBuf, Box<dyn Error>> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let base = base.ok_or("there is no home folder for the sync state: name a folder with --state")?;
    let mut hasher = Sha256::new();
    for part in [root.as_os_str().as_encoded_bytes(), store.vault.as_str().as_bytes(), store.identity()?.as_bytes()] {
        hasher.update(part);
        hasher.update([0]);
    }
    let digest: String = hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Ok(base.join("atlas-mirror").join(digest))
}
