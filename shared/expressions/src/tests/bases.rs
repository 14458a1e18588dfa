use serde_json::{Value as Json, json};

use super::world::{World, json_of};
use crate::value::Value;
use crate::{Dialect, show};

/// Results of functions as the help has them.
#[test]
fn the_examples_of_the_help_have_the_values_that_it_says() {
    let examples: Vec<(&str, Json)> = vec![
        ("number(\"3.4\")", json!(3.4)),
        ("number(true)", json!(1)),
        ("number(date(\"1970-01-02\"))", json!(86_400_000)),
        ("list(\"value\")", json!(["value"])),
        ("list([1])", json!([1])),
        ("1.isTruthy()", json!(true)),
        ("\"example\".isType(\"string\") && true.isType(\"boolean\")", json!(true)),
        ("123.toString()", json!("123")),
        ("now().date().format(\"YYYY-MM-DD HH:mm:ss\")", json!("2024-05-15 00:00:00")),
        ("date(\"2025-05-27\").format(\"YYYY-MM-DD\")", json!("2025-05-27")),
        ("now().time()", json!("10:30:00")),
        ("(now() - \"3 days\").relative()", json!("3 days ago")),
        ("\"hello\".contains(\"ell\")", json!(true)),
        ("\"hello\".containsAll(\"h\", \"e\")", json!(true)),
        ("\"hello\".containsAny(\"x\", \"y\", \"e\")", json!(true)),
        ("\"hello\".endsWith(\"lo\")", json!(true)),
        ("\"Hello world\".isEmpty()", json!(false)),
        ("\"\".isEmpty()", json!(true)),
        ("\"a:b:c:d\".replace(/:/, \"-\")", json!("a-b:c:d")),
        ("\"a:b:c:d\".replace(/:/g, \"-\")", json!("a-b-c-d")),
        ("\"John Smith\".replace(/(\\w+) (\\w+)/, \"$2, $1\")", json!("Smith, John")),
        ("\"123\".repeat(2)", json!("123123")),
        ("\"hello\".reverse()", json!("olleh")),
        ("\"hello\".slice(1, 4)", json!("ell")),
        ("\"a,b,c,d\".split(\",\", 3)", json!(["a", "b", "c"])),
        ("\"a,b,c,d\".split(/,/, 3)", json!(["a", "b", "c"])),
        ("\"hello\".startsWith(\"he\")", json!(true)),
        ("\"hello world\".title()", json!("Hello World")),
        ("\"  hi  \".trim()", json!("hi")),
        ("(-5).abs()", json!(5)),
        ("(2.1).ceil()", json!(3)),
        ("(2.9).floor()", json!(2)),
        ("5.isEmpty()", json!(false)),
        ("(2.5).round()", json!(3)),
        ("(2.3333).round(2)", json!(2.33)),
        ("(3.14159).toFixed(2)", json!("3.14")),
        ("[1,2,3].contains(2)", json!(true)),
        ("[1,2,3].containsAll(2,3)", json!(true)),
        ("[1,2,3].containsAny(3,4)", json!(true)),
        ("[1,2,3,4].filter(value > 2)", json!([3, 4])),
        ("[1,[2,3]].flat()", json!([1, 2, 3])),
        ("[1,2,3].isEmpty()", json!(false)),
        ("[1,2,3].join(\",\")", json!("1,2,3")),
        ("[1,2,3,4].map(value + 1)", json!([2, 3, 4, 5])),
        ("[1,2,3].reduce(acc + value, 0)", json!(6)),
        (
            "[3, \"x\", 7].filter(value.isType(\"number\")).reduce(if(acc == null || value > acc, value, acc), null)",
            json!(7),
        ),
        ("[1,2,3].reverse()", json!([3, 2, 1])),
        ("[1,2,3,4].slice(1,3)", json!([2, 3])),
        ("[3, 1, 2].sort()", json!([1, 2, 3])),
        ("[\"c\", \"a\", \"b\"].sort()", json!(["a", "b", "c"])),
        ("[1,2,2,3].unique()", json!([1, 2, 3])),
        ("{}.isEmpty()", json!(true)),
        ("{\"a\": 1, \"b\": 2}.keys()", json!(["a", "b"])),
        ("/abc/.matches(\"abcde\")", json!(true)),
        (
            "(date(\"2024-12-01\") + \"1M\" + \"4h\" + \"3m\").format(\"YYYY-MM-DD HH:mm:ss\")",
            json!("2025-01-01 04:03:00"),
        ),
        ("(now() + \"1d\") - now()", json!("1 day")),
        ("(now() + \"1d\") - now() == 86400000", json!(true)),
        ("date(\"2025-01-01\") + (duration(\"1d\") * 2)", json!("2025-01-03")),
        ("date(\"2025-01-01 12:00:00\").hour", json!(12)),
        ("today()", json!("2024-05-15")),
        ("escapeHTML(\"<b>&\")", json!("&lt;b&gt;&amp;")),
        ("icon(\"arrow-right\")", json!({ "icon": "arrow-right" })),
        ("link(\"filename\", \"display\")", json!({ "path": "filename", "display": "display" })),
        ("link(\"https://obsidian.md\").toString()", json!("[https://obsidian.md](https://obsidian.md)")),
        ("link(\"a\") == link(\"[[a]]\")", json!(true)),
        // The help is silent; JavaScript is not.
        ("1 + 2 * 3 - 4 / 2 % 3", json!(5)),
        ("\"a\" + 1", json!("a1")),
        ("!missing && missing == null", json!(true)),
        ("missing.toFixed(2)", json!(null)),
        ("missing.contains(\"x\")", json!(false)),
        ("if(missing, missing.nothing(1))", json!(null)),
        ("false && 1.nothing()", json!(false)),
        ("1 < \"a\" || 1 > \"\" || \"a\" >= 1", json!(false)),
        ("8 > \"3\" && 8 < \"10\" && \" 10 \" >= 10", json!(true)),
        ("(today() - date(\"2024-05-10\")).days", json!(5)),
        ("(now() - date(\"2024-05-14\")).hours", json!(34.5)),
        ("(today() - date(\"2024-05-01\")).weeks", json!(2)),
        ("(date(\"2024-05-10 12:00\") - today()).days.round()", json!(-4)),
        ("(now() - today()) / 3600000", json!(10.5)),
        ("((today() - date(\"2024-05-10\")) / 86400000).round()", json!(5)),
        ("2 * (today() - date(\"2024-05-14\"))", json!(172_800_000)),
        ("(today() - date(\"2024-05-10\")) / (today() - date(\"2024-05-14\"))", json!(5)),
        ("today() - date(\"2024-05-14\") < 86400001 && 0 < now() - today()", json!(true)),
        ("today() - date(\"2024-05-14\") < duration(\"2d\")", json!(true)),
        ("(today() + (today() - date(\"2024-05-14\"))).date()", json!("2024-05-16")),
        ("[now() - today(), today() - today(), 5].sort()[1]", json!(5)),
        ("[today() - date(\"2024-05-14\"), 1].sum()", json!(86_400_001)),
        ("date(missing) + \"7d\"", json!(null)),
        ("missing + \"1 day\" == null && missing - \"1 day\" == null", json!(true)),
        ("missing + \" days\"", json!(" days")),
        ("date(\"2024-05-01\") < \"2024-06-01\"", json!(true)),
        ("[[1, 2], [3]][0][1]", json!(2)),
        ("'it\\'s \\u00e9'", json!("it's é")),
    ];
    let wrong = examples.into_iter().filter_map(|(text, expected)| {
        let value = json_of(Dialect::Bases, text);
        (value.as_ref() != Ok(&expected)).then(|| format!("{text}\n  gives {value:?}\n  and not {expected}\n"))
    });
    assert_eq!(wrong.collect::<String>(), "");
}

/// The help's formulas, over a note.
#[test]
fn the_formulas_of_the_help_are_evaluated_for_a_note() {
    let world = World::default()
        .note(
            "notes/Desk.md",
            json!({
                "price": 12.5, "quantity": 4, "status": "Open", "due_date": "2024-05-01", "start_date": "2024-05-01", "tasks": ["a", "b"],
                "impact": 3, "urgency": 4, "effort": 2, "first_name": "Ada", "last_name": "Lovelace", "tags": ["urgent"],
                "type": "[[Kind]]", "authors": ["[[Kind]]"],
            }),
            &["#place/home"],
            &["Kind"],
        )
        .note("Kind.md", json!({ "icon": "utensils" }), &[], &[]);
    let formulas = [
        ("price * quantity", json!(50)),
        ("if(price, \"$\" + price.toFixed(2), \"\")", json!("$12.50")),
        ("if(due_date < now() && status != \"Done\", \"Overdue\", \"\")", json!("Overdue")),
        ("start_date + \"2w\"", json!("2024-05-15")),
        ("tasks.length", json!(2)),
        ("(impact * urgency) / effort", json!(6)),
        ("first_name + \" \" + last_name", json!("Ada Lovelace")),
        ("tags.contains(\"urgent\")", json!(true)),
        ("file.name.lower()", json!("desk.md")),
        ("file.basename + \" in \" + file.folder", json!("Desk in notes")),
        ("due_date.format(\"YYYY-MM-DD\")", json!("2024-05-01")),
        ("list(type)[0].asFile().properties.icon", json!("utensils")),
        ("file.hasTag(\"place\") && !file.hasTag(\"plac\")", json!(true)),
        ("file.hasLink(\"Kind\") && file.hasLink(link(\"[[Kind]]\")) && file.hasLink(this.file)", json!(true)),
        ("type == this && authors.contains(this) && type != file", json!(true)),
        ("type.linksTo(file)", json!(false)),
        ("file.inFolder(\"notes\") && file.hasProperty(\"price\") && file.mtime > now() - '7d'", json!(true)),
        ("note[\"price\"] + note.quantity", json!(16.5)),
        ("file.asLink(\"x\")", json!({ "path": "notes/Desk.md", "display": "x" })),
        ("this.file.backlinks.length", json!(1)),
        ("this.file.folder", json!("/")),
        ("this.file.folder == \"/\" && file.folder != \"/\"", json!(true)),
        ("file.tags.contains(\"place/home\") && file.tags.contains(\"#place/home\")", json!(true)),
        (
            "file.tags.containsAny(\"x\", \"place/home\") && file.asLink().asFile().tags.containsAll(\"place/home\")",
            json!(true),
        ),
        ("file.tags.contains(\"place\") || list(\"#a\").contains(\"a\")", json!(false)),
        ("file.tags", json!(["#place/home"])),
    ];
    let evaluator = world.evaluator(Dialect::Bases, Some("Kind.md"));
    for (text, expected) in formulas {
        let value = evaluator.evaluate(&Dialect::Bases.parse(text).unwrap(), &Value::page("notes/Desk.md"));
        assert_eq!(value.and_then(|value| show::json(&value, &mut { usize::MAX })), Ok(expected), "{text}");
    }
}

#[test]
fn what_has_no_value_is_an_error_that_says_why() {
    let wrong = [
        ("nope()", "there is no function \"nope\""),
        ("\"a\".nope()", "there is no function \"nope\" of string"),
        ("number(\"x\")", "\"x\" is not a number"),
        ("date(\"soon\")", "\"soon\" is not a date: write YYYY-MM-DD HH:mm:ss"),
        ("now() - \"2 moons\"", "\"2 moons\" is not a duration like \"2h\" or \"1 day\""),
        ("2 * duration(\"5h\")", "there is no \"*\" of number and duration"),
        ("[1].map()", "map takes one expression"),
        ("\"a\".slice(\"b\")", "string.slice() takes no arguments of the types: string"),
        (
            "/(?<=a)b/.matches(\"ab\")",
            "lookaround (\"(?<=\") is not supported in regular expressions: match more, and use a group",
        ),
    ];
    for (text, message) in wrong {
        assert_eq!(json_of(Dialect::Bases, text).map_err(|error| error.message), Err(message.to_owned()), "{text}");
    }
}
