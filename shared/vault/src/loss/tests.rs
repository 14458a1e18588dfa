use std::ops::Range;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn destroys(before: &str, after: &str) -> bool {
    Loss::between(before, after).is_destruction()
}

fn numbered(lines: Range<usize>) -> String {
    lines.map(|line| format!("What was said on day {line}, by whom, and why it holds.\n")).collect()
}

#[test]
fn more_than_half_of_the_lines_is_destruction_and_half_is_not() {
    let before = numbered(0..100);
    assert!(!destroys(&before, &numbered(50..100)));
    assert!(destroys(&before, &numbered(51..100)));
    assert!(destroys(&before, ""));
    assert!(destroys(&before, "gone\n"));
    assert!(!destroys(&before, &(numbered(0..100) + "more\n")));
    let reversed: String = before.lines().rev().map(|line| format!("{line}\n")).collect();
    assert!(Loss::between(&before, &reversed).is_none());
}

#[test]
fn long_lines_count_by_their_words() {
    let paragraph = |from: usize| (from..from + 60).map(|n| format!("word{n} ")).collect::<String>();
    let before = format!("# One\n\n{}\n\n# Two\n\n# Three\n\n# Four\n", paragraph(0));
    assert!(destroys(&before, "# One\n\n# Two\n\n# Three\n\n# Four\n"));
    assert!(!destroys(&before, &before.replace("word7 ", "another ")));
    assert!(destroys(&format!("# T\n\n{}\n", paragraph(0)), &format!("# T\n\n{}\n", paragraph(100))));
    assert!(destroys(&paragraph(0), &paragraph(100)));
    assert!(!destroys(&paragraph(0), &paragraph(10)));
}

#[test]
fn a_note_of_a_few_lines_is_destroyed_when_none_is_left() {
    for (before, after, expected) in [
        ("# A\n\nwords\n", "# A\n\nother words\n", false),
        ("# A\n\nwords\n", "# A\n", false),
        ("# A\n\nwords\n", "# B\n\nother\n", true),
        ("# A\n\nwords\n", "", true),
        ("hello there\n", "bye\n", true),
        ("hello there\n", "hello you\n", false),
        ("- [ ] buy milk\n", "- [x] buy milk ✅ 2024-05-01\n", false),
        ("", "text\n", false),
        ("\n\n", "text\n", false),
        ("⭐⭐⭐\n", "x\n", true),
    ] {
        assert_eq!(destroys(before, after), expected, "{before:?} -> {after:?}");
    }
}

#[test]
fn frontmatter_is_destroyed_when_no_property_is_left() {
    let note = |yaml: &str| format!("---\n{yaml}---\n{}", numbered(0..20));
    let before = note("status: draft\ntags:\n- one\n- two\n");
    assert!(!destroys(&before, &note("status: done and dusted\ntags: [three]\n")));
    assert!(!destroys(&before, &note("status: draft\n")));
    assert!(destroys(&before, &numbered(0..20)));
    assert!(destroys(&before, &note("other: 1\n")));
    assert!(!destroys("---\nstatus: a b c\n---\n", "---\nstatus: d e f\n---\n"));
    assert!(!destroys(&note("tags: [one]\n"), &numbered(0..20)), "the only property");
    assert!(destroys("---\nstatus: a b c\n---\n", ""));
    let call = "Call Anna on 030 12345 before Friday.\n";
    assert!(destroys(&format!("---\ntags: [idea]\n---\n{call}"), "---\ntags: []\n---\n"), "the body alone");
    let long: String = (0..200).map(|n| format!("word{n} ")).collect();
    assert!(destroys(&note(&format!("a: 1\nsummary: {long}\n")), &note("a: 1\nsummary: \n")), "what a property says");
}

#[test]
fn all_tasks_of_a_note_may_be_checked_off_and_items_numbered_anew() {
    let items = |from: usize| (from..from + 40).map(|n| format!("{n}. item{}\n", n - from)).collect::<String>();
    assert!(Loss::between(&items(1), &items(2)).is_none());
    for item in ["- [ ]", "1. [ ]", "> * [/]"] {
        let tasks: String = (0..40).map(|task| format!("{item} task{task}\n")).collect();
        assert!(Loss::between(&tasks, &tasks.replace("[ ]", "[x]").replace("[/]", "[-]")).is_none());
    }
}

#[test]
fn long_texts_are_compared_by_their_lines_too() {
    let before = numbered(0..120_000);
    let reversed: String = before.lines().rev().map(|line| format!("{line}\n")).collect();
    let both_ends = format!("first\n{before}last\n");
    assert!(Loss::between(&before, &reversed).is_none());
    assert!(Loss::between(&both_ends, &format!("1st\n{before}end\n")).lines.gone <= 2);
    assert!(destroys(&both_ends, &format!("first\n{}last\n", numbered(90_000..120_000))));
}

#[test]
fn properties_are_compared_in_time_proportional_to_their_length() {
    let note = |lines: usize, value: &str| {
        format!("---\nb: {value}\n{}a:\n{}---\nhi", "a: 1\n".repeat(lines), "\n".repeat(lines))
    };
    let time = |lines: usize| {
        let (before, after) = (note(lines, "x"), note(lines, "y"));
        let once = || {
            let begun = Instant::now();
            let _loss = Loss::between(&before, &after);
            begun.elapsed()
        };
        std::iter::repeat_with(once).take(3).min().unwrap_or_default()
    };
    // Quadratic work has the factor 16. Another process may disturb one of the measurements.
    assert!((0..4).any(|_| time(4000) <= time(1000) * 10 + Duration::from_millis(5)));
}

#[test]
fn what_is_beyond_the_most_that_is_known_counts_as_gone() {
    let lines = |numbers: Range<usize>| numbers.map(|number| format!("{number:x}\n")).collect::<String>();
    let before = lines(0..MAX_KNOWN * 2 + 2);
    let after: String = before.lines().rev().map(|line| format!("{line}\n")).collect();
    let gone = Loss::between(&before, &after).lines.gone;
    assert!(gone > MAX_KNOWN && gone <= MAX_KNOWN + 2, "{gone}");
}

proptest! {
    #[test]
    fn what_stays_is_no_loss(before in "[a-c \n#-]{0,60}", first in "[a-c \n]{0,20}", last in "[a-c \n]{0,20}") {
        prop_assert!(Loss::between(&before, &before).is_none());
        let more = format!("{first}\n{before}\n{last}");
        let loss = Loss::between(&before, &more);
        // Text before the frontmatter turns it into body.
        prop_assert!(loss.is_none() || before.starts_with("---"));
    }

    #[test]
    fn nothing_is_left_of_what_is_emptied(before in "\\PC{0,80}") {
        let loss = Loss::between(&before, "");
        prop_assert_eq!(loss.is_destruction(), !before.trim().is_empty());
        prop_assert!(loss.lines.gone <= loss.lines.of && loss.words.gone <= loss.words.of);
    }

    #[test]
    fn no_more_is_gone_than_was_there(before in "(?s).{0,120}", after in "(?s).{0,120}") {
        let Loss { properties, values, texts, lines, words } = Loss::between(&before, &after);
        for share in [properties, values, texts, lines, words] {
            prop_assert!(share.gone <= share.of);
        }
    }
}

/// The properties of a contact, and a body.
fn contact(values: [&str; 6], body: &str) -> String {
    let names = ["name", "phone", "email", "born", "place", "notes"];
    let properties: String =
        names.iter().zip(values).map(|(name, value)| format!("{name}: {value}\n").replace(": \n", ":\n")).collect();
    format!("---\n{properties}---\n{body}")
}

const ANNA: [&str; 6] = ["Anna Smith", "030 12345", "anna@example.org", "1990-04-01", "Berlin", "met in Hamburg"];

#[test]
fn a_note_of_properties_is_destroyed_when_most_say_nothing_any_more() {
    let with = |changes: &[(usize, &'static str)]| {
        let mut values = ANNA;
        changes.iter().for_each(|(at, value)| values[*at] = value);
        values
    };
    let dropped = |count: usize| with(&(0..count).map(|at| (at, "")).collect::<Vec<_>>());
    for body in ["", "# Anna\n"] {
        let before = contact(ANNA, body);
        for (after, expected) in [
            (dropped(6), true),
            (dropped(4), true),
            (dropped(3), true),
            (dropped(2), false),
            (dropped(1), false),
            (with(&[(0, "null"), (1, "\"\""), (2, "[]"), (3, "''"), (4, "~"), (5, "|")]), true),
            (with(&[(0, "x"), (2, "x"), (5, "x")]), true),
            (with(&[(1, "030 54321"), (3, "1991-05-02"), (4, "Bremen")]), false),
        ] {
            assert_eq!(destroys(&before, &contact(after, body)), expected, "{after:?}");
        }
        let renamed = before.replace("name:", "called:").replace("phone:", "call:").replace("notes:", "said:");
        assert!(!destroys(&before, &renamed.replace("born:", "birth:").replace("place:", "home:")));
    }
    let summary = |value: &str| format!("---\nsummary: {value}\n---\n");
    let said = summary("a long precious text that a person wrote");
    assert!(destroys(&said, &summary("\"\"")));
    assert!(destroys(&(said.clone() + &numbered(0..20)), &(summary("") + &numbered(0..20))), "all that it had");
    let nested = "---\ncontact:\n  phone: 030\n  mail: a@b.org\n---\n";
    assert!(destroys(nested, "---\ncontact:\n  phone:\n  mail: \"\"\n---\n"), "names are no values");
}

#[test]
fn updates_of_every_day_destroy_no_properties() {
    let yaml = "status: open\nis_done: false\ndue: 2024-05-01\ntags:\n- harbour\n- tide\n- berth\nowner: \"[[Anna]]\"\nnext:\n";
    for body in ["", "Buy milk.\n", "# Title\n\nA few words on what to do here.\n"] {
        let before = format!("---\n{yaml}---\n{body}");
        for (was, becomes) in [
            ("status: open", "status: done"),
            ("is_done: false", "is_done: true"),
            ("due: 2024-05-01", "due: 2025-06-02T10:00:00Z"),
            ("due: 2024-05-01\n", ""),
            ("- tide\n", ""),
            ("- tide\n", "- tide\n- fog\n"),
            ("tags:\n- harbour\n- tide\n- berth\n", "tags: [harbour, tide, berth]\n"),
            ("next:", "next: call her"),
        ] {
            assert!(!destroys(&before, &before.replace(was, becomes)), "{was} -> {becomes}");
        }
        let all = [("open", "done"), ("false", "true"), ("2024-05-01", "2025-01-01"), ("next:", "next: x")];
        let after = all.iter().fold(before.clone(), |note, (was, becomes)| note.replace(was, becomes));
        assert!(!destroys(&before, &after), "{after}");
    }
    assert!(!destroys("---\nstatus: open\n---\n", "---\nstatus: done\n---\n"));
    assert!(!destroys("---\nstatus: in progress\n---\n", "---\nstatus: done\n---\n"));
}

#[test]
fn a_canvas_is_what_its_cards_say() {
    let canvas = |text: &dyn Fn(usize) -> String, x: usize| {
        let card = |n: usize| {
            format!(
                r#"{{"id":"{n:016x}","type":"text","text":"{}","x":{},"y":0,"width":250,"height":60}}"#,
                text(n),
                n * x
            )
        };
        let cards: Vec<String> = (0..12).map(card).collect();
        format!("{{\"nodes\":[\n{}\n],\"edges\":[]}}", cards.join(",\n"))
    };
    let said = |n: usize| format!("idea {n} of the harbour");
    let before = canvas(&said, 300);
    let loss = |after: &str| Loss::of_file("Boards/Plan.canvas", &before, after);
    assert!(loss(&canvas(&|_| String::new(), 300)).is_destruction());
    assert!(loss(&canvas(&|n| if n < 5 { said(n) } else { String::new() }, 300)).is_destruction());
    assert!(!loss(&canvas(&|n| if n < 7 { said(n) } else { String::new() }, 300)).is_destruction());
    assert!(loss(&canvas(&said, 900)).is_none(), "cards are where a person wants them");
    assert!(loss("{}").is_destruction() && loss("").is_destruction() && loss("gone").is_destruction());
    assert!(Loss::of_file("a.canvas", "{}", &before).is_none(), "nothing was there");
    let links = |label: &str| {
        format!(r#"{{"nodes":[{{"id":"a","type":"group","label":"{label}","x":0,"y":0,"width":9,"height":9}}]}}"#)
    };
    assert!(Loss::of_file("a.CANVAS", &links("Harbour"), &links("")).is_destruction());
    assert!(Loss::of_file("a.canvas", &links(""), "{}").is_destruction(), "a group without a label");
}

#[test]
fn a_base_is_what_its_names_have() {
    let base = "filters:\n  and:\n    - status == \"open\"\nformulas:\n  days: due - today()\nviews:\n  - type: table\n    name: Open tasks\n";
    let loss = |after: &str| Loss::of_file("Tasks.base", base, after).is_destruction();
    assert!(loss("filters:\nformulas:\n  days: \"\"\nviews:\n  - type:\n    name:\n"));
    assert!(loss(""));
    assert!(!loss(&base.replace("open", "done")));
    assert!(!loss(&base.replace("    name: Open tasks\n", "    name: Open tasks\n    limit: 10\n")));
}
