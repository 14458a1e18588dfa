//! Other names of closed folders: names that NTFS, HFS+ or an SMB share resolves to such a folder although they are spelled differently.
//! All of them are refused, since a vault may be copied to any file system.

use crate::fold::fold;

/// The closed folders.
const GUARDED: [&str; 5] = [".git", ".obsidian", ".trash", ".atlas", ".atlas-mirror"];
/// NTFS short names keep this many characters of the name, …
const SHORT_CHARS: usize = 6;
/// … or this many and a hash, if several names begin alike.
const HASHED_CHARS: usize = 2;

/// The closed folder that some file system takes `segment` for. `None` for the folder's own name in any case of letters: callers fold
/// names before they compare them.
pub(super) fn alias_of(segment: &str) -> Option<&'static str> {
    // Most names are neither short names nor begin with a dot.
    if !segment.contains('~') && segment.chars().find(|c| !is_ignorable(*c)) != Some('.') {
        return None;
    }
    let seen: String = segment.chars().filter(|c| !is_ignorable(*c)).collect();
    // An alternate data stream (`name:stream`) belongs to its file or folder.
    let name = seen.split([':', '\u{F022}']).next().unwrap_or_default();
    let name = fold(name.trim_end_matches([' ', '.', '\u{F028}', '\u{F029}']));
    let guarded = GUARDED.into_iter().find(|guarded| name == *guarded || is_short(&name, guarded))?;
    (fold(segment) != guarded).then_some(guarded)
}

/// Characters that HFS+ ignores when it compares names.
const fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{206A}'..='\u{206F}' | '\u{FEFF}')
}

/// Whether the folded `name` is a short (8.3) name that NTFS can give to `guarded`.
fn is_short(name: &str, guarded: &str) -> bool {
    let Some((stem, number)) = name.rsplit_once('~') else { return false };
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) || number.starts_with('0') {
        return false;
    }
    let plain = guarded.trim_start_matches('.');
    let begun = plain.get(..SHORT_CHARS.min(plain.len())).unwrap_or(plain);
    // A longer number replaces letters.
    if stem == begun || number.len() > 1 && stem.len() >= HASHED_CHARS && begun.starts_with(stem) {
        return true;
    }
    let hashed = plain.get(..HASHED_CHARS).and_then(|begun| stem.strip_prefix(begun));
    hashed.is_some_and(|hash| hash.len() == 4 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PathError, VaultPath};
    use proptest::prelude::*;

    #[test]
    fn other_names_of_closed_folders_are_known() {
        for (name, guarded) in [
            ("GIT~1", ".git"),
            ("git~2", ".git"),
            ("OBSIDI~1", ".obsidian"),
            ("obsid~10", ".obsidian"),
            ("OB3F2A~1", ".obsidian"),
            ("Trash~1", ".trash"),
            ("ATLAS~1", ".atlas"),
            ("ATLAS-~1", ".atlas-mirror"),
            (".git.", ".git"),
            (".git ", ".git"),
            (".GIT . .", ".git"),
            (".git::$INDEX_ALLOCATION", ".git"),
            (".Obsidian:$I30:$INDEX_ALLOCATION", ".obsidian"),
            ("git~1 .:x", ".git"),
            (".g\u{200C}it", ".git"),
            ("\u{FEFF}.GIT", ".git"),
            (".tra\u{206F}sh", ".trash"),
        ] {
            assert_eq!(alias_of(name), Some(guarded), "{name:?}");
        }
        for name in [
            ".git",
            ".GIT",
            ".obsidian",
            ".gitignore",
            ".github",
            ".atlas",
            "git",
            "git~",
            "git~x",
            "GIT~1.md",
            "git~0",
            "obsidian~1 notes.md",
            ".git.md",
            "a~1",
            "digit~1",
            "~",
            "...",
            "ab:c",
            "OBSIDIAN~1x",
            ".trashed",
        ] {
            assert_eq!(alias_of(name), None, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn no_spelling_of_a_closed_folder_is_a_path(
            guarded in prop::sample::select(GUARDED.to_vec()),
            number in 1u32..2000,
            upper in any::<u16>(),
            ignorable in prop::sample::select(vec!['\u{200C}', '\u{200E}', '\u{202B}', '\u{206B}', '\u{FEFF}']),
            at in 0usize..4,
            tail in prop::sample::select(vec![".", " ", ". .", ":x", "::$INDEX_ALLOCATION", ":$I30:$INDEX_ALLOCATION"]),
            folder in "(a/|b c/d/)?",
            below in "(/hooks/x|/a\\.md)?",
        ) {
            let cased = |name: &str| name.char_indices().map(|(at, c)| if upper >> (at % 16) & 1 == 1 { c.to_ascii_uppercase() } else { c }).collect::<String>();
            let mut hidden = guarded.to_owned();
            hidden.insert(at, ignorable);
            let number = number.to_string();
            let plain = guarded.trim_start_matches('.');
            let short = format!("{}~{number}", plain.get(..(7 - number.len()).min(plain.len())).unwrap());
            for name in [hidden, short, format!("{guarded}{tail}")] {
                let path = format!("{folder}{}{below}", cased(&name));
                let refused = VaultPath::parse(&path);
                prop_assert!(matches!(refused, Err(PathError::Alias { .. } | PathError::DriveLetter { .. })), "{:?} gave {:?}", path, refused);
            }
        }

        /// Names that no file system takes for another name are accepted.
        #[test]
        fn a_plain_note_is_no_other_name(name in "[a-zA-Z0-9_~ .:-]{0,12}") {
            prop_assert_eq!(alias_of(&format!("{name}.md")), None.or_else(|| name.contains(':').then(|| alias_of(&name)).flatten()));
        }
    }
}
