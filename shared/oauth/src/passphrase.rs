//! The person's passphrase, which is known by its hash (argon2id).

use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash};
use argon2::{Algorithm, Argon2, Params, Version};
use atlas_mirror::Id;

/// Memory in KiB, and passes: what OWASP advises for argon2id.
const MEMORY: u32 = 19_456;
const PASSES: u32 = 2;
/// Fewest characters of a passphrase, and most bytes.
pub const MIN_PASSPHRASE: usize = 12;
/// Most bytes of a passphrase.
pub const MAX_PASSPHRASE: usize = 512;
/// The hash of no passphrase, which takes as long to compare with as the person's.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$YXRsYXMgbm9ib2R5IGhlcmU$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The hash of a passphrase, as a PHC string.
///
/// # Errors
/// When it is too short or too long, or there is no randomness.
pub fn hash_passphrase(passphrase: &str) -> Result<String, String> {
    let is_long = passphrase.chars().count() >= MIN_PASSPHRASE && passphrase.len() <= MAX_PASSPHRASE;
    if !is_long {
        return Err(format!(
            "a passphrase has at least {MIN_PASSPHRASE} characters, and at most {MAX_PASSPHRASE} bytes"
        ));
    }
    let salt = Id::random().map_err(|error| error.to_string())?.to_string();
    let params = Params::new(MEMORY, PASSES, 1, None).map_err(|error| error.to_string())?;
    let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hash: PasswordHash =
        hasher.hash_password_with_salt(passphrase.as_bytes(), salt.as_bytes()).map_err(|error| error.to_string())?;
    Ok(hash.to_string())
}

/// Whether a passphrase, the second, is the one with the hash, the first.
pub type Check = fn(&str, &str) -> bool;

/// The [`Check`] by argon2. It takes the same time for every passphrase.
pub(crate) fn is_passphrase(hash: &str, passphrase: &str) -> bool {
    Argon2::default().verify_password(passphrase.as_bytes(), hash).is_ok()
}

/// Whether `passphrase` is the person's. There is one comparison, also where the person has none and where it cannot be one.
pub(crate) fn is_theirs(hash: Option<&str>, passphrase: &str, check: Check) -> bool {
    let passphrase = if passphrase.len() > MAX_PASSPHRASE { "" } else { passphrase };
    check(hash.unwrap_or(NOBODYS), passphrase) && hash.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_known_by_its_hash() {
        let hash = hash_passphrase("correct horse battery").unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(is_passphrase(&hash, "correct horse battery"));
        for other in ["", "correct horse", "Correct horse battery"] {
            assert!(!is_passphrase(&hash, other), "{other}");
        }
        assert!(hash_passphrase("too short").is_err() && hash_passphrase(&"x".repeat(600)).is_err());
    }
}
