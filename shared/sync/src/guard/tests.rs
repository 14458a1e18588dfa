use super::*;
use proptest::prelude::*;

const NOON: i64 = 43_200_000;

fn file(number: u64) -> LostFile {
    LostFile { path: number, content: number + 1000 }
}

/// A loss of the files with these numbers.
fn lost(time_ms: i64, files: std::ops::Range<u64>, of: u64) -> Loss {
    Loss { time_ms, what: FileKind::Notes, files: files.map(file).collect(), of }
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
        assert_eq!(passes(&[], lost(0, 0..notes, of)), expected, "{notes} of {of}");
    }
}

#[test]
fn small_losses_add_up_within_a_day() {
    let morning = [lost(NOON - 1000, 0..15, 100)];
    assert!(!passes(&morning, lost(NOON, 15..21, 85)));
    assert!(passes(&morning, lost(NOON, 15..20, 85)));
    assert!(passes(&morning, lost(NOON + DAY_MS, 15..21, 85)));
    let later = [lost(NOON + 1000, 0..15, 100)];
    assert!(!passes(&later, lost(NOON, 15..21, 85)), "a clock that was set back forgets nothing");
}

#[test]
fn losses_of_another_kind_do_not_add_up() {
    let pictures = Loss { what: FileKind::Attachments, ..lost(NOON, 0..15, 100) };
    assert!(passes(std::slice::from_ref(&pictures), lost(NOON, 15..21, 100)));
    assert_eq!(Losses { before: &[pictures], now: lost(NOON, 0..0, 100) }.remembered(), []);
}

#[test]
fn a_sync_that_loses_nothing_is_not_stopped_by_yesterday() {
    assert!(passes(&[lost(0, 0..90, 100)], lost(1000, 0..0, 10)));
}

#[test]
fn a_file_is_lost_once_however_often_it_comes_and_goes() {
    let before: Vec<Loss> = (0..20).map(|_| lost(NOON - 1000, 0..1, 1)).collect();
    assert!(passes(&before, lost(NOON, 0..1, 1)));
    assert!(!passes(&[lost(NOON - 1000, 0..10, 20)], lost(NOON, 10..11, 20)));
}

#[test]
fn a_path_or_content_that_is_there_again_is_lost_no_more() {
    let present = Present { paths: HashSet::from([1]), contents: HashSet::from([1002]) };
    assert_eq!(present.still_lost(&[lost(NOON, 0..4, 9)])[0].files, [file(0), file(3)]);
}

#[test]
fn only_the_losses_of_a_day_are_remembered() {
    let before = [lost(0, 0..1, 9), lost(DAY_MS, 1..2, 8)];
    let losses = Losses { before: &before, now: lost(DAY_MS + 1, 2..4, 7) };
    assert_eq!(losses.remembered(), [lost(DAY_MS, 1..2, 8), lost(DAY_MS + 1, 2..4, 7)]);
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
    fn what_passes_at_once_is_a_fifth_at_most_or_few(notes in 0..200_u64, of: u64) {
        let few = notes <= FEW || notes * SHARE <= of;
        prop_assert_eq!(passes(&[], lost(0, 0..notes, of)), few);
    }

    /// However few vanish at a time, and whatever comes and goes beside them.
    #[test]
    fn no_more_than_a_fifth_is_lost_within_a_day(steps in prop::collection::vec((1..9_u64, 0..3_u64), 1..60), of in 1..300_u64) {
        let (mut gone, mut before) = (0, Vec::new());
        for (at, (files, again)) in steps.into_iter().enumerate() {
            let (end, time_ms) = ((gone + files).min(of), i64::try_from(at).unwrap());
            let mut now = lost(time_ms, gone..end, of);
            now.files.extend((0..again).map(|number| file(900 + number)));
            let mut present = Present::default();
            present.paths.extend(900..910);
            let losses = Losses { before: &present.still_lost(&before), now };
            if losses.check(Side::Folder, Path::new("/v"), Path::new("/s")).is_err() {
                prop_assert!(end + again > FEW);
                break;
            }
            (gone, before) = (end, losses.remembered());
        }
        prop_assert!(gone <= FEW || gone * SHARE <= of, "{gone} of {of}");
    }
}
