use std::sync::Arc;

use atlas_access::Scopes;
use atlas_mirror::{Options, PartCache, location};
use serde_json::json;

use super::*;

const NOW: &str = "2026-01-31T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap_or_default()
}

/// A request that was made so many seconds ago, by the caller with this number.
fn request(number: usize, caller: usize, seconds: i64) -> StateObject {
    let written = now() - jiff::SignedDuration::from_secs(seconds);
    StateObject { name: format!("{number:016x}{caller:016x}"), written }
}

fn decision(request: &StateObject) -> StateObject {
    StateObject { name: format!("{}{DECISION}", request.name), written: request.written }
}

#[test]
fn a_call_that_waits_is_listed_however_many_were_decided_since() {
    let old = request(0, 0, 3600);
    let since: Vec<StateObject> = (1..1000).map(|number| request(number, number, 60)).collect();
    let mut listed: Vec<StateObject> = since.iter().map(decision).collect();
    listed.extend(since);
    listed.push(old.clone());
    let (found, has_more) = shown(&listed, now());
    assert_eq!(found.first().map(|made| &made.name), Some(&old.name));
    assert_eq!((found.len(), has_more), (1 + MAX_LISTED, true));
    // A day later it waits no more.
    let (found, _) = shown(&listed, now() + request::TIME);
    assert!(found.iter().all(|made| made.name != old.name));
}

#[test]
fn no_more_calls_wait_than_are_listed() {
    let caller = |number: usize| format!("{number:016x}");
    let waiting: Vec<StateObject> = (0..MAX_WAITING).map(|number| request(number, number % 9, 60)).collect();
    assert!(MAX_WAITING < MAX_LISTED && check_room(&waiting[1..], &caller(10), now()).is_ok());
    let error = check_room(&waiting, &caller(10), now()).unwrap_err();
    assert_eq!(error.reason(), "approvals_full");
    assert!(error.message.contains("make this call again"), "{}", error.message);
    // A decision makes room, and so does time.
    let decided: Vec<StateObject> = waiting.iter().cloned().chain([decision(&waiting[3])]).collect();
    assert!(check_room(&decided, &caller(10), now()).is_ok());
    assert!(check_room(&waiting, &caller(10), now() + request::TIME).is_ok());
    // Of one caller there are fewer, decided or not.
    let own: Vec<StateObject> = (0..MAX_OF_CALLER).map(|number| request(number, 7, 60)).collect();
    assert!(check_room(&own[1..], &caller(7), now()).is_ok() && check_room(&own, &caller(7), now()).is_err());
}

fn mirror() -> Mirror {
    let store = location::open("memory://", &location::Variables::default()).unwrap();
    Mirror::open(store, "main".parse().unwrap(), Arc::new(PartCache::new(1 << 20)), Options::default()).unwrap()
}

/// Asks whether a call may be made that deletes `a.md`, whose text is `text` by now.
async fn ask(mirror: &Mirror, args_hash: &str, text: &str) -> Standing {
    let caller = Caller::of_scopes("agent", Scopes::default());
    let before = FileVersion { sha256: Hash::of(text.as_bytes()), bytes: text.len() as u64, text: None };
    let files = [PlannedFile { path: "a.md".to_owned(), before: Some(before), after: None, from: None }];
    let (arguments, now) = (json!({ "call": args_hash }), Timestamp::now());
    let asked = PendingCall {
        vault: "main",
        operation: "delete_note",
        args_hash,
        arguments: &arguments,
        caller: &caller,
        session: None,
        files: &files,
        now,
    };
    standing(mirror, &asked, &Use::by_call("a call".to_owned())).await.unwrap()
}

async fn waits(mirror: &Mirror, args_hash: &str, text: &str) -> String {
    match ask(mirror, args_hash, text).await {
        Standing::Waits(id, _) => id,
        Standing::Passes | Standing::Refused(..) => panic!("it does not wait"),
    }
}

async fn decided_by(mirror: &Mirror, id: &str, approved: bool) -> Result<(), Error> {
    let record = get(mirror, id).await.unwrap().unwrap();
    decide(mirror, &record, &Decision::by("person".to_owned(), Timestamp::now(), approved, None)).await
}

#[tokio::test]
async fn a_call_that_is_made_anew_over_other_texts_waits_once() {
    let mirror = mirror();
    let other = waits(&mirror, "other", "one").await;
    let mut last = String::new();
    for number in 0..MAX_OF_CALLER - 1 {
        last = waits(&mirror, "same", &number.to_string()).await;
        assert_eq!(waits(&mirror, "same", &number.to_string()).await, last);
        assert_eq!(undecided(&mirror).await.unwrap(), BTreeSet::from([other.clone(), last.clone()]));
    }
    let pending = |records: &[Record]| {
        let now = Timestamp::now();
        records.iter().filter(|record| record.status(now) == Status::Pending).count()
    };
    assert_eq!(pending(&list(&mirror, Timestamp::now()).await.unwrap().0), 2);
    decided_by(&mirror, &last, true).await.unwrap();
    assert!(matches!(ask(&mirror, "same", &(MAX_OF_CALLER - 2).to_string()).await, Standing::Passes));
}

#[tokio::test]
async fn a_text_that_is_back_is_asked_about_anew() {
    let mirror = mirror();
    let first = waits(&mirror, "same", "one").await;
    let second = waits(&mirror, "same", "two").await;
    let record = get(&mirror, &first).await.unwrap().unwrap();
    assert_eq!((record.status(Timestamp::now()), &record.decision), (Status::Expired, &None));
    assert_eq!(decided_by(&mirror, &first, true).await.unwrap_err().reason(), "approval_lapsed");
    // What a person decided on is not replaced.
    decided_by(&mirror, &second, false).await.unwrap();
    let third = waits(&mirror, "same", "one").await;
    assert!(third != first && matches!(ask(&mirror, "same", "two").await, Standing::Refused(id, _) if id == second));
    assert_eq!(undecided(&mirror).await.unwrap(), BTreeSet::from([third]));
}
