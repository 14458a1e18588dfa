//! Lists the vault's files.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::io;

use atlas_vault::VaultPath;
use cap_std::fs::{DirEntry, Metadata};

use crate::error::SyncError;
use crate::folder::{Folder, Stamp};
use crate::ignore_rules::{self, IgnoreRules};
use crate::progress::Progress;
use crate::report::{Reason, Skipped};
use crate::rules::{CONFIG_FILES, CONFIG_FOLDER, Class, Tree, of_placeholder};

/// Folders with a longer path, in bytes, are opened only to report them: no path of a vault is as long.
const MAX_FOLDER_BYTES: usize = 4096;

/// Most excluded files and folders that are named.
const MAX_EXCLUDED: usize = 300;

/// A file of the vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path in the vault.
    pub path: VaultPath,
    /// Its path as the folder spells it, if that differs.
    pub on_disk: Option<Box<str>>,
    /// Its class by name.
    pub class: Class,
    /// Its size and time.
    pub stamp: Stamp,
    /// Whether it is a symbolic link to a file of the vault.
    pub is_link: bool,
}

impl File {
    /// Its path as the folder spells it.
    pub fn disk_path(&self) -> &str {
        self.on_disk.as_deref().unwrap_or_else(|| self.path.as_str())
    }
}

/// The result of a scan.
#[derive(Debug, Default)]
pub struct Scan {
    /// The vault's files, by path.
    pub files: Vec<File>,
    /// Files and folders that were skipped and can be fixed.
    pub skipped: Vec<Skipped>,
    /// The first files and folders that rules exclude, and by which rule.
    pub excluded: Vec<(String, String)>,
    /// Paths whose existence is unknown.
    pub unknown: Unknown,
    /// The folders.
    pub folders: Folders,
    /// The rules that exclude files.
    pub ignored: IgnoreRules,
    /// Paths of symbolic links, and of the files that they lead to.
    link_targets: Vec<(String, String)>,
}

/// Folders of the vault by their path, each with its spelling on the disk.
#[derive(Debug, Default)]
pub struct Folders(BTreeMap<String, String>);

impl Folders {
    fn add(&mut self, on_disk: &str) {
        if let Ok(path) = VaultPath::parse(on_disk) {
            self.0.insert(path.as_str().to_owned(), on_disk.to_owned());
        }
    }

    /// The path of a new file `path` that others spell as `on_disk`: in the existing folder, however it is spelled.
    pub fn place(&self, path: &str, on_disk: &str) -> String {
        let ends = path.char_indices().rev().filter(|(_, character)| *character == '/').map(|(end, _)| end);
        let known = ends.filter_map(|end| path.get(..end)).find_map(|folder| Some((folder, self.0.get(folder)?)));
        let Some((folder, spelt)) = known else { return on_disk.to_owned() };
        let below: Vec<&str> = on_disk.split('/').skip(folder.split('/').count()).collect();
        format!("{spelt}/{}", below.join("/"))
    }
}

/// Paths and folders whose existence or content is unknown: nothing follows from their absence in the scan.
#[derive(Debug, Default)]
pub struct Unknown {
    paths: BTreeSet<String>,
    /// Each with a slash at its end.
    folders: Vec<String>,
}

impl Unknown {
    /// Whether nothing follows from the absence of `path`.
    pub fn holds(&self, path: &str) -> bool {
        self.paths.contains(path) || self.folders.iter().any(|folder| path.starts_with(folder.as_str()))
    }

    /// Whether all is known.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.folders.is_empty()
    }

    /// Adds the path of a file or folder, in the folder's spelling.
    fn add(&mut self, on_disk: &str) {
        // A path that is invalid in a vault has no counterpart in the mirror.
        if let Ok(path) = VaultPath::parse_recorded(on_disk) {
            self.folders.push(format!("{path}/"));
            self.paths.insert(path.as_str().to_owned());
        }
    }
}

/// Lists the files of `folder`, in order of their paths, without those that its `.atlasignore` files exclude, or the `.gitignore` files of source
/// code.
///
/// # Errors [`SyncError::RootMissing`] when the folder itself cannot be completely listed; [`SyncError::Rules`].
pub fn scan(folder: &Folder, tree: Tree, progress: &dyn Progress) -> Result<Scan, SyncError> {
    let scan = Scan { ignored: IgnoreRules::of(tree), ..Scan::default() };
    let mut walk = Walk { folder, tree, scan, below: Vec::new() };
    let root = |error: io::Error| {
        let root = folder.path().to_owned();
        match ignore_rules::are_unusable(&error) {
            true => SyncError::Rules { root, error },
            false => SyncError::RootMissing { root, error },
        }
    };
    walk.list("").map_err(root)?;
    walk.config();
    let mut seen = walk.scan.files.len();
    progress.advance(seen as u64);
    while let Some(path) = walk.below.pop() {
        if let Err(error) = walk.list(&path) {
            walk.skip(path, Reason::Unlistable(error.to_string()));
        }
        progress.advance((walk.scan.files.len() - seen) as u64);
        seen = walk.scan.files.len();
    }
    Ok(walk.scan.settled())
}

struct Walk<'a> {
    folder: &'a Folder,
    tree: Tree,
    scan: Scan,
    /// Folders yet to be listed.
    below: Vec<String>,
}

impl Walk<'_> {
    /// Lists the folder at `path`, which is empty for the root. Entries before an error stay.
    fn list(&mut self, path: &str) -> io::Result<()> {
        let entries = if path.is_empty() { self.folder.dir.entries()? } else { self.folder.dir.read_dir(path)? };
        let entries: Vec<io::Result<DirEntry>> = entries.collect();
        for entry in entries.iter().flatten() {
            if let Some(name) = entry.file_name().to_str().filter(|name| self.scan.ignored.are_in(name)) {
                self.scan.ignored.enter(&self.folder.dir, path, name)?;
            }
        }
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                self.not_unicode(path, &name);
                continue;
            };
            let on_disk = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            if let Err(reason) = self.take(&entry, name, &on_disk) {
                self.skip(on_disk, reason);
            }
        }
        Ok(())
    }

    fn take(&mut self, entry: &DirEntry, name: &str, on_disk: &str) -> Result<(), Reason> {
        let mut file_type = entry.file_type().map_err(Reason::unreadable)?;
        if !(file_type.is_dir() || file_type.is_file() || file_type.is_symlink()) {
            // Some file systems omit the type in a listing.
            file_type = entry.metadata().map_err(Reason::unreadable)?.file_type();
        }
        if let Some(rule) = self.scan.ignored.rule(on_disk, file_type.is_dir()) {
            if self.scan.excluded.len() < MAX_EXCLUDED {
                let slash = if file_type.is_dir() { "/" } else { "" };
                self.scan.excluded.push((format!("{on_disk}{slash}"), rule));
            }
            // The mirror keeps an excluded note. Excluded source code leaves it, since the folder always wins.
            if self.tree == Tree::Vault {
                self.scan.unknown.add(on_disk);
            }
            return Ok(());
        }
        if file_type.is_dir() {
            if !self.tree.enters(name) {
                return if self.tree.misses(name) { Err(Reason::Hidden) } else { Ok(()) };
            }
            if on_disk.len() > MAX_FOLDER_BYTES {
                VaultPath::parse(on_disk)?;
            }
            self.scan.folders.add(on_disk);
            self.below.push(on_disk.to_owned());
            return Ok(());
        }
        if let Some(evicted) = of_placeholder(name).filter(|_| file_type.is_file() && self.tree == Tree::Vault) {
            let folder = on_disk.strip_suffix(name).unwrap_or_default();
            self.elsewhere(format!("{folder}{evicted}"), evicted);
            return Ok(());
        }
        let Some(class) = self.tree.class_of(on_disk) else {
            return Ok(());
        };
        if file_type.is_symlink() {
            let metadata = self.follow(on_disk)?;
            return self.add(on_disk, class, &metadata, true);
        }
        self.add(on_disk, class, &entry.metadata().map_err(Reason::unreadable)?, false)
    }

    fn add(&mut self, on_disk: &str, class: Class, metadata: &Metadata, is_link: bool) -> Result<(), Reason> {
        if !metadata.is_file() {
            return Err(Reason::NotAFile);
        }
        let path = VaultPath::parse(on_disk)?;
        let on_disk = (path.as_str() != on_disk).then(|| on_disk.into());
        self.scan.files.push(File { path, on_disk, class, stamp: Stamp::of(metadata), is_link });
        Ok(())
    }

    /// Leaves a file as it is whose placeholder alone is here.
    fn elsewhere(&mut self, path: String, name: &str) {
        let is_here = self.folder.dir.symlink_metadata(&path).is_ok();
        if !is_here && self.tree.class_of_name(name).is_some() {
            self.skip(path, Reason::Elsewhere);
        }
    }

    /// The target's metadata of the symbolic link at `path`, if the target is a file that belongs to the vault itself.
    fn follow(&mut self, path: &str) -> Result<Metadata, Reason> {
        let outside = |_| Reason::LinkOutside;
        let metadata = self.folder.dir.metadata(path).map_err(outside)?;
        if metadata.is_dir() {
            return Err(Reason::LinkToFolder);
        }
        let target = self.folder.dir.canonicalize(path).map_err(outside)?;
        let target = target.to_str().filter(|target| self.tree.class_of(target).is_some());
        let target = target.ok_or(Reason::LinkOutside)?;
        self.scan.link_targets.push((path.to_owned(), target.to_owned()));
        Ok(metadata)
    }

    /// Adds the configuration files that operations read, from an otherwise hidden folder.
    fn config(&mut self) {
        match self.folder.dir.symlink_metadata(CONFIG_FOLDER) {
            Ok(metadata) if metadata.is_dir() => {}
            // The settings are elsewhere, not deleted.
            Ok(metadata) if metadata.is_symlink() && !self.scan.unknown.holds(CONFIG_FOLDER) => {
                return self.skip(CONFIG_FOLDER.to_owned(), Reason::LinkToFolder);
            }
            Ok(_) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                return self.skip(CONFIG_FOLDER.to_owned(), Reason::Unlistable(error.to_string()));
            }
        }
        for path in CONFIG_FILES {
            if self.scan.ignored.exclude(path) {
                self.scan.unknown.add(path);
                continue;
            }
            let found = match self.folder.dir.symlink_metadata(path) {
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    if let Some((folder, name)) = path.rsplit_once('/')
                        && self.folder.dir.symlink_metadata(format!("{folder}/.{name}.icloud")).is_ok()
                    {
                        self.skip((*path).to_owned(), Reason::Elsewhere);
                    }
                    continue;
                }
                Err(error) => Err(Reason::unreadable(error)),
                Ok(metadata) => self.add(path, Class::Config, &metadata, false),
            };
            if let Err(reason) = found {
                self.skip((*path).to_owned(), reason);
            }
        }
    }

    fn skip(&mut self, path: String, reason: Reason) {
        self.scan.unknown.add(&path);
        self.scan.skipped.push(Skipped { path, reason });
    }

    fn not_unicode(&mut self, folder: &str, name: &OsStr) {
        let name = name.to_string_lossy();
        if self.tree.class_of_name(&name).is_some() {
            let path = if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") };
            self.scan.skipped.push(Skipped { path, reason: Reason::NotUnicode });
        }
    }
}

impl Scan {
    /// Sorts the files by path. Those with the same path are skipped, since it is unclear which one the mirror has.
    fn settled(mut self) -> Self {
        let mut files = std::mem::take(&mut self.files);
        // A link does not bring back what the rules exclude.
        for (link, target) in std::mem::take(&mut self.link_targets) {
            if self.ignored.exclude(&target) {
                files.retain(|file| file.disk_path() != link);
                self.unknown.add(&link);
            }
        }
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path).then_with(|| a.on_disk.cmp(&b.on_disk)));
        let mut of_several = HashSet::new();
        for same in files.chunk_by(|a, b| a.path == b.path).filter(|same| same.len() > 1) {
            for file in same {
                of_several.insert(file.path.clone());
                self.unknown.add(file.disk_path());
                self.skipped.push(Skipped { path: file.disk_path().to_owned(), reason: Reason::SameName });
            }
        }
        files.retain(|file| !of_several.contains(&file.path));
        self.files = files;
        self.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        self
    }
}

#[cfg(test)]
mod tests;
