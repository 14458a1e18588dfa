//! Signing in through an OpenID provider, and everything that must not sign anybody in.

use std::time::Duration;

use atlas_access::authority::AuthorityDocument;
use atlas_testkit::issuer::{Issuer, sign_by_secret};
use atlas_testkit::stand_in::Reply as Answer;
use serde_json::{Value, json};

use super::provider::{CLIENT, CODE, Provider, SUBJECT, Sign, by_es256};
use super::site::{
    AUTHORITY, PASSPHRASE, Person, Site, UPSTREAM_SECRET, authorize, location, one_time, onward, page, parameter,
    process, text,
};
use crate::support::clock;
use crate::support::deployment::Reply;

async fn started() -> (Provider, Site) {
    started_with(json!({})).await
}

/// A provider, and a deployment that is configured to take it with this change.
async fn started_with(change: Value) -> (Provider, Site) {
    let provider = Provider::start().await;
    let mut upstream = provider.configuration();
    upstream.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    let site = Site::with(json!({ "upstream": upstream })).await;
    (provider, site)
}

/// Begins to sign in, to get to `next`: the provider's page.
async fn begins(person: &Person<'_>, next: &str) -> String {
    onward(&person.form("/ui/sign-in/upstream", &[("next", next)]).await)
}

/// Signs in at the provider: the answer to the browser that comes back.
async fn comes_back(provider: &Provider, person: &Person<'_>) -> Reply {
    let address = begins(person, "/ui/access").await;
    person.get(&provider.signs_in(&address)).await
}

/// Checks that nobody was signed in, and what the page says.
#[track_caller]
fn refused(reply: &Reply, status: u16, says: &str) {
    let text = String::from_utf8_lossy(&reply.body);
    assert_eq!(reply.status, status, "{text}");
    assert!(text.contains(says), "{says}: {text}");
    let cookies = reply.headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap());
    assert!(cookies.into_iter().all(|cookie| !cookie.contains("atlas-page")), "a session began");
}

#[tokio::test]
async fn the_person_signs_in_at_their_provider_and_ends_on_the_consent_page() {
    let (provider, site) = started().await;
    let id = site.registered().await;
    let person = Person::at(&site.client);
    let asked = person.get(&authorize(&id)).await;
    let shown = String::from_utf8_lossy(&asked.body);
    assert!(shown.contains("Sign in with Example") && shown.contains("Your passphrase"), "{shown}");
    let policy = asked.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self';"), "{policy}");
    let address = begins(&person, &authorize(&id)).await;
    assert_eq!((parameter(&address, "scope"), parameter(&address, "client_id")), ("openid".into(), CLIENT.into()));
    let back = person.get(&provider.signs_in(&address)).await;
    assert_eq!(location(&back), authorize(&id));
    // The note of it is forgotten.
    assert_eq!(person.cookie("upstream").unwrap(), "");
    let asked = person.asked(&id).await;
    let reply = person.decides_on(&asked, &[("decision", "allow"), ("scope", "read:vault")]).await;
    let tokens = site.redeemed(&id, &parameter(&onward(&reply), "code")).await.ok();
    assert_eq!(site.call(text(&tokens, "access_token")).await, 200);
    // The passphrase still works beside it.
    assert_eq!(Person::at(&site.client).tries(PASSPHRASE, &one_time()).await.status, 303);
}

#[tokio::test]
async fn keys_of_all_kinds_and_both_ways_to_show_the_secret_work() {
    let signs: [Sign; 3] = [
        by_es256,
        |keys, claims| keys.sign("RS256", Some("rsa"), claims),
        |keys, claims| keys.sign("EdDSA", Some("ed"), claims),
    ];
    for sign in signs {
        let (provider, site) = started().await;
        provider.script().sign = sign;
        assert_eq!(comes_back(&provider, &Person::at(&site.client)).await.status, 303);
    }
    let (provider, site) = started().await;
    provider.script().metadata = json!({ "token_endpoint_auth_methods_supported": ["client_secret_post"] });
    assert_eq!(comes_back(&provider, &Person::at(&site.client)).await.status, 303);
}

#[tokio::test]
async fn who_is_not_on_the_list_is_not_let_in() {
    let (provider, site) = started_with(json!({ "emails": ["Ida@example.org"] })).await;
    let person = Person::at(&site.client);
    assert_eq!(parameter(&begins(&person, "/ui").await, "scope").replace('+', " "), "openid email");
    for (claims, is_in) in [
        (json!({ "sub": "24828976100" }), false),
        (json!({ "sub": "<b>" }), false),
        (json!({ "sub": "other", "email": "ida@example.org" }), false),
        (json!({ "sub": "other", "email": "ida@example.org", "email_verified": false }), false),
        (json!({ "sub": "other", "email": "mallory@example.org", "email_verified": true }), false),
        (json!({ "sub": "ida@example.org" }), false),
        (json!({ "sub": "other", "email": "ida@example.org", "email_verified": true }), true),
        (json!({ "sub": SUBJECT, "email": "mallory@example.org", "email_verified": true }), true),
    ] {
        provider.script().claims = claims.clone();
        clock::pass(Duration::from_secs(61));
        let reply = comes_back(&provider, &person).await;
        if is_in {
            assert_eq!(reply.status, 303, "{claims}");
            continue;
        }
        refused(&reply, 403, "who may not sign in here");
        refused(&reply, 403, "auth.upstream.subjects");
    }
    // The person reads which subject to add, as text.
    provider.script().claims = json!({ "sub": "<b>7" });
    clock::pass(Duration::from_secs(61));
    refused(&comes_back(&provider, &person).await, 403, "Example knows you as &lt;b&gt;7");
}

#[tokio::test]
async fn an_id_token_is_for_this_sign_in_and_this_client() {
    let (provider, site) = started().await;
    let person = Person::at(&site.client);
    let now = clock::now().as_second();
    for claims in [
        json!({ "nonce": "other" }),
        json!({ "nonce": null }),
        json!({ "aud": "other" }),
        json!({ "aud": [] }),
        json!({ "aud": [CLIENT, "other"] }),
        json!({ "aud": null }),
        json!({ "azp": "other" }),
        json!({ "iss": "https://evil.example" }),
        json!({ "iss": format!("{}/", provider.issuer()) }),
        json!({ "iss": null }),
        json!({ "exp": now - 31 }),
        json!({ "exp": null }),
        json!({ "iat": now + 3600 * 24 }),
        json!({ "sub": null }),
        json!({ "sub": "" }),
    ] {
        provider.script().claims = claims.clone();
        clock::pass(Duration::from_secs(61));
        let reply = comes_back(&provider, &person).await;
        assert!(matches!(reply.status.as_u16(), 403 | 502), "{claims}: {}", reply.status);
        assert!(person.cookie("atlas-page").is_none(), "{claims}");
    }
    provider.script().claims = json!({ "azp": CLIENT, "aud": [CLIENT] });
    clock::pass(Duration::from_secs(61));
    assert_eq!(comes_back(&provider, &person).await.status, 303);
}

#[tokio::test]
async fn an_id_token_is_signed_by_a_private_key_of_the_provider() {
    let (provider, site) = started().await;
    let person = Person::at(&site.client);
    let signs: [(&str, Sign); 8] = [
        ("none", |keys, claims| keys.sign("none", None, claims)),
        ("none with a key's name", |keys, claims| keys.sign("none", Some("ec"), claims)),
        ("by the client's secret", |_, claims| {
            sign_by_secret(UPSTREAM_SECRET.as_bytes(), &json!({ "alg": "HS256" }), claims)
        }),
        ("by a public key as a secret", |keys, claims| {
            let public = keys.set()["keys"][0].to_string();
            sign_by_secret(public.as_bytes(), &json!({ "alg": "HS256", "kid": "rsa" }), claims)
        }),
        ("by a stranger's key of the same name", |_, claims| Issuer::new().sign("ES256", Some("ec"), claims)),
        ("by no known key", |keys, claims| keys.sign("ES256", Some("other"), claims)),
        ("as another algorithm", |keys, claims| keys.sign_as(&json!({ "alg": "ES256", "kid": "rsa" }), claims)),
        ("changed afterwards", |keys, claims| {
            let token = by_es256(keys, &json!({}));
            let (head, signature) = (token.split('.').next().unwrap(), token.rsplit('.').next().unwrap());
            let whole = by_es256(keys, claims);
            format!("{head}.{}.{signature}", whole.split('.').nth(1).unwrap())
        }),
    ];
    for (name, sign) in signs {
        provider.script().sign = sign;
        clock::pass(Duration::from_secs(61));
        let reply = comes_back(&provider, &person).await;
        assert!(matches!(reply.status.as_u16(), 403 | 502), "{name}: {}", reply.status);
        assert!(person.cookie("atlas-page").is_none(), "{name}");
    }
}

#[tokio::test]
async fn an_answer_is_good_once_in_the_browser_that_asked_for_it() {
    let (provider, site) = started().await;
    let person = Person::at(&site.client);
    let address = begins(&person, "/ui/access").await;
    let back = provider.signs_in(&address);
    let note = person.cookie("upstream").unwrap();
    // Nobody else's browser: without a note, or with a note of its own.
    let other = Person::at(&site.client);
    refused(&other.get(&back).await, 403, "begun in another browser");
    begins(&other, "/ui/access").await;
    refused(&other.get(&back).await, 403, "begun in another browser");
    // No other state, and no changed note.
    let state = parameter(&address, "state");
    refused(&person.get(&back.replace(&state, &state.replace(['a', 'b'], "c"))).await, 403, "Choose Example once more");
    let cookie = |note: &str| format!("__Host-atlas-upstream={note}");
    let changed = cookie(&note.replacen('e', "f", 1));
    refused(&other.send("GET", &back, &[("cookie", &changed)], "").await, 403, "Choose Example once more");
    assert_eq!(provider.count("/token"), 0);
    let kept = cookie(&note);
    let signs_in = async || Person::at(&site.client).send("GET", &back, &[("cookie", &kept)], "").await;
    assert_eq!(signs_in().await.status, 303);
    refused(&signs_in().await, 403, "was used before");
    let elsewhere = process(&site.deployment, &AUTHORITY, &json!({ "upstream": provider.configuration() })).await;
    refused(&Person::at(&elsewhere).send("GET", &back, &[("cookie", &kept)], "").await, 403, "was used before");
    assert_eq!(provider.count("/token"), 1);
    // Nor after ten minutes.
    let address = begins(&person, "/ui/access").await;
    clock::pass(Duration::from_secs(601));
    refused(&person.get(&provider.signs_in(&address)).await, 403, "took longer than ten minutes");
}

#[tokio::test]
async fn mix_up_no_code_goes_anywhere_if_another_issuer_answers() {
    let (provider, site) = started().await;
    provider.script().metadata = json!({ "authorization_response_iss_parameter_supported": true });
    let person = Person::at(&site.client);
    for answer in [vec![("code", CODE), ("iss", "https://evil.example")], vec![("code", CODE)], vec![]] {
        let address = begins(&person, "/ui").await;
        refused(&person.get(&provider.answer(&address, &answer)).await, 403, "does not prove who you are");
    }
    let address = begins(&person, "/ui").await;
    let twice = format!("{}&code=other", provider.signs_in(&address));
    assert_eq!(person.get(&twice).await.status, 400);
    let issuer = provider.issuer();
    let no = provider.answer(&address, &[("error", "access_denied<b>"), ("iss", &issuer)]);
    refused(&person.get(&no).await, 403, "did not sign you in (access_denied&lt;b&gt;)");
    assert_eq!(provider.count("/token"), 0);
}

#[tokio::test]
async fn nothing_goes_to_origins_that_are_not_configured() {
    for (metadata, goes_there) in [
        (json!({ "authorization_endpoint": "https://evil.example/authorize" }), false),
        (json!({ "issuer": "https://evil.example" }), false),
        (json!({ "jwks_uri": "http://127.0.0.1:1/keys" }), false),
        (json!({ "token_endpoint": "http://127.0.0.1:1/token" }), true),
    ] {
        let (provider, site) = started().await;
        provider.script().metadata = metadata.clone();
        let person = Person::at(&site.client);
        let reply = person.form("/ui/sign-in/upstream", &[("next", "/ui")]).await;
        assert_eq!(reply.status == 200, goes_there, "{metadata}");
        if goes_there {
            let back = person.get(&provider.signs_in(&onward(&reply))).await;
            refused(&back, 502, "Example does not answer as it should");
        }
    }
    // A form of another page begins nothing.
    let (_provider, site) = started().await;
    let person = Person::at(&site.client);
    let foreign = person.send("POST", "/ui/sign-in/upstream", &[("origin", "https://evil.example")], "next=/ui").await;
    assert_eq!(foreign.status, 403);
}

#[tokio::test]
async fn a_provider_that_fails_signs_nobody_in_and_the_person_is_told() {
    let is_slow = json!({ "timeoutMs": 500 });
    let (provider, site) = started_with(is_slow.clone()).await;
    let person = Person::at(&site.client);
    let large = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"x\":\"".to_owned();
    let moved = b"HTTP/1.1 307 So\r\nlocation: http://127.0.0.1:1/token\r\ncontent-length: 0\r\n\r\n";
    for answer in [
        Answer::Status(500, "{}".to_owned()),
        Answer::Status(200, "no JSON".to_owned()),
        Answer::Status(200, json!({ "access_token": "x", "token_type": "Bearer" }).to_string()),
        Answer::Silence(Duration::from_secs(5)),
        Answer::Endless(large.clone()),
        Answer::Raw(moved.to_vec()),
    ] {
        provider.script().instead = vec![("/token", answer.clone())];
        clock::pass(Duration::from_secs(61));
        let reply = comes_back(&provider, &person).await;
        assert!(matches!(reply.status.as_u16(), 403 | 502), "{answer:?}: {}", reply.status);
        assert!(person.cookie("atlas-page").is_none(), "{answer:?}");
    }
    // Before anybody is led there, too.
    for path in ["/.well-known/openid-configuration", "/keys"] {
        for answer in [
            Answer::Status(500, "{}".to_owned()),
            Answer::Status(200, "[]".to_owned()),
            Answer::Silence(Duration::from_secs(5)),
            Answer::Endless(large.clone()),
        ] {
            let (provider, site) = started_with(is_slow.clone()).await;
            provider.script().instead = vec![(path, answer)];
            let person = Person::at(&site.client);
            let reply = person.form("/ui/sign-in/upstream", &[("next", "/ui")]).await;
            refused(&reply, 502, "Example does not answer as it should. Try again in a minute.");
        }
    }
    // A provider that is back works at once.
    provider.script().instead.clear();
    clock::pass(Duration::from_secs(61));
    assert_eq!(comes_back(&provider, &person).await.status, 303);
}

#[tokio::test]
async fn a_provider_may_change_its_keys() {
    let (provider, site) = started().await;
    let person = Person::at(&site.client);
    assert_eq!(comes_back(&provider, &person).await.status, 303);
    assert_eq!(comes_back(&provider, &person).await.status, 303);
    // What it says of itself is kept for a while.
    assert_eq!((provider.count("/keys"), provider.count("/.well-known/openid-configuration")), (1, 1));
    {
        let mut script = provider.script();
        (script.keys, script.suffix) = (Issuer::new(), "-2");
        script.sign = |keys, claims| keys.sign("ES256", Some("ec-2"), claims);
    }
    assert_eq!(comes_back(&provider, &person).await.status, 303);
    assert_eq!(provider.count("/keys"), 2);
    // The old one is worth nothing now.
    provider.script().sign = by_es256;
    assert_ne!(comes_back(&provider, &person).await.status, 303);
}

#[tokio::test]
async fn strangers_cost_the_store_nothing_and_soon_have_to_wait() {
    let (provider, site) = started().await;
    clock::stop();
    let stranger = Person::at(&site.client);
    provider.script().claims = json!({ "sub": "stranger" });
    comes_back(&provider, &stranger).await;
    site.client.requests.take();
    for _ in 0..20 {
        begins(&stranger, "/ui").await;
        refused(&stranger.get("/ui/sign-in/back?code=x&state=y").await, 403, "Choose Example once more");
    }
    assert_eq!(site.client.requests.take().count(), 0);
    let mut refusals = 0;
    for _ in 0..10 {
        refusals += u32::from(comes_back(&provider, &stranger).await.status == 429);
    }
    assert!(refusals >= 5, "{refusals} of 10 had to wait");
    // Nobody has to wait with a passphrase for that.
    assert_eq!(Person::at(&site.client).tries(PASSPHRASE, &one_time()).await.status, 303);
    assert!(provider.count("/token") <= 6, "{} codes were redeemed", provider.count("/token"));
}

#[tokio::test]
async fn signing_in_and_getting_tokens_makes_at_most_twelve_requests() {
    let (provider, site) = started().await;
    let id = site.registered().await;
    let whole_way = async || {
        let person = Person::at(&site.client);
        let address = begins(&person, &authorize(&id)).await;
        assert_eq!(location(&person.get(&provider.signs_in(&address)).await), authorize(&id));
        let asked = page(&person.get(&authorize(&id)).await);
        let reply = person.decides_on(&asked, &[("decision", "allow"), ("scope", "read:vault")]).await;
        site.redeemed(&id, &parameter(&onward(&reply), "code")).await.ok()
    };
    // The store is asked once a process whether it keeps conditional writes.
    whole_way().await;
    site.client.requests.take();
    whole_way().await;
    let count = site.client.requests.take().count();
    assert!(count <= 12, "{count} requests");
}

#[tokio::test]
async fn the_passphrase_may_be_left_out_but_not_both() {
    let none = AuthorityDocument {
        passphrase: None,
        totp: None,
        ..AuthorityDocument::parse(&AUTHORITY.write().unwrap()).unwrap()
    };
    let (provider, site) = started().await;
    let client = process(&site.deployment, &none, &json!({ "upstream": provider.configuration() })).await;
    let person = Person::at(&client);
    let shown = String::from_utf8_lossy(&person.get("/ui/access").await.body).into_owned();
    assert!(shown.contains("Sign in with Example") && !shown.contains("Your passphrase"), "{shown}");
    for passphrase in [PASSPHRASE, "wrong wrong wrong"] {
        assert_eq!(person.tries(passphrase, "").await.status, 403);
    }
    assert_eq!(comes_back(&provider, &person).await.status, 303);
    let keys = none.write().unwrap();
    let jwt = [("ATLAS_AUTH", "jwt"), ("ATLAS_RESOURCE", super::site::BASE), ("ATLAS_OAUTH_KEYS", keys.as_str())];
    let error = site.deployment.try_set_up(&jwt, Duration::ZERO).await.err().unwrap();
    assert!(error.starts_with("ATLAS_OAUTH_KEYS") && error.contains("atlas auth passphrase"), "{error}");
    let keys = AUTHORITY.write().unwrap();
    let jwt = [("ATLAS_AUTH", "jwt"), ("ATLAS_RESOURCE", super::site::BASE), ("ATLAS_OAUTH_KEYS", keys.as_str())];
    for (secret, remedy) in [("x", "auth.upstream"), ("a b", "auth.upstream")] {
        let variables = [&jwt[..], &[("ATLAS_UPSTREAM_SECRET", secret)]].concat();
        let error = site.deployment.try_set_up(&variables, Duration::ZERO).await.err().unwrap();
        assert!(error.starts_with("ATLAS_UPSTREAM_SECRET") && error.contains(remedy), "{error}");
    }
}
