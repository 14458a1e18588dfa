//! The YAML block and its properties.

use super::*;
use serde_json::Value;
use serde_json::json;

fn properties(yaml: &str) -> Result<Value, FrontmatterError> {
    let note = parse(&format!("---\n{yaml}\n---\n[[body]]"));
    assert_eq!(note.links.last().map(|link| link.target.as_str()), Some("body"), "{yaml:?}");
    note.frontmatter.expect("frontmatter").properties.map(Value::Object)
}

#[test]
fn frontmatter_stands_between_fences_at_the_very_start() {
    for (text, yaml, body) in [
        ("---\na: 1\n---\nb", "a: 1\n", "b"),
        ("---\na: 1\n...\nb", "a: 1\n", "b"),
        ("---\r\na: 1\r\n---\r\nb", "a: 1\r\n", "b"),
        ("---\ra: 1\r---\rb", "a: 1\r", "b"),
        ("\u{FEFF}---\na: 1\n---\nb", "a: 1\n", "b"),
        ("---  \na: 1\n---\t\nb", "a: 1\n", "b"),
        ("---\n---\nb", "", "b"),
        ("---\n---", "", ""),
        ("---\na: '\n  ---'\n---\nb", "a: '\n  ---'\n", "b"),
    ] {
        let found = parse(text).frontmatter.expect(text);
        assert_eq!((&text[found.range], &text[found.body_start..]), (yaml, body), "{text:?}");
    }
    for text in
        ["\n---\na: 1\n---\n", " ---\na: 1\n---\n", "----\na: 1\n---\n", "---\na: 1\n", "--- a\n---\n", "a\n---\n"]
    {
        assert_eq!(parse(text).frontmatter, None, "{text:?}");
    }
}

#[test]
fn properties_keep_their_types() {
    for (yaml, expected) in [
        ("", json!({})),
        ("# only a comment", json!({})),
        ("a: 1\nb: -2.5\nc: 1e3\nd: 0xFF", json!({"a": 1, "b": -2.5, "c": 1000.0, "d": 255})),
        ("a: true\nb: false\nc: null\nd: ~\ne:", json!({"a": true, "b": false, "c": null, "d": null, "e": null})),
        ("a: yes\nb: on\nc: n", json!({"a": "yes", "b": "on", "c": "n"})),
        (
            "a: 2024-01-02\nb: 2024-01-02T03:04:05\nc: 12:30",
            json!({"a": "2024-01-02", "b": "2024-01-02T03:04:05", "c": "12:30"}),
        ),
        ("a: 0123\nb: 1_000\nc: +49 30", json!({"a": "0123", "b": "1_000", "c": "+49 30"})),
        ("a: .nan\nb: -.inf\nc: 1e999", json!({"a": ".nan", "b": "-.inf", "c": ".inf"})),
        ("a: 'it''s'\nb: \"\\u00e9\\n\"", json!({"a": "it's", "b": "é\n"})),
        ("a: [1, b, [c]]\nb:\n- 1\n- x: y", json!({"a": [1, "b", ["c"]], "b": [1, {"x": "y"}]})),
        ("a:\n  b:\n    c: 1", json!({"a": {"b": {"c": 1}}})),
        ("a: |\n  one\n  two\nb: >\n  one\n  two", json!({"a": "one\ntwo\n", "b": "one two\n"})),
        ("a: &x [1]\nb: *x", json!({"a": [1], "b": [1]})),
        ("<<: {a: 1}", json!({"<<": {"a": 1}})),
        ("日本語: 値\n🗂️: b c", json!({"日本語": "値", "🗂️": "b c"})),
        ("1: a\ntrue: b", json!({"1": "a", "true": "b"})),
        ("a: !tag b", json!({"a": "b"})),
        ("a: 12345678901234567890", json!({"a": 12345678901234567890_u64})),
        ("up: [[x]]", json!({"up": [["x"]]})),
    ] {
        assert_eq!(properties(yaml), Ok(expected), "{yaml:?}");
    }
}

#[test]
fn bad_yaml_is_an_error_with_its_line_and_the_body_is_read() {
    for (yaml, line) in [
        ("a: 1\nb: @c", 2),
        ("a: 1\na: 2", 2),
        ("a: [", 1),
        ("a: 1\nb: {{title}}", 2),
        ("just text", 1),
        ("- a\n- b", 1),
        ("a: b: c", 1),
        ("a: *unknown", 1),
        ("a: 1\n\tb: 2", 1),
        ("日本語: 値\nb: \"c\" d", 2),
    ] {
        let error = properties(yaml).expect_err(yaml);
        assert!(!error.message.is_empty() && !error.message.contains('\n'), "{error}");
        assert_eq!(error.line, line, "{yaml:?} gave {error:?}");
    }
}

#[test]
fn an_error_reads_well() {
    let error = properties("title: a\nauthor: @someone").expect_err("an error");
    assert_eq!(error.to_string(), "the frontmatter is not read (line 3): unexpected character: `@'");
}

#[test]
fn yaml_that_would_grow_without_bound_is_refused() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned()
        + &('b'..='i')
            .map(|c| format!("{c}: &{c} [{}]\n", vec![format!("*{}", (c as u8 - 1) as char); 10].join(",")))
            .collect::<String>();
    for yaml in [
        bomb,
        format!("a: {}{}", "[".repeat(1000), "]".repeat(1000)),
        format!("a: {}", "{b: ".repeat(1000)),
        (0..100).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect(),
        format!("a: &a {}\nb: [{}]", "x".repeat(50_000), "*a,".repeat(2000)),
        format!("a: {}", "x".repeat(70_000)),
    ] {
        properties(&yaml).expect_err(yaml.get(..40).unwrap());
    }
    assert!(properties(&format!("a: {}", "x".repeat(60_000))).is_ok());
}

#[test]
fn tags_are_a_list_or_a_string_with_or_without_marks() {
    for (yaml, expected) in [
        ("tags: [a, '#b', c/d]", vec!["a", "b", "c/d"]),
        ("tags:\n- a\n- \n- 2024\n- y2024", vec!["a", "y2024"]),
        ("tags: a, b c,#d", vec!["a", "b", "c", "d"]),
        ("tag: a", vec!["a"]),
        ("Tags: a\nTAG: b", vec!["b", "a"]),
        ("tags:", vec![]),
        ("tags: 2024", vec![]),
        ("tags: {a: b}", vec![]),
        ("tagged: a", vec![]),
    ] {
        assert_eq!(tags(&format!("---\n{yaml}\n---\n#body")), [expected, vec!["body"]].concat(), "{yaml:?}");
    }
}

#[test]
fn aliases_are_a_list_or_a_string_with_commas() {
    for (yaml, expected) in [
        ("aliases: [A B, \"C, D\"]", vec!["A B", "C, D"]),
        ("aliases: A B, C", vec!["A B", "C"]),
        ("alias: A", vec!["A"]),
        ("aliases:\n- A\n-\n- 5", vec!["A", "5"]),
        ("aliases: ''", vec![]),
        ("aliases: [[A]]", vec![]),
    ] {
        assert_eq!(parse(&format!("---\n{yaml}\n---\n")).aliases, expected, "{yaml:?}");
    }
}

#[test]
fn wikilinks_in_properties_count_when_they_are_strings() {
    let yaml = "up: \"[[A#b|c]]\"\nmany:\n- '[[B]]'\n- see [[C]] there\ndeep: {x: {y: \"![[D]]\"}}\n# \"[[no]]\"\nlist: [[no]]";
    let text = format!("---\n{yaml}\n---\n");
    assert_eq!(links(&text), ["A#b|c", "B", "C", "!D"]);
    let places: Vec<_> = parse(&text).links.into_iter().map(|link| (link.line, text[link.range].to_owned())).collect();
    assert_eq!(places[0], (1, "[[A#b|c]]".to_owned()));
    assert_eq!(places[3], (5, "![[D]]".to_owned()));
    assert_eq!(links("---\na: \"[[A]]\"\nb: @\n---\n"), [] as [&str; 0]);
    // A name and a list are no links, whatever else is.
    let text = "---\n\"[[T]]\": [[T]]\nin: {'[[T]]': '[[T]]'}\n---\n";
    assert_eq!((links(text).as_slice(), parse(text).links[0].range.start), (["T".to_owned()].as_slice(), 34));
}

#[test]
fn wikilinks_in_properties_are_read_as_they_are_meant_and_found_as_they_are_written() {
    for (yaml, meant, range, destination) in [
        ("up: '[[A|it''s]]'", "A|it's", "[[A|it''s]]", "A"),
        ("up: 'it''s [[it''s#x]] y'", "it's#x", "[[it''s#x]]", "it''s#x"),
        (r#"up: "[[A|a \"q\" b]]""#, "A|a \"q\" b", r#"[[A|a \"q\" b]]"#, "A"),
        (r#"up: "\ud83c\udf0a\U0001F30A [[\xe9|caf\u00e9]]""#, "é|café", r"[[\xe9|caf\u00e9]]", r"\xe9"),
        (r#"up: "\x5b[A]\u005d\n""#, "A", r"\x5b[A]\u005d", "A"),
        ("up: \"a \\\n  b [[\\\n\n\n\n A]]\\\n  \"", "", "", ""),
        ("up: \"a \\\n  b [[\\\n  A b\\\n  ]]\\\n  \"", "A b", "[[\\\n  A b\\\n  ]]", "A b"),
        ("up: \"x\n\n  y [[A \n  b]]\"", "A b", "[[A \n  b]]", "A \n  b"),
        ("up: see\n  the [[A\n  b]]", "A b", "[[A\n  b]]", "A\n  b"),
        ("up: &x !!str |2- # why\n\n   a\n  [[A]]\n\n# no\nx: *x", "A", "[[A]]", "A"),
        ("up:\n- >+\n  é\n    [[B\n\n  \n  it's [[A\n  b]]\n\n", "A b", "[[A\n  b]]", "A\n  b"),
        ("? up\n: [{a: '[[A|'']]'}]", "A|'", "[[A|'']]", "A"),
    ] {
        for text in [format!("---\n{yaml}\n---\n"), format!("\u{FEFF}---\n{yaml}\n---\n").replace('\n', "\r\n")] {
            let crlf = |part: &str| if text.contains('\r') { part.replace('\n', "\r\n") } else { part.to_owned() };
            let all = parse(&text).links;
            let found: Vec<_> = all.iter().map(|link| [link.range.clone(), link.destination.clone()]).collect();
            let found: Vec<_> =
                found.into_iter().map(|[range, at]| [text[range].to_owned(), text[at].to_owned()]).collect();
            if meant.is_empty() {
                assert_eq!(found, [] as [[String; 2]; 0], "{text:?}");
                continue;
            }
            assert_eq!(
                (links(&text), found),
                (vec![meant.to_owned()], vec![[crlf(range), crlf(destination)]]),
                "{text:?}"
            );
        }
    }
}
