//! Preconditions: the version of a note that a caller has seen, in the forms of HTTP (RFC 9110, section 13.1) and of
//! obsidian-tc's tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{Text, Versions};
use crate::error::{Code, Error, Reason};
use crate::read::notes::{self, Found};

/// The state that a note must have for a write.
#[derive(Clone)]
pub enum Condition<'a> {
    /// No condition was given: nothing may be lost.
    None,
    /// No note.
    Absent,
    /// Any version.
    Any,
    /// One of these versions.
    Versions(Vec<&'a str>),
    /// The condition of the mode; with a version, it applies where a note is replaced.
    Mode(Mode, Option<&'a str>),
}

/// How a note is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Create the file; fail if there is one at the path.
    #[default]
    Create,
    /// Replace the file that is there; fail if there is none.
    Overwrite,
    /// Create the file, or replace the one that is there.
    Upsert,
}

impl<'a> Condition<'a> {
    /// The condition in `if_match` and `if_none_match`.
    pub fn of(if_match: Option<&'a Versions>, if_none_match: Option<&'a Text<4096>>) -> Result<Self, Error> {
        match (if_match.map(Versions::as_str), if_none_match.map(Text::as_str)) {
            (Some(_), Some(_)) => {
                Err(Error::bad_request(Reason::ValidationError, "if_match, if_none_match: give one of them"))
            }
            (None, Some("*")) => Ok(Self::Absent),
            (None, Some(_)) => Err(Error::bad_request(
                Reason::ValidationError,
                "if_none_match: only * is taken, for a note that is not there",
            )),
            (None, None) => Ok(Self::None),
            (Some("*"), None) => Ok(Self::Any),
            (Some(versions), None) => Ok(Self::Versions(versions.split(',').map(str::trim).collect())),
        }
    }

    /// The condition in `if_match` for a note that must exist; any version if omitted.
    pub fn of_existing(if_match: Option<&'a Versions>) -> Result<Self, Error> {
        if if_match.is_some() { Self::of(if_match, None) } else { Ok(Self::Any) }
    }

    /// How a note is written under it.
    pub const fn mode(&self) -> Mode {
        match self {
            Self::None | Self::Absent => Mode::Create,
            Self::Any | Self::Versions(_) => Mode::Overwrite,
            Self::Mode(mode, _) => *mode,
        }
    }

    /// Whether a person must confirm that `found` is replaced: not if nothing can be lost.
    pub fn needs_confirmation(&self, found: Option<&Found>) -> bool {
        matches!(self, Self::Mode(Mode::Overwrite, _)) && found.is_some_and(|found| found.record.bytes > 0)
    }

    /// Fails unless `found`, which is at `path`, satisfies the condition. The error contains its version.
    pub fn check(&self, path: &str, found: Option<&Found>) -> Result<(), Error> {
        let sha256 = found.map(Found::sha256);
        let refused = |code, reason, message: String| {
            let error = Error::new(code, reason, message).with("path", path);
            Err(match &sha256 {
                Some(sha256) => error.with("sha256", sha256.as_str()),
                None => error,
            })
        };
        let exists = |code| refused(code, Reason::NoteExists, format!("there is a file at {path} already"));
        match (self, &sha256) {
            (Self::None | Self::Absent | Self::Mode(Mode::Create, _) | Self::Mode(Mode::Upsert, None), None)
            | (Self::Any | Self::Mode(Mode::Overwrite | Mode::Upsert, None), Some(_)) => Ok(()),
            (Self::Versions(versions), Some(sha256)) if versions.contains(&sha256.as_str()) => Ok(()),
            (Self::Mode(Mode::Overwrite | Mode::Upsert, Some(version)), Some(sha256)) if version == sha256 => Ok(()),
            (Self::None, Some(_)) => refused(
                Code::PreconditionRequired,
                Reason::NoteExists,
                format!("there is a note at {path}: read it, and say which version to replace (If-Match, if_match)"),
            ),
            (Self::Absent, Some(_)) => exists(Code::PreconditionFailed),
            (Self::Mode(Mode::Create, _), Some(_)) => exists(Code::Conflict),
            (Self::Mode(Mode::Overwrite, _), None) => Err(notes::missing(path)),
            (Self::Any | Self::Versions(_), None) => refused(
                Code::PreconditionFailed,
                Reason::NoteNotFound,
                format!("there is no note at {path} to replace"),
            ),
            (Self::Versions(_), Some(_)) => refused(Code::PreconditionFailed, Reason::NoteChanged, changed(path)),
            (Self::Mode(..), _) => refused(Code::PreconditionFailed, Reason::ConcurrentModification, changed(path)),
        }
    }
}

fn changed(path: &str) -> String {
    format!("{path} is another version by now: read it again, then decide")
}
