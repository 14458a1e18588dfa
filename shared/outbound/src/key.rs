//! The key that authenticates the deployment to a service.

use std::fmt;

use reqwest::header::HeaderValue;

/// Longest key, in bytes.
const MAX_KEY: usize = 4096;

/// A key that is sent as a bearer token. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(HeaderValue);

impl Key {
    /// The key `text`; none if it is empty, is too long or has a character that no header can have.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_key = !text.is_empty() && text.len() <= MAX_KEY && text.bytes().all(|byte| byte.is_ascii_graphic());
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).ok().filter(|_| is_key)?;
        value.set_sensitive(true);
        Some(Self(value))
    }

    /// The value of `Authorization`.
    pub(crate) const fn header(&self) -> &HeaderValue {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}
