//! Masks the secrets in an unusable setting.

use std::borrow::Cow;

/// Replaces a secret.
const MASK: &str = "\u{2026}";
/// Marks of texts that contain a secret, in lower case: keys, and the parts of a private JWK.
const SIGNS: [&str; 6] = ["private key", "\"d\"", "\"k\"", "\"p\"", "secret", "password"];
/// Longest text that is shown: a longer one may be a key without its frame.
const MAX_SHOWN: usize = 256;
/// Names of parameters whose values are not shown.
const PARAMETERS: [&str; 6] = ["token", "key", "secret", "signature", "credential", "password"];

/// `text` without secrets: empty if it contains a key, else without the credentials in its addresses.
#[must_use]
pub fn masked(text: &str) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    let is_key = text.contains(['{', '\n']) || lower.contains("-----begin");
    // DER in Base64, such as a key, begins with this.
    let is_key_bare = text.len() > 48 && text.starts_with("MI");
    if text.len() > MAX_SHOWN || is_key_bare || is_key && SIGNS.iter().any(|sign| lower.contains(sign)) {
        return Cow::Borrowed(MASK);
    }
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for (index, part) in text.split("://").enumerate() {
        if index == 0 {
            shown.push_str(part);
            continue;
        }
        shown.push_str("://");
        let end =
            part.find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | ',' | '"')).unwrap_or(part.len());
        let (authority, rest) = part.split_at_checked(end).unwrap_or((part, ""));
        match authority.rsplit_once('@') {
            Some((_, host)) => {
                shown.push_str(MASK);
                shown.push('@');
                shown.push_str(host);
            }
            None => shown.push_str(authority),
        }
        push_rest(rest, &mut shown);
    }
    Cow::Owned(shown)
}

/// Appends the part of an address after the authority, without the values of secret parameters.
fn push_rest(rest: &str, shown: &mut String) {
    let Some((path, parameters)) = rest.split_once('?') else { return shown.push_str(rest) };
    // A password may contain characters that end an authority.
    shown.push_str(path);
    for (index, parameter) in parameters.split('&').enumerate() {
        shown.push(if index == 0 { '?' } else { '&' });
        match parameter.split_once('=') {
            Some((name, _)) if PARAMETERS.iter().any(|secret| name.to_ascii_lowercase().contains(secret)) => {
                shown.push_str(name);
                shown.push('=');
                shown.push_str(MASK);
            }
            _ => shown.push_str(parameter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_is_not_shown() {
        for (text, shown) in [
            ("info", "info"),
            ("s3://bucket/prefix", "s3://bucket/prefix"),
            ("https://user:pass@host/x", "https://\u{2026}@host/x"),
            ("https://user:p@ss@host", "https://\u{2026}@host"),
            ("https://host/x?a=b&X-Amz-Signature=abc", "https://host/x?a=b&X-Amz-Signature=\u{2026}"),
            ("https://a@b.example,https://c:d@e", "https://\u{2026}@b.example,https://\u{2026}@e"),
            (r#"{"keys":[{"kty":"RSA","n":"x","d":"y"}]}"#, "\u{2026}"),
            ("-----BEGIN EC PRIVATE KEY-----\nabc", "\u{2026}"),
            ("-----BEGIN PRIVATE KEY-----abc", "\u{2026}"),
        ] {
            assert_eq!(masked(text), shown, "{text}");
        }
    }
}
