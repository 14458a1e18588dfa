use std::fs;
use std::path::{Path, PathBuf};

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
fn a_filter_of_logs_is_taken_as_it_always_was_and_an_empty_one_is_none() {
    for (text, expected, is_set) in [
        ("", "info", false),
        (",", "info", false),
        ("info, hyper=warn", "info,hyper=warn", true),
        ("warn,", "warn", true),
        ("3", "3", true),
        ("info,atlas_web", "info,atlas_web", true),
    ] {
        let settings = read(&[("ATLAS_LOG", text)]).unwrap();
        assert_eq!(
            (settings.log.as_str(), settings.said.environment.contains("ATLAS_LOG")),
            (expected, is_set),
            "{text}"
        );
        assert!(settings.log.parse::<tracing_subscriber::filter::Targets>().is_ok(), "{text}");
    }
}

#[test]
fn a_variable_that_was_perhaps_meant_for_a_setting_is_noticed() {
    for (pairs, expected) in [
        (&[("ATLAS_HOST", "a.example")][..], &[("ATLAS_HOST", "ATLAS_HOSTS")][..]),
        (&[("ATLAS_URL", "https://a.example"), ("ATLAS_HOST", "")], &[("ATLAS_URL", "ATLAS_RESOURCE")]),
        (&[("ATLAS_HOST", "a.example"), ("ATLAS_HOSTS", "a.example"), ("ATLAS_ROOT", "/x")], &[]),
        (&[("ATLAS_HOSTS", "a.example"), ("ATLAS_HOST", "a.example")], &[]),
    ] {
        let settings = read(pairs).unwrap();
        assert_eq!(settings.said.mistaken.iter().copied().collect::<Vec<_>>(), expected, "{pairs:?}");
    }
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
        ("ATLAS_LOG", "warning", "write a level, off, error"),
        ("ATLAS_LOG", "inf,atlas_web=debug", "write a level, off, error"),
        ("ATLAS_LOG", "info,atlas_web=", "write a level, off, error"),
        ("ATLAS_PROXIES", "10.0.0.0/8", "write at most 16 addresses"),
        ("ATLAS_ALLOWED_ORIGINS", "*", "`*` is not supported"),
        ("ATLAS_STOER", "x", "is not a setting: use one of ATLAS_STORE, "),
    ] {
        let message = read(&[(name, value)]).unwrap_err().to_string();
        assert!(message.starts_with(name) && message.contains(says), "{message}");
    }
}

/// The names that begin with `ATLAS_` in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let ends = text.match_indices("ATLAS_").map(move |(start, _)| text.get(start..).unwrap_or_default());
    // A name with more after it is a family's, such as `ATLAS_JWT_…`.
    ends.filter_map(move |rest| rest.split(|letter| !is_part(letter)).next()).filter(|name| !name.ends_with('_'))
}

/// The files below `folder` that `takes` names.
fn files(folder: &Path, takes: fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(files(&entry.path(), takes));
        } else if takes(&name) {
            found.push(entry.path());
        }
    }
    found
}

/// A program that inherits a documented variable, or one that another part sets, starts all the same.
#[test]
fn every_variable_that_is_documented_or_set_is_known() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts: Vec<String> = Vec::new();
    for part in ["functions", "shared", "localstack", "infra", "tests/benches"] {
        texts.extend(
            files(&root.join(part), |name| ["README.md", "compose.yaml"].contains(&name))
                .iter()
                .map(|file| fs::read_to_string(file).unwrap()),
        );
    }
    texts.push(fs::read_to_string(root.join("README.md")).unwrap());
    for file in files(&root.join("functions"), |name| name.ends_with(".rs")) {
        let code = fs::read_to_string(file).unwrap();
        texts.extend(code.split(".env(").skip(1).map(|call| call.chars().take(60).collect()));
    }
    let all: BTreeSet<&str> = texts.iter().flat_map(|text| names(text)).collect();
    assert!(all.len() > 30 && all.contains("ATLAS_ALERT_EVENT") && all.contains("ATLAS_HOST"), "{all:?}");
    let unknown: Vec<&&str> = all.iter().filter(|name| is_unknown(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
