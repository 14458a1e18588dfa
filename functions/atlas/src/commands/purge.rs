//! `atlas purge`

use std::error::Error;
use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::time::Duration;

use atlas_mirror::change::CommitInfo;
use atlas_mirror::purge::{Purge, Purged};
use atlas_ops::read::notes;
use atlas_ops::write::writable::TRASH;
use atlas_sync::folder::Folder;
use atlas_sync::{is_excluded, set_aside_of};
use atlas_vault::VaultPath;
use clap::Args;
use indicatif::HumanCount;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::commands::Outcome;
use crate::git;
use crate::local::whole_reason;
use crate::output;
use crate::vault::author;
use crate::vault_location::LocationArguments;

/// The time limit of the commit.
const TIME: Duration = Duration::from_secs(600);

/// Bytes of a file that are read at once.
const PAGE: usize = 1 << 16;

/// Arguments of `atlas purge`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The file's path from the root of the vault
    path: String,
    /// The path again, instead of the questions
    #[arg(long, value_name = "PATH")]
    confirm: Option<String>,
    #[command(flatten)]
    location: LocationArguments,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `atlas purge`: shows what would be erased, asks twice, and erases it.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let location = arguments.location.find(None, None)?;
    let mirror = location.published().await?;
    let path = VaultPath::parse(&arguments.path).map_err(|error| format!("{}: {error}", arguments.path))?;
    let in_trash = VaultPath::parse(&format!("{TRASH}{path}")).map_err(|error| error.to_string())?;
    let head = mirror.head().await?;
    let found = notes::find(&head, path.as_str(), |_| false).await.map_err(whole_reason)?;
    let published = found.map(|found| found.record.sha256);
    let keeps_newest = match location.folder.as_deref().map(Folder::open).transpose()? {
        // The folder would not publish it again.
        Some(folder) if is_excluded(&folder, path.as_str())? => false,
        Some(folder) => stays(&path, published, sha256_in(&folder, &path)?)?,
        // A folder that is synced elsewhere may have it, and would lose it.
        None => published.is_some(),
    };
    if published.is_none() {
        output::note(format_args!("the newest generation has no {path}: see whether it is spelt so"));
    }
    // The folder's own trash is never published.
    let mut files = vec![Purge { path: path.clone(), keeps_newest }, Purge { path: in_trash, keeps_newest: false }];
    let set_aside = set_aside_of(&head, path.as_str()).await?;
    files.extend(set_aside.into_iter().map(|path| Purge { path, keeps_newest: false }));
    output::note(format_args!(
        "erases every {}version of {path} from the mirror, and with them the earlier versions of all other notes: history begins anew (generation {} is the newest now)",
        if keeps_newest { "earlier " } else { "" },
        head.generation()
    ));
    if keeps_newest {
        output::note(
            "its newest text stays, since the folder has it or may have it; to erase that too, delete the file there and sync first",
        );
    }
    if !is_confirmed(&arguments)? {
        return Err("nothing was erased: answer the questions, or name the path again with --confirm".into());
    }
    let info = CommitInfo {
        author: author(),
        caller: None,
        operation: "purge".to_owned(),
        message: None,
        session: None,
        key: None,
        time: Timestamp::now(),
        deadline: TIME,
    };
    let purged = mirror.purge(&info, &files).await?;
    let clone = match location.recorded_state() {
        Some(state) => git::erase_texts(&state)?,
        None => None,
    };
    let Purged { generation, removed, generations, objects, unfinished } = &purged;
    // History has ended, but the texts are still there.
    let unfinished = unfinished.as_ref().map(|why| {
        let erased = if *objects == 0 { "nothing is".to_owned() } else { format!("only {} objects are", HumanCount(*objects)) };
        format!("history begins with generation {generation}, but {erased} erased: {why}; run the same `atlas purge` again: it completes this one")
    });
    if arguments.json {
        output::json(&purged)?;
        return unfinished.map_or(Ok(()), |unfinished| Err(unfinished.into()));
    }
    for path in removed {
        output::line(format_args!("- {path}"));
    }
    if let Some(unfinished) = unfinished {
        return Err(unfinished.into());
    }
    output::line(format_args!(
        "history begins with generation {generation}: {} older generations and {} objects are erased",
        HumanCount(*generations),
        HumanCount(*objects)
    ));
    if let Some(clone) = clone {
        output::note(format_args!(
            "Git keeps what it got: the repository of --git, its clone in {} and all other clones; rewrite their history, or delete them",
            clone.display()
        ));
    }
    output::note(
        "what this cannot erase: copies in folders (also in their .trash, and conflict copies), exports and backups, versions that the bucket itself keeps, \
         and everything that agents have read; paths and messages of earlier commits stay in manifests for as long as they are kept",
    );
    Ok(())
}

/// Whether the newest version stays: the folder has it, and would publish it again. Where only the mirror has it, a sync decides whether it was deleted.
fn stays(path: &VaultPath, published: Option<[u8; 32]>, in_folder: Option<[u8; 32]>) -> Result<bool, Box<dyn Error>> {
    match (published, in_folder) {
        (None, None) => Ok(false),
        (Some(published), Some(in_folder)) if published == in_folder => Ok(true),
        (Some(_), None) => Err(format!("the mirror has {path}, and the folder has not: run `atlas sync` first").into()),
        _ => Err(format!("the folder has another version of {path} than the mirror: run `atlas sync` first").into()),
    }
}

/// The SHA-256 of the file at `path` in `folder`, if there is one.
fn sha256_in(folder: &Folder, path: &VaultPath) -> io::Result<Option<[u8; 32]>> {
    let Some(path) = folder.spelt(path.as_str()) else { return Ok(None) };
    match fs::File::open(folder.path().join(path)) {
        Ok(mut file) => {
            let (mut hasher, mut page) = (Sha256::new(), vec![0; PAGE]);
            loop {
                match file.read(&mut page)? {
                    0 => return Ok(Some(hasher.finalize().into())),
                    count => hasher.update(page.get(..count).unwrap_or_default()),
                }
            }
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the person confirms the erasure twice.
fn is_confirmed(arguments: &Arguments) -> io::Result<bool> {
    if let Some(again) = &arguments.confirm {
        return Ok(*again == arguments.path);
    }
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    let ask = |question: &str| {
        output::question(question);
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map(|_| answer.trim().to_owned())
    };
    Ok(ask("erase it? This cannot be undone. [y/N]")?.eq_ignore_ascii_case("y")
        && ask("write its path to erase it:")? == arguments.path)
}
