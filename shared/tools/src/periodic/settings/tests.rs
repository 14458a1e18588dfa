use super::*;
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
    assert_eq!(of.first_day("Log/2026/d01-03.md"), Some(at.date()));
    assert_eq!(of.first_day("2026/d01-03.md"), None);
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
