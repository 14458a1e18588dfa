//! A store that fails in the middle.

use std::time::Duration;

use atlas_mirror::{CommitInfo, MirrorError};

use super::{Site, StorePrefix, commit, expect_new, notes_of, whole_history};
use crate::faults::Fault;
use crate::notes::{Put, by};
use crate::request::Op;

pub(super) async fn run(place: &impl Fn() -> StorePrefix) {
    for fault in [Fault::Error, Fault::ErrorAfter, Fault::OwnSuccess, Fault::Silence, Fault::SilenceAfter] {
        an_unclear_answer_is_looked_into(Site::new(place()), fault).await;
        an_upload_is_repeated(Site::new(place()), fault).await;
    }
    what_lands_late_lands_once(Site::new(place())).await;
    a_refusal_after_an_unclear_answer_proves_nothing(Site::new(place())).await;
    an_outcome_that_cannot_be_known_is_said_not_to_be(Site::new(place())).await;
    a_refused_commit_has_not_happened(Site::new(place())).await;
    a_commit_does_not_need_the_hint(Site::new(place())).await;
    a_read_is_repeated_and_then_gives_up(Site::new(place())).await;
    a_store_that_is_away_has_not_lost_the_vault(Site::new(place())).await;
    a_listing_that_lags_hides_nothing(Site::new(place())).await;
}

async fn an_unclear_answer_is_looked_into(site: Site, fault: Fault) {
    let writer = site.impatient();
    for generation in 1..=2 {
        site.faults.once(Op::Create, "/manifests/", fault);
        let made = commit(&writer, Put::note(&format!("{generation}.md"), "text")).await;
        assert_eq!(made.generation(), generation, "{fault:?}");
    }
    site.faults.heal();
    whole_history(&site.instance()).await;
    assert_eq!(notes_of(&site.instance()).await.unwrap().len(), 2, "{fault:?}");
}

async fn an_upload_is_repeated(site: Site, fault: Fault) {
    if fault == Fault::OwnSuccess {
        return;
    }
    site.faults.once(Op::Create, "/segments/", fault);
    commit(&site.impatient(), Put::note("a.md", "text")).await;
    assert_eq!(notes_of(&site.instance()).await.unwrap().len(), 1);
}

async fn what_lands_late_lands_once(site: Site) {
    let writer = site.impatient();
    site.faults.once(Op::Create, "/manifests/", Fault::Late(Duration::from_millis(600)));
    commit(&writer, Put::note("a.md", "text")).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    commit(&site.instance(), Put::note("b.md", "text")).await;
    assert_eq!(whole_history(&site.instance()).await.len(), 2);
}

async fn a_refusal_after_an_unclear_answer_proves_nothing(site: Site) {
    commit(&site.instance(), Put::note("a.md", "text")).await;
    let late = Some(Fault::Late(Duration::from_millis(1200)));
    site.faults.script(Op::Create, "/manifests/", [late].into_iter().chain([Some(Fault::Refused); 99]));
    assert_eq!(commit(&site.impatient(), Put::note("b.md", "text")).await.generation(), 2);
}

async fn an_outcome_that_cannot_be_known_is_said_not_to_be(site: Site) {
    commit(&site.instance(), Put::note("a.md", "text")).await;
    for (fault, happened) in [(Fault::SilenceAfter, true), (Fault::Silence, false)] {
        let writer = site.impatient();
        let head = writer.head().await.unwrap().generation();
        site.faults.always(Op::Create, "/manifests/", fault);
        // The answer is lost, and then the store is unavailable.
        let next = site.keys().manifest(head + 1);
        site.faults.script(Op::Get, next.as_ref(), [None].into_iter().chain([Some(Fault::Error); 99]));
        let info = CommitInfo { deadline: Duration::from_secs(1), ..by("agent") };
        let outcome = writer.commit(&info, &Put::note("b.md", "text")).await;
        site.faults.heal();
        let Err(MirrorError::CommitUnknown { generation, nonce }) = outcome else { panic!("{fault:?}: {outcome:?}") };
        assert_eq!(generation, head + 1);
        let there = site.instance().at(generation).await.unwrap();
        assert_eq!(there.is_some_and(|there| there.manifest().nonce == nonce), happened);
    }
}

async fn a_refused_commit_has_not_happened(site: Site) {
    commit(&site.instance(), Put::note("a.md", "text")).await;
    for key in ["/manifests/", "/segments/"] {
        site.faults.always(Op::Create, key, Fault::Refused);
        let refused = site.instance().commit(&by("agent"), &Put::note("b.md", "text")).await;
        assert!(matches!(refused, Err(MirrorError::StoreRefused { action: "write", .. })), "{refused:?}");
        site.faults.heal();
    }
    assert_eq!(site.instance().head().await.unwrap().generation(), 1);
}

async fn a_commit_does_not_need_the_hint(site: Site) {
    site.faults.always(Op::Put, "/latest", Fault::Refused);
    let writer = site.instance();
    for name in ["a.md", "b.md"] {
        expect_new(writer.commit(&by("agent"), &Put::note(name, "text")).await);
    }
    assert_eq!(notes_of(&site.instance()).await.unwrap().len(), 2);
}

async fn a_read_is_repeated_and_then_gives_up(site: Site) {
    commit(&site.instance(), Put::note("a.md", "text")).await;
    for fault in [Fault::Error, Fault::Silence, Fault::Truncated] {
        for (op, key) in [(Op::Get, "/latest"), (Op::Range, "/segments/")] {
            site.faults.script(op, key, [Some(fault), Some(fault)]);
            assert_eq!(notes_of(&site.impatient()).await.unwrap().len(), 1, "{fault:?}");
            site.faults.always(op, key, fault);
            let error = notes_of(&site.impatient()).await.unwrap_err();
            assert!(matches!(error, MirrorError::Unavailable { .. }), "{fault:?}: {error:?}");
            assert!(error.is_retryable());
            site.faults.heal();
        }
    }
    site.faults.always(Op::Get, "", Fault::Refused);
    let error = site.instance().head().await.unwrap_err();
    assert!(matches!(error, MirrorError::StoreRefused { action: "read", .. }), "{error:?}");
}

async fn a_store_that_is_away_has_not_lost_the_vault(site: Site) {
    commit(&site.instance(), Put::note("a.md", "text")).await;
    for op in [Op::Get, Op::List] {
        site.faults.always(Op::Get, "/latest", Fault::Missing);
        site.faults.always(op, "", Fault::Error);
        let error = site.instance().head().await.unwrap_err();
        assert!(matches!(error, MirrorError::Unavailable { .. }), "{op:?}: {error:?}");
        let error = site.instance().commit(&by("agent"), &Put::note("b.md", "text")).await.unwrap_err();
        assert!(matches!(error, MirrorError::Unavailable { .. }), "{op:?}: {error:?}");
        site.faults.heal();
    }
    assert_eq!(whole_history(&site.instance()).await.len(), 1);
}

async fn a_listing_that_lags_hides_nothing(site: Site) {
    let writer = site.instance();
    for name in ["a.md", "b.md", "c.md", "d.md", "e.md"] {
        commit(&writer, Put::note(name, "text")).await;
    }
    site.faults.always(Op::Get, "/latest", Fault::Missing);
    site.faults.always(Op::List, "", Fault::Lag(2));
    assert_eq!(notes_of(&site.instance()).await.unwrap().len(), 5);
}
