//! The folders that are published.

use std::fs;
use std::path::{Path, PathBuf};

use atlas_testkit::project::project;
use tempfile::TempDir;

/// Notes of the largest vault.
const MANY: usize = 100_000;
const CORPORA: [&str; 3] = ["hub", "help", "tldr"];

/// A vault's folder, and its notes that are not repetitions.
pub(crate) struct Folder {
    pub(crate) name: &'static str,
    pub(crate) root: TempDir,
    pub(crate) notes: Vec<String>,
}

/// The vaults to measure: those of `names` given on the command line, or all. `hub` is one corpus, `corpora` are all of
/// them in one folder, and `all` is that repeated to 100,000 notes.
pub(crate) fn folders(names: &[&'static str]) -> Vec<Folder> {
    let Some(corpora) = std::env::var_os("ATLAS_CORPORA").map(PathBuf::from) else {
        eprintln!("ATLAS_CORPORA is not set: only the demo vault is measured, which says little");
        return vec![Folder::of("demo", &[(demo(), "")], 1)];
    };
    let corpora: Vec<_> = CORPORA.iter().map(|name| (corpora.join(name), *name)).collect();
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let asked = |name: &&&str| {
        !asked.iter().any(|asked| names.contains(&asked.as_str())) || asked.iter().any(|asked| asked == **name)
    };
    let folder = |name: &&'static str| match *name {
        "all" => Folder::of(name, &corpora, MANY),
        "corpora" => Folder::of(name, &corpora, 1),
        _ => Folder::of(name, &[(corpora[0].0.clone(), "")], 1),
    };
    names.iter().filter(asked).map(folder).collect()
}

fn demo() -> PathBuf {
    project().join("tests/vaults/demo/vault")
}

impl Folder {
    /// Corpora, each in a folder, repeated under new paths until there are `least` notes; and the notes that `context`
    /// begins with, at the paths of the Atlas Local Bridge specification.
    fn of(name: &'static str, corpora: &[(PathBuf, &str)], least: usize) -> Self {
        let mut folder =
            Self { name, root: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), notes: Vec::new() };
        let files: Vec<(PathBuf, PathBuf)> = corpora
            .iter()
            .flat_map(|(corpus, name)| {
                files(corpus).into_iter().map(|file| (corpus.join(&file), Path::new(name).join(file)))
            })
            .collect();
        let mut count = 0;
        for copy in 0.. {
            for (from, path) in &files {
                if count >= least && copy > 0 {
                    break;
                }
                let to = if least > 1 { Path::new(&format!("copy {copy}")).join(path) } else { path.clone() };
                folder.link(from, &to);
                if to.extension().is_some_and(|extension| extension == "md") {
                    count += 1;
                    if copy == 0 {
                        folder.notes.extend(to.to_str().map(str::to_owned));
                    }
                }
            }
            if count >= least {
                break;
            }
        }
        for file in [
            "architecture/ARCHITECTURE.md",
            "architecture/DECISIONS.md",
            "contracts/API_CONTRACT.md",
            "planning/now.md",
        ] {
            folder.link(&demo().join(file), Path::new(file));
        }
        folder.notes.sort_unstable();
        let links: Vec<String> =
            folder.notes.iter().step_by(folder.notes.len() / 10).map(|note| format!("- [[{note}]]\n")).collect();
        let now = folder.root.path().join("planning/now.md");
        fs::remove_file(&now).unwrap();
        fs::write(now, format!("# Now\n\n{}", links.concat())).unwrap();
        folder
    }

    fn link(&self, from: &Path, to: &Path) {
        let to = self.root.path().join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&to);
        fs::hard_link(from, &to).or_else(|_| fs::copy(from, &to).map(drop)).unwrap();
    }
}

/// The files below `root`, without dot folders.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_file() {
                found.push(path);
            } else if !entry.file_name().to_string_lossy().starts_with('.') {
                folders.push(path);
            }
        }
    }
    found.sort_unstable();
    found
}
