//! Conflict copies: files that keep another version of a file beside it, and what becomes of both when a person decides.

/// The mark in the name of a conflict copy, before the time and the author.
pub const MARK: &str = " (conflict ";

/// Most numbered names that are tried beside a name that is taken.
const MOST_NAMES: u32 = 1000;

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

#[cfg(test)]
mod tests {
    use super::*;

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
