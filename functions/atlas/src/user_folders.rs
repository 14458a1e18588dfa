//! The user's folders: <https://specifications.freedesktop.org/basedir-spec/latest/>.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

/// The folder of all vaults' sync states.
///
/// # Errors
/// When the environment names no home folder.
pub(crate) fn states() -> Result<PathBuf, Box<dyn Error>> {
    let base = base("XDG_STATE_HOME", ".local/state");
    Ok(base.ok_or("there is no home folder: set HOME, or XDG_STATE_HOME")?.join("atlas-mirror"))
}

/// The folder in `variable`, or else the one at `usual` in the user's home.
pub(crate) fn base(variable: &str, usual: &str) -> Option<PathBuf> {
    let absolute = |name: &str| variable_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| Some(absolute("HOME")?.join(usual)))
}

/// A digest of these parts: 32 hexadecimal digits.
pub(crate) fn digest(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
        hasher.update([0]);
    }
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// An environment variable that is not empty.
pub(crate) fn variable_os(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
