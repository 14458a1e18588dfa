//! Which files of a folder belong to the vault, and what each is by its name. Pure.

use atlas_vault::file_kind::{is_junk, may_be_text};

/// What a file is, as far as its path tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Markdown.
    Note,
    /// Text if it is small and has no NUL byte, else an attachment.
    MaybeText,
    /// Anything else.
    Attachment,
    /// A file of the vault's configuration that operations read.
    Config,
}

/// The folder, in the root, of files that a sync is about to put in their places.
pub const STAGING: &str = ".atlas-mirror";

/// The folder of Obsidian's configuration.
pub const CONFIG_FOLDER: &str = ".obsidian";

/// The files in it that operations read; everything else there is Obsidian's own.
pub const CONFIG_FILES: &[&str] = &[
    ".obsidian/app.json",
    ".obsidian/bookmarks.json",
    ".obsidian/daily-notes.json",
    ".obsidian/plugins/periodic-notes/data.json",
    ".obsidian/templates.json",
    ".obsidian/types.json",
    ".obsidian/workspaces.json",
];

/// What the file at `path` (relative to the root, `/`-separated) is; [`None`] when it does not belong to the vault.
pub fn class_of(path: &str) -> Option<Class> {
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (folder, name),
        None => ("", path),
    };
    if folder.split('/').any(|segment| !enters(segment)) {
        return CONFIG_FILES.contains(&path).then_some(Class::Config);
    }
    class_of_name(name)
}

/// Whether files in a folder of this name belong to the vault. `.git`, `.trash`, `.obsidian` and whatever else hides
/// itself is left out.
pub fn enters(folder: &str) -> bool {
    !folder.starts_with('.')
}

/// What a file of this name is, in a folder that belongs to the vault.
pub fn class_of_name(name: &str) -> Option<Class> {
    if is_junk(name) || name == STAGING {
        return None;
    }
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    Some(match extension {
        Some(extension) if extension.eq_ignore_ascii_case("md") => Class::Note,
        _ if may_be_text(name) => Class::MaybeText,
        _ => Class::Attachment,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_file_is() {
        for (path, class) in [
            ("a.md", Class::Note),
            ("a/b.MD", Class::Note),
            (".hidden.md", Class::Note),
            ("a/.hidden.md", Class::Note),
            ("plan.canvas", Class::MaybeText),
            ("a/b.JSON", Class::MaybeText),
            ("a/b.rs", Class::MaybeText),
            (".md", Class::Attachment),
            (".gitignore", Class::Attachment),
            (".hidden.json", Class::Attachment),
            ("md", Class::Attachment),
            ("picture.svg", Class::Attachment),
            ("a.png", Class::Attachment),
            (".obsidian/app.json", Class::Config),
            (".obsidian/plugins/periodic-notes/data.json", Class::Config),
        ] {
            assert_eq!(class_of(path), Some(class), "{path}");
        }
    }

    #[test]
    fn what_hides_itself_is_left_out() {
        for path in [
            ".git/config",
            ".git/a.md",
            "a/.git/b.md",
            ".trash/a.md",
            "a/.b/c/d.md",
            ".obsidian/plugins/x/data.json",
            ".obsidian/workspace.json",
            ".obsidian/a.md",
            "a/.obsidian/app.json",
            ".DS_Store",
            "a/Thumbs.db",
            "desktop.ini",
            "a/._b.md",
            ".atlas-mirror",
            ".atlas-mirror/new-1-0",
        ] {
            assert_eq!(class_of(path), None, "{path}");
        }
    }

    #[test]
    fn configuration_is_in_its_folder() {
        assert!(CONFIG_FILES.iter().all(|path| path.starts_with(CONFIG_FOLDER)));
    }
}
