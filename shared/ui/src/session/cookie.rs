//! The cookie of a session.
//!
//! Over HTTPS its name begins with `__Host-`: only this very host can set it. Browsers take such a cookie for no plain address, so on loopback it has another
//! name, with the port, since all ports of a host share their cookies.

use atlas_mirror::Id;
use atlas_web::hosts::is_own_machine;
use axum::http::header::{COOKIE, HOST};
use axum::http::{HeaderMap, HeaderValue};

use super::MAX_TOKEN;

/// Most cookies of that name that are looked at.
const MAX_COOKIES: usize = 4;
const SECURE_NAME: &str = "__Host-atlas-page";
/// The cookie by which a browser is known in which the person signed in before: how often, and for how long.
const BROWSER: (&str, &str) = ("__Host-atlas-browser", "atlas_browser");
/// The cookie by which the chosen vault is known.
const VAULT: (&str, &str) = ("__Host-atlas-vault", "atlas_vault");
/// The cookie that has the note of a sign-in through another service.
const UPSTREAM: (&str, &str) = ("__Host-atlas-upstream", "atlas_upstream");
const BROWSER_SECONDS: u64 = 366 * 24 * 3600;

/// The content of a cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    /// The session's secret: 32 hexadecimal digits.
    pub(crate) secret: String,
    /// The visitor's token, if the session began with one.
    pub(crate) token: Option<String>,
}

impl Cookie {
    fn parse(value: &str) -> Option<Self> {
        let (secret, token) = value.split_once('.').map_or((value, None), |(secret, token)| (secret, Some(token)));
        secret.parse::<Id>().ok()?;
        let is_token = |token: &str| (1..=MAX_TOKEN).contains(&token.len());
        if !token.is_none_or(is_token) {
            return None;
        }
        Some(Self { secret: secret.to_owned(), token: token.map(str::to_owned) })
    }

    fn value(&self) -> String {
        self.token.as_ref().map_or_else(|| self.secret.clone(), |token| format!("{}.{token}", self.secret))
    }
}

/// Whether the browser reaches this service by loopback.
pub(crate) fn is_local(headers: &HeaderMap) -> bool {
    headers.get(HOST).and_then(|host| host.to_str().ok()).is_some_and(is_own_machine)
}

/// The name of the session's cookie, and its attributes.
fn kind(headers: &HeaderMap) -> (String, &'static str) {
    kind_of(headers, (SECURE_NAME, "atlas_page"))
}

/// The name of a cookie over HTTPS or on loopback, and its attributes.
fn kind_of(headers: &HeaderMap, (secure, local): (&str, &str)) -> (String, &'static str) {
    if !is_local(headers) {
        return (secure.to_owned(), "Path=/; Secure; HttpOnly; SameSite=Strict");
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map_or("80", |(_, port)| port);
    let port: String = port.chars().filter(char::is_ascii_digit).collect();
    (format!("{local}_{port}"), "Path=/ui; HttpOnly; SameSite=Strict")
}

/// The browser's mark, if somebody signed in with it before.
pub(crate) fn browser(headers: &HeaderMap) -> Option<&str> {
    let (name, _) = kind_of(headers, BROWSER);
    pairs(headers).find(|(of, _)| *of == name).map(|(_, value)| value)
}

/// The header that has the browser known from now on.
pub(crate) fn browser_header(headers: &HeaderMap, shown: &str) -> Option<HeaderValue> {
    let (name, attributes) = kind_of(headers, BROWSER);
    HeaderValue::from_str(&format!("{name}={shown}; Max-Age={BROWSER_SECONDS}; {attributes}")).ok()
}

/// The note of a sign-in through another service.
pub(crate) fn upstream(headers: &HeaderMap) -> Option<&str> {
    let (name, _) = kind_of(headers, UPSTREAM);
    pairs(headers).find(|(of, _)| *of == name).map(|(_, value)| value)
}

/// The header that keeps the note for `seconds`. That service leads back here, which is from another site: it comes with links that are followed from there.
pub(crate) fn upstream_header(headers: &HeaderMap, note: &str, seconds: u64) -> Option<HeaderValue> {
    let (name, attributes) = kind_of(headers, UPSTREAM);
    let attributes = attributes.replace("SameSite=Strict", "SameSite=Lax");
    HeaderValue::from_str(&format!("{name}={note}; Max-Age={seconds}; {attributes}")).ok()
}

/// The vault that the browser's visitor chose to look at.
pub(crate) fn vault(headers: &HeaderMap) -> Option<&str> {
    let (name, _) = kind_of(headers, VAULT);
    pairs(headers).find(|(of, _)| *of == name).map(|(_, value)| value)
}

/// The header that keeps the choice of a vault. Its name has no signs that a cookie must not have.
pub(crate) fn vault_header(headers: &HeaderMap, vault: &str) -> Option<HeaderValue> {
    let (name, attributes) = kind_of(headers, VAULT);
    HeaderValue::from_str(&format!("{name}={vault}; Max-Age={BROWSER_SECONDS}; {attributes}")).ok()
}

fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let all = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    all.flat_map(|header| header.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// The cookies of a request that may be of a session.
pub(crate) fn of(headers: &HeaderMap) -> Vec<Cookie> {
    let (name, _) = kind(headers);
    pairs(headers)
        .filter(|(of, _)| *of == name)
        .filter_map(|(_, value)| Cookie::parse(value))
        .take(MAX_COOKIES)
        .collect()
}

/// The header that sets the cookie for `seconds`; for none, the header that removes it.
pub(crate) fn header(headers: &HeaderMap, cookie: Option<&Cookie>, seconds: u64) -> Option<HeaderValue> {
    let (name, attributes) = kind(headers);
    let (value, seconds) = cookie.map_or((String::new(), 0), |cookie| (cookie.value(), seconds));
    HeaderValue::from_str(&format!("{name}={value}; Max-Age={seconds}; {attributes}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, cookie: &str) -> HeaderMap {
        let pairs = [(HOST, host), (COOKIE, cookie)];
        pairs.into_iter().map(|(name, value)| (name, HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn a_cookie_is_of_one_port_or_of_one_secure_host() {
        let secret = "0123456789abcdef0123456789abcdef";
        let cookie = Cookie { secret: secret.to_owned(), token: Some("a.b.c".to_owned()) };
        for (host, name, attribute) in [
            ("127.0.0.1:3737", "atlas_page_3737=", "Path=/ui;"),
            ("[::1]:99", "atlas_page_99=", "Path=/ui;"),
            ("localhost", "atlas_page_80=", "Path=/ui;"),
            ("notes.example.org", "__Host-atlas-page=", "Path=/; Secure"),
            ("notes.example.org:8443", "__Host-atlas-page=", "Path=/; Secure"),
        ] {
            let set = header(&headers(host, ""), Some(&cookie), 60).unwrap();
            let set = set.to_str().unwrap();
            assert!(set.starts_with(name) && set.contains(attribute), "{set}");
            assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
            let sent = set.split_once(';').unwrap().0;
            assert_eq!(of(&headers(host, &format!("a=b; {sent}"))), vec![cookie.clone()]);
            assert_eq!(of(&headers("localhost:1", sent)), vec![]);
        }
    }

    #[test]
    fn what_is_no_cookie_of_a_session_is_not_looked_at() {
        let long = format!("{}.{}", "0".repeat(32), "x".repeat(MAX_TOKEN + 1));
        for value in ["", "x", "0123", &long, &format!("{}.", "0".repeat(32))] {
            assert_eq!(of(&headers("localhost", &format!("atlas_page_80={value}"))), vec![], "{value}");
        }
        let many = vec![format!("atlas_page_80={}", "0".repeat(32)); 50].join("; ");
        assert_eq!(of(&headers("localhost", &many)).len(), MAX_COOKIES);
    }
}
