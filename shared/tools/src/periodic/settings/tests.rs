use super::*;
use atlas_vault::date_format::Shape;
use jiff::civil::datetime;
use serde_json::json;

fn settings(value: &Value) -> Settings {
    Settings::of(value, Period::Daily, None).unwrap()
}

#[test]
fn a_template_is_filled_in_and_what_is_no_place_stays() {
    let at = datetime(2026, 3, 1, 9, 5, 0, 0);
    let of = settings(&json!({ "folder": "/Log/", "format": "YYYY/[d]DD-MM" }));
    let path = of.path(at).unwrap();
    assert_eq!(path.as_str(), "Log/2026/d01-03.md");
    for (template, expected) in [
        ("# {{title}}, {{ Date }} {{time}}", "# d01-03, d01-03 09:05"),
        ("{{date:dddd}} {{time: HH }} {{date:}}", "Sunday 09 d01-03"),
        ("{{yesterday}} {{tomorrow}}", "2026/d28-02 2026/d02-03"),
        ("{{other}} {{ {{title}} }} {{", "{{other}} {{ d01-03 }} {{"),
        ("<% tp.date.now() %>", "<% tp.date.now() %>"),
    ] {
        assert_eq!(of.filled(template, &path, at), expected);
    }
    let core = Settings::of(&json!({ "format": "DD.MM." }), Period::Daily, Some("YYYY-MM-DD")).unwrap();
    assert_eq!(core.filled("{{date}}", &path, at), "2026-03-01");
    assert_eq!(of.first_day()("Log/2026/d01-03.md"), Some(at.date()));
    assert_eq!(of.first_day()("2026/d01-03.md"), None);
}

#[test]
fn dates_of_a_template_are_moved_and_days_of_the_week_are_those_of_the_notes_week() {
    // A Sunday.
    let at = datetime(2026, 3, 1, 9, 5, 0, 0);
    let path = VaultPath::parse("2026-W10.md").unwrap();
    let weekly = Settings::of(&json!({}), Period::Weekly, None).unwrap();
    for (template, expected) in [
        ("{{monday:YYYY-MM-DD}} {{ Sunday : D }} {{saturday:dddd D}}", "2026-03-02 1 Saturday 7"),
        ("{{date+7d:gggg-[W]ww}} {{date-7d:ww}} {{date+1w}}", "2026-W11 09 2026-W11"),
        ("{{time+1h:HH:mm}} {{time -70m:HH:mm}} {{date+1M:M}} {{DATE + 1}}", "10:05 07:55 4 {{DATE + 1}}"),
        ("{{date+1q:[Q]Q}} {{date-1y:YYYY}} {{date+99999999999y:YYYY}}", "Q2 2025 {{date+99999999999y:YYYY}}"),
        ("{{monday}} {{date+1x:D}} {{dates+1d}}", "{{monday}} {{date+1x:D}} {{dates+1d}}"),
    ] {
        assert_eq!(weekly.filled(template, &path, at), expected);
    }
    let german = Settings { locale: Locale::named("de").unwrap(), ..weekly };
    assert_eq!(german.filled("{{sunday:dddd D}} {{monday:D MMMM}}", &path, at), "Sonntag 1 23 Februar");
    assert_eq!(settings(&json!({})).filled("{{monday:D}}", &path, at), "{{monday:D}}");
}

/// Settings of which nobody says the language, in a vault with these notes.
fn guessed(format: &str, names: &[String]) -> Settings {
    let mut settings = settings(&json!({ "folder": "J", "format": format }));
    settings.is_said = false;
    settings.guess_of(&names.iter().map(|name| format!("J/{name}.md")).collect::<Vec<_>>());
    settings
}

#[test]
fn the_names_that_are_there_say_their_language_and_no_second_note_is_made() {
    let named =
        |names: &[&str]| guessed("YYYY-MM-DD dddd", &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let day = datetime(2026, 11, 27, 9, 0, 0, 0);
    let german = named(&["2026-11-27 Freitag", "2026-11-26 Donnerstag", "2026-11-26 Thursday", "2026 notes"]);
    assert_eq!(german.path(day).unwrap().as_str(), "J/2026-11-27 Freitag.md");
    assert_eq!(german.first_day()("J/2026-11-26 Donnerstag.md"), Some(day.date().yesterday().unwrap()));
    assert_eq!(german.guessed, Some("de"));

    let english = named(&["2026-11-25 Wednesday", "2026-11-26 Thursday", "2026-11-27 Freitag"]);
    assert_eq!((english.path(day).unwrap().as_str(), english.guessed), ("J/2026-11-27 Friday.md", None));
    // Where another note of the day would be.
    assert!(english.paths(day).any(|(id, path)| id == "de" && path.as_str() == "J/2026-11-27 Freitag.md"));
    assert_eq!(named(&[]).path(day).unwrap(), english.path(day).unwrap());
}

#[test]
fn the_language_is_guessed_among_many_other_names() {
    let days = (1..=28).flat_map(|day| {
        [10, 11]
            .map(|month| Locale::named("de").unwrap().write("YYYY-MM-DD dddd", datetime(2026, month, day, 0, 0, 0, 0)))
    });
    let titles = ('a'..='z').flat_map(|one| ('a'..='p').map(move |other| format!("2026-11-20 Gespräch {one}{other}")));
    let german = guessed("YYYY-MM-DD dddd", &days.chain(titles).collect::<Vec<_>>());
    assert_eq!(german.guessed, Some("de"));
    let shape = Shape::of(german.name_format());
    for (path, can_be) in [
        ("J/2026-11-27 Freitag.md", true),
        ("J/Zettel 17.md", false),
        ("J/202611271530 Zettel.md", false),
        ("J/2026-11-27/Freitag.md", false),
        ("2026-11-27 Freitag.md", false),
    ] {
        assert_eq!(german.can_be_date(path, &shape), can_be, "{path}");
    }
}

#[test]
fn names_of_numbers_alone_are_guessed_by_their_digits() {
    let names = ["٢٠٢٦-١١-٢٠", "٢٠٢٦-١١-١٩", "२०२६-११-२०", "2026-11-18"].map(str::to_owned);
    let arabic = guessed("YYYY-MM-DD", &names);
    let day = datetime(2026, 11, 21, 9, 0, 0, 0);
    assert_eq!(arabic.path(day).unwrap().as_str(), "J/٢٠٢٦-١١-٢١.md");
    let english = guessed("YYYY-MM-DD", &names[3..]);
    assert_eq!((english.path(day).unwrap().as_str(), english.guessed), ("J/2026-11-21.md", None));
    let others: Vec<_> = english.paths(day).map(|(_, path)| path.as_str().to_owned()).collect();
    assert!(others.contains(&"J/٢٠٢٦-١١-٢١.md".to_owned()) && others.len() < 20, "{others:?}");
}

/// Polish November is Croatian October, and weeks have other numbers where they begin on another day.
#[test]
fn a_name_that_is_another_period_elsewhere_is_not_taken() {
    for (format, name, is_clear) in [
        ("YYYY MMMM", "2026 listopad", false),
        ("YYYY MMMM", "2026 März", true),
        ("gggg [Week] wo", "2027 Week 6th", false),
        ("YYYY-MM-DD dddd", "2026-11-27 Freitag", true),
        ("YYYY-MM-DD", "٢٠٢٦-١١-٢٠", true),
        ("YYYY-MM-DD", "Zettel", false),
    ] {
        assert_eq!(guessed(format, &[]).means_one_period(&format!("J/{name}.md")), is_clear, "{name}");
    }
}

#[test]
fn another_language_keeps_the_first_day_of_weeks_that_was_set() {
    let english = Locale::default().with_first_day(jiff::civil::Weekday::Monday);
    let arabic = Locale::named("ar").unwrap();
    assert_eq!(english.speaking(arabic), arabic.with_first_day(jiff::civil::Weekday::Monday));
    assert_eq!(Locale::default().speaking(arabic), arabic);
}

#[test]
fn the_plugins_settings_are_found_in_both_of_their_shapes() {
    let old = json!({ "weekly": { "enabled": true, "format": "old" }, "daily": { "enabled": false }, "yearly": {} });
    assert_eq!(of_plugin(&old, Period::Weekly).unwrap()["format"], "old");
    assert!([Period::Daily, Period::Yearly, Period::Monthly].iter().all(|period| of_plugin(&old, *period).is_none()));
    let set = |id: &str, format: &str| json!({ "id": id, "week": { "enabled": true, "format": format, "templatePath": "t" } });
    let new = json!({ "activeCalendarSet": "b", "calendarSets": [set("a", "first"), set("b", "second")] });
    let found = of_plugin(&new, Period::Weekly).unwrap();
    assert_eq!(found["format"], "second");
    assert_eq!(settings(found).template().unwrap().as_str(), "t.md");
}

#[test]
fn what_is_never_closed_is_not_looked_for_without_end() {
    let at = datetime(2026, 3, 1, 9, 5, 0, 0);
    let path = VaultPath::parse("a.md").unwrap();
    let filled = |template: &str| settings(&json!({})).filled(template, &path, at);
    assert_eq!(filled("{{ {{title}} {{x}} {{title"), "{{ a {{x}} {{title");
    let far = format!("{}{}}}}}", "{{".repeat(9000), "x".repeat(8 << 20));
    assert!(filled(&far) == far);
    let padded = |count: usize| format!("{{{{{}title}}}}", " ".repeat(count));
    assert_eq!(filled(&padded(500)), "a");
    assert_eq!(filled(&padded(1000)), padded(1000));
}

#[test]
fn what_names_no_note_is_refused() {
    let at = datetime(2026, 3, 1, 9, 5, 0, 0);
    for format in ["[../]YYYY", "[.hidden]", "[a]\u{0}"] {
        assert_eq!(
            settings(&json!({ "format": format })).path(at).unwrap_err().reason(),
            "settings_invalid",
            "{format}"
        );
    }
    assert!(Settings::of(&json!({ "format": "Y".repeat(501) }), Period::Daily, None).is_err());
    // Missing or useless values.
    assert_eq!(settings(&json!({ "format": " ", "folder": 7 })), settings(&json!([])));
    assert_eq!(settings(&json!({})).path(at).unwrap().as_str(), "2026-03-01.md");
}
