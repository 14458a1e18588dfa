//! Seals: what shows that a text was written by somebody who knows a secret, for a purpose and a place (HMAC-SHA-256).

use ring::hmac;

use crate::keys::Secret;

/// The seal of `text` in the place that `parts` name, in hexadecimal digits.
#[must_use]
pub fn seal(secret: &Secret, parts: &[&str], text: &str) -> String {
    let tag = hmac::sign(&key(secret), &message(parts, text));
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether `seal` is that of `text` in this place. It takes the same time wherever the two differ.
#[must_use]
pub fn is_sealed(secret: &Secret, parts: &[&str], text: &str, seal: &str) -> bool {
    let digits = seal.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let is_plain = digits.len() == 64 && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let bytes: Option<Vec<u8>> = is_plain.then(|| digits.chunks(2).map(byte).collect()).flatten();
    bytes.is_some_and(|bytes| hmac::verify(&key(secret), &message(parts, text), &bytes).is_ok())
}

fn key(secret: &Secret) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.expose())
}

/// Each part with its length before it, so that no two places have one message.
fn message(parts: &[&str], text: &str) -> Vec<u8> {
    let mut message = Vec::new();
    for part in parts.iter().chain([&text]) {
        message.extend_from_slice(&(part.len() as u64).to_le_bytes());
        message.extend_from_slice(part.as_bytes());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(letter: &str) -> Secret {
        Secret::new(letter.repeat(32)).unwrap()
    }

    #[test]
    fn a_seal_is_good_for_one_text_in_one_place_with_one_secret() {
        let made = seal(&secret("a"), &["request", "main"], "text");
        assert!(made.len() == 64 && is_sealed(&secret("a"), &["request", "main"], "text", &made));
        for (other, parts, text) in [
            ("b", vec!["request", "main"], "text"),
            ("a", vec!["answer", "main"], "text"),
            ("a", vec!["request", "mai"], "ntext"),
            ("a", vec!["request"], "maintext"),
            ("a", vec!["request", "main"], "text "),
        ] {
            assert!(!is_sealed(&secret(other), &parts, text, &made), "{other} {parts:?} {text:?}");
        }
        for bad in [
            "",
            "00",
            &made.to_uppercase(),
            &made.replacen('0', "+", 1).replacen('1', "+", 1).replacen('a', "A", 1),
            &"zz".repeat(32),
            &"ä".repeat(32),
            &made.replace(&made[..2], ""),
        ] {
            assert!(!is_sealed(&secret("a"), &["request", "main"], "text", bad), "{bad:?}");
        }
    }
}
