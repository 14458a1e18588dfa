//! Kinds of files other than notes, by their names: text files, which are indexed for search; files with keys and junk, which belong to no vault.

/// Names of files that operating systems leave in folders.
const JUNK: &[&str] = &[".DS_Store", ".directory", "Thumbs.db", "desktop.ini"];
/// Names of folders that belong to a program, in lower case. A file of such a name leads a program to its folder (`.git` in a worktree or a
/// submodule), which is another on each machine, or would take the place of the folder.
const OF_PROGRAMS: &[&str] = &[".atlas-mirror", ".git", ".obsidian", ".trash"];
/// Prefix of the names of macOS resource forks.
const JUNK_PREFIX: &str = "._";

/// Largest text file, in bytes. A larger file is an attachment whatever its name, and so is a file with a NUL byte.
pub const MAX_TEXT_BYTES: u64 = 1 << 20;

/// Extensions of files whose text is worth finding, in lower case and sorted. SVG is missing because it is a picture, so an attachment.
const EXTENSIONS: &[&str] = &[
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
    "excalidraw",
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

/// Extensions of source code, in lower case and sorted.
const CODE: &[&str] = &[
    "bash", "bat", "c", "cc", "cjs", "clj", "cljs", "cpp", "cs", "cts", "cxx", "dart", "ex", "exs", "fish", "fs", "go",
    "gradle", "graphql", "groovy", "h", "hh", "hpp", "hs", "java", "jl", "js", "jsx", "kt", "kts", "lua", "m", "mjs",
    "ml", "mm", "mts", "nim", "nix", "php", "pl", "proto", "ps1", "py", "pyi", "r", "rb", "rs", "scala", "sh", "sol",
    "sql", "svelte", "swift", "tf", "ts", "tsx", "vue", "zig", "zsh",
];

/// Whether a file of this name is source code, in which identifiers join several words.
#[must_use]
pub fn is_code(file_name: &str) -> bool {
    let extension = file_name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    extension.is_some_and(|extension| CODE.binary_search(&extension.to_ascii_lowercase().as_str()).is_ok())
}

/// Whether a file of this name is kept as text, if its content is suitable (see [`MAX_TEXT_BYTES`]).
#[must_use]
pub fn may_be_text(file_name: &str) -> bool {
    let Some((_, extension)) = file_name.rsplit_once('.').filter(|_| !file_name.starts_with('.')) else { return false };
    EXTENSIONS.binary_search(&extension.to_ascii_lowercase().as_str()).is_ok()
}

/// Whether a file of this name belongs to no vault, whatever folder it is in.
#[must_use]
pub fn is_junk(name: &str) -> bool {
    JUNK.contains(&name) || name.starts_with(JUNK_PREFIX) || is_temporary(name)
}

/// Whether a file of this name usually holds passwords or keys. It belongs to no index that models read.
#[must_use]
pub fn holds_keys(name: &str) -> bool {
    let is_environment = name == ".env" || name.starts_with(".env.") && !name.ends_with(".example");
    let is_note = name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("md"));
    !is_note
        && (is_environment
            || [".npmrc", ".netrc", ".pypirc", "id_rsa", "id_ecdsa", "id_ed25519"].contains(&name)
            || name.ends_with(".pem"))
}

/// Whether this is the name of a program's folder, in any case of letters. Windows takes dots and spaces at its end for nothing.
#[must_use]
pub fn is_of_program(name: &str) -> bool {
    let name = name.trim_end_matches(['.', ' ']);
    OF_PROGRAMS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether files of this name are left out of every vault: [`is_junk`], [`holds_keys`] or [`is_of_program`].
#[must_use]
pub fn is_left_out(name: &str) -> bool {
    is_junk(name) || holds_keys(name) || is_of_program(name)
}

/// Whether a program that edits or carries files gives this name to a file of its own, for as long as it works.
fn is_temporary(name: &str) -> bool {
    let is_between =
        |start: &str, end: &str| name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end);
    // `.note.md.swp`; after it `.swo`, `.swn` and so on, down to `.swa`.
    let is_swap = || {
        let end =
            name.strip_prefix('.').and_then(|name| name.rsplit_once(".sw")).map(|(stem, end)| (stem.is_empty(), end));
        end.is_some_and(|(is_bare, end)| !is_bare && matches!(end.as_bytes(), [b'a'..=b'p' | b'x']))
    };
    // Leftovers of open files from NFS, FUSE and GVfs.
    let is_of_system = || {
        let is_rest = |start: &str| {
            let rest = name.strip_prefix(start).unwrap_or_default();
            !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        is_rest(".nfs") || is_rest(".fuse_hidden") || is_rest(".goutputstream-")
    };
    // `note.md~`, but not `note~`, which may be a person's own file.
    let is_backup = || {
        let extension = name.strip_suffix('~').and_then(|name| Some((name, name.rsplit_once('.')?.1)));
        extension.is_some_and(|(name, end)| end.eq_ignore_ascii_case("md") || may_be_text(name))
    };
    // Vim, Emacs, LibreOffice, Office, Syncthing (two forms), Dropbox, and browsers. Of what may be a person's own file nothing is here.
    is_swap()
        || is_between(".", ".un~")
        || name == "4913"
        || is_backup()
        || is_of_system()
        || is_between("#", "#")
        || name.starts_with(".#")
        || is_between(".~lock.", "#")
        || name.starts_with("~$")
            && [".docx", ".docm", ".xlsx", ".xlsm", ".pptx", ".doc", ".xls", ".ppt"]
                .iter()
                .any(|end| name.ends_with(end))
        || is_between(".syncthing.", ".tmp")
        || is_between("~syncthing~", ".tmp")
        || matches!(name, ".dropbox" | ".dropbox.attr")
        || is_between("", ".crdownload")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_programs_make_while_they_work_belong_to_no_vault() {
        for name in [
            ".a.md.swp",
            ".a.md.swo",
            ".a.md.swx",
            "#a.md#",
            ".#a.md",
            ".~lock.a.odt#",
            "~$a.docx",
            ".syncthing.a.md.tmp",
            "~syncthing~a.md.tmp",
            ".dropbox",
            "a.zip.crdownload",
            ".a.md.un~",
            "4913",
            "n1.md~",
            "a.canvas~",
            ".nfs000000000123abcd0000001c",
            ".fuse_hidden0000a1b200000001",
            ".goutputstream-X1YZ42",
            ".directory",
        ] {
            assert!(is_junk(name), "{name}");
        }
        for name in [
            "a.md",
            ".swp",
            "a.swp",
            ".a.swim",
            "#a.md",
            "a#",
            "~a.md",
            "a.part",
            "a.tmp",
            "a~",
            ".stignore",
            "~$100 ideas.md",
            ".nfs.md",
            ".nfs",
            ".fuse_hidden.md",
            ".directory.md",
            "4913.md",
            "a~.md",
            "a.png~",
        ] {
            assert!(!is_junk(name), "{name}");
        }
    }

    #[test]
    fn files_with_keys_are_known_by_their_names_and_notes_about_them_are_none() {
        for name in [".env", ".env.local", ".netrc", ".npmrc", "id_rsa", "server.pem"] {
            assert!(holds_keys(name), "{name}");
        }
        for name in [".env.example", ".env.md", ".environment", "env", "id_rsa.pub", "id_rsa.md", "a.pem.md"] {
            assert!(!holds_keys(name), "{name}");
        }
    }

    #[test]
    fn an_extension_says_whether_a_file_may_be_text() {
        assert!(EXTENSIONS.is_sorted() && CODE.is_sorted());
        assert!(is_code("a.TS") && is_code("b.d.cts") && !is_code("c.md") && !is_code(".go") && !is_code("d.json"));
        for (name, expected) in
            [("a.JSON", true), ("a.tar.yml", true), ("a.svg", false), (".b.json", false), ("json", false)]
        {
            assert_eq!(may_be_text(name), expected, "{name}");
        }
    }
}
