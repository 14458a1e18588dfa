use super::*;
use jiff::civil::{date, datetime};
use proptest::prelude::*;
use proptest::sample::select;

#[test]
fn dates_are_written_as_moment_writes_them() {
    let at = datetime(2026, 1, 3, 0, 5, 9, 45_000_000);
    for (format, expected) in [
        ("YYYY-MM-DD", "2026-01-03"),
        ("gggg-[W]ww", "2026-W01"),
        ("GGGG-[W]WW E", "2026-W01 6"),
        ("YYYY-[Q]Q", "2026-Q1"),
        ("dddd, MMMM Do YYYY", "Saturday, January 3rd 2026"),
        ("ddd dd d do e DDD DDDD DDDo", "Sat Sa 6 6th 6 3 003 3rd"),
        ("YY.M.D [at] H:mm:ss.SSS", "26.1.3 at 0:05:09.045"),
        ("hh:mm A kk a", "12:05 AM 24 am"),
        ("Mo Qo wo Wo", "1st 1st 1st 1st"),
        ("[[YYYY]] \\YYYY [n", "[YYYY] YYYY [n"),
        ("L LT LL", "01/03/2026 12:05 AM January 3, 2026"),
        ("X x Z", "1767398709 1767398709045 +00:00"),
        ("[Journal]/YYYY/日", "Journal/2026/日"),
    ] {
        assert_eq!(write(format, at), expected, "{format}");
    }
    assert_eq!(write("gggg-ww", date(2026, 12, 27).at(0, 0, 0, 0)), "2027-01");
    assert_eq!(write("GGGG-WW", date(2027, 1, 3).at(0, 0, 0, 0)), "2026-53");
    assert_eq!(
        ["11", "12", "13", "21", "22", "23"].map(|day| write("Do", date(2026, 3, day.parse().unwrap()).into())),
        ["11th", "12th", "13th", "21st", "22nd", "23rd"]
    );
}

#[test]
fn a_name_says_with_which_day_it_begins() {
    for (format, text, expected) in [
        ("YYYY-MM-DD", "2026-02-28", Some(date(2026, 2, 28))),
        ("YYYY-MM-DD", "2026-02-30", None),
        ("YYYY-MM-DD", "2026-2-28", None),
        ("YYYY-MM-DD", "2026-02-28x", None),
        ("YYYY-MM", "2026-02", Some(date(2026, 2, 1))),
        ("YYYY-[Q]Q", "2026-Q3", Some(date(2026, 7, 1))),
        ("YYYY-[Q]Q", "2026-Q5", None),
        ("YYYY", "2026", Some(date(2026, 1, 1))),
        ("gggg-[W]ww", "2026-W01", Some(date(2025, 12, 28))),
        ("YYYY-[W]ww", "2026-W01", Some(date(2025, 12, 28))),
        ("gggg-[W]ww", "2026-W60", None),
        ("GGGG-[W]WW", "2026-W53", Some(date(2026, 12, 28))),
        ("GGGG-[W]WW", "2025-W53", None),
        ("dddd, MMMM Do YYYY", "Saturday, January 3rd 2026", Some(date(2026, 1, 3))),
        ("dddd, MMMM Do YYYY", "Sunday, January 3rd 2026", None),
        ("MMM D", "Jan 3", None),
        ("HH:mm", "10:00", None),
        ("DD", "01", None),
    ] {
        assert_eq!(read(format, text), expected, "{format} {text}");
    }
}

proptest! {
    #[test]
    fn a_day_that_is_written_is_read_again(days in 0..60_000_i64, format in select(vec![
        "YYYY-MM-DD", "YYYYMMDD", "DD.MM.YYYY", "D.M.YYYY", "YYYY/MM/YYYY-MM-DD", "dddd, MMMM Do YYYY", "ddd D MMM YYYY", "YYYY-DDDD",
        "YYYY-[Q]Q-MM-DD", "[Day] Do [of] MMMM, YYYY", "gggg-[W]ww YYYY-MM-DD", "L",
    ])) {
        let day = date(1900, 1, 1).checked_add(jiff::Span::new().days(days)).unwrap();
        let read = read(format, &write(format, day.into()));
        prop_assert_eq!(read, (format != "L").then_some(day));
    }

    #[test]
    fn what_is_written_of_a_period_is_read_as_its_first_day(days in 0..60_000_i64, format in select(vec![
        "gggg-[W]ww", "GGGG-[W]WW", "YYYY-MM", "MMMM YYYY", "YYYY-[Q]Q", "YYYY",
    ])) {
        let day = date(1900, 1, 1).checked_add(jiff::Span::new().days(days)).unwrap();
        let written = write(format, day.into());
        let first = read(format, &written).unwrap();
        prop_assert!(first <= day);
        // The day before must be in another period.
        prop_assert_eq!(write(format, first.into()), written.as_str());
        prop_assert_ne!(write(format, first.yesterday().unwrap().into()), written);
    }

    #[test]
    fn any_format_writes_and_any_text_is_read(format in "(?s).{0,20}", text in "(?s).{0,20}") {
        let _ = (read(&format, &text), write(&format, date(2026, 1, 3).into()));
    }
}
