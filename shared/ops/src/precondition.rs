//! Preconditions: which version of a note a caller has seen (RFC 9110, section 13.1, without HTTP).

use crate::arguments::Text;
use crate::error::{Code, Error};
use crate::notes::Found;

/// What must be there for a note to be written.
pub(crate) enum Condition<'a> {
    /// Nothing was said: nothing may be lost.
    None,
    /// No note.
    Absent,
    /// Any version.
    Any,
    /// One of these.
    Versions(Vec<&'a str>),
}

impl<'a> Condition<'a> {
    /// What `if_match` and `if_none_match` say.
    pub(crate) fn of(if_match: Option<&'a Text<4096>>, if_none_match: Option<&'a Text<4096>>) -> Result<Self, Error> {
        match (if_match.map(Text::as_str), if_none_match.map(Text::as_str)) {
            (Some(_), Some(_)) => {
                Err(Error::bad_request("validation_error", "if_match, if_none_match: give one of them"))
            }
            (None, Some("*")) => Ok(Self::Absent),
            (None, Some(_)) => Err(Error::bad_request(
                "validation_error",
                "if_none_match: only * is taken, for a note that is not there",
            )),
            (None, None) => Ok(Self::None),
            (Some("*"), None) => Ok(Self::Any),
            (Some(versions), None) => Ok(Self::Versions(versions.split(',').map(str::trim).collect())),
        }
    }

    /// What `if_match` says of a note that must be there; any version will do if it says nothing.
    pub(crate) fn of_existing(if_match: Option<&'a Text<4096>>) -> Result<Self, Error> {
        if if_match.is_some() { Self::of(if_match, None) } else { Ok(Self::Any) }
    }

    /// Fails unless `found`, which is at `path`, is what must be there. The error names the version that is.
    pub(crate) fn check(&self, path: &str, found: Option<&Found>) -> Result<(), Error> {
        let sha256 = found.map(Found::sha256);
        let refused = |code, reason, message: String| {
            let error = Error::new(code, reason, message).with("path", path);
            Err(match &sha256 {
                Some(sha256) => error.with("sha256", sha256.as_str()),
                None => error,
            })
        };
        match (self, &sha256) {
            (Self::None | Self::Absent, None) | (Self::Any, Some(_)) => Ok(()),
            (Self::Versions(versions), Some(sha256)) if versions.contains(&sha256.as_str()) => Ok(()),
            (Self::None, Some(_)) => refused(
                Code::PreconditionRequired,
                "precondition_required",
                format!("there is a note at {path}: read it, and say which version to replace (If-Match, if_match)"),
            ),
            (Self::Absent, Some(_)) => {
                refused(Code::PreconditionFailed, "note_exists", format!("there is a note at {path} already"))
            }
            (Self::Any | Self::Versions(_), None) => {
                refused(Code::PreconditionFailed, "note_not_found", format!("there is no note at {path} to replace"))
            }
            (Self::Versions(_), Some(_)) => refused(
                Code::PreconditionFailed,
                "note_changed",
                format!("{path} is another version by now: read it again, then decide"),
            ),
        }
    }
}
