//! Proof that who redeems a code is who asked for it (RFC 7636), by S256 alone.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// The only method.
pub(crate) const METHOD: &str = "S256";
/// Bytes of a verifier (RFC 7636, section 4.1).
const VERIFIER: std::ops::RangeInclusive<usize> = 43..=128;
/// Bytes of a challenge: a SHA-256 in Base64.
const CHALLENGE: usize = 43;

/// Whether `challenge` can be one.
pub(crate) fn is_challenge(challenge: &str) -> bool {
    challenge.len() == CHALLENGE && URL_SAFE_NO_PAD.decode(challenge).is_ok_and(|bytes| bytes.len() == 32)
}

/// Whether `verifier` is what `challenge` was made of.
pub(crate) fn is_proven(challenge: &str, verifier: &str) -> bool {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let is_verifier = VERIFIER.contains(&verifier.len()) && verifier.bytes().all(is_unreserved);
    is_verifier && URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == challenge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_is_proven() {
        let (verifier, challenge) =
            ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(is_challenge(challenge) && is_proven(challenge, verifier));
        // Without a hash, as the method `plain` would have it.
        assert!(!is_proven(verifier, verifier));
        for other in ["", "short", &verifier.replace('d', "e"), &format!("{verifier} "), &"a".repeat(129)] {
            assert!(!is_proven(challenge, other), "{other}");
        }
        for other in ["", "a", &"=".repeat(43), &format!("{challenge}a")] {
            assert!(!is_challenge(other), "{other}");
        }
    }
}
