//! Names of conflict copies, which keep the mirror's version of a file beside the folder's.

use std::sync::Arc;

use atlas_mirror::{Mirror, MirrorError, Snapshot};
use atlas_vault::conflict::{MARK, original_of};
use atlas_vault::path::MAX_PATH_BYTES;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Longest name of a file, in bytes, on nearly all file systems.
const MAX_NAME: usize = 255;
/// Longest extension, in bytes; a longer one counts as part of the name.
const MAX_EXTENSION: usize = 32;
/// Longest author's name in a copy's name, in characters.
const MAX_AUTHOR: usize = 32;

/// The path of the copy of `path` (as the folder spells it) that keeps what `author` wrote at `time`:
/// `a/note (conflict 2026-11-21 14.03 agent).md`. The name depends on nothing else, so that an interrupted sync makes no second copy. If another
/// file has the name, the next `attempt` adds a number.
pub(crate) fn copy_path(path: &str, author: &str, time: &Zoned, attempt: u32) -> String {
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (Some(folder), name),
        None => (None, path),
    };
    // A name whose only dot is its first character has no extension.
    let is_extension = |(stem, extension): &(&str, &str)| !stem.is_empty() && extension.len() <= MAX_EXTENSION;
    let (stem, extension) = match name.rsplit_once('.').filter(is_extension) {
        Some((stem, extension)) => (stem, Some(extension)),
        None => (name, None),
    };
    let number = if attempt > 1 { format!(" {attempt}") } else { String::new() };
    let mark = format!("{MARK}{} {}{number})", time.strftime("%Y-%m-%d %H.%M"), sanitised(author));
    let extension = extension.map(|extension| format!(".{extension}")).unwrap_or_default();
    let most = folder.map_or(MAX_NAME, |folder| MAX_NAME.min(MAX_PATH_BYTES.saturating_sub(folder.len() + 1)));
    let room = most.saturating_sub(mark.len() + extension.len());
    let stem = stem.get(..floor(stem, room)).unwrap_or_default();
    let name = format!("{stem}{mark}{extension}");
    folder.map_or_else(|| name.clone(), |folder| format!("{folder}/{name}"))
}

/// Whether `path` is the name of a conflict copy.
pub(crate) fn is_copy(path: &str) -> bool {
    original_of(path).is_some()
}

/// An author's name without characters that are invalid in a file name on any system, or in a link.
fn sanitised(author: &str) -> String {
    let plain =
        |character: char| if character.is_alphanumeric() || "-_.@".contains(character) { character } else { '-' };
    let name: String = author.chars().map(plain).take(MAX_AUTHOR).collect();
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { "agent".to_owned() } else { name.to_owned() }
}

/// The end of the last character of `text` that ends within `limit` bytes.
fn floor(text: &str, limit: usize) -> usize {
    (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The author and time of a generation; of `snapshot`, if the generation was collected.
pub(crate) async fn writer(
    mirror: &Mirror,
    snapshot: &Arc<Snapshot>,
    generation: u64,
) -> Result<(String, Timestamp), MirrorError> {
    let writer = mirror.at(generation).await?;
    let manifest = writer.as_ref().unwrap_or(snapshot).manifest();
    Ok((manifest.author.clone(), manifest.time))
}

/// The time in the name of a renamed file; every host computes the same.
pub(crate) fn everywhere(time: Timestamp) -> Zoned {
    time.to_zoned(TimeZone::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    fn copy(path: &str, author: &str, attempt: u32) -> String {
        let time: Timestamp = "2026-11-21T14:03:59Z".parse().unwrap();
        copy_path(path, author, &time.to_zoned(TimeZone::UTC), attempt)
    }

    #[test]
    fn a_copy_says_when_and_whose() {
        assert_eq!(copy("a/b/note.md", "research-agent", 1), "a/b/note (conflict 2026-11-21 14.03 research-agent).md");
        assert_eq!(copy("note.md", "x", 2), "note (conflict 2026-11-21 14.03 x 2).md");
        assert_eq!(copy("a.b/c", "x", 1), "a.b/c (conflict 2026-11-21 14.03 x)");
        assert_eq!(copy(".hidden", "x", 1), ".hidden (conflict 2026-11-21 14.03 x)");
        assert_eq!(copy("a.tar.gz", "", 1), "a.tar (conflict 2026-11-21 14.03 agent).gz");
    }

    #[test]
    fn an_author_s_name_leads_nowhere() {
        for (author, name) in
            [("../../etc", "etc"), ("a/b\\c", "a-b-c"), ("..", "agent"), ("[[x|y]]#", "x-y"), ("Åsa 日本", "Åsa-日本")]
        {
            assert_eq!(copy("n.md", author, 1), format!("n (conflict 2026-11-21 14.03 {name}).md"));
        }
    }

    #[test]
    fn what_is_long_after_a_dot_is_shortened_with_the_name() {
        let copy = copy(&format!("Dr. {}", "n".repeat(240)), "x", 1);
        assert!(
            copy.starts_with("Dr. nn") && copy.ends_with(" (conflict 2026-11-21 14.03 x)") && copy.len() == MAX_NAME
        );
    }

    proptest! {
        #[test]
        fn a_copy_s_name_fits_and_is_another_of_the_same_folder(stem in "\\PC{1,200}", author in "\\PC{0,300}", attempt in 1..100u32) {
            let path = format!("a/{}.md", stem.replace(['/', '.'], "_"));
            let copy = copy(&path, &author, attempt);
            let name = copy.strip_prefix("a/").unwrap();
            prop_assert!(name.len() <= MAX_NAME && !name.contains('/') && name.ends_with(".md"));
            prop_assert!(is_copy(&copy) && !is_copy(&path), "{copy}");
            if path.len() + 80 + author.len() < MAX_NAME {
                prop_assert_eq!(original_of(&copy), Some(path.clone()));
            }
            prop_assert_ne!(copy, path);
        }
    }
}
