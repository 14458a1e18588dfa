//! Conflict copies: files that keep another version of a file beside it, and what becomes of both when a person decides.

use jiff::Zoned;
use unicode_normalization::UnicodeNormalization;

use crate::path::MAX_PATH_BYTES;

/// The mark in the name of a conflict copy, before the time and the author.
pub const MARK: &str = " (conflict ";

/// Most numbered names that are tried beside a name that is taken.
const MOST_NAMES: u32 = 1000;

/// Most files that a copy with a shortened name may be of.
const MOST_FITTING: usize = 20;

/// Longest name of a file, in bytes, on nearly all file systems.
const MAX_NAME: usize = 255;
/// Longest extension, in bytes; a longer one counts as part of the name.
const MAX_EXTENSION: usize = 32;
/// The end of a shortened name, before the mark.
const CUT: &str = "…";
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
    let (stem, extension) = split(name);
    let number = if attempt > 1 { format!(" {attempt}") } else { String::new() };
    let mark = format!("{MARK}{} {}{number})", time.strftime("%Y-%m-%d %H.%M"), sanitised(author));
    let room = longest_name(folder).saturating_sub(mark.len() + extension.len());
    let cut = if stem.len() <= room || room < CUT.len() { "" } else { CUT };
    let stem = stem.get(..floor(stem, room - cut.len())).unwrap_or_default();
    let name = format!("{stem}{cut}{mark}{extension}");
    folder.map_or_else(|| name.clone(), |folder| format!("{folder}/{name}"))
}

/// The name of a file, and its extension with the dot. A name whose only dot is its first character has no extension.
fn split(name: &str) -> (&str, &str) {
    let dot = name.rfind('.').filter(|dot| *dot > 0 && name.len() - dot - 1 <= MAX_EXTENSION);
    name.split_at(dot.unwrap_or(name.len()))
}

/// Longest name of a file in `folder`, in bytes.
fn longest_name(folder: Option<&str>) -> usize {
    folder.map_or(MAX_NAME, |folder| MAX_NAME.min(MAX_PATH_BYTES.saturating_sub(folder.len() + 1)))
}

/// The file that a copy is of, as far as the copy's name tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Original {
    /// The file at this path.
    At(String),
    /// A file whose name may have been too long for the copy's.
    Shortened(Shortened),
}

/// The path of a copy in which the original's name may be shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortened {
    /// The folder with its slash, and the beginning of the name.
    begin: String,
    /// The end of the beginning, if the name was not shortened.
    cut: &'static str,
    extension: String,
    /// The bytes that the copy's name has besides.
    mark: usize,
}

impl Original {
    /// The path of the file, given paths in the vault, of which those that begin with [`Shortened::begin`] are enough.
    ///
    /// # Errors
    /// The files that it may be, if it is not exactly one.
    pub fn among<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Result<String, Vec<String>> {
        let shortened = match self {
            Self::At(path) => return Ok(path.clone()),
            Self::Shortened(shortened) => shortened,
        };
        let mut fitting: Vec<String> =
            paths.into_iter().filter(|path| shortened.fits(path)).take(MOST_FITTING).map(str::to_owned).collect();
        match fitting.pop() {
            Some(only) if fitting.is_empty() => Ok(only),
            last => {
                fitting.extend(last);
                Err(fitting)
            }
        }
    }
}

impl Shortened {
    /// The beginning of the path of each file that it may be.
    #[must_use]
    pub fn begin(&self) -> &str {
        &self.begin
    }

    /// The path without the mark.
    #[must_use]
    pub fn as_written(&self) -> String {
        format!("{}{}{}", self.begin, self.cut, self.extension)
    }

    /// Whether the copy can be of the file at `path`.
    fn fits(&self, path: &str) -> bool {
        let begin = self.begin.rfind('/').map_or(0, |slash| slash + 1);
        let Some(name) = path.get(begin..).filter(|name| path.starts_with(&self.begin) && !name.contains('/')) else {
            return false;
        };
        let (stem, extension) = split(name);
        // A folder may have spelled it with more bytes.
        let bytes = stem.len().max(stem.nfd().map(char::len_utf8).sum()) + self.mark + extension.len();
        let folder = path.get(..begin.saturating_sub(1)).filter(|folder| !folder.is_empty());
        let is_whole = path.len() == self.as_written().len() && path == self.as_written();
        extension == self.extension && !is_copy(path) && (is_whole || bytes > longest_name(folder))
    }
}

/// Whether `path` is the name of a conflict copy.
#[must_use]
pub fn is_copy(path: &str) -> bool {
    original_of(path).is_some()
}

/// The original of the copy at `path`; [`None`] if it is not a copy's name.
#[must_use]
pub fn original_of(path: &str) -> Option<Original> {
    // 2026-11-21 14.03
    const TIME: &[u8] = b"0000-00-00 00.00 ";
    let (before, rest) = path.rsplit_once(MARK)?;
    let is_like = |(byte, like): (u8, &u8)| if *like == b'0' { byte.is_ascii_digit() } else { byte == *like };
    let is_marked = rest.len() > TIME.len() && !rest.contains('/') && rest.bytes().zip(TIME).all(is_like);
    let extension = rest.rsplit_once(')').map_or("", |(_, extension)| extension);
    if !is_marked {
        return None;
    }
    let folder = before.rsplit_once('/').map(|(folder, _)| folder);
    let begin = folder.map_or(0, |folder| folder.len() + 1);
    let bytes = path.len() - begin;
    let in_folder: usize = path.get(begin..).unwrap_or_default().nfd().map(char::len_utf8).sum();
    let whole = before.strip_suffix(CUT);
    // A cut leaves at most three bytes of a character unused. An earlier version cut without a sign.
    let bytes = if whole.is_some() { bytes.max(in_folder) } else { bytes };
    if bytes + 3 < longest_name(folder) {
        return Some(Original::At(format!("{before}{extension}")));
    }
    Some(Original::Shortened(Shortened {
        begin: whole.unwrap_or(before).to_owned(),
        cut: if whole.is_some() { CUT } else { "" },
        extension: extension.to_owned(),
        mark: path.len() - before.len() - extension.len(),
    }))
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

    /// What was done, for a person; `had_mine` tells whether there was a file beside the copy.
    #[must_use]
    pub const fn told(self, had_mine: bool) -> &'static str {
        match self {
            Self::Mine if had_mine => "kept yours; the other version is in the trash",
            Self::Mine => "the other version is in the trash; there was none of yours",
            Self::Theirs if had_mine => "kept the other version; yours is in the trash",
            Self::Both if had_mine => "kept both; the other version has a name of its own",
            Self::Theirs | Self::Both => "kept the other version; there was none of yours",
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
            prop_assert!(is_copy(&copy) && !is_copy(&path), "{copy}");
            let found = original_of(&copy).unwrap().among(["a/other.md", &copy, &path]);
            prop_assert_eq!(found, Ok(path.clone()));
            prop_assert_ne!(copy, path);
        }
    }

    #[test]
    fn a_copy_s_name_says_of_which_file_it_is_and_whose() {
        let copy = "a/b/note (conflict 2026-11-21 14.03 research-agent 2).md";
        assert_eq!(original_of(copy), Some(Original::At("a/b/note.md".to_owned())));
        assert_eq!(author_of(copy), Some("research-agent 2"));
        for path in ["note.md", "note (conflict).md", "a (conflict 2026-11-21 14.03 x)/note.md", "n (conflict ever).md"]
        {
            assert_eq!(original_of(path), None, "{path}");
        }
    }

    #[test]
    fn the_original_of_a_shortened_name_is_the_one_file_that_fits() {
        let one = format!("a/{}.md", "潮".repeat(83));
        let other = format!("a/{}汐.md", "潮".repeat(82));
        let copy = copy(&one, "x", 1);
        assert!(copy.contains("潮… (conflict ") && copy.len() <= "a/".len() + MAX_NAME, "{copy}");
        let earlier = copy.replace("… (", "潮 (");
        for copy in [copy.as_str(), &earlier] {
            let original = original_of(copy).unwrap();
            // Notes with the shortened name, and others that would have fitted.
            let cut = match &original {
                Original::Shortened(shortened) => format!("{}.md", shortened.begin()),
                Original::At(path) => panic!("{path}"),
            };
            let others = ["a/潮.md", "a/b.md", copy, "b/c.md"];
            let among = |more: &[&str]| original.among(others.iter().chain(more).copied());
            assert_eq!(among(&[&one]), Ok(one.clone()));
            assert_eq!(among(&[&one, &one.replace(".md", ".txt"), &one.replace("a/", "a/b/")]), Ok(one.clone()));
            assert_eq!(among(&[]), Err(vec![]));
            assert_eq!(among(&[&one, &other]), Err(vec![one.clone(), other.clone()]));
            // Without the sign the name may be a whole one.
            let with_cut = among(&[&cut, &one]);
            assert_eq!(with_cut, if copy == earlier { Err(vec![cut, one.clone()]) } else { Ok(one.clone()) });
        }
        // A short name may end so.
        assert_eq!(original_of("Wait… (conflict 2026-11-21 14.03 x).md"), Some(Original::At("Wait….md".to_owned())));
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
