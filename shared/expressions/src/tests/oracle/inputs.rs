use proptest::prelude::*;

/// Texts made of what expressions are made of, most of which are none.
pub(super) fn soups() -> impl Strategy<Value = String> {
    let pieces = vec![
        "a",
        "b-c",
        " ",
        " ",
        "\n",
        "(",
        ")",
        "[",
        "]",
        "[[n]]",
        "![[n#h|d]]",
        "{",
        "}",
        "x: 1",
        ",",
        ".",
        "!",
        "and",
        "or ",
        "&",
        "|",
        "=",
        "!=",
        "<",
        ">=",
        "+",
        "-",
        "*",
        "/",
        "%",
        "1",
        "2.50",
        "-3",
        "\"t\"",
        "\"\\\"\"",
        "true",
        "False",
        "null",
        "nullable",
        "date(",
        "today",
        "2021-02-30",
        "2021-04-18T10:20",
        "2021-13",
        "2020-01-01T00:00:00+2",
        "dur(",
        "1 day",
        "2h, 3 m",
        "(x) =>",
        "(x, y) =>",
        "() =>",
        "from",
        "sort",
        "📷",
        "#tag",
        "é",
    ];
    prop::collection::vec(prop::sample::select(pieces), 1..8).prop_map(|pieces| pieces.concat())
}

/// Calls of what the library and JavaScript have, with arguments that fit.
pub(super) fn calls() -> impl Strategy<Value = String> {
    let words = vec![
        "",
        "a",
        "Hello World",
        "résumé Resume",
        "x1-y_2",
        "😀b",
        "a.b",
        "É",
        "10",
        "ab ab",
        "(w)",
        "Zoë",
        "$1",
        "tab\t",
    ];
    let patterns = vec![
        "a", "[a-c]+", "\\\\d", "\\\\w+", "\\\\s", "(l)(x)?", "^H", "b$", ".", "o|l", "[^a-z]", "x{1,2}", "\\\\bR",
        "é", "{a}", "]",
    ];
    let formats = vec![
        "yyyy-MM-dd",
        "yy M d",
        "LLLL dd, yyyy",
        "EEE ccc cccc",
        "HH:mm:ss.SSS",
        "h:mm a",
        "kkkk-'W'WW-c",
        "ooo q",
        "x X",
        "D",
        "DD",
        "DDD",
        "DDDD",
        "t",
        "T",
        "ZZ ZZZ Z",
        "MMM MMMMM",
        "'it''s' y",
        "G GG",
        "yyyy-MM-dd'T'HH:mm",
    ];
    let durations = vec![
        "1 day",
        "36 hours",
        "1 year, 2 months",
        "90 min",
        "3 weeks 5 h",
        "0 s",
        "1.5 days",
        "400 days",
        "75 s",
        "-2 hours",
        "2 mo 45 d",
    ];
    let spans = vec!["dd hh mm", "h:mm", "'total' s", "y M w d", "S", "hh:mm:ss", "m"];
    let text = move || prop::sample::select(words.clone()).prop_map(|word| format!("\"{word}\""));
    let pattern = prop::sample::select(patterns).prop_map(|pattern| format!("\"{pattern}\""));
    let number = || {
        prop_oneof![
            (-30..30_i32).prop_map(|n| n.to_string()),
            (-5000..5000_i32).prop_map(|n| format!("{}", f64::from(n) / 8.0)),
            (0.0..2e5_f64).prop_map(|n| n.to_string())
        ]
    };
    let day = || {
        (1900..2100_i32, 1..13_i32, 1..32_i32, 0..24_i32, 0..60_i32, any::<bool>()).prop_map(
            |(year, month, day, hour, minute, timed)| {
                if timed {
                    format!("date({year}-{month:02}-{day:02}T{hour:02}:{minute:02}:07)")
                } else {
                    format!("date({year}-{month:02}-{day:02})")
                }
            },
        )
    };
    let duration = move || prop::sample::select(durations.clone()).prop_map(|duration| format!("dur({duration})"));
    let compare = || prop::sample::select(vec!["<", "<=", "=", "!=", ">", ">="]);
    let currencies = prop::sample::select(vec!["EUR", "USD", "JPY", "GBP", "CHF", "CAD", "KWD", "SEK"]);
    prop_oneof![
        (text(), compare(), text()).prop_map(|(left, sign, right)| format!("{left} {sign} {right}")),
        (text(), -3..40_i32, text())
            .prop_map(|(text, count, with)| format!("padleft({text}, {count}, {with}) + padright({text}, {count})")),
        (text(), -9..15_i32, -5..15_i32).prop_map(|(text, start, end)| format!("substring({text}, {start}, {end})")),
        (text(), pattern.clone(), text())
            .prop_map(|(text, pattern, by)| format!("regexreplace({text}, {pattern}, {by})")),
        (text(), pattern.clone(), 0..4_i32)
            .prop_map(|(text, pattern, limit)| format!("split({text}, {pattern}, {limit})")),
        (text(), pattern)
            .prop_map(|(text, pattern)| format!("[split({text}, {pattern}), regextest({pattern}, {text})]")),
        (text(), text(), text()).prop_map(|(text, part, by)| format!(
            "[replace({text}, {part}, {by}), startswith({text}, {part}), upper({by})]"
        )),
        prop::collection::vec(text(), 0..8).prop_map(|texts| format!("sort([{}])", texts.join(", "))),
        (number(), 0..6_i32).prop_map(|(number, places)| format!(
            "[round({number}, {places}), round({number}), trunc({number}), ceil({number})]"
        )),
        (number(), number(), prop::sample::select(vec!["+", "-", "*", "/", "%"]))
            .prop_map(|(left, right, sign)| format!("{left} {sign} {right}")),
        (number(), currencies).prop_map(|(number, code)| format!("currencyformat({number}, \"{code}\")")),
        (day(), prop::sample::select(formats)).prop_map(|(day, format)| format!("dateformat({day}, \"{format}\")")),
        (day(), day()).prop_map(|(one, other)| format!("[{one} - {other}, {one} < {other}, string({one} - {other})]")),
        (day(), duration()).prop_map(|(day, duration)| format!("[{day} + {duration}, string({day} - {duration})]")),
        (duration(), duration(), compare())
            .prop_map(|(one, other, sign)| format!("[{one} + {other}, {one} - {other}, {one} {sign} {other}]")),
        (duration(), number()).prop_map(|(duration, by)| format!("[{duration} * {by}, string({duration} * {by})]")),
        (duration(), prop::sample::select(spans))
            .prop_map(|(duration, format)| format!("durationformat({duration}, \"{format}\")")),
    ]
}
