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
