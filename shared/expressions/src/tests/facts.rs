use serde_json::{Value as Json, json};

use super::world::json_of;
use crate::Dialect;

/// Expressions and their values, as Dataview's own tests have them, and more.
pub(super) fn facts() -> Vec<(&'static str, Json)> {
    vec![
        // Operators.
        ("12 + 8 - 4 / 2", json!(18)),
        ("16 / 8 / 2", json!(1)),
        ("39 / 3 <= 14", json!(true)),
        ("7 % 3", json!(1)),
        ("\"a\" + 12", json!("a12")),
        ("\"a\" * 6", json!("aaaaaa")),
        ("\"abc\" < \"abd\"", json!(true)),
        ("\"a\" < \"B\"", json!(true)),
        ("-2 >= -8", json!(true)),
        ("1 = 1 and 2 = 3", json!(false)),
        ("1 and 2 or 0", json!(true)),
        ("null + null", json!(null)),
        ("null < 1", json!(true)),
        ("[1, 2] + [3]", json!([1, 2, 3])),
        ("!0", json!(true)),
        ("1 / 0 > 5", json!(true)),
        ("\"a\" + null", json!("a\\-")),
        // Dates and durations.
        ("date(2021-01-14) = date(2021-01-14)", json!(true)),
        ("contains(list(date(2020-01-01)), date(2020-01-01))", json!(true)),
        ("date(2021-05-04) - date(1997-05-17)", json!("23 years, 11 months, 2 weeks, 3 days")),
        ("date(2021-01-31) + dur(1 month)", json!("2021-02-28")),
        ("date(today)", json!("2024-05-15")),
        ("date(sow)", json!("2024-05-13")),
        ("dateformat(date(eom), \"yyyy-MM-dd HH:mm:ss\")", json!("2024-05-31 23:59:59")),
        ("date(2021-02-31)", json!("2021-03-03")),
        ("dur(1 day) = dur(24 hours)", json!(false)),
        ("dur(1 day) < dur(25 hours)", json!(true)),
        ("dur(4hr2min)", json!("4 hours, 2 minutes")),
        ("dur(\"1 day\") + dur(36h)", json!("2 days, 12 hours")),
        ("durationformat(dur(\"3 days 7 hours 43 seconds\"), \"ddd'd' hh'h' ss's'\")", json!("003d 07h 43s")),
        ("durationformat(dur(\"14 minutes 7 hours 3 days\"), \"dd-hh-mm\")", json!("03-07-14")),
        ("date([[2020-04-18]])", json!("2020-04-18")),
        ("date([[Place|2021-04]])", json!("2021-04-01")),
        ("date(\"12/31/2022\", \"MM/dd/yyyy\")", json!("2022-12-31")),
        ("date(\"210313\", \"yyMMdd\")", json!("2021-03-13")),
        ("date(\"946778645012\", \"x\") = date(2000-01-02T02:04:05.012Z)", json!(true)),
        ("date(\"946778645\", \"X\")", json!("2000-01-02T02:04:05+00:00")),
        ("date(\"no\")", json!(null)),
        ("date(2024-05-15T08:00:00).hour", json!(8)),
        ("striptime(date(2024-05-15T08:00:00))", json!("2024-05-15")),
        ("string(date(2024-05-15))", json!("May 15, 2024")),
        ("string(date(2024-05-15T14:05:00))", json!("2:05 PM - May 15, 2024")),
        ("dateformat(date(2024-05-05), \"cccc, LLL d yy 'W'W\")", json!("Sunday, May 5 24 W18")),
        // Indices and functions of the expression's own.
        ("{ a: 1, b: 2 }[\"c\"]", json!(null)),
        ("{ a: 1, b: { c: 4 } }[\"b\"][\"c\"]", json!(4)),
        ("[1, 2][1]", json!(2)),
        ("[{ a: 1 }, { a: 2 }].a", json!([1, 2])),
        ("\"hello\"[1]", json!("e")),
        ("((a, b) => a + b)(1, 2)", json!(3)),
        ("((a) => (b) => a + b)(1)(2)", json!(3)),
        ("((a) => 1 + a)(((a) => 2)(3))", json!(3)),
        // Constructors.
        ("number(\"hmm\")", json!(null)),
        ("number(\"17 years\")", json!(17)),
        ("number(\"-19\")", json!(-19)),
        ("string(18)", json!("18")),
        ("list()", json!([])),
        ("object(\"hello\", 1)", json!({ "hello": 1 })),
        ("typeof([[a]])", json!("link")),
        ("typeof((a) => a)", json!("function")),
        ("link(\"Hello\", \"Shown\")", json!({ "path": "Hello", "display": "Shown" })),
        ("string(embed(link(\"a/b.md\")))", json!("![[a/b.md|b]]")),
        ("string(elink(\"www.x.org\", \"X\"))", json!("[X](www.x.org)")),
        // Numbers.
        ("round(16.555555, 2)", json!(16.56)),
        ("round(-1.5)", json!(-1)),
        ("round(2.5)", json!(3)),
        ("trunc(-93.3)", json!(-93)),
        ("floor(-93.3)", json!(-94)),
        ("ceil(12.2)", json!(13)),
        ("min(6, 9, 12)", json!(6)),
        ("min([])", json!(null)),
        ("min(null, 3)", json!(3)),
        ("max([1, 2, 3])", json!(3)),
        ("minby([1, 2, 3], (k) => 0 - k)", json!(3)),
        ("maxby([1, 2, 3], (k) => 0 - k)", json!(1)),
        ("sum([\"a\", \"b\", \"c\"])", json!("abc")),
        ("sum([])", json!(null)),
        ("average(nonnull([2, 3, null, 1]))", json!(2)),
        ("product([1, 2, 3, 4])", json!(24)),
        ("reduce([100, 20, 3], \"-\")", json!(77)),
        ("reduce([\"#tag1\", \"#tag2\"], (a, b) => a + \" \" + b)", json!("#tag1 #tag2")),
        // Lists.
        ("contains(object(\"hello\", 1), \"hello\")", json!(true)),
        ("contains(list(\"hello\"), \"he\")", json!(true)),
        ("econtains(list(\"hello\"), \"he\")", json!(false)),
        ("icontains(\"Hello\", \"hELL\")", json!(true)),
        ("contains(\"hello\", [\"he\", \"no\"])", json!([true, false])),
        (
            "extract(object(\"mtime\", 1, \"yes\", \"hello\"), \"yes\", \"mtime\")",
            json!({ "yes": "hello", "mtime": 1 }),
        ),
        ("sort(list(2, 3, 1), (k) => 0-k)", json!([3, 2, 1])),
        ("reverse(\"abc\")", json!("cba")),
        ("flat(list(1, list(21, list(221, 222)), 3, list(11, 12)))", json!([1, 21, [221, 222], 3, 11, 12])),
        ("flat(list(1, list(2, list(3, list(4, list(5))))), 3)", json!([1, 2, 3, 4, [5]])),
        ("unique([1, 3, 7, 3, 1])", json!([1, 3, 7])),
        ("slice([1, 2, 3, 4, 5], -2)", json!([4, 5])),
        ("all(true, list(false))", json!(true)),
        ("all(regexmatch(\"a+\", list(\"a\", \"aaab\")))", json!(false)),
        ("any(regextest(\"a+\", list(\"b\", \"aaab\")))", json!(true)),
        ("none([])", json!(true)),
        ("join([1, 2, 3], \" \")", json!("1 2 3")),
        ("filter([1, 2, 3], (x) => x >= 2)", json!([2, 3])),
        ("map([\"a\", \"be\", \"ced\"], (k) => length(k))", json!([1, 2, 3])),
        ("firstvalue([null, 1, 2])", json!(1)),
        ("length(\"😀\")", json!(2)),
        // Text.
        ("lower(list(\"A\", \"B\"))", json!(["a", "b"])),
        ("replace([\"a\", \"b\", \"c\"], \"a\", [\"d\", \"e\", \"f\"])", json!(["d", "b", "c"])),
        ("replace(\"x.z\", \"x.\", \"z$\")", json!("z$z")),
        ("regexreplace(\"suite 1000\", \"\\d+\", \"-\")", json!("suite -")),
        ("regexreplace(\"Smith John\", \"(\\w+) (\\w+)\", \"$2 $1\")", json!("John Smith")),
        ("regexmatch(\"\\\\w+\", \"m3me\")", json!(true)),
        ("regexmatch(\".\", \"hello\")", json!(false)),
        ("regextest(\".\", \"hello\")", json!(true)),
        ("split(\"hello world\", \"( )(x)?\")", json!(["hello", " ", "", "world"])),
        ("split(\"hello there world\", \"(t?here)\")", json!(["hello ", "there", " world"])),
        ("split(\"hello world\", \" \", 0)", json!([])),
        ("split(\"hello world\", \"( )\", 2)", json!(["hello", " "])),
        ("split(\"abc\", \"\")", json!(["a", "b", "c"])),
        ("containsword(\"Hello there, chap!\", \"the\")", json!(false)),
        ("containsword(\"Hello there, chap!\", \"HELLO\")", json!(true)),
        ("padleft(\"hello\", 7, \"x\")", json!("xxhello")),
        ("padright(\"\", 1)", json!(" ")),
        ("substring(\"hello\", 3, 1)", json!("el")),
        ("truncate(\"Hello there!\", 8)", json!("Hello...")),
        ("truncate(\"Hello there!\", 8, \"/\")", json!("Hello t/")),
        ("startswith(\"yes\", null)", json!(null)),
        // The rest.
        ("default(list(1, null, null), 2)", json!([1, 2, 2])),
        ("ldefault(list(1, null), null)", json!([1, null])),
        ("choice([1, 0], \"y\", \"n\")", json!(["y", "n"])),
        ("display(\"Hello [[a/b|World]] and **bold**\")", json!("Hello World and bold")),
        ("display([[path/to/file.md]])", json!("file")),
        ("display([\"a\", null, [[b|c]]])", json!("a, , c")),
        ("currencyformat(123456.789, \"EUR\")", json!("€123,456.79")),
        ("currencyformat(-5, \"CHF\")", json!("-CHF\u{a0}5.00")),
        ("hash(\"a\", 0) = hash(\"\", \"a\")", json!(true)),
        ("meta([[My Project#Next Actions]]).subpath", json!("Next Actions")),
        ("meta([[2021-11-01|Displayed link text]]).display", json!("Displayed link text")),
        ("meta([[My Project#^9bcbe8]]).type", json!("block")),
        ("meta([[a#B  c!]]).subpath", json!("B c")),
        ("string({ a: [1, [2]] })", json!("{ a: [1, [2]] }")),
    ]
}

#[test]
fn expressions_have_the_values_that_dataview_gives_them() {
    let wrong = facts().into_iter().filter_map(|(text, expected)| {
        let value = json_of(Dialect::Dataview, text);
        (value.as_ref() != Ok(&expected)).then(|| format!("{text}\n  gives {value:?}\n  and not {expected}\n"))
    });
    assert_eq!(wrong.collect::<String>(), "");
}

/// A form that no function has is an error, which names the types.
#[test]
fn arguments_of_the_wrong_types_are_named() {
    let wrong = [
        ("lower(1)", "lower takes no arguments of the types: number"),
        ("nothere(1)", "there is no function \"nothere\""),
        ("1 - \"a\"", "there is no \"-\" of number and string"),
        ("\"a\"()", "there is no function \"a\""),
        ("5()", "a value of type number is not a function"),
        (
            "regextest(\"(?=a)\", \"a\")",
            "lookaround (\"(?=\") is not supported in regular expressions: match more, and use a group",
        ),
    ];
    for (text, message) in wrong {
        assert_eq!(json_of(Dialect::Dataview, text).map_err(|error| error.message), Err(message.to_owned()), "{text}");
    }
}

/// Every function of Dataview's reference, which has them in this order.
#[test]
fn all_functions_of_the_reference_are_there() {
    let reference = "object list array date dur number string link embed elink typeof round trunc floor ceil min max sum product \
        reduce average minby maxby contains icontains econtains containsword extract sort reverse length nonnull firstvalue all any \
        none join filter unique map flat slice regextest regexmatch regexreplace replace lower upper split startswith endswith padleft \
        padright substring truncate default ldefault display choice hash striptime dateformat durationformat currencyformat localtime \
        meta";
    let mut missing: Vec<_> = reference.split_whitespace().collect();
    missing.retain(|name| crate::eval::functions::get(name).is_none());
    assert_eq!(missing, Vec::<&str>::new());
    assert_eq!(crate::dql::functions().count(), reference.split_whitespace().count());
}
