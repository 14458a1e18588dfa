//! Files of the staging folder, and free names beside the paths at which they were.

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use crate::moves::move_new;
use crate::report::Reason;
use crate::target::Target;

/// Most numbered copies of one file.
pub(crate) const MAX_COPIES: u32 = 99;
/// Most levels of folders: more than a path of a vault can have.
const MAX_DEPTH: usize = 512;
/// Most files of the staging folder that one sync looks at; later ones take the rest.
const MAX_FILES: usize = 100_000;

/// Moves a file to the first free name of a copy of `path`. Returns it.
pub(crate) fn put_beside(
    target: &Target,
    from: &Dir,
    name: &str,
    path: &str,
    copy: impl Fn(&str, u32) -> String,
) -> Result<String, Reason> {
    let mut refused = Reason::Changed;
    for attempt in 1..=MAX_COPIES {
        let path = copy(path, attempt);
        let (folder, new_name) = target.place_of(&path)?;
        match move_new(from, name, &folder, &new_name) {
            Ok(()) => return Ok(path),
            Err(reason) => refused = reason,
        }
    }
    Err(refused)
}

/// The folder of `path`, if it can exist, and the path beside which to put a copy. If a file has the name of a folder
/// of `path`, the copy goes beside that file.
pub(crate) fn place_for(target: &Target, path: &str) -> (Option<Dir>, String) {
    if let Ok((folder, _)) = target.place_of(path) {
        return (Some(folder), path.to_owned());
    }
    let mut names: Vec<&str> = path.split('/').collect();
    let name = names.pop().unwrap_or_default();
    while names.pop().is_some() {
        let beside = names.iter().copied().chain([name]).collect::<Vec<_>>().join("/");
        if target.place_of(&beside).is_ok() {
            return (None, beside);
        }
    }
    (None, name.to_owned())
}

/// Adds the files below a folder of the staging folder, up to [`MAX_FILES`].
pub(crate) fn list(dir: &Dir, path: &str, paths: &mut Vec<String>) {
    list_within(dir, path, paths, MAX_DEPTH);
}

fn list_within(dir: &Dir, path: &str, paths: &mut Vec<String>, depth: usize) {
    let Ok(entries) = dir.entries() else { return };
    for entry in entries.flatten() {
        if paths.len() >= MAX_FILES {
            return;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        match entry.file_type() {
            Ok(file_type) if file_type.is_dir() => {
                if let (Ok(below), Some(depth)) = (dir.open_dir_nofollow(&name), depth.checked_sub(1)) {
                    list_within(&below, &path, paths, depth);
                }
            }
            Ok(_) => paths.push(path),
            Err(_) => {}
        }
    }
}
