//! Paths of documents in a vault.

mod alias;

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use percent_encoding::percent_decode;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Longest path, in bytes.
pub const MAX_PATH_BYTES: usize = 1024;
/// Longest folder or file name, in bytes, that common file systems can store.
pub const MAX_SEGMENT_BYTES: usize = 255;

/// Longest text that is checked: the longest path, written in NFD.
const MAX_INPUT_BYTES: usize = 4 * MAX_PATH_BYTES;
/// Most characters of an invalid path that an error repeats.
const MAX_ECHO_CHARS: usize = 200;

/// A path relative to the vault's root: `/`-separated, in NFC, and never outside the root, even after repeated
/// percent-decoding. All other characters that a file name may contain are kept.
///
/// Ordered by bytes. Cloning shares the text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VaultPath(Arc<str>);

impl VaultPath {
    /// Checks `text` and normalises it to NFC.
    ///
    /// # Errors
    /// When the text is not a path inside a vault; each error says what to write instead.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let path = Self::parse_recorded(text)?;
        match path.0.split('/').find_map(alias::alias_of) {
            Some(folder) => Err(PathError::Alias { path: echo(&path.0), folder }),
            None => Ok(path),
        }
    }

    /// Like [`parse`](Self::parse), for paths that a mirror already contains. They may be older than the rule that
    /// refuses other names of closed folders; such a path is kept, but not shown to anybody.
    ///
    /// # Errors As [`parse`](Self::parse).
    pub fn parse_recorded(text: &str) -> Result<Self, PathError> {
        if text.len() > MAX_INPUT_BYTES {
            return Err(PathError::TooLong { path: echo(text), bytes: text.len() });
        }
        let path: Arc<str> =
            if text.is_ascii() || is_nfc(text) { text.into() } else { text.nfc().collect::<String>().into() };
        check(&path)?;
        check_decoded(&path)?;
        Ok(Self(path))
    }

    /// The path, whose text is shared with this one.
    #[must_use]
    pub fn shared(&self) -> Arc<str> {
        self.0.clone()
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last segment.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// The file name without its last extension. The stem of `..md` is `.`.
    #[must_use]
    pub fn stem(&self) -> &str {
        self.split_name().0
    }

    /// The text after the last dot of the file name, unless that dot begins the name.
    #[must_use]
    pub fn extension(&self) -> Option<&str> {
        self.split_name().1
    }

    /// The path of the folder, without a closing slash; `None` at the root.
    #[must_use]
    pub fn folder(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(folder, _)| folder)
    }

    /// Whether this is a note: its extension is `md` in any case.
    #[must_use]
    pub fn is_note(&self) -> bool {
        self.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
    }

    fn split_name(&self) -> (&str, Option<&str>) {
        let name = self.file_name();
        match name.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => (stem, Some(extension)),
            _ => (name, None),
        }
    }
}

/// Why a text is not a path inside a vault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "`path` is the refused text, escaped and cut; the messages say the rest")]
pub enum PathError {
    #[error("the path is empty; write one such as \"folder/note.md\"")]
    Empty,
    #[error("the path \"{path}\" has {bytes} bytes; at most {MAX_PATH_BYTES} are allowed")]
    TooLong { path: String, bytes: usize },
    #[error("a name in the path \"{path}\" has {bytes} bytes; at most {MAX_SEGMENT_BYTES} are allowed")]
    SegmentTooLong { path: String, bytes: usize },
    #[error("the path \"{path}\" contains the control character U+{:04X}; leave it out", u32::from(*.character))]
    ControlCharacter { path: String, character: char },
    #[error("the path \"{path}\" contains a backslash; separate folders with \"/\"")]
    Backslash { path: String },
    #[error("the path \"{path}\" begins with \"/\"; write it relative to the vault's root")]
    Absolute { path: String },
    #[error("the path \"{path}\" begins with a drive letter; write it relative to the vault's root")]
    DriveLetter { path: String },
    #[error("the path \"{path}\" ends in \"/\"; name a file, not a folder")]
    TrailingSlash { path: String },
    #[error("the path \"{path}\" contains \"//\"; write one \"/\" between folders")]
    EmptySegment { path: String },
    #[error("the path \"{path}\" contains a \".\" or \"..\" segment; write the path itself, from the vault's root")]
    DotSegment { path: String },
    #[error("the path \"{path}\" contains a name that some file systems take for \"{folder}\"; choose another name")]
    Alias { path: String, folder: &'static str },
    #[error(
        "the path \"{path}\" hides a way out of the vault behind percent-encoding; write the path plainly, from the vault's root"
    )]
    Encoded { path: String },
}

/// The start of an invalid path, escaped for one line of a message.
fn echo(path: &str) -> String {
    let mut chars = path.escape_debug();
    let mut shown: String = chars.by_ref().take(MAX_ECHO_CHARS).collect();
    if chars.next().is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

fn check(path: &str) -> Result<(), PathError> {
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(PathError::TooLong { path: echo(path), bytes: path.len() });
    }
    if let Some(character) = path.chars().find(|c| c.is_control()) {
        return Err(PathError::ControlCharacter { path: echo(path), character });
    }
    if path.contains('\\') {
        return Err(PathError::Backslash { path: echo(path) });
    }
    if path.starts_with('/') {
        return Err(PathError::Absolute { path: echo(path) });
    }
    if path.ends_with('/') {
        return Err(PathError::TrailingSlash { path: echo(path) });
    }
    if has_drive_letter(path.as_bytes()) {
        return Err(PathError::DriveLetter { path: echo(path) });
    }
    for segment in path.split('/') {
        match segment {
            "" => return Err(PathError::EmptySegment { path: echo(path) }),
            // Windows ignores spaces at the end of a name.
            _ if matches!(segment.trim_end_matches(' '), "." | "..") => {
                return Err(PathError::DotSegment { path: echo(path) });
            }
            _ if segment.len() > MAX_SEGMENT_BYTES => {
                return Err(PathError::SegmentTooLong { path: echo(path), bytes: segment.len() });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses a path that becomes dangerous after any number of percent-decodings. Each round that changes the path makes it shorter, so the
/// loop ends.
fn check_decoded(path: &str) -> Result<(), PathError> {
    if !path.contains('%') {
        return Ok(());
    }
    let mut bytes = path.as_bytes().to_vec();
    loop {
        let decoded: Vec<u8> = percent_decode(&bytes).collect();
        if decoded.len() == bytes.len() {
            return Ok(());
        }
        let escapes = decoded.starts_with(b"/")
            || decoded.iter().any(|byte| matches!(byte, b'\\' | b'\0'))
            || has_drive_letter(&decoded)
            || decoded.split(|byte| *byte == b'/').any(|segment| matches!(segment, b"." | b".."));
        if escapes {
            return Err(PathError::Encoded { path: echo(path) });
        }
        bytes = decoded;
    }
}

fn has_drive_letter(path: &[u8]) -> bool {
    matches!(path, [letter, b':', ..] if letter.is_ascii_alphabetic())
}

impl fmt::Display for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VaultPath({:?})", &*self.0)
    }
}

impl AsRef<str> for VaultPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for VaultPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for VaultPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

impl Serialize for VaultPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for VaultPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl de::Visitor<'_> for Text {
            type Value = VaultPath;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path relative to the vault's root")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<VaultPath, E> {
                VaultPath::parse(text).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests;
