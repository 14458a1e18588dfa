use atlas_ops::atlas::CurrentContext;
use serde_json::json;

use super::listing::{self, SettingSource};
use super::*;
use crate::settings::{Auth, Settings};

fn environment(pairs: &[(&str, &str)]) -> Settings {
    Settings::read(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))).unwrap()
}

fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

/// Invalid documents: the position of the mistake, and what to write.
#[test]
fn a_document_that_cannot_be_used_says_where_and_what_to_write() {
    for (text, place, says) in [
        ("", "the configuration", "write JSON"),
        ("{", "the configuration", "write JSON"),
        ("{} {}", "the configuration", "write JSON"),
        ("[]", "the configuration", "write an object instead of a list"),
        (r#"{"acl": []}"#, "`acl`", "write an object instead of a list"),
        (r#"{"acl": {"rules": [["**", []]]}}"#, "`acl.rules[0]`", "write an object instead of a list"),
        (r#"{"acl": {"readPaths": "**"}}"#, "`acl.readPaths`", "write a list instead of string"),
        (r#"{"vault": "main"}"#, "`vault`", "the known names are vaults, vaultDocuments, acl, auth, governor, "),
        (r#"{"vaultDocuments": "config/vaults"}"#, "`vaultDocuments`", "write store: and the key of a folder"),
        (r#"{"vaultDocuments": "store:vaults/a"}"#, "`vaultDocuments`", "outside of vaults/"),
        (r#"{"vaultDocuments": "store:config/"}"#, "`vaultDocuments`", "such as store:config/vaults"),
        (r#"{"vaultDocuments": ["store:a"]}"#, "`vaultDocuments`", "write a string"),
        (
            r#"{"throttle": {"vaultTiers": {"read": {"perMinute": 0, "burst": 1}}}}"#,
            "`throttle.vaultTiers.read.perMinute`",
            "write a number from 1",
        ),
        (r#"{"vaults": []}"#, "`vaults`", "write 1 to 100 vaults"),
        (r#"{"vaults": [{}]}"#, "`vaults[0].id`", "it is missing"),
        (r#"{"vaults": [{"id": "../a"}]}"#, "`vaults[0].id`", "1 to 64 letters"),
        (r#"{"vaults": [{"id": "a"}, {"id": "a"}]}"#, "`vaults[1].id`", "give each an id of its own"),
        (r#"{"vaults": [{"id": "a", "name": ""}]}"#, "`vaults[0].name`", "write 1 to 200 bytes"),
        (r#"{"vaults": [{"id": "a", "path": "/notes"}]}"#, "`vaults[0].path`", "`atlas sync --root` names its folder"),
        (
            r#"{"vaults": [{"id": "a", "obsidian": {"restApiUrl": "http://192.168.0.7:27123"}}]}"#,
            "`vaults[0].obsidian.restApiUrl`",
            "over https:// only",
        ),
        (
            r#"{"vaults": [{"id": "a", "obsidian": {"restApiUrl": "https://a:1", "certificateSha256": "00"}}]}"#,
            "`vaults[0].obsidian.certificateSha256`",
            "64 hexadecimal digits",
        ),
        (r#"{"vaults": [{"id": "a", "obsidian": {"restApiKey": "hush"}}]}"#, "restApiKey`", "ATLAS_OBSIDIAN_KEY"),
        (r#"{"vaults": [{"id": "a", "obsidian": {"safeCommands": [""]}}]}"#, "safeCommands`", "ids of commands"),
        (r#"{"vaults": [{"id": "a", "restApiUrl": "x"}]}"#, "`vaults[0].restApiUrl`", "says how the app is reached"),
        (r#"{"vaults": [{"id": "a", "alc": {}}]}"#, "`vaults[0].alc`", "the known names are id, name, acl"),
        (r#"{"vaults": [{"id": "a", "acl": {"readOnly": "yes"}}]}"#, "`vaults[0].acl.readOnly`", "write a boolean"),
        (
            r#"{"vaults": [{"id": "a", "acl": {"readPaths": ["/a"]}}]}"#,
            "`vaults[0].acl.readPaths`",
            "instead of \"/a\"",
        ),
        (r#"{"acl": {"readpaths": []}}"#, "`acl.readpaths`", "the known names are readOnly, defaultScopes, rules, "),
        (r#"{"acl": {"readPaths": null}}"#, "`acl.readPaths`", "write a value instead of null"),
        (r#"{"acl": {"readOnly": true, "readOnly": false}}"#, "`acl.readOnly`", "write it once"),
        (r#"{"acl": {"rules": [{"scopes": []}]}}"#, "`acl.rules[0].glob`", "it is missing"),
        (
            r#"{"embeddings": {"provider": "gemini"}}"#,
            "`embeddings.provider`",
            "write static, contextual, ollama, openai",
        ),
        (
            r#"{"embeddings": {"provider": "voyage"}}"#,
            "`embeddings.provider`",
            "write openai instead of `voyage`, with the baseUrl of that service",
        ),
        (
            r#"{"embeddings": {"provider": "cohere"}}"#,
            "`embeddings.provider`",
            "write openai instead of `cohere`, with the baseUrl of that service",
        ),
        (r#"{"embeddings": {"provider": "static"}}"#, "`embeddings.model`", "it is missing"),
        (r#"{"embeddings": {"provider": "static", "model": "a", "dimensions": 8}}"#, "dimensions`", "leave it out"),
        (r#"{"embeddings": {"provider": "openai", "model": "a"}}"#, "`embeddings.dimensions`", "it is missing"),
        (r#"{"embeddings": {"model": "a"}}"#, "`embeddings.dimensions`", "it is missing"),
        (r#"{"embeddings": {"apiKey": "hush"}}"#, "`embeddings.apiKey`", "set ATLAS_EMBEDDINGS_TOKEN instead"),
        (r#"{"embeddings": {"apiKeyEnv": "AWS_SECRET_ACCESS_KEY"}}"#, "apiKeyEnv`", "such as OPENAI_API_KEY"),
        (r#"{"embeddings": {"baseUrl": "ollama"}}"#, "`embeddings.baseUrl`", "write an address such as https://"),
        (r#"{"embeddings": {"maxTokensPerSync": 100}}"#, "maxTokensPerSync`", "write at least 10000, which one text"),
        (r#"{"embeddings": {"batchSize": 0}}"#, "`embeddings.batchSize`", "from 1 to 256"),
        (r#"{"plur": {}}"#, "`plur.endpoint`", "it is missing"),
        (r#"{"plur": {"endpoint": "memory.example"}}"#, "`plur.endpoint`", "write an address such as https://"),
        (r#"{"plur": {"endpoint": "https://a", "apiPrefix": "v1"}}"#, "`plur.apiPrefix`", "begins with /"),
        (r#"{"plur": {"endpoint": "https://a", "apiKey": "hush"}}"#, "`plur.apiKey`", "set ATLAS_PLUR_TOKEN instead"),
        (r#"{"plur": {"command": ["plur"]}}"#, "`plur.command`", "no program is run here"),
        (r#"{"gateway": {"baseUrl": "https://a:b@c"}}"#, "`gateway.baseUrl`", "without credentials"),
        (
            r#"{"gateway": {"baseUrl": "https://a", "token": "hush"}}"#,
            "`gateway.token`",
            "set ATLAS_GATEWAY_TOKEN instead",
        ),
        (r#"{"gateway": {"baseUrl": "https://a", "model": ""}}"#, "`gateway.model`", "write 1 to 200 bytes"),
        (r#"{"gateway": {"baseUrl": "https://a", "timeoutMs": 1}}"#, "`gateway.timeoutMs`", "from 100 to 120000"),
        (r#"{"cacheDir": "x"}"#, "`cacheDir`", "nothing is kept outside of the store: leave it out"),
        (r#"{"idempotencyReclaimSeconds": 60}"#, "`idempotencyReclaimSeconds`", "finished by its repetition"),
        (r#"{"auth": {"jwtSecret": "hush hush"}}"#, "`auth.jwtSecret`", "set ATLAS_JWT_SECRET instead"),
        (r#"{"auth": {"mode": "oauth"}}"#, "`auth.mode`", "write none or jwt"),
        (r#"{"auth": {"algorithms": ["none"]}}"#, "`auth.algorithms`", "write some of HS256, RS256, ES256, EdDSA"),
        (r#"{"auth": {"algorithms": []}}"#, "`auth.algorithms`", "write some of HS256"),
        (r#"{"auth": {"issuers": []}}"#, "`auth.issuers`", "leave it out to take any"),
        (r#"{"auth": {"resource": "atlas.example"}}"#, "`auth.resource`", "begins with https://"),
        (r#"{"auth": {"authorizationServers": ["x"]}}"#, "`auth.authorizationServers`", "begins with https://"),
        (r#"{"auth": {"jwks": {}, "jwksFile": "x"}}"#, "`auth.jwksFile`", "write one of them"),
        (
            r#"{"governor": {"maxResponseBytes": 10}}"#,
            "`governor.maxResponseBytes`",
            "from 1000 to 5000000 instead of 10",
        ),
        (r#"{"context": {"now": "../x.md"}}"#, "`context.now`", "write the path of a note, or daily"),
        (r#"{"context": {"spine": [""]}}"#, "`context.spine`", "globs of 1 to 500 bytes"),
        (r#"{"context": {"spine": ["a/**", "b["]}}"#, "`context.spine`", "b["),
        (r#"{"context": {"spine": ["../a/**"]}}"#, "`context.spine`", "relative to the vault's root"),
        (r#"{"context": {"timeZone": "Mars/X"}}"#, "`context.timeZone`", "such as Europe/Berlin"),
        (r#"{"governor": {"regexTimeoutMs": -1}}"#, "`governor.regexTimeoutMs`", "write a whole number instead of"),
        (r#"{"idempotencyTtlSeconds": 1}"#, "`idempotencyTtlSeconds`", "from 60 to 604800"),
        (r#"{"elicitTtlSeconds": 0}"#, "`elicitTtlSeconds`", "from 10 to 86400"),
        (
            r#"{"toolFacade": {"mode": "all"}}"#,
            "`toolFacade.mode`",
            "write agent, vault-mcp, code, triad, domain, connector, flat",
        ),
        (
            r#"{"throttle": {"tiers": {"read": {"perMinute": 0, "burst": 1}}}}"#,
            "`throttle.tiers.read.perMinute`",
            "from 1 to",
        ),
        (r#"{"throttle": {"tiers": {"raed": {}}}}"#, "`throttle.tiers.raed`", "the known names are read, write, "),
        (r#"{"transports": {"stdio": true}}"#, "`transports.stdio`", "leave it out"),
        (r#"{"transports": {"http": {"port": 1}}}"#, "`transports.http.port`", "leave it out"),
        (
            r#"{"transports": {"http": {"enableDnsRebindingProtection": false}}}"#,
            "DnsRebindingProtection`",
            "always on",
        ),
        (r#"{"transports": {"http": {"allowedHosts": ["a:80"]}}}"#, "`transports.http.allowedHosts`", "without ports"),
        (
            r#"{"transports": {"http": {"allowedOrigins": ["*"]}}}"#,
            "`transports.http.allowedOrigins`",
            "`*` is not supported",
        ),
    ] {
        let error = Document::parse(text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(place) && error.contains(says), "{text}\n{error}");
        assert!(error.contains(" cannot be used: ") && error.lines().count() == 1, "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
    let long = format!("{{\"elicitTtlSeconds\": {}60}}", " ".repeat(source::MAX_BYTES));
    assert!(Document::parse(long.as_bytes()).unwrap_err().to_string().contains("write at most 262144 bytes"));
    let many: Vec<_> = (0..=100).map(|number| json!({ "id": format!("v{number}") })).collect();
    assert_eq!(Document::parse(json!({ "vaults": many }).to_string().as_bytes()).unwrap_err().path, "vaults");
}

#[test]
fn what_a_document_names_that_no_operation_has_is_refused() {
    for (text, place) in [
        (
            r#"{"toolVisibility": {"disabled": ["wirte_note"]}}"#,
            "`toolVisibility.disabled` cannot be used: no operation",
        ),
        (r#"{"toolVisibility": {"hiddenTags": ["write"]}}"#, "`toolVisibility.hiddenTags`"),
    ] {
        let error = environment(&[]).with(document(text)).unwrap().visible().unwrap_err().to_string();
        assert!(error.starts_with(place), "{error}");
    }
}

#[test]
fn the_key_of_an_app_is_shown_nowhere() {
    let text =
        r#"{"vaults": [{"id": "home", "obsidian": {"restApiUrl": "https://127.0.0.1:27124", "throughBucket": true}}]}"#;
    let (key, secret) = ("the-key-of-the-plugin", "a secret of functions and of the host");
    let both = [("ATLAS_OBSIDIAN_KEY", key), ("ATLAS_OBSIDIAN_SECRET", secret)];
    let settings = environment(&both).near_apps().with(document(text)).unwrap();
    let reach = settings.reach(&"home".parse().unwrap()).unwrap();
    assert!(reach.app.is_some() && reach.secret.is_some());
    let shown = format!("{} {settings:?} {reach:?}", serde_json::to_string(&listing::list(&settings)).unwrap());
    assert!(shown.contains("27124") && !shown.contains(key) && !shown.contains(secret), "{shown}");
    // A function has no way to the app itself.
    assert!(environment(&both).with(document(text)).unwrap().reach(&"home".parse().unwrap()).unwrap().app.is_none());
    for (missing, says) in [(&both[1..], "ATLAS_OBSIDIAN_KEY"), (&both[..1], "ATLAS_OBSIDIAN_SECRET")] {
        let settings = environment(missing).near_apps().with(document(text)).unwrap();
        assert!(settings.reach(&"home".parse().unwrap()).unwrap_err().to_string().contains(says));
    }
    for unusable in [("ATLAS_OBSIDIAN_KEY", "a key"), ("ATLAS_OBSIDIAN_SECRET", "short")] {
        let variables = [(unusable.0.to_owned(), unusable.1.to_owned())];
        let error = Settings::read(variables).unwrap_err().to_string();
        assert!(error.contains(unusable.0) && !error.contains(unusable.1), "{error}");
    }
    let each = environment(&[("ATLAS_OBSIDIAN_KEY", "home=one, work=two")]).near_apps();
    assert!(
        each.with(document(&text.replace(", \"throughBucket\": true", "")))
            .unwrap()
            .reach(&"home".parse().unwrap())
            .is_ok()
    );
}

#[test]
fn the_zone_of_a_document_goes_before_that_of_the_machine() {
    for (text, expected) in [(r#"{"context": {"timeZone": "Asia/Tokyo"}}"#, "Asia/Tokyo"), ("{}", "Europe/Berlin")] {
        let current = CurrentContext { time_zone: Some("Europe/Berlin".to_owned()), ..CurrentContext::default() };
        let settings = Settings { current, ..environment(&[]) }.with(document(text)).unwrap();
        assert_eq!(settings.current.time_zone.as_deref(), Some(expected));
    }
}

#[test]
fn the_language_of_dates_is_known_or_an_error_says_so() {
    let settings = environment(&[]).with(document(r#"{"context": {"locale": "pt-BR"}}"#)).unwrap();
    assert_eq!(settings.current.locale.as_deref(), Some("pt-BR"));
    let error = Document::parse(br#"{"context": {"locale": "klingon"}}"#).unwrap_err().to_string();
    assert!(error.contains("context.locale") && error.contains("pt-br"), "{error}");
}

#[test]
fn the_environment_has_the_last_word() {
    let text = r#"{
        "vaults": [{"id": "home"}, {"id": "work", "name": "Work", "acl": {"readOnly": true}}],
        "acl": {"strictReadDefault": true},
        "auth": {"mode": "jwt", "issuers": ["a"], "audiences": ["b"], "jwks": {"keys": []}},
        "governor": {"maxResponseBytes": 2000, "regexTimeoutMs": 500},
        "transports": {"http": {"allowedOrigins": ["https://a.org"], "allowedHosts": ["a.org"]}}
    }"#;
    let both = environment(&[]).with(document(text)).unwrap();
    let ids = |settings: &Settings| settings.vaults.iter().map(|vault| vault.id.to_string()).collect::<Vec<_>>();
    assert_eq!((both.vault.as_str(), ids(&both)), ("home", vec!["home".to_owned(), "work".to_owned()]));
    assert_eq!((both.auth, both.tokens.jwks.as_deref()), (Auth::Jwt, Some("{\"keys\":[]}")));
    assert_eq!((both.limits.max_response_bytes, both.limits.max_scan_time.as_millis()), (2000, 500));
    let [home, work] = &both.vaults[..] else { panic!() };
    assert!(home.acl.strict_read_default && !home.acl.read_only, "the root's");
    assert!(!work.acl.strict_read_default && work.acl.read_only, "its own, which has nothing of the root's");

    let both = environment(&[
        ("ATLAS_VAULT", "work"),
        ("ATLAS_AUTH", "none"),
        ("ATLAS_JWT_ISSUER", "z"),
        ("ATLAS_JWKS", "keys.json"),
        ("ATLAS_ALLOWED_ORIGINS", "https://z.org"),
    ])
    .with(document(text))
    .unwrap();
    assert_eq!((both.vault.as_str(), ids(&both)), ("work", vec!["work".to_owned(), "home".to_owned()]));
    assert_eq!((both.auth, both.tokens.jwks.as_deref()), (Auth::None, Some("keys.json")));
    assert_eq!((&both.tokens.issuers, &both.tokens.audiences), (&vec!["z".to_owned()], &vec!["b".to_owned()]));
    assert_eq!(both.origins.iter().collect::<Vec<_>>(), ["https://z.org"]);
    let source = |name: &str| {
        let rows = listing::list(&both);
        rows.iter().find(|row| row.setting.split(' ').any(|word| word == name)).unwrap().source
    };
    for (name, expected) in [
        ("ATLAS_JWT_ISSUER", SettingSource::Environment),
        ("auth.audiences", SettingSource::Document),
        ("ATLAS_VAULT", SettingSource::Environment),
        ("vaults", SettingSource::Document),
        ("toolVisibility", SettingSource::Default),
        ("ATLAS_PORT", SettingSource::Default),
        ("governor.maxResponseBytes", SettingSource::Document),
    ] {
        assert_eq!(source(name), expected, "{name}");
    }

    let elsewhere = environment(&[("ATLAS_VAULT", "attic")]).with(document(text)).unwrap_err().to_string();
    assert!(elsewhere.contains("ATLAS_VAULT=\"attic\"") && elsewhere.contains("home, work"), "{elsewhere}");
    let alone = environment(&[("ATLAS_VAULT", "attic")]).with(document(r#"{"acl": {"readOnly": true}}"#)).unwrap();
    assert_eq!((ids(&alone), alone.vaults[0].acl.read_only), (vec!["attic".to_owned()], true));
}

#[test]
fn no_secret_is_listed() {
    let secret = "a secret that is long enough to be one";
    let settings = environment(&[
        ("ATLAS_JWT_SECRET", secret),
        ("ATLAS_JWKS", "{\"keys\":[{\"d\":\"private\"}]}"),
        ("ATLAS_PLUR_TOKEN", "private-key"),
        ("ATLAS_GATEWAY_TOKEN", "private-key"),
    ]);
    let rows = listing::list(&settings);
    for row in &rows {
        assert_eq!(row.value.to_string(), atlas_ops::sorted(row.value.clone()).to_string(), "{}", row.setting);
    }
    let listed = serde_json::to_string(&rows).unwrap();
    assert!(!listed.contains(secret) && !listed.contains("private"), "{listed}");
    assert_eq!(listed.matches("(set)").count(), 4);
    assert!(!format!("{settings:?}").contains("private-key"));
}

#[test]
fn a_key_goes_nowhere_where_others_can_read_it() {
    let opened =
        |variables: &[(&str, &str)], text: &str| environment(variables).with(document(text)).unwrap().services.open();
    let none = opened(&[("ATLAS_PLUR_TOKEN", "a-key")], "{}").unwrap();
    assert!(none.plur.is_none() && none.gateway.is_none());
    let both = r#"{"plur": {"endpoint": "http://127.0.0.1:7077"}, "gateway": {"baseUrl": "http://models.example/v1"}}"#;
    let services = opened(&[("ATLAS_PLUR_TOKEN", "a-key")], both).unwrap();
    assert_eq!((services.plur.is_some(), services.gateway.unwrap().model.as_str()), (true, "judge"));
    let error = opened(&[("ATLAS_GATEWAY_TOKEN", "a-key")], both).unwrap_err().to_string();
    assert!(error.contains("`gateway.baseUrl`") && error.contains("over https:// only"), "{error}");
    let unusable = Settings::read([("ATLAS_GATEWAY_TOKEN".to_owned(), "a key".to_owned())]).unwrap_err().to_string();
    assert!(unusable.contains("ATLAS_GATEWAY_TOKEN") && !unusable.contains("a key"), "{unusable}");
}

#[test]
fn a_place_is_a_file_an_object_or_the_document_itself() {
    assert_eq!(ConfigSource::parse(" {}").unwrap(), ConfigSource::Inline(" {}".to_owned()));
    assert_eq!(ConfigSource::parse("a/b.json").unwrap(), ConfigSource::File("a/b.json".into()));
    assert_eq!(
        ConfigSource::parse("store:config/atlas.json").unwrap(),
        ConfigSource::Object("config/atlas.json".to_owned())
    );
    for (text, says) in [
        ("", "write the path of a file, store:KEY"),
        ("s3://bucket/atlas.json", "store:KEY for an object of ATLAS_STORE"),
        ("store:", "store:KEY"),
        ("store:/a", "store:KEY"),
        ("store:a/../b", "store:KEY"),
        ("store:vaults/main/atlas.json", "a key outside of it"),
        ("store:probes/x", "a key outside of it"),
    ] {
        let refused = ConfigSource::parse(text).unwrap_err();
        assert!(refused.contains(says), "{text}: {refused}");
    }
}

#[test]
fn the_example_of_the_readme_can_be_used() {
    let readme = include_str!("../../README.md");
    let (_, section) = readme.split_once("## Configuration").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let (_, example) = section.split_once("```json\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let settings = environment(&[]).with(document(example)).unwrap();
    settings.visible().unwrap();
}
