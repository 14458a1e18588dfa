//! The plans of patterns.

use super::*;
use proptest::prelude::*;

fn plan(pattern: &str) -> Plan {
    let hir = regex_syntax::ParserBuilder::new().utf8(false).multi_line(true).build().parse(pattern).unwrap();
    Plan::of_regex(&hir)
}

fn allows(plan: &Plan, folded: &[u8]) -> bool {
    match plan {
        Plan::Anything => true,
        Plan::String(bytes) => memchr::memmem::find(folded, bytes).is_some(),
        Plan::Every(plans) => plans.iter().all(|plan| allows(plan, folded)),
        Plan::Any(plans) => plans.iter().any(|plan| allows(plan, folded)),
    }
}

#[test]
fn what_repeats_itself_within_itself_asks_for_little() {
    let nested = |class: &str, depth| format!("{}{class}{}", "(?:".repeat(depth), "){8}".repeat(depth));
    for pattern in [nested("th[a-p]", 5), nested("(?:ab|cd|ef)gh.", 6), nested("x[a-z]y", 40), nested("abc", 12)] {
        let plan = plan(&pattern);
        assert!(plan.asked() <= MAX_ASKED, "{pattern}");
    }
    let choice: Vec<String> = (0..32).map(|number| format!("a{number}[a-z]b{number}[a-z]c.d")).collect();
    assert!(plan(&choice.join("|")).asked() <= MAX_ASKED);
}

#[test]
fn a_plan_says_what_must_stand_there() {
    let string = |text: &str| Plan::String(text.as_bytes().to_vec());
    assert_eq!(plan("Harbour"), string("harbour"));
    assert_eq!(plan("(?i)harbour K"), string("harbour k"));
    assert_eq!(plan(r"\bfoo\w+bar$"), Plan::Every(vec![string("foo"), string("bar")]));
    assert_eq!(plan("colou?r"), Plan::Any(vec![string("color"), string("colour")]));
    assert_eq!(plan("(abc|def)+x"), Plan::Any(vec![string("abc"), string("def")]));
    assert_eq!(plan(r"(x-)?tide.*\["), string("tide"));
    assert_eq!(plan("--"), string("--"));
    assert_eq!(plan("bootd[a-z]bug"), Plan::Every(vec![string("bootd"), string("bug")]));
    assert_eq!(plan("[0-9]?daddr[0-9]"), string("daddr"));
    let Plan::Any(strings) = plan("z[a-z]am") else { panic!() };
    assert_eq!(strings.len(), 26);
    for pattern in [".", r"\w+", "a*", "", "x|.*", r"(?-u)\xff", "k", "[0-9]{6}", "[aeiou]"] {
        assert_eq!(plan(pattern), Plan::Anything, "{pattern}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_line_that_matches_is_allowed(pattern in pattern(), line in "[abcABKkſs\u{212A}é ]{0,12}") {
        let Ok(regex) = regex::RegexBuilder::new(&pattern).multi_line(true).build() else { return Ok(()) };
        if regex.is_match(&line) {
            prop_assert!(allows(&plan(&pattern), fold::fold(&line).as_bytes()), "{:?} {:?}", pattern, plan(&pattern));
        }
    }
}

fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[abcABKs é]{1,3}",
        Just(".".to_owned()),
        Just(r"\b".to_owned()),
        Just("^".to_owned()),
        Just("$".to_owned()),
        Just(r"\w".to_owned()),
        "[abcK]{1,3}".prop_map(|characters| format!("[{characters}]")),
        "[abc]{1,2}".prop_map(|characters| format!("[^{characters}]"))
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("({})", parts.join("|"))),
            (inner.clone(), prop_oneof![Just("*"), Just("+"), Just("?"), Just("{2}"), Just("{1,3}"), Just("{2,}")])
                .prop_map(|(inner, count)| format!("(?:{inner}){count}")),
            inner.prop_map(|inner| format!("(?i:{inner})")),
        ]
    })
}
