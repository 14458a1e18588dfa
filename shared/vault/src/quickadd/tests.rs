use std::collections::BTreeMap;

use jiff::civil::{DateTime, datetime};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::capture::{InsertAt, insert};
use super::format::{FormatError, Values, fill, include};
use super::*;

const MARK: &str = "\u{feff}";
const NOW: DateTime = datetime(2026, 11, 24, 9, 5, 0, 0);

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => panic!("no object"),
    }
}

fn filled(text: &str, given: Value) -> Result<String, FormatError> {
    let given = object(given);
    let globals = object(json!({ "sign": "by {{VALUE:who}}", "loop": "{{GLOBAL_VAR:loop}}" }));
    let templates = [("a", "<{{VALUE}} {{TEMPLATE:T/b.md}}>"), ("b", "b"), ("c", "{{template:T/c.md}}")];
    let templates: BTreeMap<String, String> =
        templates.into_iter().map(|(name, text)| (format!("T/{name}.md"), text.to_owned())).collect();
    let values = Values {
        now: NOW,
        locale: crate::date_format::Locale::default(),
        given: &given,
        globals: &globals,
        title: Some("Log"),
        seed: 7,
    };
    fill(&include(text, &templates)?, &values)
}

#[test]
fn choices_are_read_with_their_groups_and_whatever_else_is_there() {
    let settings = json!({ "choices": [
        { "id": "1", "name": "Log", "type": "Capture", "captureTo": "Log.md", "task": true, "appendLink": { "enabled": true }, "format": { "enabled": true, "format": "x" } },
        { "id": "2", "name": "Work", "type": "Multi", "choices": [
            { "id": "3", "name": "Note", "type": "Template", "templatePath": "T.md", "fileExistsMode": "Increment the file name", "setFileExistsBehavior": true },
            { "id": "4", "name": "Run", "type": "Macro", "macro": {} },
        ] },
        { "name": "Odd", "type": "Template", "templatePath": 7 }, { "type": "New" }, 7,
    ], "version": "2.0" });
    let choices = choices(&settings);
    let names: Vec<(&str, Option<&str>)> =
        choices.iter().map(|choice| (choice.name.as_str(), choice.group.as_deref())).collect();
    assert_eq!(
        names,
        [("Log", None), ("Work", None), ("Note", Some("Work")), ("Run", Some("Work")), ("Odd", None), ("", None)]
    );
    assert!(matches!(&choices[0].action, Action::Capture(capture) if capture.task && capture.format.enabled));
    assert!(matches!(&choices[1].action, Action::Multi(names) if names == &["Note", "Run"]));
    assert!(matches!(&choices[2].action, Action::Template(template) if template.existing() == Existing::Increment));
    assert!(matches!((&choices[3].action, &choices[4].action), (Action::Macro, Action::Unknown)));
    let existing = |template: Value| Template::deserialize(template).unwrap().existing();
    assert_eq!(existing(json!({})), Existing::Ask);
    assert_eq!(existing(json!({ "incrementFileName": true })), Existing::Increment);
    assert_eq!(existing(json!({ "fileExistsMode": "Overwrite the file" })), Existing::Ask);
    assert_eq!(
        existing(json!({ "fileExistsBehavior": { "kind": "apply", "mode": "appendBottom" } })),
        Existing::Bottom
    );
    assert_eq!(
        existing(json!({ "fileExistsBehavior": { "kind": "prompt" }, "incrementFileName": true })),
        Existing::Ask
    );
    let mut nested = json!({ "choices": [] });
    for _ in 0..50 {
        nested = json!({ "choices": [{ "name": "in", "type": "Multi", "choices": nested["choices"] }] });
    }
    assert_eq!(super::choices(&nested).len(), 10);
}

#[test]
fn places_are_filled_from_the_clock_and_from_what_is_given() {
    for (text, expected) in [
        (
            "{{DATE}} {{date:YYYY}} {{DATE+1}} {{DATE+-1}} {{DATE:DD.MM.+7}}",
            "2026-11-24 2026 2026-11-25 2026-11-23 01.12.",
        ),
        ("{{TIME}} {{time:HH}}", "09:05 09"),
        (
            "{{VALUE}} {{name}} {{VALUE:who}} {{VALUE:none|nobody}} {{VALUE:none|default:x|label:Who}}",
            "v v Ann nobody x",
        ),
        ("{{VALUE:low,high}} {{VALUE:red,blue|name:color}} {{VALUE:a,b|custom|name:who}}", "high blue Ann"),
        ("{{VDATE:day, YYYY}}-{{VDATE:day,MM}} {{VDATE:soon,DD|tomorrow}}", "2027-03 25"),
        ("{{TITLE}} {{FIELD:who|folder:x}} {{GLOBAL_VAR:sign}} {{TEMPLATE:T/a.md}}", "Log Ann by Ann <v b>"),
        ("{{other}} {{ {{ }} {{x:y}}", "{{other}} {{ {{ }} {{x:y}}"),
    ] {
        let given = json!({ "value": "v", "who": "Ann", "low,high": "high", "color": "blue", "day": "2027-03-01" });
        assert_eq!(filled(text, given).as_deref(), Ok(expected));
    }
    // Arguments are text, not a format.
    assert_eq!(filled("{{VALUE}}", json!({ "value": "{{DATE}}" })).as_deref(), Ok("{{DATE}}"));
    let random = filled("{{RANDOM:6}}{{RANDOM:6}}", json!({})).unwrap();
    assert!(
        random.len() == 12 && random[..6] != random[6..] && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    );
}

#[test]
fn what_cannot_be_filled_is_named() {
    let needs = |what: &str| FormatError::NeedsApp(what.to_owned());
    let wrong = |what: &str| FormatError::Wrong(what.to_owned());
    for (text, expected) in [
        ("{{MACRO:run}}", needs("{{MACRO:run}}")),
        ("{{selected}}", needs("{{SELECTED}}")),
        ("{{CLIPBOARD}} {{VALUE}}", needs("{{CLIPBOARD}}")),
        ("a\n```js quickadd\nreturn 1;\n```", needs("a script (js quickadd)")),
        ("{{VALUE:x|case:kebab}}", needs("{{VALUE:x|case:kebab}}")),
        ("{{VALUE}} {{VALUE:b}} {{VDATE:c,YYYY}}", FormatError::Missing(["value", "b", "c"].map(str::to_owned).into())),
        ("{{TEMPLATE:T/none.md}}", FormatError::Template("T/none.md".to_owned())),
        ("{{VALUE:low,high|low,|name:odd}}", wrong("args: odd is one of low,high")),
        ("{{VDATE:odd,YYYY}}", wrong("args: odd is a day, as YYYY-MM-DD")),
        ("{{GLOBAL_VAR:loop}}", wrong("global variables name each other more than 5 times")),
        ("{{TEMPLATE:T/c.md}}", wrong("templates include each other more than 5 times")),
        ("{{RANDOM:101}}", wrong("{{RANDOM:101}}: at most 100 characters")),
        ("{{DATE+99999999999}}", wrong("{{DATE:YYYY-MM-DD}} is no date")),
    ] {
        assert_eq!(filled(text, json!({ "odd": "z" })), Err(expected), "{text}");
    }
}

#[test]
fn a_capture_goes_where_the_choice_says() {
    const NOTE: &str = "---\na: 1\n---\n# Log\nintro\n\n## Ideas\n- one\n\n### More\n- two\n\n# End\n";
    let after = |line, at_end, with_subsections, create| InsertAt::After { line, at_end, with_subsections, create };
    for (place, expected) in [
        (InsertAt::Top, NOTE.replace("# Log", "- new\n# Log")),
        (InsertAt::Bottom, format!("{NOTE}- new\n")),
        (after("## Ideas", false, false, None), NOTE.replace("## Ideas\n", "## Ideas\n- new\n")),
        (after("## Ideas", true, false, None), NOTE.replace("- one\n", "- one\n- new\n")),
        (after("## Ideas", true, true, None), NOTE.replace("- two\n", "- two\n- new\n")),
        (after("# End\\n", true, false, None), format!("{NOTE}- new\n")),
        (after("- o", false, false, None), NOTE.replace("- one\n", "- one\n- new\n")),
        (after("intro", true, false, None), NOTE.replace("intro\n", "intro\n- new\n")),
        (after("## None", false, false, Some(true)), NOTE.replace("# Log", "## None\n- new\n# Log")),
        (after("## None", false, false, Some(false)), format!("{NOTE}## None\n- new\n")),
    ] {
        for captured in ["- new", "- new\n"] {
            assert_eq!(insert(NOTE, captured, place).as_deref(), Some(expected.as_str()), "{place:?}");
        }
    }
    assert_eq!(insert(NOTE, "x", after("## None", false, false, None)), None);
    let code = "## Log\n```sh\n# build\nmake\n```\n- old\n\n# End\n";
    let expected = code.replace("- old\n", "- old\n- new\n");
    assert_eq!(insert(code, "- new", after("## Log", true, true, None)), Some(expected));
    assert_eq!(insert("", "x", InsertAt::Bottom).as_deref(), Some("x\n"));
    assert_eq!(insert("a", "x", InsertAt::Bottom).as_deref(), Some("a\nx\n"));
    assert_eq!(insert("a\r\nb", "x", after("b", true, false, None)).as_deref(), Some("a\r\nb\r\nx\r\n"));
}

#[test]
fn a_capture_has_the_line_breaks_of_its_note() {
    let after = |create| InsertAt::After { line: "## B", at_end: false, with_subsections: false, create };
    for (place, expected) in [
        (InsertAt::Top, "- x\r\n  y\r\n# A\r\n"),
        (InsertAt::Bottom, "# A\r\n- x\r\n  y\r\n"),
        (after(Some(false)), "# A\r\n## B\r\n- x\r\n  y\r\n"),
    ] {
        for captured in ["- x\n  y", "- x\n  y\n", "- x\r\n  y\r\n"] {
            assert_eq!(insert("# A\r\n", captured, place).as_deref(), Some(expected), "{place:?}");
        }
    }
}

proptest! {
    #[test]
    fn a_capture_changes_nothing_else(
        text in "(---\na: 1\n---\n)?(#{1,3} [a-c]|[a-c]|\n|\r\n|- é){0,12}", line in "[#]{0,2} ?[a-c]", kind in 0..4_u8, at_end in any::<bool>(), is_marked in any::<bool>(),
    ) {
        let text = if is_marked { format!("{MARK}{text}") } else { text };
        let place = match kind {
            0 => InsertAt::Top,
            1 => InsertAt::Bottom,
            _ => InsertAt::After { line: &line, at_end, with_subsections: kind == 2, create: None },
        };
        if let Some(after) = insert(&text, "CAPTURED", place) {
            let (before, rest) = after.split_once("CAPTURED").unwrap();
            prop_assert!(before.is_empty() || before == MARK || before.ends_with('\n'));
            prop_assert!(rest.starts_with(['\n', '\r']));
            let kept: String = text.split(['\n', '\r']).collect();
            let is: String = format!("{before}{rest}").split(['\n', '\r']).collect();
            prop_assert_eq!(kept, is);
        }
    }

    #[test]
    fn no_format_makes_it_panic(text in "(\\{\\{|\\}\\}|VALUE|DATE|VDATE|TEMPLATE:T/a.md|GLOBAL_VAR:loop|:|,|\\||\\+|-|9|é|x){0,20}") {
        let _ = filled(&text, json!({ "value": "v", "x": "2026-01-01" }));
    }
}
