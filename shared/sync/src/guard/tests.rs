use super::*;
use proptest::prelude::*;

const NOON: i64 = 43_200_000;

fn lost(time_ms: i64, files: u64, of: u64) -> Loss {
    Loss { time_ms, what: FileKind::Notes, files, of }
}

fn passes(before: &[Loss], now: Loss) -> bool {
    Losses { before, now }.check(Side::Folder, Path::new("/v"), Path::new("/s")).is_ok()
}

#[test]
fn more_than_a_fifth_and_more_than_ten_is_too_much() {
    for (notes, of, expected) in [
        (0, 0, true),
        (10, 10, true),
        (11, 11, false),
        (11, 54, false),
        (11, 55, true),
        (20, 100, true),
        (21, 100, false),
    ] {
        assert_eq!(passes(&[], lost(0, notes, of)), expected, "{notes} of {of}");
    }
}

#[test]
fn small_losses_add_up_within_a_day() {
    let morning = [lost(NOON - 1000, 15, 100)];
    assert!(!passes(&morning, lost(NOON, 6, 85)));
    assert!(passes(&morning, lost(NOON, 5, 85)));
    assert!(passes(&morning, lost(NOON + DAY_MS, 6, 85)));
    let later = [lost(NOON + 1000, 15, 100)];
    assert!(!passes(&later, lost(NOON, 6, 85)), "a clock that was set back forgets nothing");
}

#[test]
fn losses_of_another_kind_do_not_add_up() {
    let pictures = Loss { what: FileKind::Attachments, ..lost(NOON, 15, 100) };
    assert!(passes(&[pictures], lost(NOON, 6, 100)));
    assert_eq!(Losses { before: &[pictures], now: lost(NOON, 0, 100) }.remembered(), []);
}

#[test]
fn a_sync_that_loses_nothing_is_not_stopped_by_yesterday() {
    assert!(passes(&[lost(0, 90, 100)], lost(1000, 0, 10)));
}

#[test]
fn only_the_losses_of_a_day_are_remembered() {
    let before = [lost(0, 1, 9), lost(DAY_MS, 1, 8)];
    let losses = Losses { before: &before, now: lost(DAY_MS + 1, 2, 7) };
    assert_eq!(losses.remembered(), [lost(DAY_MS, 1, 8), lost(DAY_MS + 1, 2, 7)]);
}

fn seen(lineage: &str, generation: u64, manifest: u8) -> SeenGeneration {
    SeenGeneration { lineage: lineage.to_owned(), generation, manifest: [manifest; 32] }
}

#[test]
fn a_mirror_that_went_on_is_the_same_mirror() {
    let last = seen("a", 5, 1);
    assert_eq!(compare(&last, Some(&seen("a", 5, 1))), Ok(Ancestry::Same));
    assert_eq!(compare(&last, Some(&seen("a", 9, 2))), Ok(Ancestry::Later));
    assert!(check_ancestor(&last, Hash::from_bytes([1; 32])).is_ok());
}

#[test]
fn a_mirror_that_was_replaced_or_set_back_is_another() {
    let last = seen("a", 5, 1);
    for head in [None, Some(seen("b", 9, 2)), Some(seen("a", 4, 2)), Some(seen("a", 5, 2))] {
        assert!(compare(&last, head.as_ref()).is_err(), "{head:?}");
    }
    assert!(check_ancestor(&last, Hash::from_bytes([2; 32])).is_err());
}

#[test]
fn a_folder_whose_file_system_is_gone_is_noticed() {
    let check =
        |was: &str, now: &str| check_mount(Path::new(was), Path::new(now), Path::new("/mnt/v/notes"), Path::new("/s"));
    assert!(check("/mnt/v", "/").is_err());
    assert!(check("/mnt/v/notes", "/mnt/v").is_err());
    assert!(check("/mnt/v", "/mnt/v").is_ok());
    assert!(check("/", "/").is_ok());
    assert!(check("/", "/mnt/v").is_ok(), "mounted since");
}

proptest! {
    #[test]
    fn what_passes_at_once_is_a_fifth_at_most_or_few(notes: u64, of: u64) {
        let few = notes <= FEW || u128::from(notes) * u128::from(SHARE) <= u128::from(of);
        prop_assert_eq!(passes(&[], lost(0, notes, of)), few);
    }
}
