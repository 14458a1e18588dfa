//! `atlas resolve`

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use atlas_sync::{SyncOptions, sync};
use atlas_vault::conflict::{self, Place, Version, original_of};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::color::Color;
use crate::commands::Outcome;
use crate::compared;
use crate::output::{self, Ended};
use crate::runner::options;
use crate::vault_location::LocationArguments;

/// The folder of deleted files.
const TRASH: &str = ".trash";

/// Arguments of `atlas resolve`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only this conflict copy, by its path in the vault
    path: Option<String>,
    /// Keep this version, without asking
    #[arg(long, value_name = "WHICH")]
    keep: Option<Keep>,
    #[command(flatten)]
    location: LocationArguments,
}

/// The version to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Keep {
    /// Your version; the copy goes into the trash
    Mine,
    /// The copy, which replaces your version; yours goes into the trash
    Theirs,
    /// Both; the copy gets a name of its own
    Both,
}

impl From<Keep> for conflict::Keep {
    fn from(keep: Keep) -> Self {
        match keep {
            Keep::Mine => Self::Mine,
            Keep::Theirs => Self::Theirs,
            Keep::Both => Self::Both,
        }
    }
}

/// The person's answer.
enum Choice {
    Keep(Keep),
    Edit,
    Skip,
    Quit,
}

/// Runs `atlas resolve`: goes through the conflict copies in the folder.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let location = arguments.location.find(None, None)?;
    let folder = location.folder()?;
    let options = SyncOptions { dry_run: true, ..options(&location, Timestamp::now())? };
    let mut copies = sync(&location.published().await?, &options, Arc::new(())).await?.copies;
    copies.retain(|copy| arguments.path.as_ref().is_none_or(|path| path == copy));
    if copies.is_empty() {
        return match arguments.path {
            Some(path) => Err(format!("{path} is no conflict copy: `atlas status` names them").into()),
            None => {
                output::note("there is no conflict copy to look at");
                Ok(())
            }
        };
    }
    if arguments.keep.is_none() && !io::stdin().is_terminal() {
        copies.iter().for_each(output::line);
        return Err("say what to keep with --keep mine, theirs or both, or run this at a terminal".into());
    }
    let all = copies.len();
    let mut left = 0;
    for (at, copy) in copies.iter().enumerate() {
        let Some(original) = original_of(copy) else { continue };
        let original = match original.among(beside(folder, copy)?.iter().map(String::as_str)) {
            Ok(original) => original,
            Err(candidates) => {
                output::error(&*unclear(copy, &candidates));
                left += 1;
                continue;
            }
        };
        let pair = Pair::of(folder, &original, copy)?;
        output::line(format_args!("{} of {all}: {original}", at + 1));
        pair.show();
        loop {
            match arguments.keep.map_or_else(ask, |keep| Ok(Choice::Keep(keep)))? {
                Choice::Keep(keep) => {
                    output::line(pair.settle(folder, keep.into())?);
                    break;
                }
                Choice::Edit => match pair.edit() {
                    Ok(()) => pair.show(),
                    Err(error) => output::error(&*error),
                },
                Choice::Skip => {
                    left += 1;
                    break;
                }
                Choice::Quit => return Err(Ended::NeedsAttention.into()),
            }
        }
    }
    if left < all {
        output::note("the next sync publishes what you kept");
    }
    Ended::waiting(left > 0)
}

/// The paths of the files in the folder of `copy`, in the vault.
fn beside(folder: &Path, copy: &str) -> io::Result<Vec<String>> {
    let above = copy.rsplit_once('/').map_or("", |(above, _)| above);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder.join(above))? {
        let name = entry?.file_name();
        let name = name.to_str().map(|name| if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") });
        paths.extend(name);
    }
    paths.sort_unstable();
    Ok(paths)
}

/// The error for a copy of which the name does not tell the file.
fn unclear(copy: &str, candidates: &[String]) -> Box<dyn Error> {
    let which = match candidates {
        [] => "no file beside it fits".to_owned(),
        _ => format!("it may be one of {}", candidates.join(", ")),
    };
    format!("{copy} has its file's name shortened, and {which}: compare them yourself, then move or delete the copy")
        .into()
}

fn ask() -> io::Result<Choice> {
    loop {
        output::question("keep [m]ine, [t]heirs or [b]oth, [e]dit, [s]kip, [q]uit?");
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(Choice::Quit);
        }
        match line.trim() {
            "m" => return Ok(Choice::Keep(Keep::Mine)),
            "t" => return Ok(Choice::Keep(Keep::Theirs)),
            "b" => return Ok(Choice::Keep(Keep::Both)),
            "e" => return Ok(Choice::Edit),
            "s" => return Ok(Choice::Skip),
            "q" => return Ok(Choice::Quit),
            _ => {}
        }
    }
}

/// A file and the copy of another version of it.
struct Pair {
    original: String,
    mine: PathBuf,
    theirs: PathBuf,
}

impl Pair {
    fn of(folder: &Path, original: &str, copy: &str) -> Result<Self, Box<dyn Error>> {
        let theirs = folder.join(copy);
        // Files behind a link out of the vault are not moved.
        let inside = theirs.parent().and_then(|parent| parent.canonicalize().ok());
        if !inside.is_some_and(|inside| inside.starts_with(folder)) {
            return Err(format!("{copy} lies behind a link that leads out of the vault: resolve it by hand").into());
        }
        Ok(Self { original: original.to_owned(), mine: folder.join(original), theirs })
    }

    /// Shows the differences.
    fn show(&self) {
        match (compared::text_of(&self.mine), compared::text_of(&self.theirs)) {
            (Ok(Some(mine)), Ok(Some(theirs))) => {
                compared::print(Color::of(&io::stdout()), "mine (-), theirs (+)", &mine, &theirs);
            }
            _ => output::line("not text that can be compared"),
        }
    }

    fn edit(&self) -> Outcome {
        let editor = env::var("VISUAL").or_else(|_| env::var("EDITOR"));
        let editor = editor.map_err(|_| "set EDITOR to the editor that you use")?;
        let mut words = editor.split_whitespace();
        let program = words.next().ok_or("set EDITOR to the editor that you use")?;
        let ended = Command::new(program).args(words).arg(&self.mine).arg(&self.theirs).status();
        let ended = ended.map_err(|error| format!("{program} cannot be started: {error}"))?;
        if ended.success() { Ok(()) } else { Err(format!("{program} failed").into()) }
    }

    /// Keeps the chosen version. Returns a report.
    fn settle(&self, folder: &Path, keep: conflict::Keep) -> Result<String, Box<dyn Error>> {
        let thrown = folder.join(TRASH).join(&self.original);
        let had_mine = self.mine.symlink_metadata().is_ok();
        let mut name = None;
        for (version, place) in keep.moves() {
            let from = match version {
                Version::Original if !had_mine => continue,
                Version::Original => &self.mine,
                Version::Copy => &self.theirs,
            };
            let moved = move_to_free_name(from, if *place == Place::Trash { &thrown } else { &self.mine })?;
            name = Some(moved).filter(|_| *place == Place::Original);
        }
        let name = name.filter(|name| *name != self.mine);
        let told = keep.told(had_mine);
        Ok(name.map_or_else(|| told.to_owned(), |name| format!("{told}: {}", name.display())))
    }
}

/// Moves a file to `to`, or if that is taken, to a numbered name beside it. It replaces no file; on file systems that cannot rename so, existence
/// is checked before. It is never linked and then removed: that would remove a save in between.
fn move_to_free_name(from: &Path, to: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let (parent, file) = to.parent().zip(to.file_name()).ok_or("the file has no name")?;
    fs::create_dir_all(parent)?;
    for name in conflict::free_names(&file.to_string_lossy()) {
        let name = parent.join(name);
        match renameat_with(CWD, from, CWD, &name, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                if name.symlink_metadata().is_err() {
                    fs::rename(from, &name)?;
                    return Ok(name);
                }
            }
            Err(error) => {
                return Err(format!("{} cannot be moved to {}: {error}", from.display(), name.display()).into());
            }
        }
    }
    Err(format!("{} and the names beside it are taken", to.display()).into())
}
