//! Which files of a folder belong to the vault, and what each is by its name. Pure.

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

/// Names of files that operating systems scatter.
const JUNK: &[&str] = &[".DS_Store", "Thumbs.db", "desktop.ini"];
/// What the names of macOS's resource forks begin with.
const JUNK_PREFIX: &str = "._";

/// Extensions of files whose text is worth finding, in lower case and order. SVG is left to the attachments: it is a
/// picture.
const TEXT_EXTENSIONS: &[&str] = &[
    "adoc",
    "base",
    "bash",
    "bat",
    "bib",
    "c",
    "canvas",
    "cc",
    "cfg",
    "cjs",
    "conf",
    "cpp",
    "cs",
    "css",
    "csv",
    "diff",
    "fish",
    "go",
    "gradle",
    "graphql",
    "h",
    "hpp",
    "htm",
    "html",
    "ics",
    "ini",
    "java",
    "js",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "jsx",
    "kt",
    "kts",
    "less",
    "lua",
    "mdx",
    "mermaid",
    "mjs",
    "mmd",
    "opml",
    "org",
    "patch",
    "php",
    "pl",
    "properties",
    "proto",
    "ps1",
    "puml",
    "py",
    "qmd",
    "r",
    "rb",
    "rs",
    "rst",
    "sass",
    "scala",
    "scss",
    "sh",
    "sql",
    "srt",
    "svelte",
    "swift",
    "tex",
    "text",
    "toml",
    "ts",
    "tsv",
    "tsx",
    "txt",
    "vtt",
    "vue",
    "xml",
    "yaml",
    "yml",
    "zsh",
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
    if JUNK.contains(&name) || name.starts_with(JUNK_PREFIX) || name == STAGING {
        return None;
    }
    let Some((stem, extension)) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) else {
        return Some(Class::Attachment);
    };
    if extension.eq_ignore_ascii_case("md") {
        return Some(Class::Note);
    }
    let extension = extension.to_ascii_lowercase();
    let is_text = !stem.starts_with('.') && TEXT_EXTENSIONS.binary_search(&extension.as_str()).is_ok();
    Some(if is_text { Class::MaybeText } else { Class::Attachment })
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
    fn the_lists_are_in_the_order_that_looking_up_needs() {
        assert!(TEXT_EXTENSIONS.is_sorted());
        assert!(CONFIG_FILES.iter().all(|path| path.starts_with(CONFIG_FOLDER)));
    }
}
