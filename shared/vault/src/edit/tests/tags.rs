//! Tags of the frontmatter and of the text.

use super::lines::{Lines, any_lines};
use super::*;
use crate::edit::{add_inline_tag, add_tag, remove_inline_tag, remove_properties, remove_tag};
use crate::parse;
use proptest::prelude::*;

#[track_caller]
fn added(text: &str) -> String {
    let added = add_tag(text, "new").unwrap().unwrap();
    assert_eq!(add_tag(&added, "NEW").unwrap(), None, "{added}");
    added
}

#[test]
fn a_tag_comes_into_the_list_as_it_is_written() {
    for (before, after) in [
        ("text\n", "---\ntags:\n  - new\n---\ntext\n"),
        ("---\na: 1\n---\n", "---\na: 1\ntags:\n  - new\n---\n"),
        ("---\ntags:\n---\n", "---\ntags:\n  - new\n---\n"),
        ("---\ntags: []\n---\n", "---\ntags:\n  - new\n---\n"),
        ("---\ntags: one\n---\n", "---\ntags: one, new\n---\n"),
        ("---\ntags: one two # of old\n---\n", "---\ntags: one two new # of old\n---\n"),
        ("---\ntags: one,two\n---\n", "---\ntags: one,two, new\n---\n"),
        ("---\ntag: [ \"a b\" ,c ]  # of old\n---\n", "---\ntag: [ \"a b\" ,c, new ]  # of old\n---\n"),
        ("---\nTags: [a,\n  b] # c\nx: y\n---\n", "---\nTags: [a,\n  b, new] # c\nx: y\n---\n"),
        ("---\ntags:\n- a # first\n-   'b'\nx: 1\n---\n", "---\ntags:\n- a # first\n-   'b'\n-   new\nx: 1\n---\n"),
        ("---\r\ntags:\r\n  - a\r\n---\r\n", "---\r\ntags:\r\n  - a\r\n  - new\r\n---\r\n"),
        ("---\ntags: 2024\n---\n", "---\ntags:\n  - 2024\n  - new\n---\n"),
    ] {
        assert_eq!(added(before), after);
    }
    assert_eq!(add_tag("---\ntags: {a: b}\n---\n", "new"), Err(Problem::TagsStyle));
    assert!(matches!(add_tag("---\ntags: [\n---\n", "new"), Err(Problem::Frontmatter(_))));
}

#[test]
fn a_tag_goes_out_of_the_list_with_its_line_or_comma() {
    for (before, after) in [
        ("---\ntags:\n  - Gone\n---\ntext\n", "text\n"),
        ("---\ntags: gone # why\na: 1\n---\n", "---\na: 1\n---\n"),
        ("---\ntags: one, gone two\n---\n", "---\ntags: one two\n---\n"),
        ("---\ntags: gone, two\n---\n", "---\ntags: two\n---\n"),
        ("---\ntags: [gone, \"#gone\", gone/below,  'x'] # c\n---\n", "---\ntags: [gone/below,  'x'] # c\n---\n"),
        ("---\ntags: [x, gone]\n---\n", "---\ntags: [x]\n---\n"),
        ("---\ntags:\n- gone\n- a # first\n- 'gone'\nx: 1\n---\n", "---\ntags:\n- a # first\nx: 1\n---\n"),
        ("---\ntags: [a, gone]\ntag: gone\n---\n", "---\ntags: [a]\n---\n"),
    ] {
        assert_eq!(remove_tag(before, "gone").unwrap().as_deref(), Some(after));
    }
    for text in ["#gone\n", "---\na: gone\ntags: [other, gone/x]\n---\n#gone\n"] {
        assert_eq!(remove_tag(text, "gone"), Ok(None));
    }
}

#[test]
fn many_properties_go_at_once_or_none_does() {
    let names: Vec<String> = (0..3000).map(|number| format!("p{number}")).collect();
    let lines = |value: &str| names.iter().map(|name| format!("{name}: {value}\n")).collect::<String>();
    let text = format!("---\nfirst: 1 # one\n{}last: 2\n---\n", lines("1"));
    assert_eq!(remove_properties(&text, &names).unwrap(), "---\nfirst: 1 # one\nlast: 2\n---\n");
    let missing = remove_properties(&text, &["p1".to_owned(), "other".to_owned()]).unwrap_err();
    assert!(matches!(missing, Problem::PropertyMissing { ref name, .. } if name == "other"), "{missing}");
}

#[test]
fn a_tag_of_the_text_comes_on_a_line_of_its_own_or_where_it_is_wanted() {
    let add = |text: &str, at| add_inline_tag(text, "new", at);
    assert_eq!(add("text\n", None), Ok(Some("text\n#new\n".to_owned())));
    assert_eq!(add("a b", Some(1)), Ok(Some("a #new b".to_owned())));
    assert_eq!(add("a b", Some(2)), Ok(Some("a #new b".to_owned())));
    assert_eq!(add("#New", None), Ok(None));
    for (text, at) in [
        ("```\ncode\n", None),
        ("é", Some(1)),
        ("a", Some(9)),
        ("---\na: 1\n---\n", Some(5)),
        ("%% a %%", Some(3)),
        ("a\r\nb", Some(2)),
    ] {
        assert_eq!(add(text, at), Err(Problem::TagHidden), "{text}");
    }
}

#[test]
fn a_tag_goes_out_of_the_text_with_the_space_before_it() {
    for (before, after) in [
        ("a #gone b", "a b"),
        ("a #gone/x #GONE.\n", "a #gone/x.\n"),
        ("#gone a\n", "a\n"),
        ("a\n\n #gone #gone \nb\n", "a\n\nb\n"),
        ("a\r\n#gone", "a"),
        ("- #gone\n`#gone`\n", "`#gone`\n"),
        ("Buy milk\n- #gone\n", "Buy milk\n"),
        ("- a\n- #gone\n\n  b\n", "- a\n-\n\n  b\n"),
        ("> Buy\n> 1. [x] #gone\n> milk\n", "> Buy\n> milk\n"),
        ("a\n\n- #gone\n    - b\n", "a\n\n-\n    - b\n"),
        ("# a #gone\n", "# a\n"),
        ("[x] #gone\n", "[x]\n"),
    ] {
        assert_eq!(remove_inline_tag(before, "gone").unwrap().as_deref(), Some(after));
    }
    for text in ["Buy milk\n- #gone\n    - b\n", "Buy milk\n\n#gone\n---\n"] {
        assert_eq!(remove_inline_tag(text, "gone"), Err(Problem::TagNeeded), "{text}");
    }
    for text in ["gone", "#gone/x", "`#gone`", "---\ntags: gone\n---\n", "a#gone"] {
        assert_eq!(remove_inline_tag(text, "gone"), Ok(None));
    }
}

/// A note whose frontmatter, if it has any, has a list of tags or other properties.
fn tagged() -> impl Strategy<Value = String> {
    let list = prop::sample::select(vec![
        "tags: [a, 'b']  # c\n",
        "tags:\n  - a # c\n  - \"b\"\n",
        "tags: a b\n",
        "tag: a, b\n",
        "",
    ]);
    (any_lines(), list, 0..3_usize).prop_map(|(note, list, at)| match &note.properties {
        Some(properties) if !properties.is_empty() => {
            let mut properties = properties.clone();
            if !list.is_empty() {
                properties.insert(at.min(properties.len()), list.lines().map(str::to_owned).collect());
            }
            Lines { properties: Some(properties), ..note }.text()
        }
        _ => Lines { properties: None, ..note }.text(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn a_tag_that_is_added_and_removed_leaves_no_trace(text in tagged(), name in "[m-z]{1,4}(/[m-z])?") {
        let carries = |text: &str| parse(text).tags.iter().any(|tag| tag.name == name);
        prop_assume!(!carries(&text));
        let added = add_tag(&text, &name).unwrap().unwrap();
        prop_assert!(carries(&added), "{:?}", added);
        prop_assert_eq!(remove_tag(&added, &name).unwrap().unwrap(), text.as_str());
        if let Ok(added) = add_inline_tag(&text, &name, None) {
            let added = added.unwrap();
            prop_assert!(carries(&added), "{:?}", added);
            // A blank line that keeps it apart from a list stays.
            let removed = remove_inline_tag(&added, &name).unwrap().unwrap();
            prop_assert_eq!(removed.trim_end_matches(['\r', '\n']), text.trim_end_matches(['\r', '\n']));
        }
    }

    #[test]
    fn any_text_keeps_its_other_tags_and_properties(text in super::any_note::any_text(), name in prop::sample::select(vec!["a", "A", "b"])) {
        let others = |text: &str| {
            let note = parse(text);
            let mut properties = note.properties().cloned().unwrap_or_default();
            properties.retain(|key, _| !key.eq_ignore_ascii_case("tags"));
            let tags: Vec<String> = note.tags.into_iter().map(|tag| tag.name).filter(|tag| !tag.eq_ignore_ascii_case(name)).collect();
            (properties, tags)
        };
        for edited in [add_tag(&text, name), remove_tag(&text, name), add_inline_tag(&text, name, None), remove_inline_tag(&text, name)] {
            if let Ok(Some(edited)) = edited {
                prop_assert_eq!(others(&edited), others(&text));
            }
        }
    }
}
