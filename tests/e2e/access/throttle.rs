//! The throttle: each instance counts reads, the bucket counts writes.

use std::time::Duration;

use atlas_access::policy::{Tier, Tiers, VaultTiers};
use atlas_access::{ThrottleConfig, scope};
use atlas_mirror::{Store, StoreOptions};
use atlas_ops::Limits;
use atlas_testkit::{AgingStore, Fault, FaultStore, Op};
use serde_json::json;

use crate::support::clock;
use crate::support::deployment::{Client, Deployment, Reply};
use crate::support::throttled::{at_once, throttled};
use crate::support::tokens;
use crate::support::tokens::{bearer, token};

/// At most `most` concurrent writes, and no other limit.
fn under_way(most: u32) -> ThrottleConfig {
    ThrottleConfig { max_concurrent_writes_per_vault: Some(most), ..at_once(1000) }
}

async fn append(client: &Client, caller: &str) -> Reply {
    let headers = [bearer(&token(caller, &scope::ALL, None))];
    tokens::send(client, "POST", "/notes/log.md", &headers, &json!({ "content": "line" })).await
}

async fn find(client: &Client, caller: &str) -> Reply {
    let headers = [bearer(&token(caller, &scope::ALL, None))];
    tokens::send(client, "POST", "/find", &headers, &json!({ "term": "berth" })).await
}

fn is_done(reply: &Reply) -> bool {
    if !reply.status.is_success() {
        assert_eq!(reply.error(429).1, "throttled");
    }
    reply.status.is_success()
}

#[tokio::test]
async fn writes_are_counted_for_all_instances_together_and_waiting_as_told_is_enough() {
    clock::stop();
    let deployment = Deployment::of_demo().await;
    let clients = [(); 2].map(|()| deployment.client_with(throttled(at_once(5))));
    let mut done = 0;
    for round in 0..8 {
        done += usize::from(is_done(&append(&clients[round % 2], "ida").await));
    }
    assert_eq!(done, 5);

    let refused = append(&clients[0], "ida").await;
    assert_eq!(refused.error(429).0, "TOO_MANY_REQUESTS");
    let details = &refused.json()["error"]["details"];
    let seconds = details["retry_after_seconds"].as_u64().unwrap();
    assert_eq!(refused.header("retry-after"), Some(seconds.to_string().as_str()));
    assert_eq!(
        (&details["scope_class"], &details["current_burst"], &details["current_rate"]),
        (&json!("write"), &json!(5), &json!(60))
    );
    assert!(is_done(&append(&clients[0], "maeve").await), "another caller");
    assert!(is_done(&find(&clients[0], "ida").await), "another class");

    assert_eq!(seconds, 1);
    clock::pass(Duration::from_secs(seconds));
    let after = [append(&clients[0], "ida").await, append(&clients[1], "ida").await];
    assert_eq!(after.each_ref().map(is_done), [true, false], "one token has come");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn instances_that_race_take_no_more_than_there_is_and_leave_nothing() {
    let deployment = Deployment::of_demo().await;
    let tier = Tier { per_minute: 1, burst: 10 };
    let config = ThrottleConfig { tiers: Tiers { write: tier, ..Tiers::default() }, ..ThrottleConfig::default() };
    let calls = (0..20).map(|_| {
        let client = deployment.client_with(throttled(config));
        tokio::spawn(async move { is_done(&append(&client, "ida").await) })
    });
    let raced = futures::future::join_all(calls).await.into_iter().filter(|done| *done.as_ref().unwrap()).count();
    let client = deployment.client_with(throttled(config));
    let mut done = raced;
    while is_done(&append(&client, "ida").await) {
        done += 1;
    }
    assert!(raced > 0 && (10..=11).contains(&done), "{raced}, then {done}: one more where a minute has passed");
}

#[tokio::test]
async fn an_instance_that_knows_nothing_finds_the_last_token() {
    clock::stop();
    for _ in 0..4 {
        let deployment = Deployment::of_demo().await;
        let busy = deployment.client_with(throttled(at_once(20)));
        for _ in 1..20 {
            assert!(is_done(&append(&busy, "ida").await));
        }
        let other = deployment.client_with(throttled(at_once(20)));
        assert!(is_done(&append(&other, "ida").await));
        let requests = other.requests.take();
        let asked: Vec<Op> = requests.0.iter().filter(|one| one.key.contains("/throttle/")).map(|one| one.op).collect();
        assert!([&[Op::Create][..], &[Op::Create, Op::List, Op::Create]].contains(&&*asked), "{requests}");
        assert!(!is_done(&append(&deployment.client_with(throttled(at_once(20))), "ida").await));
    }
}

#[tokio::test]
async fn reads_are_counted_by_each_instance_for_itself_and_cost_no_request() {
    clock::stop();
    let deployment = Deployment::of_demo().await;
    for client in [(); 2].map(|()| deployment.client_with(throttled(at_once(3)))) {
        for call in 0..5 {
            client.requests.take();
            assert_eq!(is_done(&find(&client, "ida").await), call < 3);
        }
        assert_eq!(client.requests.take().count(), 0);
    }
}

#[tokio::test]
async fn callers_of_a_vault_share_its_own_tokens_once_they_have_drawn_theirs() {
    clock::stop();
    let deployment = Deployment::of_demo().await;
    let tier = Some(Tier { per_minute: 60, burst: 4 });
    let config =
        ThrottleConfig { vault_tiers: VaultTiers { write: tier, read: tier, ..VaultTiers::default() }, ..at_once(3) };
    let clients = [(); 2].map(|()| deployment.client_with(throttled(config)));
    let mut done = Vec::new();
    for (round, caller) in ["ida", "ida", "ida", "ida", "maeve", "maeve"].iter().enumerate() {
        done.push(is_done(&append(&clients[round % 2], caller).await));
    }
    assert_eq!(done, [true, true, true, false, true, false], "the refused call of ida took none of the vault's tokens");
    let refused = append(&clients[0], "maeve").await.error(429);
    assert!(refused.2.contains("of all callers together"), "{refused:?}");
    // Reads are counted by each instance.
    let mut read = Vec::new();
    for caller in ["ida", "ida", "maeve", "maeve", "maeve"] {
        read.push(is_done(&find(&clients[0], caller).await));
    }
    assert_eq!(read, [true, true, true, true, false]);
}

#[tokio::test]
async fn a_throttle_that_is_off_counts_nothing() {
    let deployment = Deployment::of_demo().await;
    let off = ThrottleConfig { enabled: false, max_concurrent_writes_per_vault: Some(0), ..at_once(1) };
    let client = deployment.client_with(throttled(off));
    for _ in 0..3 {
        assert!(is_done(&append(&client, "ida").await));
        assert!(is_done(&find(&client, "ida").await));
    }
    let requests = client.requests.take().without("/state/synced");
    assert!(requests.0.iter().all(|one| !one.key.contains("/state/")), "{requests}");
}

#[tokio::test(start_paused = true)]
async fn a_keyed_write_by_a_warm_instance_takes_a_request_for_its_token_and_two_for_its_key() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client_with(throttled(under_way(5)));
    let quiet = deployment.client_with(throttled(at_once(1000)));
    let put = async |client: &Client, name: &str| {
        client.requests.take();
        let key = ("idempotency-key".to_owned(), name.to_owned());
        let headers = [bearer(&token("ida", &scope::ALL, None)), key, ("if-none-match".to_owned(), "*".to_owned())];
        let uri = format!("/notes/vault/{name}.md");
        let reply = tokens::send(client, "PUT", &uri, &headers, &json!({ "content": "words" })).await;
        assert_eq!(reply.status, 201);
        client.requests.take().without("latest")
    };
    put(&quiet, "first").await;
    let requests = put(&quiet, "second").await;
    let of = |part: &str| requests.0.iter().filter(|one| one.key.contains(part)).count();
    assert_eq!((of("/state/claims/"), of("/state/throttle/"), of("/state/")), (2, 1, 3), "{requests}");
    assert_eq!((requests.count(), requests.waves()), (7, 4), "{requests}");
    put(&client, "third").await;
    let requests = put(&client, "fourth").await;
    assert_eq!((requests.count(), requests.waves()), (9, 6), "a ticket is made, and all are looked at\n{requests}");
}

#[tokio::test]
async fn what_the_store_cannot_count_is_not_let_through() {
    let deployment = Deployment::of_demo().await;
    let faults = FaultStore::new(deployment.objects.clone());
    faults.always(Op::Create, "/state/throttle/", Fault::Error);
    let store = Store::new(faults, "", StoreOptions::default()).unwrap();
    let client = Client::over_app(&store, Limits::default(), throttled(at_once(1000)));
    assert_eq!(append(&client, "ida").await.error(503).1, "store_unavailable");
    assert_eq!(deployment.mirror().head().await.unwrap().generation(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_more_writes_are_under_way_than_may_be() {
    let deployment = Deployment::of_demo().await;
    let faults = FaultStore::new(deployment.objects.clone());
    faults.always(Op::Create, "/manifests/", Fault::Slow(Duration::from_secs(1)));
    faults.always(Op::List, "/state/writing", Fault::Slow(Duration::from_millis(100)));
    let store = Store::new(faults, "", StoreOptions::default()).unwrap();
    let clients: Vec<Client> =
        (0..6).map(|_| Client::over_app(&store, Limits::default(), throttled(under_way(2)))).collect();
    let replies = futures::future::join_all(clients.iter().map(|client| append(client, "ida"))).await;
    assert!(replies.iter().filter(|reply| is_done(reply)).count() <= 2);
    let refused = replies.iter().find(|reply| !is_done(reply)).unwrap();
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(is_done(&append(&clients[0], "ida").await), "they have ended");
}

#[tokio::test]
async fn a_write_that_fails_is_under_way_no_more() {
    let client = Deployment::of_demo().await.client_with(throttled(under_way(1)));
    let headers = [bearer(&token("ida", &scope::ALL, None))];
    let edit = json!({ "edits": [{ "op": "append", "text": "x" }] });
    let replace = [headers[0].clone(), ("if-match".to_owned(), "*".to_owned())];
    for _ in 0..2 {
        let failed = tokens::send(&client, "PATCH", "/notes/none.md", &headers, &edit).await;
        assert_eq!(failed.error(404).1, "note_not_found");
        let unconfirmed =
            tokens::send(&client, "PUT", "/notes/vault/Home.md", &replace, &json!({ "content": "x" })).await;
        assert_eq!(unconfirmed.error(403).1, "elicit_required");
    }
    assert!(is_done(&append(&client, "ida").await));
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_process_died_counts_for_half_a_minute() {
    clock::stop();
    let deployment = Deployment::of_demo().await;
    let aging = AgingStore::new(deployment.objects.clone());
    let faults = FaultStore::new(aging.clone());
    let store = Store::new(faults.clone(), "", StoreOptions::default()).unwrap();
    let client = || Client::over_app(&store, Limits::default(), throttled(under_way(1)));
    assert!(is_done(&append(&client(), "ida").await));
    faults.once(Op::Create, "/manifests/", Fault::Silence);
    let died = client();
    tokio::time::timeout(Duration::from_secs(1), append(&died, "ida")).await.unwrap_err();
    for (seconds, passes) in [(0, false), (29, false), (2, true)] {
        clock::pass(Duration::from_secs(seconds));
        aging.pass(Duration::from_secs(seconds));
        assert_eq!(is_done(&append(&client(), "ida").await), passes, "{seconds}");
    }
}
