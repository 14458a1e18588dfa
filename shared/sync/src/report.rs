//! Reports about single files.

use std::fmt;
use std::io;

use atlas_vault::PathError;
use serde::{Serialize, Serializer};

/// A file or folder that was skipped, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its path as the folder spells it, lossily if it is not text.
    pub path: String,
    /// Why.
    pub reason: Reason,
}

/// Why a file or folder was skipped. Reads after "it".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Its path cannot be a path of a vault.
    #[error("{0}")]
    Path(#[from] PathError),
    /// Its name is not Unicode.
    #[error("its name is not UTF-8; rename it")]
    NotUnicode,
    /// Another file's path differs only in Unicode normalisation.
    #[error("another file has the same name in another Unicode form; rename one of them")]
    SameName,
    /// A cloud has it, and took it from this disk.
    #[error("it is in iCloud and not on this disk, so it stays in the mirror as it is; download it to sync it")]
    Elsewhere,
    /// A file that the folder's rules exclude, and that the mirror has.
    #[error(
        "`.atlasignore` excludes it, so it is not synced; the mirror still has it as it was: `atlas purge` erases it there"
    )]
    Ignored,
    /// A file that the mirror has from before files of its name were left out.
    #[error(
        "files of this name hold keys or are a program's own, so it is not synced; the mirror still has it as it was: \
         `atlas purge` erases it there"
    )]
    LeftOut,
    /// A symbolic link to a folder.
    #[error("it is a symbolic link to a folder, and those are not followed")]
    LinkToFolder,
    /// A symbolic link that is not followed.
    #[error("it is a symbolic link that does not lead to a file of this vault")]
    LinkOutside,
    /// A symbolic link on a branch of a Git repository.
    #[error("it is a symbolic link, and those of a Git repository are not followed")]
    LinkInGit,
    /// A device, a pipe, a socket.
    #[error("it is neither a file nor a folder")]
    NotAFile,
    /// A folder that cannot be listed.
    #[error("the folder cannot be listed, so nothing below it was changed: {0}")]
    Unlistable(String),
    /// A hidden folder of source code.
    #[error("it is a hidden folder")]
    Hidden,
    /// A file of source code that is not text.
    #[error("it is not text, or has more than 1 MiB; it is found by its name only")]
    NotText,
    /// It could not be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// It vanished after it was listed.
    #[error("it vanished while it was being read")]
    Vanished,
    /// It exists, but was not listed.
    #[error(
        "it exists, but was missing in the folder's listing, so it was left unchanged; the next sync checks it again"
    )]
    Unlisted,
    /// It changed each time it was read.
    #[error("it kept changing while it was being read")]
    Unsteady,
    /// A configuration file that is too large.
    #[error("it is too large for a configuration file")]
    TooLarge,
    /// A configuration file with a secret.
    #[error(
        "it holds an API key or another secret, or is no JSON, so it is not mirrored: take the secret out, and sync again"
    )]
    Secret,
    /// Its place is taken, or cannot be written to.
    #[error("it cannot be written: {0}")]
    Unwritable(String),
    /// It changed during the sync.
    #[error("it was changed during the sync, which left it unchanged; the next one decides again")]
    Changed,
    /// The mirror got another version of it during the sync.
    #[error("it was changed in the mirror during the sync; the next one decides again")]
    Overtaken,
    /// A symbolic link that would be replaced.
    #[error("it is a symbolic link, and the mirror's version is not written through it")]
    Link,
    /// A file that a killed sync had moved aside, and that could not be put back.
    #[error("a sync was interrupted here; what it had moved aside is kept as {0}")]
    Recovered(String),
    /// A file that a program wrote into after a sync had replaced or removed it.
    #[error("a program wrote into it after a sync had replaced it; what it wrote is kept as {0}")]
    Late(String),
    /// A removed file that a program wrote into, and that is at its path again.
    #[error("a program wrote into it after a sync had removed it, so it came back with what was written")]
    Returned,
    /// A file that no sync brought, with a text that the mirror had and removed.
    #[error("the mirror had this text and removed it, so it was moved to the folder's .trash; move it back to keep it")]
    Outdated,
    /// It was not completely fetched from the store.
    #[error("it could not be fetched to its end ({0}); the next sync tries again")]
    Unfetched(String),
    /// Its content in the mirror is damaged.
    #[error("it is damaged in the mirror: restore it, or publish it again")]
    Damaged,
    /// A note that is stored as an attachment.
    #[error("it is too large for a note and was published as an attachment")]
    LargeNote,
}

impl Reason {
    /// The reason for an error of reading a listed file.
    pub(crate) fn unreadable(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Vanished,
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.escape_debug(), self.reason)
    }
}
