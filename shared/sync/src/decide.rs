//! Decides what happens to a path, from its last common version, the folder's version and the mirror's. Pure.

/// The hash of a content; [`None`] if there is none.
pub type Version = Option<[u8; 32]>;

/// The decision for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Both sides are equal.
    Keep,
    /// The folder's version, or its absence, goes to the mirror.
    Push,
    /// The mirror's version, or its absence, goes to the folder.
    Pull,
    /// Both changed it differently; both versions are kept.
    Conflict,
}

/// Decides by `ancestor`, the last common version. An edit wins over a deletion.
pub fn decide(ancestor: Version, folder: Version, head: Version) -> Action {
    if folder == head {
        Action::Keep
    } else if folder == ancestor {
        Action::Pull
    } else if head == ancestor {
        Action::Push
    } else if folder.is_none() {
        Action::Pull
    } else if head.is_none() {
        Action::Push
    } else {
        Action::Conflict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: Version = Some([1; 32]);
    const F: Version = Some([2; 32]);
    const H: Version = Some([3; 32]);

    #[test]
    fn the_side_that_changed_goes_to_the_other() {
        assert_eq!(decide(A, A, A), Action::Keep);
        assert_eq!(decide(A, F, A), Action::Push);
        assert_eq!(decide(A, None, A), Action::Push);
        assert_eq!(decide(None, F, None), Action::Push);
        assert_eq!(decide(A, A, H), Action::Pull);
        assert_eq!(decide(A, A, None), Action::Pull);
        assert_eq!(decide(None, None, H), Action::Pull);
    }

    #[test]
    fn equal_changes_are_no_conflict() {
        assert_eq!(decide(A, F, F), Action::Keep);
        assert_eq!(decide(A, None, None), Action::Keep);
        assert_eq!(decide(None, F, F), Action::Keep);
    }

    #[test]
    fn an_edit_beats_a_delete() {
        assert_eq!(decide(A, F, None), Action::Push);
        assert_eq!(decide(A, None, H), Action::Pull);
    }

    #[test]
    fn without_an_ancestor_nothing_is_deleted_and_differences_are_conflicts() {
        assert_eq!(decide(None, F, H), Action::Conflict);
        assert_eq!(decide(A, F, H), Action::Conflict);
    }

    fn any_version() -> impl Strategy<Value = Version> {
        prop_oneof![Just(None), Just(A), Just(F), Just(H)]
    }

    proptest! {
        #[test]
        fn a_text_that_only_one_side_has_is_never_overwritten(a in any_version(), f in any_version(), h in any_version()) {
            match decide(a, f, h) {
                Action::Keep => prop_assert_eq!(f, h),
                // A text of the mirror is removed from the newest generation only if the folder had it once and then
                // changed it.
                Action::Push => prop_assert!(h == a || h.is_none()),
                Action::Pull => prop_assert!(f == a || f.is_none()),
                Action::Conflict => prop_assert!(f.is_some() && h.is_some()),
            }
        }
    }
}
