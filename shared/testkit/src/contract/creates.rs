//! The guarantees that a mirror needs from a store.

use atlas_mirror::probe::clock;
use atlas_mirror::{MirrorError, probe_conditional_writes};
use futures::{StreamExt as _, future::join_all};
use jiff::{SignedDuration, Timestamp};
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt as _, PutMode};

use super::{Site, StorePrefix};
use crate::faults::Fault;
use crate::request::Op;

pub(super) async fn run(place: &impl Fn() -> StorePrefix) {
    a_second_create_is_refused_and_changes_nothing(place()).await;
    of_creators_at_once_one_wins(place()).await;
    the_probe_finds_nothing_and_leaves_nothing(Site::new(place())).await;
    a_store_that_loses_writes_is_found_out(Site::new(place())).await;
    a_probe_that_cannot_tell_says_so(Site::new(place())).await;
}

fn key(place: &StorePrefix) -> Path {
    Path::parse(format!("{}/probe", place.prefix).trim_start_matches('/')).unwrap()
}

async fn a_second_create_is_refused_and_changes_nothing(place: StorePrefix) {
    let key = key(&place);
    place.store.put_opts(&key, "first".into(), PutMode::Create.into()).await.unwrap();
    let second = place.store.put_opts(&key, "second".into(), PutMode::Create.into()).await;
    assert!(matches!(second, Err(Error::AlreadyExists { .. })), "{second:?}");
    assert_eq!(place.store.get(&key).await.unwrap().bytes().await.unwrap(), "first");
}

async fn of_creators_at_once_one_wins(place: StorePrefix) {
    let key = key(&place);
    let creators = (0..8).map(|creator| {
        let (place, key) = (place.clone(), key.clone());
        tokio::spawn(async move {
            let created = place.store.put_opts(&key, format!("{creator}").into(), PutMode::Create.into()).await;
            created.is_ok().then_some(creator)
        })
    });
    let winners: Vec<i32> = join_all(creators).await.into_iter().filter_map(Result::unwrap).collect();
    let [winner] = winners[..] else { panic!("{} creators of one key won", winners.len()) };
    assert_eq!(place.store.get(&key).await.unwrap().bytes().await.unwrap(), format!("{winner}"));
}

async fn the_probe_finds_nothing_and_leaves_nothing(site: Site) {
    probe_conditional_writes(&site.store()).await.unwrap();
    site.faults.once(Op::Create, "probes/", Fault::Error);
    probe_conditional_writes(&site.store()).await.unwrap();
    let now = clock(&site.store()).await.unwrap().duration_since(Timestamp::now()).abs();
    assert!(now < SignedDuration::from_secs(60), "the store's clock is {now:?} off");
    let prefix = Path::parse(&site.place.prefix).unwrap();
    assert_eq!(site.place.store.list(Some(&prefix)).count().await, 0);
}

async fn a_store_that_loses_writes_is_found_out(site: Site) {
    for (fault, says) in [(Fault::Careless, "can be created again"), (Fault::Hasty, "at once")] {
        site.faults.always(Op::Create, "", fault);
        let store = site.store().named("the shelf");
        let Err(error) = probe_conditional_writes(&store).await else { panic!("{fault:?} was not found out") };
        assert!(
            matches!(&error, MirrorError::UnsafeStore { store, reason } if store == "the shelf" && reason.contains(says)),
            "{error}"
        );
        assert!(!error.is_retryable());
        site.faults.heal();
    }
}

async fn a_probe_that_cannot_tell_says_so(site: Site) {
    for fault in [Fault::Error, Fault::OwnSuccess] {
        site.faults.always(Op::Create, "", fault);
        let error = probe_conditional_writes(&site.store()).await.unwrap_err();
        assert!(matches!(error, MirrorError::Unavailable { .. }), "{fault:?}: {error:?}");
        site.faults.heal();
    }
    site.faults.always(Op::Create, "", Fault::Refused);
    let error = probe_conditional_writes(&site.store()).await.unwrap_err();
    assert!(matches!(error, MirrorError::StoreRefused { action: "write", .. }), "{error:?}");
}
