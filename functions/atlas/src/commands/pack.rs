//! `atlas pack` and `atlas ralphy-init`: the files that Atlas Guardrails writes into a folder of code.

use std::error::Error;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use atlas_sync::rules::PACK_FILE;
use atlas_tools::guardrails::atlas_pack::AtlasPack;
use clap::Args;
use serde_json::{Value, json};

use crate::commands::Outcome;
use crate::local::Local;
use crate::newcomer::is_vault;
use crate::output;
use crate::remembered::Remembered;
use crate::repository::Repository;

/// The folder and the file of Ralphy's configuration.
const RALPHY: &str = ".ralphy";
const RALPHY_FILE: &str = "config.yaml";
/// Ralphy's rules for this program, and the paths that it must not touch.
const RALPHY_RULES: &str = "\
rules:
  - \"Run `atlas pack --task` with the task before you start.\"
  - \"Call atlas_find_duplicates before you add a function, a type or a file.\"

boundaries:
  never_touch:
    - \".atlas\"
    - \"pack.json\"
";

/// Arguments of `atlas pack`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The task, in plain words
    #[arg(short, long, value_name = "TEXT")]
    task: String,
    /// Most characters of the pack, as JSON
    #[arg(short, long, value_name = "CHARACTERS", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    budget: u32,
    #[command(flatten)]
    folder: Folder,
}

/// The folder of code.
#[derive(Debug, Args)]
pub(crate) struct Folder {
    /// The folder of code [default: the current folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Take the folder as code, even if it is a vault
    #[arg(long)]
    code: bool,
}

impl Folder {
    /// Its path, unless it is a vault, whose next sync would publish what is written.
    fn path(self) -> Result<PathBuf, Box<dyn Error>> {
        let root = self.root.map_or_else(std::env::current_dir, Ok)?;
        let root =
            root.canonicalize().map_err(|error| format!("the folder {} cannot be read: {error}", root.display()))?;
        if !self.code && (is_vault(&root) || Remembered::around(&root).is_some()) {
            let shown = root.display();
            return Err(format!(
                "{shown} is a vault, whose sync would publish what this writes: name a folder of code with --root, or take it as code with --code"
            )
            .into());
        }
        Ok(root)
    }
}

/// Runs `atlas pack`: indexes the folder, and writes the code that a task needs into `pack.json`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let root = arguments.folder.path()?;
    let file = root.join(PACK_FILE);
    check_replaceable(&file)?;
    let (mut repository, _) = Repository::at(root)?;
    repository.publish().await?;
    let call = json!({ "task": arguments.task, "budget": arguments.budget });
    let pack = Local::over(repository.vault()).call(atlas_tools::entry::<AtlasPack>(), call).await?;
    let mut text = serde_json::to_vec_pretty(&pack)?;
    text.push(b'\n');
    write(&file, &text)?;
    let files = pack["files"].as_array().map_or(0, Vec::len);
    output::note(format_args!("{files} files are in {PACK_FILE}"));
    Ok(())
}

/// Runs `atlas ralphy-init`: writes `.ralphy/config.yaml`, unless it is there.
pub(crate) fn init_ralphy(folder: Folder) -> Outcome {
    let root = folder.path()?;
    let kept = root.join(RALPHY);
    if kept.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
        return Err(format!("{RALPHY} is a symbolic link or a file: remove it").into());
    }
    fs::create_dir_all(&kept)?;
    let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = format!("project:\n  name: {}\n\n{RALPHY_RULES}", Value::from(name));
    match fs::File::create_new(kept.join(RALPHY_FILE)) {
        Ok(mut file) => file.write_all(text.as_bytes())?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            output::note(format_args!("{RALPHY}/{RALPHY_FILE} is there already; nothing was changed"));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    }
    output::note(format_args!("{RALPHY}/{RALPHY_FILE} was written"));
    Ok(())
}

/// Fails if `file` is anything but a pack.
fn check_replaceable(file: &Path) -> Outcome {
    let is_pack = match file.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Ok(found) if found.is_file() => fs::read(file)
            .ok()
            .and_then(|text| serde_json::from_slice::<Value>(&text).ok())
            .is_some_and(|pack| pack.get("task").is_some() && pack.get("files").is_some_and(Value::is_array)),
        _ => false,
    };
    if is_pack {
        Ok(())
    } else {
        Err(format!("{PACK_FILE} is no pack: move it away, so that it is not replaced").into())
    }
}

fn write(file: &Path, text: &[u8]) -> Outcome {
    let folder = file.parent().ok_or("the file is in no folder")?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text)?;
    new.persist(file)?;
    Ok(())
}
