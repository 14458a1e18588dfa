use proptest::prelude::*;

use super::*;
use crate::{VaultPath, fold};

const ADA: &str = "---\r\n# a person's comment\r\nentity_type: person\r\nentity_name: \"Ada/L\"\r\ncreated: 2026-01-02T03:04:05Z\r\n---\r\n# Ada\r\n\r\nfree text - no item\r\n\r\n## observations ##\r\n\r\n* one\r\n  and more\r\n  - nested\r\n1. two\r\n> - quoted\r\n\r\n### Later\r\n- three [[Elsewhere]]\r\n\r\n## Related\r\n- knows:: [[Bob]], [[p/Cy|Cy]]\r\n- [[Dee#x]]\r\n- sees ![[pic.png]] [web](https://example.org)\r\n\r\n## Notes\r\n- four\r\n";

fn relation(kind: &str, target: &str) -> Relation {
    Relation { kind: kind.to_owned(), target: target.to_owned() }
}

#[test]
fn what_a_person_writes_is_read() {
    let ada = Entity::read(ADA).unwrap();
    assert_eq!((ada.kind.as_str(), ada.created.as_deref()), ("person", Some("2026-01-02T03:04:05Z")));
    assert_eq!(ada.observations, ["one\nand more\n- nested", "two", "three [[Elsewhere]]"]);
    assert_eq!(ada.relations, [relation("knows", "Bob"), relation("knows", "p/Cy"), relation("related", "Dee")]);
    for text in ["# Ada", "---\nentity_type: 7\n---\n", "---\nentity_type: \" \"\n---\n", "---\n[\n---\n"] {
        assert_eq!(Entity::read(text), None, "{text:?}");
    }
}

#[test]
fn an_item_is_added_and_every_other_byte_stays() {
    let (after, count) = with_observation(ADA, " four %% not a comment %% ").unwrap();
    let added = "- three [[Elsewhere]]\r\n- four %% not a comment %%\r\n";
    assert_eq!((after, count), (ADA.replace("- three [[Elsewhere]]\r\n", added), 4));
    let after = with_relation(ADA, "works at:", "memory/org/Acme", "Acme").unwrap();
    let last = "https://example.org)\r\n";
    assert_eq!(after, ADA.replace(last, &format!("{last}- works at [[memory/org/Acme|Acme]]\r\n")));
    let bare = "---\nentity_type: x\n---";
    assert_eq!(with_observation(bare, "a").unwrap().0, format!("{bare}\n\n## Observations\n\n- a"));
    let related = with_relation(bare, "is", "B", "B]").unwrap();
    assert_eq!(related, format!("{bare}\n\n## Related\n\n- is [[B]]"));
    let both = with_observation(&related, "a").unwrap().0;
    assert_eq!(Entity::read(&both).unwrap().relations, [relation("is", "B")]);
}

#[test]
fn a_new_entity_is_empty_or_has_its_observations() {
    let text = new_text("person", "Ada", "Ada", "now", &[]).unwrap();
    assert_eq!(text, "---\nentity_type: person\ncreated: now\n---\n# Ada\n\n## Observations\n\n## Related\n");
    let text = with_observation(&text, "one").unwrap().0;
    let text = with_relation(&text, "knows", "Bob", "Bob").unwrap();
    assert!(text.ends_with("# Ada\n\n## Observations\n\n- one\n\n## Related\n\n- knows [[Bob]]\n"), "{text}");
    let text = new_text("band", "AC/DC", "AC-DC", "now", &["loud".to_owned()]).unwrap();
    assert!(text.contains("entity_name: AC/DC\naliases:\n  - AC/DC\n"), "{text}");
}

#[test]
fn what_would_swallow_the_rest_is_refused() {
    let text = new_text("x", "x", "x", "now", &[]).unwrap();
    for bad in ["%%", "%% a"] {
        assert_eq!(with_observation(&text, bad), Err(EntityError::Swallowed), "{bad}");
        assert!(with_relation(&text, bad, "t", "t").is_err(), "{bad}");
    }
    for bad in ["", " \t", "a\nb", "a\rb", "a\0b"] {
        assert_eq!(with_observation(&text, bad), Err(EntityError::NotOneLine), "{bad:?}");
        assert!(new_text("x", bad, "x", "now", &[]).is_err() && new_text("x", "x", "x", "now", &[bad.into()]).is_err());
    }
    assert_eq!(with_relation(&text, "a [[b]]", "t", "t"), Err(EntityError::Swallowed));
    let long = format!("{text}{}", " ".repeat(MAX_BODY_BYTES));
    assert_eq!(with_observation(&long, "a"), Err(EntityError::TooLong));
}

#[test]
fn an_entity_of_very_many_observations_is_read_in_time() {
    let many: Vec<String> = (0..100_000).map(|n| format!("{n}")).collect();
    let text = new_text("x", "x", "x", "now", &many).unwrap();
    let (text, count) = with_observation(&text, "last").unwrap();
    assert_eq!((count, Entity::read(&text).unwrap().observations.last().unwrap().as_str()), (100_001, "last"));
}

#[test]
fn names_of_files_are_plain() {
    for (name, file) in [
        ("Ada Lovelace", "Ada Lovelace"),
        ("a/b\\c:d", "a-b-c-d"),
        ("..", "unnamed"),
        (".hidden", "hidden"),
        ("  a \t b . ", "a - b"),
        ("con", "_con"),
        ("Com1.x", "_Com1.x"),
        ("com10", "com10"),
        ("100% [[x]] #y ^z", "100- --x-- -y -z"),
        ("\u{202E}olleh", "olleh"),
        ("👩\u{200D}🚀", "👩\u{200D}🚀"),
        ("", "unnamed"),
        ("/", "-"),
    ] {
        assert_eq!(file_name(name), file, "{name:?}");
    }
    assert!(file_name(&"🚀".repeat(500)).len() <= 180);
}

proptest! {
    #[test]
    fn an_observation_that_is_taken_is_read_again(
        observations in prop::collection::vec("[a-c#>`*_<!%$\\[\\]() .:-]{1,12}|\\PC{1,12}", 1..6), name in "[a-z]{1,3}|\\PC{1,9}"
    ) {
        let Ok(mut text) = new_text("t", &name, "stem", "now", &[]) else { return Ok(()) };
        let mut taken = Vec::new();
        for observation in &observations {
            if let Ok((after, count)) = with_observation(&text, observation) {
                taken.push(observation.trim().to_owned());
                prop_assert_eq!(count, taken.len());
                // Nothing but the item came.
                let item = format!("- {}\n", observation.trim());
                prop_assert!(after.len() <= text.len() + item.len() + 1);
                text = after;
            }
            if let Ok(after) = with_relation(&text, observation, "to", "To") {
                text = after;
            }
        }
        prop_assert_eq!(Entity::read(&text).unwrap().observations, taken);
        // Plain text is always taken.
        prop_assert!(with_observation(&text, "plain").is_ok());
    }

    #[test]
    fn a_name_of_a_file_is_one_that_all_systems_store(name in "\\PC{0,40}|[a-z./\\\\ ~%:]{0,12}|(?i:con|aux|lpt1)(\\.| )?") {
        let file = file_name(&name);
        let path = VaultPath::parse(&format!("memory/{file}/{file}.md"));
        prop_assert!(path.as_ref().is_ok_and(VaultPath::is_note), "{:?} {:?}", file, path);
        prop_assert!(!file.starts_with('.') && !file.ends_with(['.', ' ']) && file_name(&file) == file);
        prop_assert!(!fold(&file).contains(['/', '[', ']', '|', '#', '^', '\\', ':']));
    }
}
