use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use atlas_access::Authority;
use atlas_access::authority::{AuthorityDocument, KeyDocument};
use atlas_mirror::{Mirror, Options, PartCache, Store, StoreOptions};
use atlas_web::issuer::Issuer;
use jiff::Timestamp;
use object_store::memory::InMemory;

use super::*;
use crate::passphrase::{MAX_PASSPHRASE, hash_passphrase, is_passphrase};

const PASSPHRASE: &str = "correct horse battery";

#[test]
fn codes_are_those_of_the_standard() {
    let secret = b"12345678901234567890";
    for (time, code) in
        [(59, "287082"), (1_111_111_109, "081804"), (1_234_567_890, "005924"), (20_000_000_000, "353130")]
    {
        assert_eq!(code_at(secret, time / STEP), code);
        for (other, is_valid) in
            [(time - 30, true), (time, true), (time + 30, true), (time + 61, false), (time - 61, false)]
        {
            assert_eq!(step_of(secret, code, other).is_some(), is_valid, "{code} at {other}");
        }
    }
    assert_eq!(step_of(secret, "", 59), None);
    assert!(step_of(secret, "287 082", 59).is_some());
    assert_eq!(base32(b"foobar"), "MZXW6YTBOI");
    assert!(
        code_app_address(secret, "ada", "notes.example")
            .starts_with("otpauth://totp/notes%2Eexample:ada?secret=GEZDGNBV")
    );
}

/// Comparisons by argon2id.
static COMPARED: AtomicUsize = AtomicUsize::new(0);

fn counted(hash: &str, passphrase: &str) -> bool {
    assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "other work: {hash}");
    COMPARED.fetch_add(1, Ordering::SeqCst);
    is_passphrase(hash, passphrase)
}

/// A server's secrets and store, where the person has this passphrase, and a one-time code or none.
fn opened(passphrase: Option<&str>, has_codes: bool) -> (Issuer, Mirror) {
    let document = AuthorityDocument {
        person: "ada".to_owned(),
        passphrase: passphrase.map(|passphrase| hash_passphrase(passphrase).unwrap()),
        totp: has_codes.then(|| "MTIzNDU2Nzg5MDEyMzQ1Njc4OTA=".to_owned()),
        secret: "0123456789abcdef".repeat(4),
        keys: vec![KeyDocument::make(Timestamp::UNIX_EPOCH).unwrap()],
    };
    let issuer = Issuer {
        address: "https://notes.example".to_owned(),
        authority: Authority::of(&document).unwrap(),
        options: Default::default(),
        upstream: None,
    };
    let store = Store::new(Arc::new(InMemory::new()), "", StoreOptions::default()).unwrap();
    let cache = Arc::new(PartCache::new(0));
    (issuer, Mirror::open(store, "main".parse().unwrap(), cache, Options::default()).unwrap())
}

/// The outcome of a try, and how often it was compared.
async fn tried(passphrase: Option<&str>, has_codes: bool, typed: (&str, &str)) -> (Outcome, usize) {
    let (issuer, mirror) = opened(passphrase, has_codes);
    let now = Timestamp::from_second(59).unwrap();
    let server = Server { issuer: &issuer, mirror: &mirror, now, random: Id::random, check: counted };
    COMPARED.store(0, Ordering::SeqCst);
    let (passphrase, code) = typed;
    let outcome = server.sign_in(passphrase, code, "address", None).await.unwrap();
    (outcome, COMPARED.load(Ordering::SeqCst))
}

#[tokio::test]
async fn every_try_takes_one_comparison_whatever_there_is_to_compare_with() {
    let _alone = ALONE.lock().await;
    let (long, zeros) = ("x".repeat(MAX_PASSPHRASE + 1), "000000");
    let (right, wrong) = (PASSPHRASE, "wrong wrong wrong");
    for typed in [(right, zeros), (wrong, zeros), ("", ""), (long.as_str(), zeros), (wrong, "287082")] {
        for (set, has_codes) in [(Some(right), true), (None, true), (None, false)] {
            assert_eq!(tried(set, has_codes, typed).await, (Outcome::Wrong, 1), "{set:?} {typed:?}");
        }
    }
    assert_eq!(tried(Some(right), true, (right, "287082")).await, (Outcome::SignedIn, 1));
    assert_eq!(tried(Some(right), false, (right, "")).await, (Outcome::SignedIn, 1));
    assert_eq!(tried(None, true, (right, "287082")).await, (Outcome::Wrong, 1));
}

/// Comparisons of all tests of a process wait for each other.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
static AT_ONCE: AtomicUsize = AtomicUsize::new(0);
static MOST_AT_ONCE: AtomicUsize = AtomicUsize::new(0);

fn slow(_: &str, _: &str) -> bool {
    MOST_AT_ONCE.fetch_max(AT_ONCE.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(1500));
    AT_ONCE.fetch_sub(1, Ordering::SeqCst);
    false
}

#[tokio::test]
async fn two_are_compared_at_once_and_a_try_that_finds_no_place_waits() {
    let _alone = ALONE.lock().await;
    let (issuer, mirror) = opened(Some(PASSPHRASE), false);
    let now = Timestamp::from_second(59).unwrap();
    let server = Server { issuer: &issuer, mirror: &mirror, now, random: Id::random, check: slow };
    let addresses: Vec<String> = (0..8).map(|number| format!("address-{number}")).collect();
    let tries = addresses.iter().map(|address| server.sign_in("wrong wrong wrong", "", address, None));
    let outcomes = futures::future::try_join_all(tries).await.unwrap();
    assert_eq!(MOST_AT_ONCE.load(Ordering::SeqCst), 2);
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    let (wrong, waiting) = (count(Outcome::Wrong), count(Outcome::Wait(2)));
    assert!(wrong >= 2 && waiting >= 2 && wrong + waiting == outcomes.len(), "{outcomes:?}");
}
