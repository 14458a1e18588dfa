//! Signing in as somebody else: by a fixed session, by guessing, by what an answer tells.

use std::time::Duration;

use serde_json::json;

use crate::support::clock;

use super::provider::Provider;
use super::site::{BASE, PASSPHRASE, Person, Site, encoded, one_time, onward};

#[tokio::test]
async fn a_session_from_before_signing_in_is_not_the_persons() {
    let site = Site::new().await;
    let mut person = Person::at(&site.client);
    let fixed = "0123456789abcdef0123456789abcdef";
    let signed_in = person
        .send(
            "POST",
            "/ui/sign-in",
            &[("origin", BASE), ("cookie", &format!("__Host-atlas-page={fixed}"))],
            &encoded(&[("passphrase", PASSPHRASE), ("code", &one_time())]),
        )
        .await;
    assert_eq!(signed_in.status, 303);
    assert_ne!(person.cookie("atlas-page").unwrap(), fixed);
    let other = Person::at(&site.client);
    assert_eq!(other.send("GET", "/ui", &[("cookie", &format!("__Host-atlas-page={fixed}"))], "").await.status, 401);
    clock::pass(Duration::from_secs(31));
    person.signs_in().await;
}

#[tokio::test]
async fn a_wrong_passphrase_and_a_wrong_code_look_alike_and_a_code_is_good_once() {
    let site = Site::new().await;
    let person = Person::at(&site.client);
    let right = one_time();
    let mut pages = Vec::new();
    for (passphrase, code) in
        [("wrong wrong wrong", right.as_str()), (PASSPHRASE, "000000"), (PASSPHRASE, ""), ("wrong wrong wrong", "")]
    {
        let reply = person.tries(passphrase, code).await;
        assert_eq!(reply.status, 403, "{passphrase}");
        pages.push(reply.body);
    }
    assert!(pages.iter().all(|page| *page == pages[0]));
    assert_eq!(person.tries(PASSPHRASE, &right).await.status, 303);
    let other = Person::at(&site.client);
    clock::pass(Duration::from_secs(2));
    assert_ne!(other.tries(PASSPHRASE, &right).await.status, 303);
}

#[tokio::test]
async fn tries_wait_longer_and_longer_on_all_instances_but_nobody_keeps_the_person_out() {
    let site = Site::new().await;
    clock::stop();
    let mut known = Person::at(&site.client);
    known.signs_in().await;
    known.closes();
    let other = site.other().await;
    let (one, two) = (Person::at(&site.client), Person::at(&other));
    let mut refused = 0;
    for _ in 0..10 {
        for stranger in [&one, &two] {
            refused += u32::from(stranger.tries("guess guess guess", "1").await.status == 429);
        }
    }
    assert!(refused >= 14, "{refused} of 20 had to wait");
    // Those that had to wait are not looked at, even if they are right.
    assert_eq!(two.tries(PASSPHRASE, &one_time()).await.status, 429);
    // The browser in which the person signed in before is not counted with them.
    assert_eq!(known.tries(PASSPHRASE, &one_time()).await.status, 303);
    // Nor does anybody wait longer than a minute.
    clock::pass(Duration::from_secs(61));
    assert_eq!(two.tries(PASSPHRASE, &one_time()).await.status, 303);
}

#[tokio::test]
async fn guesses_keep_nobody_from_the_provider_and_a_known_browser_stays_known() {
    let provider = Provider::start().await;
    let site = Site::with(json!({ "upstream": provider.configuration() })).await;
    clock::stop();
    let mut known = Person::at(&site.client);
    known.signs_in().await;
    let stranger = Person::at(&site.client);
    let mut last = 0;
    for _ in 0..10 {
        last = stranger.tries("guess guess guess", "1").await.status.as_u16();
    }
    assert_eq!(last, 429);
    for (person, is_known) in [(&known, true), (&Person::at(&site.client), false)] {
        let address = onward(&person.form("/ui/sign-in/upstream", &[("next", "/ui")]).await);
        // From another site a browser brings the note alone.
        let note = format!("__Host-atlas-upstream={}", person.cookie("upstream").unwrap());
        let back = provider.signs_in(&address);
        let back = Person::at(&site.client).send("GET", &back, &[("cookie", &note)], "").await;
        assert_eq!(back.status, 303);
        let cookies = back.headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap());
        assert_eq!(cookies.into_iter().any(|cookie| cookie.contains("atlas-browser")), !is_known);
    }
}
