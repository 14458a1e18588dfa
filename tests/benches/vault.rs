//! The folders that are published.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Notes of the largest vault.
const MANY: usize = 100_000;
const CORPORA: [&str; 3] = ["hub", "help", "tldr"];
const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/vaults/demo");

/// A vault's folder, and which of its notes are not repetitions.
pub(crate) struct Folder {
    pub(crate) name: &'static str,
    pub(crate) root: TempDir,
    pub(crate) notes: Vec<String>,
}

/// The vaults to measure with.
pub(crate) fn folders() -> Vec<Folder> {
    let Some(corpora) = std::env::var_os("ATLAS_CORPORA").map(PathBuf::from) else {
        eprintln!("ATLAS_CORPORA is not set: only the demo vault is measured, which says little");
        return vec![Folder::of("demo", &[(Path::new(DEMO).join("vault"), "")], 1)];
    };
    let hub = Folder::of("hub", &[(corpora.join("hub"), "")], 1);
    let all: Vec<_> = CORPORA.iter().map(|name| (corpora.join(name), *name)).collect();
    vec![hub, Folder::of("all", &all, MANY)]
}

impl Folder {
    /// Corpora, each in a folder, repeated under new paths while there are fewer than `least` notes; and the notes
    /// that `context` begins with, in the place where the Atlas Local Bridge specification has them.
    fn of(name: &'static str, corpora: &[(PathBuf, &str)], least: usize) -> Self {
        let mut folder = Self { name, root: tempfile::tempdir().unwrap(), notes: Vec::new() };
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
            folder.link(&Path::new(DEMO).join("vault").join(file), Path::new(file));
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
