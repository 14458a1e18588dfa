use std::sync::LazyLock;

use jiff::ToSpan as _;
use jiff::civil::{Date, Weekday, date};
use proptest::prelude::*;

use super::*;
use crate::task::{Settings, fields};

/// A vault without the plugin.
static SETTINGS: LazyLock<Settings> = LazyLock::new(Settings::default);
/// A Wednesday.
const TODAY: Date = date(2026, 2, 11);

fn item<'a>(path: &'a str, mark: char, fields: &'a TaskFields<'a>) -> Item<'a> {
    let folded = Box::leak(Box::default());
    let status = SETTINGS.named(mark);
    Item { path, heading: Some("Plan"), indent: 0, status, fields, folded }
}

/// Whether a query selects `- [mark] text` of `Work/log/a.md`.
#[track_caller]
fn asks_for(query: &str, mark: char, text: &str) -> bool {
    let parsed = Query::parse(query, TODAY).unwrap_or_else(|error| panic!("{query}: {error}"));
    parsed.matches(&item("Work/log/a.md", mark, &fields(text)))
}

#[track_caller]
fn refused(query: &str) -> QueryError {
    Query::parse(query, TODAY).expect_err(query)
}

#[test]
fn each_filter_tells_tasks_apart() {
    let paint = "Paint #Port/east ⏫ 🔁 every week 🆔 p1 ⛔ q2 🛫 2026-02-10 ⏳ 2026-02-11 📅 2026-02-13";
    for filter in [
        "not done",
        "NOT DONE",
        "status.name includes TODO",
        "status.type is todo",
        "status.type is not DONE",
        "status.type is not on_hold",
        "has due date",
        "no done date",
        "due on 2026-02-13",
        "due 2026-02-13",
        "due before 2026-02-14",
        "due after 2026-02-12",
        "due on or before 2026-02-13",
        "due on or after 2026-02-13",
        "due in this week",
        "due this week",
        "due in 2 days",
        "due in or before this month",
        "due friday",
        "due before next monday",
        "due 2026-02-01 2026-02-13",
        "scheduled today",
        "starts yesterday",
        "start before today",
        "happens on 2026-02-10",
        "happens after 2026-02-12",
        "has happens date",
        "no created date",
        "priority is high",
        "priority is above medium",
        "priority is not none",
        "priority is below highest",
        "priority high",
        "is recurring",
        "recurrence includes WEEK",
        "path includes work/LOG",
        "path regex matches /^Work\\/log/",
        "folder includes work/log/",
        "root includes Work/",
        "filename includes a.md",
        "filename does not include log",
        "heading includes plan",
        "description includes paint",
        "description regex does not match /paint/",
        "description regex matches /PAINT/i",
        "tags include #port",
        "tag includes east",
        "tags do not include #east",
        "tag regex matches /#Port\\/east$/",
        "has tags",
        "has id",
        "id includes p",
        "has depends on",
        "exclude sub-items",
    ] {
        assert!(asks_for(filter, ' ', paint), "{filter}");
        assert!(!asks_for(&format!("NOT ({filter})"), ' ', paint), "NOT {filter}");
    }
    for (filter, mark, text) in [
        ("done", 'x', ""),
        ("done", '-', ""),
        ("status.name includes in progress", '/', ""),
        ("status.name includes unknown", '!', ""),
        ("starts after 2026-01-01", ' ', "no start"),
        ("due date is invalid", ' ', "x 📅 2026-02-30"),
        ("has due date", ' ', "x 📅 2026-02-30"),
        ("no tags", ' ', "x"),
        ("is not recurring", ' ', "x"),
        ("cancelled in 2026", ' ', "x ❌ 2026-12-31"),
        ("created 2026-Q1", ' ', "x ➕ 2026-03-31"),
    ] {
        assert!(asks_for(filter, mark, text), "{filter}");
    }
    for (filter, text) in [
        ("due before 2026-03-01", "no date"),
        ("due before 2027-01-01", "x 📅 2026-02-30"),
        ("tags include port", "x"),
        ("done in 2026", "x"),
        ("description includes 2026", "x 📅 2026-02-13"),
    ] {
        assert!(!asks_for(filter, ' ', text), "{filter}");
    }
}

#[test]
fn words_mean_the_days_that_the_plugin_means() {
    for (text, from, to) in [
        ("today", "2026-02-11", "2026-02-11"),
        ("Tomorrow", "2026-02-12", "2026-02-12"),
        ("in two weeks", "2026-02-25", "2026-02-25"),
        ("3 days ago", "2026-02-08", "2026-02-08"),
        ("a month from now", "2026-03-11", "2026-03-11"),
        // The closest such day, before or after.
        ("tuesday", "2026-02-10", "2026-02-10"),
        ("wednesday", "2026-02-11", "2026-02-11"),
        ("sat", "2026-02-14", "2026-02-14"),
        ("sunday", "2026-02-08", "2026-02-08"),
        ("next monday", "2026-02-16", "2026-02-16"),
        ("next friday", "2026-02-20", "2026-02-20"),
        ("last wednesday", "2026-02-04", "2026-02-04"),
        ("this friday", "2026-02-13", "2026-02-13"),
        ("this week", "2026-02-09", "2026-02-15"),
        ("last week", "2026-02-02", "2026-02-08"),
        ("next month", "2026-03-01", "2026-03-31"),
        ("this quarter", "2026-01-01", "2026-03-31"),
        ("last quarter", "2025-10-01", "2025-12-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("2026-W53", "2026-12-28", "2027-01-03"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2021-Q4", "2021-10-01", "2021-12-31"),
        ("2023", "2023-01-01", "2023-12-31"),
        ("2023-02-01 2022-01-01", "2022-01-01", "2023-02-01"),
        ("2023-02-01 2022-02-30", "2023-02-01", "2023-02-01"),
        ("25th May 2023", "2023-05-25", "2023-05-25"),
        ("14 October", "2026-10-14", "2026-10-14"),
        ("May", "2026-05-01", "2026-05-01"),
    ] {
        let days = dates::read(text, TODAY).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((days.start().to_string(), days.end().to_string()), (from.to_owned(), to.to_owned()), "{text}");
    }
    for text in ["", "2026-02-30", "2026-W54", "2026-13", "2026-Q5", "next semester", "32 May", "99999 years ago", "x"]
    {
        assert_eq!(dates::read(text, TODAY), None, "{text}");
    }
}

#[test]
fn what_is_not_understood_names_its_line() {
    for (query, line, part) in [
        ("not done\n# x\ndue befor 2026-01-01", 3, "not a known day"),
        ("filter by function task.isDone", 1, "not supported"),
        ("(filter by function true) OR (done)", 1, "not supported"),
        ("done\n\nsort by function x", 3, "script"),
        ("preset x", 1, "presets"),
        ("path includes {{query.file.path}}", 1, "placeholders"),
        ("path regex matches /(/", 1, "regular expression"),
        ("path regex matches abc", 1, "/…/"),
        ("path regex matches /\\w{1000}{1000}/", 1, "too large"),
        ("path equals x", 1, "includes"),
        ("(done) AND {not done}", 1, "other brackets"),
        ("(done AND (not done)", 1, "not closed"),
        ("(done) (not done)", 1, "AND"),
        ("(done) and (not done)", 1, "AND"),
        ("limit none", 1, "limit 10"),
        ("sort by urgency", 1, "cannot sort by"),
        ("group by backlink", 1, "cannot group by"),
        ("status.type is OPEN", 1, "IN_PROGRESS"),
        ("priority is very high", 1, "highest"),
        ("a \\\nb \\\nc\nd", 1, "not a filter"),
        (&"(".repeat(2000), 1, "not closed"),
        (&format!("{}done{}", "(".repeat(40), ")".repeat(40)), 1, "deep"),
        (&"done\n".repeat(101), 101, "at most 100"),
        (&"sort by due\n".repeat(9), 9, "at most 8"),
    ] {
        let error = refused(query);
        assert!(error.line == line && error.message.contains(part), "{query}: {error}");
    }
}

#[test]
fn lines_go_on_and_instructions_for_the_layout_mean_nothing() {
    let query = "# what\n(due before 2026-03-01) \\\n  AND (not done)\nshort mode\nhide edit button\nshow urgency\nexplain\nlimit to 5 tasks";
    assert!(asks_for(query, ' ', "x 📅 2026-02-13") && !asks_for(query, 'x', "x 📅 2026-02-13"));
    assert_eq!(Query::parse(query, TODAY).unwrap().limit(), Some(5));
    assert!(asks_for("description includes a\\\\", ' ', "a\\"));
    for combined in
        ["[description includes (x)]", "\"description includes (x)\"", "{description includes (x)} OR {done}"]
    {
        assert!(asks_for(combined, ' ', "a (x) b") && !asks_for(combined, ' ', "a b"), "{combined}");
    }
}

#[test]
fn tasks_are_sorted_and_grouped() {
    let texts = ["b #y 📅 2026-03-01", "a ⏫ #x #y", "c 🔽 📅 2026-02-30", "d 📅 2026-01-01 🔁 every day"];
    let all: Vec<TaskFields<'_>> = texts.iter().map(|text| fields(text)).collect();
    let items: Vec<Item<'_>> =
        all.iter().zip([' ', 'x', '/', '-']).map(|(fields, mark)| item("Work/log/a.md", mark, fields)).collect();
    for (by, expected) in [
        ("due", "c d b a"),
        ("due reverse", "a b d c"),
        ("priority", "a b d c"),
        ("description", "a b c d"),
        ("status", "b c a d"),
        ("status.type", "c b a d"),
        ("recurring", "d b a c"),
        ("tag", "a b c d"),
        ("tag 2", "a b c d"),
        ("status.name", "d a c b"),
    ] {
        let query = Query::parse(&format!("sort by {by}"), TODAY).unwrap();
        let mut sorted = items.clone();
        sorted.sort_by(|one, other| query.compare(one, other));
        let names: Vec<&str> = sorted.iter().map(|item| &item.fields.description[..1]).collect();
        assert_eq!(names.join(" "), expected, "{by}");
    }
    for (by, expected) in [
        ("due", "Invalid due date, 2026-01-01 Thursday, 2026-03-01 Sunday, No due date"),
        ("tags", "#x, #y, (No tags)"),
        ("priority reverse", "Low priority, Normal priority, High priority"),
        ("folder", "Work/log/"),
        ("root", "Work/"),
        ("path", "Work/log/a"),
        ("filename", "a"),
        ("heading", "Plan"),
        ("status", "Done, Todo"),
        ("recurrence", "None, every day"),
    ] {
        let query = Query::parse(&format!("group by {by}"), TODAY).unwrap();
        let mut keys: Vec<Vec<GroupKey>> = items.iter().flat_map(|item| query.groups(item)).collect();
        keys.sort_by(|one, other| query.compare_groups(one, other));
        keys.dedup();
        let names: Vec<&str> = keys.iter().map(|key| key[0].name.as_str()).collect();
        assert_eq!(names.join(", "), expected, "{by}");
    }
}

const FILTERS: [&str; 6] =
    ["done", "has due date", "description includes a", "tags include #t", "priority is high", "due before 2026-02-12"];
const PARTS: [&str; 6] = ["a ", "b ", "#t ", "⏫ ", "📅 2026-02-11 ", "📅 2026-03-01 "];

/// A combination as text, and the tasks that it selects, one bit each, computed by set operations on the results of
/// single filters.
fn any_combination() -> impl Strategy<Value = (String, u64)> {
    let leaf = (0..FILTERS.len()).prop_map(|at| (FILTERS[at].to_owned(), told_by(FILTERS[at])));
    leaf.prop_recursive(4, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone(), 0..4);
        prop_oneof![
            inner.prop_map(|(text, set)| (format!("NOT ({text})"), !set)),
            pair.prop_map(|((one, a), (other, b), operator)| match operator {
                0 => (format!("({one}) AND ({other})"), a & b),
                1 => (format!("({one}) OR ({other})"), a | b),
                2 => (format!("({one}) XOR ({other})"), a ^ b),
                _ => (format!("({one}) AND NOT ({other})"), a & !b),
            }),
        ]
    })
}

/// The texts of all tasks that these parts can form.
fn texts() -> impl Iterator<Item = String> {
    (0_u32..64).map(|bits| (0..6).filter(|bit| bits & 1 << bit != 0).map(|bit| PARTS[bit as usize]).collect())
}

fn told_by(query: &str) -> u64 {
    let query = Query::parse(query, TODAY).unwrap();
    texts().enumerate().fold(0, |set, (at, text)| {
        let mark = if at % 3 == 0 { 'x' } else { ' ' };
        set | u64::from(query.matches(&item("a.md", mark, &fields(&text)))) << at
    })
}

proptest! {
    #[test]
    fn combinations_are_operations_on_sets((text, set) in any_combination()) {
        prop_assert_eq!(told_by(&text), set, "{}", text);
    }

    #[test]
    fn operators_bind_as_the_plugin_says(a in 0..6_usize, b in 0..6_usize, c in 0..6_usize) {
        let [a, b, c] = [a, b, c].map(|at| FILTERS[at]);
        let [x, y, z] = [a, b, c].map(told_by);
        prop_assert_eq!(told_by(&format!("({a}) OR ({b}) AND ({c})")), x | y & z);
        prop_assert_eq!(told_by(&format!("({a}) AND ({b}) XOR ({c})")), x & (y ^ z));
        prop_assert_eq!(told_by(&format!("NOT ({a}) XOR ({b}) OR NOT NOT ({c})")), (!x ^ y) | z);
    }

    /// For any day, a period is the same as the one found by walking day by day.
    #[test]
    fn periods_hold_the_days_that_a_walk_finds(day in 0..20_000_i32, offset in -500..500_i32) {
        let today = date(1990, 1, 1).checked_add(day.days()).unwrap();
        let other = today.checked_add(offset.days()).unwrap();
        let monday = |of: Date| {
            let mut day = of;
            while day.weekday() != Weekday::Monday {
                day = day.yesterday().unwrap();
            }
            day
        };
        let weeks = |of: Date| monday(of).duration_since(monday(today)).as_hours().div_euclid(7 * 24);
        let months = |of: Date| i64::from(of.year()) * 12 + i64::from(of.month()) - 1;
        let told = |text: &str| dates::read(text, today).unwrap().contains(&other);
        for (which, shift) in [("last", -1), ("this", 0), ("next", 1)] {
            prop_assert_eq!(told(&format!("{which} week")), weeks(other) == shift);
            prop_assert_eq!(told(&format!("{which} month")), months(other) - months(today) == shift);
            prop_assert_eq!(told(&format!("{which} quarter")), months(other).div_euclid(3) - months(today).div_euclid(3) == shift);
            prop_assert_eq!(told(&format!("{which} year")), i64::from(other.year() - today.year()) == shift);
        }
        let week = other.iso_week_date();
        let week = format!("{}-W{:02}", week.year(), week.week());
        prop_assert!(dates::read(&week, today).unwrap().contains(&other));
        let text = fields_of(other);
        for (relation, holds) in [
            ("before", other < today), ("after", other > today), ("on", other == today), ("", other == today),
            ("on or before", other <= today), ("on or after", other >= today), ("in or after", other >= today),
        ] {
            let query = Query::parse(&format!("due {relation} {today}"), TODAY).unwrap();
            prop_assert_eq!(query.matches(&item("a.md", ' ', &fields(&text))), holds, "{} {}", relation, other);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in any_words()) {
        if let Ok(query) = Query::parse(&text, TODAY) {
            let fields = fields("a 📅 2026-02-11");
            let item = item("a/b.md", ' ', &fields);
            prop_assert!(!query.matches(&item) || !query.groups(&item).is_empty());
        }
    }
}

fn fields_of(day: Date) -> String {
    format!("x 📅 {day}")
}

fn any_words() -> impl Strategy<Value = String> {
    let words = vec![
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "NOT",
        "AND",
        "OR",
        "XOR",
        "\\",
        "\n",
        "#",
        "due",
        "starts",
        "before",
        "in",
        "on or after",
        "next",
        "week",
        "2026-02-30",
        "-1",
        "99999",
        "weeks",
        "ago",
        "path",
        "regex matches",
        "/a/i",
        "/",
        "(?",
        "sort by",
        "group by",
        "tag",
        "reverse",
        "limit",
        "priority is",
        "ä",
        "İ",
        "date is invalid",
        "has",
        "no",
    ];
    let word = prop_oneof![4 => prop::sample::select(words).prop_map(str::to_owned), 1 => "\\PC{0,4}"];
    (prop::collection::vec(word, 0..20), prop::bool::ANY)
        .prop_map(|(words, spaced)| words.join(if spaced { " " } else { "" }))
}
