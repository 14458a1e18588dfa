#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn rule(prefix: Option<&str>) -> LifecycleRuleBuilder {
    let filter = prefix.map(|prefix| LifecycleRuleFilter::builder().prefix(prefix).build());
    LifecycleRule::builder().id("other").status(ExpirationStatus::Enabled).set_filter(filter)
}

fn versions(days: i32) -> NoncurrentVersionExpiration {
    NoncurrentVersionExpiration::builder().noncurrent_days(days).build()
}

fn expiring(prefix: Option<&str>) -> LifecycleRule {
    rule(prefix).expiration(LifecycleExpiration::builder().days(1).build()).build().unwrap()
}

/// The rule for versions of mirrors below `team`.
fn ours() -> LifecycleRule {
    rule(Some("team/vaults/")).id("ours").noncurrent_version_expiration(versions(30)).build().unwrap()
}

#[test]
fn a_rule_of_another_that_does_the_same_will_do() {
    for prefix in [None, Some(""), Some("team/"), Some("team/vaults/")] {
        let theirs = rule(prefix).noncurrent_version_expiration(versions(7)).build().unwrap();
        assert!(serves(&theirs, &ours()), "{prefix:?}");
    }
    for theirs in [
        rule(Some("other/")).noncurrent_version_expiration(versions(30)).build().unwrap(),
        rule(None).status(ExpirationStatus::Disabled).noncurrent_version_expiration(versions(30)).build().unwrap(),
        expiring(None),
    ] {
        assert!(!serves(&theirs, &ours()), "{theirs:?}");
    }
}

#[test]
fn our_own_rule_has_to_keep_versions_as_long_as_was_asked() {
    assert!(serves(&ours(), &ours()));
    let old = rule(Some("team/vaults/")).id("ours").noncurrent_version_expiration(versions(7)).build().unwrap();
    assert!(!serves(&old, &ours()));
}

#[test]
fn a_rule_that_deletes_what_vaults_need_is_seen() {
    for prefix in [None, Some("te"), Some("team/vaults/"), Some("team/vaults/main/segments/")] {
        assert!(endangers(&expiring(prefix), &ours()), "{prefix:?}");
    }
    let markers = LifecycleExpiration::builder().expired_object_delete_marker(true).build();
    for harmless in [
        ours(),
        expiring(Some("team/probes/")),
        expiring(Some("logs/")),
        rule(None).expiration(markers).build().unwrap(),
    ] {
        assert!(!endangers(&harmless, &ours()), "{harmless:?}");
    }
}
