use super::*;

fn read(pairs: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    Settings::read(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

#[test]
fn what_is_not_set_has_a_default() {
    let settings = read(&[("PATH", "/bin"), ("ATLAS_CORPORA", "x"), ("ATLAS_SOURCE", "s3://x")]).unwrap();
    assert_eq!(
        (settings.store.as_str(), settings.vault.to_string().as_str(), settings.auth, settings.port),
        (DEFAULT_STORE, "main", Auth::None, 3737)
    );
    assert_eq!(settings.limits, Limits::default());
}

#[test]
fn what_is_set_is_used() {
    let settings =
        read(&[("ATLAS_VAULT", "work"), ("ATLAS_AUTH", "jwt"), ("ATLAS_MAX_RESULTS", "50"), ("ATLAS_PORT", "80")])
            .unwrap();
    assert_eq!(
        (settings.vault.to_string().as_str(), settings.auth, settings.limits.max_results, settings.port),
        ("work", Auth::Jwt, 50, 80)
    );
}

#[test]
fn what_is_secret_of_an_unusable_setting_is_not_shown() {
    let key = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----";
    for (name, value) in [
        ("ATLAS_RESOURCE", "ftp://user:hunter2@host"),
        ("ATLAS_ALLOWED_ORIGINS", "https://user:hunter2@host/x"),
        ("ATLAS_AUTHORIZATION_SERVERS", "https://a,://user:hunter2@b"),
        ("ATLAS_CONFIG", "s3://user:hunter2@bucket"),
        ("ATLAS_AUTH", key),
        ("ATLAS_PORT", key),
    ] {
        let message = read(&[(name, value)]).unwrap_err().to_string();
        assert!(message.starts_with(name) && !message.contains("hunter2"), "{message}");
    }
    for jwks in [key, r#"{"keys":[{"kty":"RSA","kid":"a","d":"hunter2"}]}"#, &"hunter2".repeat(40)] {
        let settings =
            read(&[("ATLAS_AUTH", "jwt"), ("ATLAS_RESOURCE", "https://a.example"), ("ATLAS_JWKS", jwks)]).unwrap();
        let message = crate::auth::Gate::of(&settings).err().map_or_else(String::new, |error| error.to_string());
        assert!(!message.contains("hunter2"), "{message}");
    }
}

#[test]
fn what_cannot_be_used_stops_the_start_and_says_what_to_write() {
    for (name, value, says) in [
        ("ATLAS_AUTH", "None", "write none or jwt"),
        ("ATLAS_JWT_SECRET", "short", "fewer than 32 bytes"),
        ("ATLAS_JWT_ALGORITHMS", "RS256,none", "write some of HS256, RS256, ES256, EdDSA"),
        ("ATLAS_JWT_ISSUER", "a,,b", "comma-separated"),
        ("ATLAS_RESOURCE", "atlas.example", "begins with https://"),
        ("ATLAS_AUTHORIZATION_SERVERS", "https://a,b", "begins with https://"),
        ("ATLAS_PORT", "70000", "write a port from 0 to 65535"),
        ("ATLAS_MAX_RESULTS", "0", "write a number from 1 to 50"),
        ("ATLAS_SEARCH_NOTES", "yes", "write true or false"),
        ("ATLAS_MAX_BYTES", "many", "write a number from 1000 to 5000000"),
        ("ATLAS_VAULT", "../x", "write letters"),
        ("ATLAS_CONFIG", "", "store:KEY for an object of ATLAS_STORE"),
        ("ATLAS_CONFIG", "s3://bucket/atlas.json", "write the path of a file"),
        ("ATLAS_PROXIES", "10.0.0.0/8", "write at most 16 addresses"),
        ("ATLAS_ALLOWED_ORIGINS", "*", "`*` is not supported"),
        ("ATLAS_STOER", "x", "is not a setting: use one of ATLAS_STORE, "),
    ] {
        let message = read(&[(name, value)]).unwrap_err().to_string();
        assert!(message.starts_with(name) && message.contains(says), "{message}");
    }
}
