//! Attacks with tokens, and their results.

use std::time::Duration;

use atlas_testkit::Issuer;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use proptest::prelude::*;
use ring::signature::KeyPair as _;
use serde_json::{Value, json};

use crate::mint::Grant;
use crate::scope::ALL;
use crate::*;

const NOW: i64 = 1_790_000_000;
const ISSUER: &str = "https://issuer";

fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

fn secret() -> Secret {
    Secret::new("a secret that is long enough to be one").unwrap()
}

fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn signed_with(key: &[u8], header: &Value, claims: &Value) -> String {
    let message = format!("{}.{}", b64(header.to_string()), b64(claims.to_string()));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key);
    format!("{message}.{}", b64(ring::hmac::sign(&key, message.as_bytes())))
}

fn shared(claims: &Value) -> String {
    signed_with(secret().expose(), &json!({ "alg": "HS256" }), claims)
}

fn good() -> Value {
    json!({ "iss": ISSUER, "sub": "agent", "exp": NOW + 60, "scope": "read:vault write:vault" })
}

/// The claims of a valid token, with `changes`.
fn but(changes: &Value) -> Value {
    let mut claims = good();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name)
        } else {
            claims[name] = value.clone();
            None
        };
    }
    claims
}

fn by_secret() -> Verifier {
    Verifier::new(Keys::new(Some(&secret()), None, &[]).unwrap(), Expected::default())
}

fn by_both(issuer: &Issuer) -> Verifier {
    let keys = Keys::new(Some(&secret()), Some(&issuer.set().to_string()), &[ISSUER.to_owned()]);
    Verifier::new(keys.unwrap(), Expected::default())
}

#[test]
fn a_good_token_of_every_kind_names_its_caller() {
    let issuer = Issuer::new();
    let verifier = by_both(&issuer);
    let tokens = [
        shared(&good()),
        issuer.sign("RS256", Some("rsa"), &good()),
        issuer.sign("ES256", Some("ec"), &good()),
        issuer.sign("EdDSA", Some("ed"), &good()),
    ];
    for token in tokens {
        let caller = verifier.verify(&token, now()).unwrap();
        assert_eq!((caller.name(), caller.is_authenticated()), ("agent", true));
        assert_eq!(
            caller.missing(&scope::ALL),
            [Scope::DeleteVault, Scope::BulkVault, Scope::ApproveVault, Scope::Admin]
        );
    }
}

#[test]
fn what_was_minted_is_taken_as_long_as_it_was_minted_for() {
    let grant = Grant {
        subject: "agent",
        scopes: "read:vault admin",
        vault: Some("work"),
        issuer: Some("us"),
        audience: Some("atlas"),
        client: None,
        time: Duration::from_secs(600),
    };
    let token = mint(&secret(), &grant, now()).unwrap();
    let expected = Expected { audiences: vec!["atlas".into()], ..Expected::default() };
    let verifier = Verifier::new(Keys::new(Some(&secret()), None, &["us".to_owned()]).unwrap(), expected);
    let caller = verifier.verify(&token, now()).unwrap();
    assert_eq!((caller.vault(), caller.missing(&[Scope::Admin, Scope::ReadVault]).len()), (Some("work"), 0));
    assert!(caller.may_name("work", "main") && !caller.may_name("main", "main"));
    let later = now() + Duration::from_secs(631);
    assert_eq!(verifier.verify(&token, later), Err(Refused::Expired));
}

#[test]
fn a_public_key_is_no_secret() {
    let issuer = Issuer::new();
    let only_public =
        Verifier::new(Keys::new(None, Some(&issuer.set().to_string()), &[]).unwrap(), Expected::default());
    let set = issuer.set();
    let public = [
        issuer.ec.public_key().as_ref().to_vec(),
        issuer.ed.public_key().as_ref().to_vec(),
        issuer.rsa.public_key().as_ref().to_vec(),
        set["keys"][0]["n"].as_str().unwrap().as_bytes().to_vec(),
        set.to_string().into_bytes(),
    ];
    for key in public {
        for kid in ["rsa", "ec", "ed"] {
            let token = signed_with(&key, &json!({ "alg": "HS256", "kid": kid }), &good());
            assert_eq!(only_public.verify(&token, now()), Err(Refused::Invalid));
            assert_eq!(by_both(&issuer).verify(&token, now()), Err(Refused::Invalid));
        }
    }
    // Nor does a key check another's algorithm.
    for (algorithm, kid) in [("RS256", "ec"), ("ES256", "ed"), ("EdDSA", "rsa"), ("ES256", "rsa")] {
        let token = issuer.sign(algorithm, Some(kid), &good());
        assert_eq!(by_both(&issuer).verify(&token, now()), Err(Refused::Invalid), "{algorithm} {kid}");
    }
}

#[test]
fn no_signature_is_no_token() {
    for name in ["none", "None", "NONE", "nOnE", "", "HS384", "HS512", "RS512", "PS256", "ES384", "hs256"] {
        let header = json!({ "alg": name });
        for token in [
            format!("{}.{}.", b64(header.to_string()), b64(good().to_string())),
            format!("{}.{}", b64(header.to_string()), b64(good().to_string())),
            signed_with(secret().expose(), &header, &good()),
        ] {
            assert_eq!(by_secret().verify(&token, now()), Err(Refused::Invalid), "{name}");
        }
    }
    let token = shared(&good());
    let (message, _) = token.rsplit_once('.').unwrap();
    for forged in [message.to_owned(), format!("{message}."), format!("{message}.AAAA"), String::new(), "..".to_owned()]
    {
        assert_eq!(by_secret().verify(&forged, now()), Err(Refused::Invalid));
    }
}

#[test]
fn a_kid_names_a_key_of_the_set_and_nothing_else() {
    let issuer = Issuer::new();
    for kid in [None, Some(""), Some("EC"), Some("../../dev/null"), Some("ec' OR 1=1"), Some("ec\0")] {
        let token = issuer.sign("ES256", kid, &good());
        assert_eq!(by_both(&issuer).verify(&token, now()), Err(Refused::Invalid), "{kid:?}");
    }
    // Keys inside the token are ignored.
    let stranger = Issuer::new();
    let key = stranger.set()["keys"][1].clone();
    for header in [
        json!({ "alg": "ES256", "kid": "ec", "jwk": key }),
        json!({ "alg": "ES256", "kid": "ec", "jku": "https://example.com/keys" }),
    ] {
        assert_eq!(by_both(&issuer).verify(&stranger.sign_as(&header, &good()), now()), Err(Refused::Invalid));
    }
    let critical = issuer.sign_as(&json!({ "alg": "ES256", "kid": "ec", "crit": ["exp"] }), &good());
    assert_eq!(by_both(&issuer).verify(&critical, now()), Err(Refused::Invalid));
}

#[test]
fn a_token_has_its_time() {
    for (changes, expected) in [
        (json!({ "exp": NOW - 31 }), Some(Refused::Expired)),
        (json!({ "exp": NOW - 29 }), None),
        (json!({ "exp": 0 }), Some(Refused::Expired)),
        (json!({ "exp": -1 }), Some(Refused::Invalid)),
        (json!({ "exp": null }), Some(Refused::Invalid)),
        (json!({ "exp": "tomorrow" }), Some(Refused::Invalid)),
        (json!({ "exp": 1e300 }), Some(Refused::Invalid)),
        (json!({ "nbf": NOW + 31 }), Some(Refused::Early)),
        (json!({ "nbf": NOW + 29 }), None),
        (json!({ "nbf": "now" }), Some(Refused::Invalid)),
    ] {
        assert_eq!(by_secret().verify(&shared(&but(&changes)), now()).err(), expected, "{changes}");
    }
}

#[test]
fn a_token_is_for_this_service() {
    let expected = Expected {
        audiences: vec!["atlas".into(), "https://atlas".into()],
        algorithms: vec!["HS256".into()],
        ..Expected::default()
    };
    let issuer = Issuer::new();
    let keys = Keys::new(Some(&secret()), Some(&issuer.set().to_string()), &[ISSUER.to_owned()]);
    let verifier = Verifier::new(keys.unwrap(), expected);
    for (changes, expected) in [
        (json!({ "iss": "https://issuer", "aud": "atlas" }), None),
        (json!({ "iss": "https://issuer", "aud": ["other", "https://atlas"] }), None),
        (json!({ "iss": "https://issuer" }), Some(Refused::NotForUs)),
        (json!({ "iss": null, "aud": "atlas" }), Some(Refused::NotForUs)),
        (json!({ "iss": "https://issuer/", "aud": "atlas" }), Some(Refused::NotForUs)),
        (json!({ "iss": "https://issuer", "aud": "atlas " }), Some(Refused::NotForUs)),
        (json!({ "iss": "https://issuer", "aud": [] }), Some(Refused::NotForUs)),
        (json!({ "iss": ["https://issuer"], "aud": "atlas" }), Some(Refused::Invalid)),
    ] {
        assert_eq!(verifier.verify(&shared(&but(&changes)), now()).err(), expected, "{changes}");
    }
    let claims = but(&json!({ "iss": "https://issuer", "aud": "atlas" }));
    assert_eq!(verifier.verify(&issuer.sign("EdDSA", Some("ed"), &claims), now()), Err(Refused::Invalid));
}

#[test]
fn scopes_are_what_they_say_and_no_more() {
    for (changes, held) in [
        (json!({ "scope": "read:vault" }), "read:vault"),
        (json!({ "scope": null, "scopes": ["delete:vault", "admin"] }), "delete:vault admin"),
        (json!({ "scope": "read:vault", "scopes": ["bulk:vault"] }), "read:vault bulk:vault"),
        (json!({ "scope": "READ:VAULT read:vaults read: * admin,write:vault" }), ""),
        (json!({ "scope": null }), ""),
    ] {
        let caller = by_secret().verify(&shared(&but(&changes)), now()).unwrap();
        let holds: Vec<&str> =
            ALL.iter().filter(|scope| caller.scopes().holds(**scope)).map(|scope| scope.as_str()).collect();
        assert_eq!(holds.join(" "), held, "{changes}");
    }
    let others = by_secret().verify(&shared(&but(&json!({ "scope": "team:a execute:*" }))), now()).unwrap();
    for (name, is_held) in
        [("team:a", true), ("team:b", false), ("execute:command", true), ("read:vault", false), ("team:*", false)]
    {
        assert_eq!(others.scopes().holds_named(name), is_held, "{name}");
    }
    let unbound = by_secret().verify(&shared(&good()), now()).unwrap();
    assert!(unbound.may_name("main", "main") && !unbound.may_name("work", "main"));
    for changes in [json!({ "sub": "" }), json!({ "sub": "a\nb" }), json!({ "vault": "" }), json!({ "vault": 7 })] {
        assert_eq!(by_secret().verify(&shared(&but(&changes)), now()), Err(Refused::Invalid), "{changes}");
    }
}

#[test]
fn a_token_is_short() {
    let token = shared(&but(&json!({ "more": "x".repeat(64 << 10) })));
    assert_eq!(by_secret().verify(&token, now()), Err(Refused::Invalid));
    assert_eq!(by_secret().verify(&"a.".repeat(40_000), now()), Err(Refused::Invalid));
}

#[test]
fn keys_that_cannot_be_used_are_refused_with_what_to_do() {
    assert_eq!(Secret::new("x".repeat(31)), Err(KeyError::ShortSecret));
    assert_eq!(Secret::new(""), Err(KeyError::ShortSecret));
    assert!(Secret::new("x".repeat(32)).is_ok());
    assert_eq!(format!("{:?}", secret()), "(secret)");
    let refused = |set: &Value| Keys::new(None, Some(&set.to_string()), &[]).err().unwrap().to_string();
    assert_eq!(Keys::new(None, None, &[]).err(), Some(KeyError::NoKeys));
    let keys = Issuer::new().set()["keys"].clone();
    let (rsa, ec) = (keys[0].clone(), keys[1].clone());
    let with = |key: &Value, name: &str, value: Value| {
        let mut key = key.clone();
        key[name] = value;
        key
    };
    for (set, says) in [
        (json!({}), "write a JWKS"),
        (json!({ "keys": [] }), "it has none"),
        (json!({ "keys": [rsa, rsa] }), "key 2 of the set cannot be used: another has its `kid`"),
        (json!({ "keys": [{ "kty": "oct", "kid": "a", "k": b64("x".repeat(32)) }] }), "it is a secret"),
        (json!({ "keys": [with(&ec, "kid", "".into())] }), "it has no `kid`"),
        (json!({ "keys": [with(&ec, "crv", "P-384".into())] }), "its curve"),
        (json!({ "keys": [with(&ec, "alg", "HS256".into())] }), "its `alg`"),
        (json!({ "keys": [with(&rsa, "alg", "ES256".into())] }), "its `alg`"),
        (json!({ "keys": [with(&rsa, "use", "enc".into())] }), "its `use`"),
        (json!({ "keys": [with(&rsa, "n", "%%".into())] }), "base64url"),
        (json!({ "keys": [7] }), "of an unsupported kind"),
        (json!({ ISSUER: { "keys": [] }, "other": { "keys": [ec] } }), "it has none"),
        (json!({ ISSUER: { "keys": [ec, ec] } }), "key 2 of the set cannot be used: another has its `kid`"),
    ] {
        assert!(refused(&set).contains(says), "{set}: {}", refused(&set));
    }
    let private = Keys::new(None, Some(r#"{"keys": "a private key"}"#), &[]).err().unwrap().to_string();
    assert!(!private.contains("private"), "{private}");
}

#[test]
fn a_token_for_another_use_is_none() {
    let issuer = Issuer::new();
    for (typ, is_taken) in [
        (json!("JWT"), true),
        (json!("jwt"), true),
        (json!("at+jwt"), true),
        (json!("application/at+jwt"), true),
        (json!("Application/AT+JWT"), true),
        (json!("logout+jwt"), false),
        (json!("dpop+jwt"), false),
        (json!("secevent+jwt"), false),
        (json!("application/secevent+jwt"), false),
        (json!("application/application/jwt"), false),
        (json!("JWE"), false),
        (json!(" jwt"), false),
        (json!(""), false),
        (json!(7), false),
    ] {
        let header = json!({ "alg": "ES256", "kid": "ec", "typ": typ });
        let taken = by_both(&issuer).verify(&issuer.sign_as(&header, &good()), now());
        assert_eq!(taken.err(), (!is_taken).then_some(Refused::Invalid), "{typ}");
        let taken =
            by_secret().verify(&signed_with(secret().expose(), &json!({ "alg": "HS256", "typ": typ }), &good()), now());
        assert_eq!(taken.err(), (!is_taken).then_some(Refused::Invalid), "{typ}");
    }
}

#[test]
fn a_key_signs_in_its_issuers_name_alone() {
    let (one, other) = (Issuer::new(), Issuer::new());
    let sets = json!({ "one": one.set(), "other": other.set() }).to_string();
    let issuers = ["one", "other", "us"].map(str::to_owned);
    let verifier = Verifier::new(Keys::new(Some(&secret()), Some(&sets), &issuers).unwrap(), Expected::default());
    let of = |name: &str| but(&json!({ "iss": name }));
    let kinds = [("ES256", "ec"), ("EdDSA", "ed")];
    for name in ["one", "other", "us"] {
        for (algorithm, kid) in kinds {
            for (keys, whose) in [(&one, "one"), (&other, "other")] {
                let verified = verifier.verify(&keys.sign(algorithm, Some(kid), &of(name)), now());
                assert_eq!(verified.err(), (name != whose).then_some(Refused::Invalid), "{name} by {whose}");
            }
        }
        let verified = verifier.verify(&shared(&of(name)), now());
        assert_eq!(verified.err(), (name != "us").then_some(Refused::Invalid), "{name} by the secret");
    }
    // Sets that name their issuers need no configured issuers.
    let alone = Verifier::new(Keys::new(None, Some(&sets), &[]).unwrap(), Expected::default());
    assert!(alone.verify(&one.sign("ES256", Some("ec"), &of("one")), now()).is_ok());
    assert_eq!(alone.verify(&one.sign("ES256", Some("ec"), &of("third")), now()), Err(Refused::NotForUs));
}

#[test]
fn keys_of_which_nobody_can_say_whose_they_are_stop_the_start() {
    let (set, secret) = (Issuer::new().set(), secret());
    let one = set.to_string();
    let each = json!({ "a": set, "b": set }).to_string();
    for (has_secret, sets, issuers, says) in [
        (true, None, "", None),
        (true, None, "a", None),
        (true, None, "a,a", None),
        (true, None, "a,b", Some("name one issuer")),
        (true, Some(&one), "", Some("name the issuer that both are of")),
        (true, Some(&one), "a", None),
        (true, Some(&one), "a,b", Some("name one issuer")),
        (false, Some(&one), "", None),
        (false, Some(&one), "a", None),
        (false, Some(&one), "a,b", Some("name one issuer")),
        (false, Some(&each), "", None),
        (false, Some(&each), "a,b", None),
        (false, Some(&each), "a", Some("there is a set of \"b\"")),
        (false, Some(&each), "a,b,c", Some("with one for each issuer")),
        (true, Some(&each), "", Some("there is a set of \"a\"")),
        (true, Some(&each), "a,b", Some("but the one that has the secret")),
        (true, Some(&each), "a,b,c", None),
        (true, Some(&each), "a,b,c,d", Some("but the one that has the secret")),
    ] {
        let issuers: Vec<String> = issuers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let refused = Keys::new(has_secret.then_some(&secret), sets.map(String::as_str), &issuers).err();
        let case = format!("{has_secret} {} {issuers:?}: {refused:?}", sets.is_some());
        match says {
            None => assert_eq!(refused, None, "{case}"),
            Some(says) => assert!(refused.is_some_and(|error| error.to_string().contains(says)), "{case}"),
        }
    }
}

proptest! {
    #[test]
    fn no_two_issuers_and_names_are_one_caller(pairs in [("[a-c \n]{0,3}", "[a-c ]{1,3}"), ("[a-c \n]{0,3}", "[a-c ]{1,3}")], named: [bool; 2]) {
        let issuers = [0, 1].map(|n: usize| named[n].then(|| pairs[n].0.as_str()));
        let caller = |n: usize| {
            Caller::subject(pairs[n].1.clone(), issuers[n], Scopes::default(), Binding::Default)
        };
        let is_same = (issuers[0], &pairs[0].1) == (issuers[1], &pairs[1].1);
        prop_assert_eq!(caller(0).identity() == caller(1).identity(), is_same);
        prop_assert_eq!(caller(0).pseudonym() == caller(1).pseudonym(), is_same);
    }

    #[test]
    fn no_text_is_a_token_by_chance(text in "[A-Za-z0-9_.=-]{0,200}|\\PC{0,50}") {
        prop_assert_eq!(by_secret().verify(&text, now()), Err(Refused::Invalid));
    }

    #[test]
    fn a_token_that_was_altered_is_none(at in any::<prop::sample::Index>(), to in "[A-Za-z0-9_-]") {
        let token = shared(&good());
        let at = at.index(token.len());
        let altered = format!("{}{to}{}", &token[..at], &token[at + 1..]);
        if altered != token {
            // The last character of a part has unused bits, which must be zero.
            prop_assert!(by_secret().verify(&altered, now()).is_err());
        }
    }
}
