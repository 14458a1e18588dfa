//! Which files of a folder belong to the vault, and their classes by name. Pure.

use atlas_vault::file_kind::{self, is_left_out, may_be_text};
use serde_json::Value;

/// The class of a file, by its path.
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

/// The folder, in the root, of unfinished files of a sync.
pub const STAGING: &str = ".atlas-mirror";

/// The folder of Obsidian's configuration.
pub const CONFIG_FOLDER: &str = ".obsidian";

/// Its files that operations read; all others are Obsidian's own.
pub const CONFIG_FILES: &[&str] = &[
    ".obsidian/app.json",
    ".obsidian/bookmarks.json",
    ".obsidian/community-plugins.json",
    ".obsidian/daily-notes.json",
    ".obsidian/plugins/calendar/data.json",
    ".obsidian/plugins/obsidian-tasks-plugin/data.json",
    ".obsidian/plugins/periodic-notes/data.json",
    ".obsidian/plugins/quickadd/data.json",
    ".obsidian/plugins/templater-obsidian/data.json",
    ".obsidian/templates.json",
    ".obsidian/types.json",
    ".obsidian/workspaces.json",
];

/// Those among them that may hold keys of other services. One that does belongs to no mirror.
const MAY_HOLD_SECRETS: &[&str] =
    &[".obsidian/plugins/obsidian-tasks-plugin/data.json", ".obsidian/plugins/quickadd/data.json"];

/// Parts of the names of settings that are secrets: letters and digits only, in lower case.
const SECRETS: &[&str] = &[
    "apikey",
    "token",
    "secret",
    "password",
    "passphrase",
    "passwd",
    "credential",
    "privatekey",
    "accesskey",
    "bearer",
    "authorization",
];

/// Ends of such names.
const SECRET_ENDS: &[&str] = &["key", "pat", "pwd", "pass", "auth"];
/// Prefixes of the keys of well-known services.
const SECRET_VALUES: &[&str] = &["sk-", "ghp_", "github_pat_", "xoxb-", "xoxp-", "AKIA", "AIza", "Bearer "];

/// Whether the configuration file at `path` may not be mirrored for what it holds: a text in a setting whose name says that it is a secret, at
/// any depth. An unreadable text counts as one that does.
pub fn holds_secret(path: &str, text: &[u8]) -> bool {
    if !MAY_HOLD_SECRETS.contains(&path) {
        return false;
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let Ok(settings) = serde_json::from_slice::<Value>(text) else { return true };
    let mut open = vec![settings];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if SECRET_VALUES.iter().any(|begin| text.trim_start().starts_with(begin)) => {
                return true;
            }
            Value::Array(values) => open.extend(values),
            Value::Object(members) => {
                let names = members.get("name").and_then(Value::as_str).is_some_and(is_secret);
                if names && members.get("value").is_some_and(holds_text) {
                    return true;
                }
                for (name, value) in members {
                    if is_secret(&name) && holds_text(&value) {
                        return true;
                    }
                    open.push(value);
                }
            }
            _ => {}
        }
    }
    false
}

/// Whether this is the name of a secret. What ends in `Ref` says where one is.
fn is_secret(name: &str) -> bool {
    let letters: String =
        name.chars().filter(|one| one.is_ascii_alphanumeric()).map(|one| one.to_ascii_lowercase()).collect();
    let is_named = SECRETS.iter().any(|secret| letters.contains(secret));
    !letters.ends_with("ref") && (is_named || SECRET_ENDS.iter().any(|end| letters.ends_with(end)))
}

fn holds_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(values) => values.iter().any(holds_text),
        Value::Object(members) => members.values().any(holds_text),
        _ => false,
    }
}

/// The kind of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tree {
    /// Notes.
    #[default]
    Vault,
    /// Source code: any file may be text, whatever its name, and the rules of `.gitignore` files are applied.
    Code,
}

/// Hidden folders that belong to source code.
const CODE_FOLDERS: &[&str] = &[
    ".buildkite",
    ".cargo",
    ".changeset",
    ".circleci",
    ".claude",
    ".config",
    ".cursor",
    ".devcontainer",
    ".forgejo",
    ".gitea",
    ".github",
    ".gitlab",
    ".husky",
    ".storybook",
    ".vscode",
];
/// Hidden folders that are excluded without a report.
const UNMISSED: &[&str] = &[".atlas", STAGING, ".git", CONFIG_FOLDER, ".trash"];
/// The file that a pack of code is written to, in the root. A pack in the index would find itself.
pub const PACK_FILE: &str = "pack.json";
/// A picture whose format is text.
const PICTURE: &str = "svg";

impl Tree {
    /// Like [`class_of`], for this kind of folder.
    pub fn class_of(self, path: &str) -> Option<Class> {
        match path.rsplit_once('/') {
            Some((folder, _)) if folder.split('/').any(|segment| !self.enters(segment)) => class_of(path),
            Some((_, name)) => self.class_of_name(name),
            None if self == Self::Code && path == PACK_FILE => None,
            None => self.class_of_name(path),
        }
    }

    /// Like [`enters`], for this kind of folder.
    pub fn enters(self, folder: &str) -> bool {
        enters(folder) || self == Self::Code && CODE_FOLDERS.contains(&folder)
    }

    /// Whether to report that a hidden folder was excluded.
    pub fn misses(self, folder: &str) -> bool {
        self == Self::Code && !UNMISSED.contains(&folder)
    }

    /// Like [`class_of_name`], for this kind of folder.
    pub fn class_of_name(self, name: &str) -> Option<Class> {
        let is_picture = || name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case(PICTURE));
        match class_of_name(name)? {
            Class::Attachment if self == Self::Code && !is_picture() => Some(Class::MaybeText),
            class => Some(class),
        }
    }
}

/// The class of the file at `path` (relative to the root, `/`-separated); [`None`] when it does not belong to the
/// vault.
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

/// Whether files in a folder of this name belong to the vault. Hidden folders such as `.git`, `.trash` and `.obsidian`
/// are excluded.
pub fn enters(folder: &str) -> bool {
    !folder.starts_with('.')
}

/// The name of the file that iCloud took from this disk, if it left a placeholder of this name.
pub fn of_placeholder(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(".icloud").filter(|name| !name.is_empty())
}

/// Whether the file at `path` would be a program's own wherever it is written. Of folders, the trash and Obsidian's may have files of a vault.
pub fn is_of_program(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let may_have_files = |folder: &str| folder == CONFIG_FOLDER || folder == ".trash";
    file_kind::is_of_program(name)
        || folder.split('/').any(|folder| file_kind::is_of_program(folder) && !may_have_files(folder))
}

/// The class of a file of this name, in a folder that belongs to the vault.
pub fn class_of_name(name: &str) -> Option<Class> {
    if is_left_out(name) {
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
            (".env.md", Class::Note),
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
            (".obsidian/plugins/calendar/data.json", Class::Config),
            (".obsidian/community-plugins.json", Class::Config),
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
            ".git",
            "sub/.git",
            "sub/.Git",
            "sub/.GIT.",
            ".obsidian",
            "a/.TRASH",
            "a/.Atlas-Mirror",
            ".env",
            "work/.env.local",
            ".netrc",
            "keys/id_rsa",
            "a/.nfs000000000123abcd",
            "a/n1.md~",
        ] {
            assert_eq!(class_of(path), None, "{path}");
        }
    }

    #[test]
    fn in_code_any_file_may_be_text() {
        for name in
            ["Makefile", "Dockerfile", ".editorconfig", "a.mts", "b.cts", ".github/workflows/ci.yml", "c/d.dart", "x"]
        {
            assert_eq!(Tree::Code.class_of(name), Some(Class::MaybeText), "{name}");
        }
        for (path, class) in [
            ("a.md", Some(Class::Note)),
            (".github/README.md", Some(Class::Note)),
            ("logo.svg", Some(Class::Attachment)),
            (".git/config", None),
            (".venv/a.py", None),
            (".atlas/state/x", None),
            (".DS_Store", None),
            ("pack.json", None),
            (".env", None),
            ("a/.env.local", None),
            ("module/.git", None),
            (".git", None),
            (".gitmodules", Some(Class::MaybeText)),
            (".gitignore", Some(Class::MaybeText)),
            (".env.example", Some(Class::MaybeText)),
            ("certs/server.pem", None),
            ("src/pack.json", Some(Class::MaybeText)),
        ] {
            assert_eq!(Tree::Code.class_of(path), class, "{path}");
        }
        assert_eq!(Tree::Vault.class_of("Makefile"), Some(Class::Attachment));
        assert!(Tree::Code.misses(".venv") && !Tree::Code.misses(".git") && !Tree::Vault.misses(".venv"));
    }

    #[test]
    fn a_configuration_with_a_secret_is_known() {
        const QUICKADD: &str = ".obsidian/plugins/quickadd/data.json";
        for (text, expected) in [
            ("{}", false),
            (r#"{"ai":{"providers":[{"name":"OpenAI","apiKey":"","models":[{"maxTokens":4096}]}]}}"#, false),
            (r#"{"ai":{"providers":[{"apiKey":"","apiKeyRef":"quickadd-openai"}]}}"#, false),
            (r#"{"ai":{"providers":[{"apiKey":"sk-1"}]}}"#, true),
            (r#"{"choices":[{"macro":{"commands":[{"settings":{"OMDb API Key":"x"}}]}}]}"#, true),
            (r#"{"a":[[{"access_TOKEN":"x"}]]}"#, true),
            (r#"{"Passwords":[" ",{"x":"y"}]}"#, true),
            (r#"{"secret":7,"token":null}"#, false),
            ("\u{feff}{}", false),
            ("{\"a\":", true),
            ("\u{0}", true),
        ] {
            assert_eq!(holds_secret(QUICKADD, text.as_bytes()), expected, "{text}");
            assert!(!holds_secret(".obsidian/app.json", text.as_bytes()));
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(holds_secret(QUICKADD, deep.as_bytes()));
        assert!(MAY_HOLD_SECRETS.iter().all(|path| CONFIG_FILES.contains(path)));
    }

    #[test]
    fn configuration_is_in_its_folder() {
        assert!(CONFIG_FILES.iter().all(|path| path.starts_with(CONFIG_FOLDER)));
    }
}
