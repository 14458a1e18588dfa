//! Conflict copies: files that keep another version of a file beside it, and what becomes of both when a person decides.

use jiff::Zoned;

use crate::path::MAX_PATH_BYTES;

/// The mark in the name of a conflict copy, before the time and the author.
pub const MARK: &str = " (conflict ";

/// Most numbered names that are tried beside a name that is taken.
const MOST_NAMES: u32 = 1000;

/// Longest name of a file, in bytes, on nearly all file systems.
const MAX_NAME: usize = 255;
/// Longest extension, in bytes; a longer one counts as part of the name.
const MAX_EXTENSION: usize = 32;
/// Longest author's name in a copy's name, in characters.
const MAX_AUTHOR: usize = 32;

/// The path of the copy of `path` (as the folder spells it) that keeps what `author` wrote at `time`:
/// `a/note (conflict 2026-11-21 14.03 agent).md`. The name depends on nothing else, so that an interrupted sync makes no second copy. If another
/// file has the name, the next `attempt` adds a number.
#[must_use]
pub fn copy_path(path: &str, author: &str, time: &Zoned, attempt: u32) -> String {
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

/// The original's path of the copy at `path`. [`None`] if it is not a copy's name, or the original's name was
/// shortened.
#[must_use]
pub fn original_of(path: &str) -> Option<String> {
    // 2026-11-21 14.03
    const TIME: &[u8] = b"0000-00-00 00.00 ";
    let (before, rest) = path.rsplit_once(MARK)?;
    let is_like = |(byte, like): (u8, &u8)| if *like == b'0' { byte.is_ascii_digit() } else { byte == *like };
    let is_marked = rest.len() > TIME.len() && !rest.contains('/') && rest.bytes().zip(TIME).all(is_like);
    let extension = rest.rsplit_once(')').map_or("", |(_, extension)| extension);
    is_marked.then(|| format!("{before}{extension}"))
}

/// The author in the name of the copy at `path`.
#[must_use]
pub fn author_of(path: &str) -> Option<&str> {
    let (_, rest) = path.rsplit_once(MARK)?;
    let (inside, _) = rest.rsplit_once(')')?;
    inside.splitn(3, ' ').nth(2)
}

/// What a person keeps of a file and its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The file; the copy goes into the trash.
    Mine,
    /// The copy, which replaces the file; the file goes into the trash.
    Theirs,
    /// Both; the copy gets a name of its own.
    Both,
}

/// A file or its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The file.
    Original,
    /// Its copy.
    Copy,
}

/// Where a version goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file's path, or the next free name beside it.
    Original,
    /// The trash's path of the file.
    Trash,
}

impl Keep {
    /// What moves, in order. The file may be missing; then its move is left out.
    #[must_use]
    pub const fn moves(self) -> &'static [(Version, Place)] {
        match self {
            Self::Mine => &[(Version::Copy, Place::Trash)],
            Self::Theirs => &[(Version::Original, Place::Trash), (Version::Copy, Place::Original)],
            Self::Both => &[(Version::Copy, Place::Original)],
        }
    }

    /// What was done, for a person.
    #[must_use]
    pub const fn told(self) -> &'static str {
        match self {
            Self::Mine => "kept yours; the other version is in the trash",
            Self::Theirs => "kept the other version; yours is in the trash",
            Self::Both => "kept both; the other version has a name of its own",
        }
    }
}

/// `path`, and numbered names beside it, for a file that must not replace another.
pub fn free_names(path: &str) -> impl Iterator<Item = String> + '_ {
    let begin = path.rfind('/').map_or(0, |at| at + 1);
    // A name whose only dot is its first character has no extension.
    let dot = path.get(begin..).and_then(|name| name.rfind('.')).filter(|at| *at > 0).map(|at| begin + at);
    let (stem, extension) = path.split_at(dot.unwrap_or(path.len()));
    let name = move |number: u32| if number == 1 { path.to_owned() } else { format!("{stem} {number}{extension}") };
    (1..=MOST_NAMES).map(name)
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
            prop_assert!(original_of(&copy).is_some() && original_of(&path).is_none(), "{copy}");
            if path.len() + 80 + author.len() < MAX_NAME {
                prop_assert_eq!(original_of(&copy), Some(path.clone()));
            }
            prop_assert_ne!(copy, path);
        }
    }

    #[test]
    fn a_copy_s_name_says_of_which_file_it_is_and_whose() {
        let copy = "a/b/note (conflict 2026-11-21 14.03 research-agent 2).md";
        assert_eq!(original_of(copy).as_deref(), Some("a/b/note.md"));
        assert_eq!(author_of(copy), Some("research-agent 2"));
        for path in ["note.md", "note (conflict).md", "a (conflict 2026-11-21 14.03 x)/note.md", "n (conflict ever).md"]
        {
            assert_eq!(original_of(path), None, "{path}");
        }
    }

    #[test]
    fn names_beside_a_taken_one_are_numbered() {
        let names = |path: &str| free_names(path).take(3).collect::<Vec<_>>();
        assert_eq!(names("a.b/note.md"), ["a.b/note.md", "a.b/note 2.md", "a.b/note 3.md"]);
        assert_eq!(names("a.b/.env"), ["a.b/.env", "a.b/.env 2", "a.b/.env 3"]);
        assert_eq!(free_names("n").count(), MOST_NAMES as usize);
    }

    #[test]
    fn the_version_that_is_not_kept_goes_into_the_trash() {
        for (keep, thrown) in
            [(Keep::Mine, Some(Version::Copy)), (Keep::Theirs, Some(Version::Original)), (Keep::Both, None)]
        {
            let trashed = keep.moves().iter().find(|(_, place)| *place == Place::Trash);
            assert_eq!(trashed.map(|(version, _)| *version), thrown);
        }
    }
}
