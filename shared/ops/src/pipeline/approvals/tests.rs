use std::sync::Arc;

use atlas_access::Scopes;
use atlas_mirror::{Hash, Options, PartCache, location};
use serde_json::json;

use super::standing::{MAX_ALL_ROUNDS, MAX_OF_CALLER, MAX_WAITING, check_waiting};
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
    let waiting: Vec<StateObject> = (0..MAX_WAITING).map(|number| request(number, number % 9, 60)).collect();
    assert!(MAX_WAITING < MAX_LISTED && check_waiting(&waiting[1..], 0, now()).is_ok());
    let error = check_waiting(&waiting, 0, now()).unwrap_err();
    assert_eq!(error.reason(), "approvals_full");
    assert!(error.message.contains("make this call again"), "{}", error.message);
    // A decision makes room, and so do a request that is replaced, and time.
    let decided: Vec<StateObject> = waiting.iter().cloned().chain([decision(&waiting[3])]).collect();
    assert!(check_waiting(&decided, 0, now()).is_ok() && check_waiting(&waiting, 1, now()).is_ok());
    assert!(check_waiting(&waiting, 0, now() + request::TIME).is_ok());
}

fn mirror() -> Mirror {
    let store = location::open("memory://", &location::Variables::default()).unwrap();
    Mirror::open(store, "main".parse().unwrap(), Arc::new(PartCache::new(1 << 20)), Options::default()).unwrap()
}

/// Asks whether a call may be made that deletes `a.md`, whose text is `text` by now.
async fn try_ask(mirror: &Mirror, args_hash: &str, text: &str) -> Result<Standing, Error> {
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
        reads: &[],
        now,
    };
    standing(mirror, &asked, &Use::by_call(format!("a call {args_hash}"))).await
}

async fn ask(mirror: &Mirror, args_hash: &str, text: &str) -> Standing {
    try_ask(mirror, args_hash, text).await.unwrap()
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
    // A request that a person decided on is not replaced.
    decided_by(&mirror, &second, false).await.unwrap();
    let third = waits(&mirror, "same", "one").await;
    assert!(third != first && matches!(ask(&mirror, "same", "two").await, Standing::Refused(id, _) if id == second));
    assert_eq!(undecided(&mirror).await.unwrap(), BTreeSet::from([third]));
}

/// Takes from a request all that older versions did not write.
async fn age(mirror: &Mirror, id: &str) {
    let mut old = get_request(mirror, id).await.unwrap().unwrap();
    old.call = None;
    mirror.delete_state(&name(id)).await.unwrap();
    mirror.create_state_if_absent(&name(id), &old).await.unwrap();
}

#[tokio::test]
async fn requests_of_older_versions_stand() {
    let mirror = mirror();
    let (approved, refused) = (waits(&mirror, "a", "one").await, waits(&mirror, "b", "one").await);
    let (waiting, other) = (waits(&mirror, "c", "one").await, waits(&mirror, "d", "one").await);
    // Their ids have this form: the plan and round, then the caller.
    let plan = get_request(&mirror, &approved).await.unwrap().unwrap().plan;
    assert_eq!(approved[..16], Hash::of(format!("{plan} 0").as_bytes()).to_string()[..16]);
    for id in [&approved, &refused, &waiting, &other] {
        age(&mirror, id).await;
    }
    decided_by(&mirror, &approved, true).await.unwrap();
    decided_by(&mirror, &refused, false).await.unwrap();
    assert!(matches!(ask(&mirror, "a", "one").await, Standing::Passes));
    assert!(matches!(ask(&mirror, "b", "one").await, Standing::Refused(id, _) if id == refused));
    assert_eq!(waits(&mirror, "c", "one").await, waiting);
    let anew = waits(&mirror, "c", "two").await;
    assert_eq!(undecided(&mirror).await.unwrap(), BTreeSet::from([anew, other]));
}

#[tokio::test]
async fn a_call_that_gets_no_room_keeps_what_waits() {
    let mirror = mirror();
    let caller = Caller::of_scopes("agent", Scopes::default()).pseudonym();
    let first = waits(&mirror, "same", "one").await;
    // Others wait, or were decided on.
    for number in 1..MAX_OF_CALLER {
        let made = format!("{number:016x}{caller}");
        mirror.create_state_if_absent(&name(&made), &json!({})).await.unwrap();
        if number % 2 == 0 {
            let decision = Decision::by("person".to_owned(), Timestamp::now(), true, None);
            mirror.create_state_if_absent(&decision_name(&made), &decision).await.unwrap();
        }
    }
    let error = try_ask(&mirror, "another", "one").await.err().unwrap();
    assert_eq!(error.reason(), "approvals_full");
    // In place of its old request there is room.
    let second = waits(&mirror, "same", "two").await;
    assert!(undecided(&mirror).await.unwrap().contains(&second));
    let full = format!("{MAX_OF_CALLER:016x}{caller}");
    mirror.create_state_if_absent(&name(&full), &json!({})).await.unwrap();
    assert_eq!(try_ask(&mirror, "same", "three").await.err().unwrap().reason(), "approvals_full");
    let left = undecided(&mirror).await.unwrap();
    assert!(left.contains(&second) && !left.contains(&first));
}

#[tokio::test]
async fn a_text_that_goes_back_and_forth_uses_no_rounds_up() {
    let mirror = mirror();
    for _ in 0..MAX_ALL_ROUNDS {
        waits(&mirror, "same", "one").await;
        let second = waits(&mirror, "same", "two").await;
        assert_eq!(undecided(&mirror).await.unwrap(), BTreeSet::from([second]));
    }
    // Within a bound, and one that costs the waiting call nothing.
    let error = try_ask(&mirror, "same", "one").await.err().unwrap();
    assert_eq!((error.reason(), undecided(&mirror).await.unwrap().len()), ("approvals_full", 1));
}
