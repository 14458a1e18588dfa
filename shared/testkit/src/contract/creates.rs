//! What a store must do for a mirror to be safe on it.

use futures::future::join_all;
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt as _, PutMode};

use super::Place;

pub(super) async fn run(place: &impl Fn() -> Place) {
    a_second_create_is_refused_and_changes_nothing(place()).await;
    of_creators_at_once_one_wins(place()).await;
}

fn key(place: &Place) -> Path {
    Path::parse(format!("{}/probe", place.prefix).trim_start_matches('/')).unwrap()
}

async fn a_second_create_is_refused_and_changes_nothing(place: Place) {
    let key = key(&place);
    place.store.put_opts(&key, "first".into(), PutMode::Create.into()).await.unwrap();
    let second = place.store.put_opts(&key, "second".into(), PutMode::Create.into()).await;
    assert!(matches!(second, Err(Error::AlreadyExists { .. })), "{second:?}");
    assert_eq!(place.store.get(&key).await.unwrap().bytes().await.unwrap(), "first");
}

async fn of_creators_at_once_one_wins(place: Place) {
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
