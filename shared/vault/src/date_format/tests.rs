use super::*;
use jiff::civil::{DateTime, Weekday};
use jiff::civil::{date, datetime};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

fn read(format: &str, text: &str) -> Option<Date> {
    Locale::default().read(format, text)
}

/// A line of `golden.jsonl`: formats, then the texts of each time; 0 is none.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Golden {
    Formats(Vec<String>, Vec<DateTime>),
    Written(String, Vec<Vec<Value>>),
    OfWednesdays(String, String, Vec<String>),
}

#[test]
fn dates_of_all_languages_are_those_of_moment_itself() {
    let lines = include_str!("golden.jsonl").lines().map(|line| serde_json::from_str::<Golden>(line).unwrap());
    let (mut formats, mut times) = (Vec::new(), Vec::new());
    let (mut wrong, mut count) = (Vec::new(), 0);
    let mut check = |locale: Locale, format: &str, at: &DateTime, expected: &str| {
        count += 1;
        let written = locale.write(format, *at);
        if written != expected {
            wrong.push(format!("{} {format:?}: {written:?}, not {expected:?}", locale.id()));
        }
    };
    for line in lines {
        match line {
            Golden::Formats(some, at) => (formats, times) = (some, at),
            Golden::Written(id, written) => {
                let locale = Locale::named(&id).unwrap();
                assert_eq!(locale.id(), id);
                for (at, written) in times.iter().zip(written) {
                    for (format, expected) in formats.iter().zip(written) {
                        let Value::String(expected) = expected else { continue };
                        check(locale, format, at, &expected);
                    }
                }
            }
            Golden::OfWednesdays(id, first_day, written) => {
                assert_eq!(first_day, "wednesday");
                let locale = Locale::named(&id).unwrap().with_first_day(Weekday::Wednesday);
                times.iter().zip(written).for_each(|(at, expected)| check(locale, "gggg-[W]ww wo e", at, &expected));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 3000, "{count}");
}

#[test]
fn a_language_has_the_names_that_programs_call_it() {
    for (name, expected) in [
        ("de", Some("de")),
        ("pt_BR", Some("pt-br")),
        ("de-LI", Some("de")),
        ("zh", Some("zh-cn")),
        ("zh-TW", Some("zh-tw")),
        ("zh-Hant-TW", Some("zh-tw")),
        ("no", Some("nb")),
        ("en-US", Some("en")),
        ("klingon", None),
        ("", None),
    ] {
        assert_eq!(Locale::named(name).map(Locale::id), expected, "{name}");
    }
}

#[test]
fn a_date_is_read_in_its_language() {
    let day = Some(date(2026, 11, 27));
    for (id, format, text, expected) in [
        ("de", "YYYY-MM-DD dddd", "2026-11-27 Freitag", day),
        ("en", "YYYY-MM-DD dddd", "2026-11-27 Freitag", None),
        ("ru", "D MMMM YYYY", "27 ноября 2026", day),
        ("ru", "MMMM YYYY", "ноябрь 2026", Some(date(2026, 11, 1))),
        ("fr", "Do MMM YYYY", "27 nov. 2026", day),
        ("zh-cn", "LL", "2026年11月27日", day),
        ("ar", "D-M-YYYY", "٢٧-١١-٢٠٢٦", day),
        ("ja", "NNNNy[年]", "令和8年", Some(date(2026, 1, 1))),
        ("ja", "y-MM", "8-11", Some(date(2026, 11, 1))),
        ("de", "gggg-[W]ww", "2026-W48", Some(date(2026, 11, 23))),
    ] {
        assert_eq!(Locale::named(id).unwrap().read(format, text), expected, "{id} {text}");
    }
}

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
        ("l ll", "1/3/2026 Jan 3, 2026"),
        ("yyyy-MM-DD yo y N YYYYYY", "2026-01-03 2026th 2026 AD +002026"),
        ("[x\\y] \\[\\LTS a\\", "x\\y [LT0 am"),
        ("Hmm hmmss SSSS z", "005 120509 0450 "),
        ("[a]]YYYY \\\\[[b] LL]", "a]2026 [b] LL"),
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
        ("yyyy-MM-DD", "2026-01-03", Some(date(2026, 1, 3))),
        ("L", "01/03/2026", Some(date(2026, 1, 3))),
        ("ll", "Jan 3, 2026", Some(date(2026, 1, 3))),
        ("NNNN y [week] wo", "Anno Domini 2026 week 2nd", Some(date(2026, 1, 4))),
        ("MMM D", "Jan 3", None),
        ("HH:mm", "10:00", None),
        ("DD", "01", None),
    ] {
        assert_eq!(read(format, text), expected, "{format} {text}");
    }
}

#[test]
fn other_texts_do_not_fit_the_shape() {
    for (format, text) in [
        ("YYYY-MM-DD dddd", "Zettel 17"),
        ("YYYY-MM-DD dddd", "202611201530 Zettel"),
        ("YYYY-MM-DD dddd", "2026-11-20/Freitag"),
        ("YYYY/MM-DD", "2026-11-20"),
        ("L", "20-11-2026 x"),
    ] {
        assert!(!Shape::of(format).fits(text), "{format} {text}");
    }
    for (format, text) in [("L", "20.11.2026"), ("YYYY-MM-DD", "٢٠٢٦-١١-٢٠"), ("YYYY-MM-DD dddd", "2026-11-20 Freitag")]
    {
        assert!(Shape::of(format).fits(text), "{format} {text}");
    }
}

proptest! {
    #[test]
    fn a_day_that_is_written_is_read_again(days in 0..60_000_i64, format in select(vec![
        "YYYY-MM-DD", "YYYYMMDD", "DD.MM.YYYY", "D.M.YYYY", "YYYY/MM/YYYY-MM-DD", "dddd, MMMM Do YYYY", "ddd D MMM YYYY", "YYYY-DDDD",
        "YYYY-[Q]Q-MM-DD", "[Day] Do [of] MMMM, YYYY", "gggg-[W]ww YYYY-MM-DD", "L", "LL", "yyyy-MM-DD",
    ])) {
        let day = date(1900, 1, 1).checked_add(jiff::Span::new().days(days)).unwrap();
        // A Japanese year alone does not say its era.
        for locale in Locale::all().filter(|locale| locale.id() != "ja" || !format.contains('y')) {
            let written = locale.write(format, day.into());
            prop_assert_eq!(locale.read(format, &written), Some(day), "{} {}", locale.id(), format);
        }
    }

    #[test]
    fn what_is_written_in_any_language_fits_the_shape(days in 0..60_000_i64, format in select(vec![
        "YYYY-MM-DD", "D.M.YY", "YYYY/[Tag 1, é] ddd Do", "[W]w gg E", "YYYY-DDDD", "LLLL", "l", "NNNN y MMM", "x(Q)*",
    ])) {
        let day = date(1900, 1, 1).checked_add(jiff::Span::new().days(days)).unwrap();
        let shape = Shape::of(format);
        for locale in Locale::all() {
            let written = locale.write(format, day.into());
            prop_assert!(shape.fits(&written), "{} {}", locale.id(), written);
        }
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
