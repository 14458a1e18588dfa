//! Where codes may be sent to: addresses that a client registered, matched exactly. Of an address on loopback the port may differ, since programs take a
//! free one (RFC 8252, section 7.3).

use atlas_outbound::Url;

/// Longest address, in bytes.
pub(crate) const MAX_ADDRESS: usize = 512;
/// Hosts on loopback.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];
/// Schemes that a browser does not leave to another program, or that run or show something.
const UNSAFE: [&str; 14] = [
    "about",
    "blob",
    "chrome",
    "data",
    "file",
    "filesystem",
    "ftp",
    "intent",
    "javascript",
    "mailto",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

/// Whether codes can be sent to `address`: over HTTPS, to loopback, or to a program by its own scheme.
#[must_use]
pub fn is_allowed(address: &str) -> bool {
    let is_plain = address.len() <= MAX_ADDRESS && address.bytes().all(|byte| byte.is_ascii_graphic());
    let Some(url) = Some(address).filter(|_| is_plain).and_then(|address| address.parse::<Url>().ok()) else {
        return false;
    };
    let has_more = url.fragment().is_some() || !url.username().is_empty() || url.password().is_some();
    if has_more || address.contains(['\\', '"', '<', '>', '#']) {
        return false;
    }
    match url.scheme() {
        "https" => url.host_str().is_some_and(|host| !host.is_empty()),
        "http" => is_loopback(&url),
        scheme => !UNSAFE.contains(&scheme) && address.contains(":/"),
    }
}

/// Whether a code for the client that registered `registered` may be sent to `asked`.
#[must_use]
pub fn is_match(registered: &str, asked: &str) -> bool {
    if registered == asked {
        return true;
    }
    let parsed = |address: &str| address.parse::<Url>().ok().filter(|url| url.scheme() == "http" && is_loopback(url));
    let (Some(registered), Some(mut asked)) = (parsed(registered), parsed(asked)) else { return false };
    asked.set_port(registered.port()).is_ok() && asked == registered
}

/// The name of the place that codes are sent to: a host, this machine, or a program's scheme.
#[must_use]
pub fn place(address: &str) -> String {
    match address.parse::<Url>() {
        Ok(url) if url.scheme() == "https" => url.host_str().unwrap_or_default().to_owned(),
        Ok(url) if url.scheme() == "http" => "a program on your own machine".to_owned(),
        Ok(url) => format!("a program that opens {}: links", url.scheme()),
        Err(_) => String::new(),
    }
}

/// `address` with these parameters.
#[must_use]
pub fn with_parameters(address: &str, parameters: &[(&str, &str)]) -> String {
    let Ok(mut url) = address.parse::<Url>() else { return String::new() };
    url.query_pairs_mut().extend_pairs(parameters);
    url.into()
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| LOOPBACK.contains(&host))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn codes_are_sent_over_https_to_loopback_or_to_a_program() {
        for address in [
            "https://claude.ai/api/mcp/auth_callback",
            "https://chatgpt.com/connector_platform_oauth_redirect?a=b",
            "http://localhost:33418/callback",
            "http://127.0.0.1/cb",
            "http://[::1]:9/",
            "cursor://anysphere.cursor-retrieval/oauth/callback",
            "com.example.app:/oauth",
        ] {
            assert!(is_allowed(address), "{address}");
        }
        let long = format!("https://a.example/{}", "x".repeat(MAX_ADDRESS));
        for address in [
            "",
            "/callback",
            "//a.example/cb",
            "http://a.example/cb",
            "http://localhost.example/cb",
            "http://127.0.0.1@a.example/cb",
            "https://user@a.example/cb",
            "https://a.example/cb#x",
            "https://a.example\\@b.example/cb",
            "https://a.example/ cb",
            "https://a.example/\ncb",
            "javascript://a.example/%0aalert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "https://",
            &long,
        ] {
            assert!(!is_allowed(address), "{address}");
        }
    }

    #[test]
    fn addresses_match_exactly_but_for_a_port_on_loopback() {
        let https = "https://a.example/cb?x=1";
        for (registered, asked, expected) in [
            (https, https, true),
            (https, "https://a.example/cb?x=2", false),
            (https, "https://a.example/cb", false),
            (https, "https://a.example/cb?x=1&y=2", false),
            (https, "https://a.example/cb/?x=1", false),
            (https, "https://A.example/cb?x=1", false),
            (https, "https://a.example:443/cb?x=1", false),
            (https, "https://a.example.evil.example/cb?x=1", false),
            (https, "https://a.example/cb/../cb?x=1", false),
            ("http://localhost/cb", "http://localhost:33418/cb", true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", true),
            ("http://127.0.0.1:1/cb", "http://localhost:1/cb", false),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:1/other", false),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:1/cb?x", false),
            ("https://127.0.0.1:1/cb", "https://127.0.0.1:2/cb", false),
            ("cursor://a/b", "cursor://a/c", false),
        ] {
            assert_eq!(is_match(registered, asked), expected, "{registered} {asked}");
        }
    }

    #[test]
    fn parameters_are_added_and_encoded() {
        let address = with_parameters("https://a.example/cb?x=1", &[("code", "a b&c"), ("iss", "https://n.example")]);
        assert_eq!(address, "https://a.example/cb?x=1&code=a+b%26c&iss=https%3A%2F%2Fn.example");
    }

    proptest! {
        #[test]
        fn what_matches_leads_to_the_same_host_and_path(
            registered in "https?://(localhost|127.0.0.1|a.example)(:[1-9][0-9]{0,3})?/[a-z/.?@]{0,6}",
            asked in "https?://(localhost|127.0.0.1|a.example|b.example)(:[1-9][0-9]{0,3})?/[a-z/.?@\\\\]{0,6}",
        ) {
            if is_match(&registered, &asked) {
                let (one, other): (Url, Url) = (registered.parse().unwrap(), asked.parse().unwrap());
                prop_assert_eq!((one.scheme(), one.host_str(), one.path(), one.query()), (other.scheme(), other.host_str(), other.path(), other.query()));
            }
        }
    }
}
