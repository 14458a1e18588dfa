//! The keys of the mirror's objects: `<prefix>/vaults/<vault id>/…`.

use std::fmt;
use std::str::FromStr;

use object_store::path::Path;
use serde::{Deserialize, Serialize};

use crate::id::{Hash, Id, SegmentId};

/// Longest vault id, in bytes.
const MAX_VAULT_ID: usize = 64;

/// A vault's id: 1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or a digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VaultId(String);

/// Text that cannot be a vault's id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a vault id is 1 to 64 letters, digits, `.`, `-` or `_`, and begins with a letter or a digit")]
pub struct InvalidVaultId;

/// Text that cannot be an object's key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key:?} cannot be a key of the store: {reason}")]
pub struct InvalidKey {
    /// The text.
    pub key: String,
    /// The problem.
    pub reason: String,
}

/// The key of an attachment's bytes. One content can have several: each upload has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlobKey {
    /// SHA-256 of the bytes.
    pub sha256: Hash,
    /// Distinguishes this upload's key from others.
    pub nonce: Id,
}

impl BlobKey {
    /// The key of an upload that is bound to the hash `to`. Only those who know that hash can name the key, and it
    /// names no other object.
    pub fn bound(sha256: Hash, to: Hash) -> Self {
        Self { sha256, nonce: Id::derived(&[*to.as_bytes()]) }
    }
}

/// The keys of one vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// `<prefix>/vaults/<vault id>`, without a slash at the end.
    root: String,
}

impl Keys {
    /// The keys of `vault` below `prefix`, which is empty or a key without a slash at either end.
    ///
    /// # Errors
    /// When `prefix` cannot be part of a key.
    pub fn new(prefix: &str, vault: &VaultId) -> Result<Self, InvalidKey> {
        let root = if prefix.is_empty() { format!("vaults/{vault}") } else { format!("{prefix}/vaults/{vault}") };
        path_of(&root)?;
        Ok(Self { root })
    }

    /// The key of the manifest of `generation`. It has twenty digits, so that keys sort like numbers.
    pub fn manifest(&self, generation: u64) -> Path {
        self.at(format_args!("manifests/{generation:020}"))
    }

    /// The folder of manifests.
    pub fn manifests(&self) -> Path {
        self.at("manifests")
    }

    /// The generation whose manifest is at `key`, if it is one.
    pub fn generation(&self, key: &Path) -> Option<u64> {
        let digits = key_of(key).strip_prefix(&self.root)?.strip_prefix("/manifests/")?;
        let plain = digits.len() == 20 && digits.bytes().all(|digit| digit.is_ascii_digit());
        if plain { digits.parse().ok() } else { None }
    }

    /// The hint: a copy of the newest manifest, usually.
    pub fn latest(&self) -> Path {
        self.at("latest")
    }

    /// A segment, or a set of tombstones that is too large for the manifest.
    pub fn segment(&self, id: SegmentId) -> Path {
        self.at(format_args!("segments/{id}"))
    }

    /// The folder of segments.
    pub fn segments(&self) -> Path {
        self.at("segments")
    }

    /// The folder of attachments' bytes.
    pub fn blobs(&self) -> Path {
        self.at("blobs")
    }

    /// An attachment's bytes.
    pub fn blob(&self, key: &BlobKey) -> Path {
        self.at(format_args!("blobs/{key}"))
    }

    /// An embedding model's object.
    pub fn model(&self, id: &Hash) -> Path {
        self.at(format_args!("models/{id}"))
    }

    /// The description of an embedding model.
    pub fn model_description(&self, id: &Hash) -> Path {
        self.at(format_args!("models/{id}.json"))
    }

    /// The folder of embedding models.
    pub fn models(&self) -> Path {
        self.at("models")
    }

    /// State of the access layer: claims of idempotency keys, confirmation tokens.
    ///
    /// # Errors
    /// When `name` cannot be part of a key.
    pub fn state(&self, name: &str) -> Result<Path, InvalidKey> {
        path_of(&format!("{}/state/{name}", self.root))
    }

    /// `root` was checked when it was made, and callers append plain text only.
    fn at(&self, rest: impl fmt::Display) -> Path {
        let key = format!("{}/{rest}", self.root);
        path_of(&key).unwrap_or_default()
    }
}

/// The store's path for `key`, unchanged: nothing is encoded, so nothing is encoded twice. ([`Path::from`] would encode
/// `#`, `%`, `[` and others.)
///
/// # Errors
/// When `key` is empty, begins or ends with a slash, or has an empty, `.` or `..` segment or a control
/// character.
pub fn path_of(key: &str) -> Result<Path, InvalidKey> {
    let invalid = |reason: String| InvalidKey { key: key.to_owned(), reason };
    // `Path::parse` would silently drop these.
    if key.is_empty() || key.starts_with('/') || key.ends_with('/') {
        return Err(invalid("it is empty, or begins or ends with a slash".to_owned()));
    }
    Path::parse(key).map_err(|error| invalid(error.to_string()))
}

/// The key of `path`; the inverse of [`path_of`].
pub fn key_of(path: &Path) -> &str {
    path.as_ref()
}

impl VaultId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VaultId {
    type Err = InvalidVaultId;

    fn from_str(text: &str) -> Result<Self, InvalidVaultId> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for VaultId {
    type Error = InvalidVaultId;

    fn try_from(text: String) -> Result<Self, InvalidVaultId> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let begins_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if begins_well && text.len() <= MAX_VAULT_ID && text.bytes().all(plain) {
            Ok(Self(text))
        } else {
            Err(InvalidVaultId)
        }
    }
}

impl From<VaultId> for String {
    fn from(id: VaultId) -> Self {
        id.0
    }
}

impl fmt::Display for VaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for BlobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.sha256, self.nonce)
    }
}

impl FromStr for BlobKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let parts = text.split_once('-').and_then(|(sha256, nonce)| Some((sha256.parse().ok()?, nonce.parse().ok()?)));
        match parts {
            Some((sha256, nonce)) => Ok(Self { sha256, nonce }),
            None => Err(InvalidKey { key: text.to_owned(), reason: "it is not <sha256>-<nonce>".to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(prefix: &str) -> Keys {
        Keys::new(prefix, &"main".parse().unwrap()).unwrap()
    }

    #[test]
    fn keys_are_what_the_design_says() {
        let keys = keys("team a");
        assert_eq!(key_of(&keys.manifest(7)), "team a/vaults/main/manifests/00000000000000000007");
        assert_eq!(key_of(&keys.latest()), "team a/vaults/main/latest");
        assert_eq!(
            key_of(&keys.segment(Id::from_u128(10))),
            "team a/vaults/main/segments/0000000000000000000000000000000a"
        );
        assert_eq!(key_of(&keys.state("claims/x").unwrap()), "team a/vaults/main/state/claims/x");
        assert!(keys.state("../latest").is_err());
    }

    #[test]
    fn a_vault_id_is_plain() {
        for good in ["a", "Main", "0", "my-vault_2.old", &"x".repeat(64)] {
            assert_eq!(good.parse::<VaultId>().unwrap().as_str(), good);
        }
        for bad in ["", ".", "..", "-a", "_a", "a/b", "a b", "ä", "a\0", &"x".repeat(65)] {
            assert!(bad.parse::<VaultId>().is_err(), "{bad:?} passed");
        }
        assert!(serde_json::from_str::<VaultId>("\"../x\"").is_err());
    }

    #[test]
    fn a_prefix_that_is_no_key_is_refused() {
        for bad in ["/", "a/", "/a", "a//b", "..", "a/../b", "a\0"] {
            assert!(Keys::new(bad, &"main".parse().unwrap()).is_err(), "{bad:?} passed");
        }
    }

    proptest! {
        #[test]
        fn a_key_goes_to_a_path_and_back_as_it_is(key in "[a-c#%~\\[\\] é/.2F]{0,12}|\\PC{0,12}") {
            if let Ok(path) = path_of(&key) {
                prop_assert_eq!(key_of(&path), key.as_str());
            }
        }

        #[test]
        fn a_path_goes_to_a_key_and_back_as_it_is(parts in prop::collection::vec("\\PC{1,8}", 1..5)) {
            let path = Path::from_iter(parts);
            prop_assert_eq!(path_of(key_of(&path)), Ok(path));
        }

        #[test]
        fn a_generation_survives_its_key(generation: u64, prefix in "|[a-z#%]{1,5}(/[a-z]{1,3})?") {
            let keys = keys(&prefix);
            prop_assert_eq!(keys.generation(&keys.manifest(generation)), Some(generation));
            prop_assert_eq!(keys.generation(&keys.latest()), None);
        }

        #[test]
        fn manifest_keys_sort_as_generations_do(a: u64, b: u64) {
            let keys = keys("");
            prop_assert_eq!(keys.manifest(a).cmp(&keys.manifest(b)), a.cmp(&b));
        }

        #[test]
        fn a_blob_key_reads_back(sha256: [u8; 32], nonce: u128) {
            let key = BlobKey { sha256: Hash::from_bytes(sha256), nonce: Id::from_u128(nonce) };
            prop_assert_eq!(key.to_string().parse(), Ok(key));
        }
    }
}
