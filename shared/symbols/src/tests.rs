use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::grammar::unknown;

const TIME: Duration = Duration::from_secs(20);

fn code(name: &str, text: &str) -> Code {
    read(Language::of(name).unwrap(), text, TIME).unwrap()
}

#[test]
fn grammars_know_what_is_looked_for() {
    for language in Language::ALL {
        let (parser, grammar) = grammars::grammar(language);
        assert_eq!(unknown(&parser, grammar), None, "{language:?}");
        assert_eq!(Language::numbered(language.number()), Some(language));
    }
}

#[test]
fn files_are_in_a_language_by_their_names() {
    for (name, expected) in [
        ("src/a.RS", Some(Language::Rust)),
        ("a.d.ts", Some(Language::TypeScript)),
        ("a.h", Some(Language::Cpp)),
        (".go", None),
        ("x/.py", None),
        ("Makefile", None),
        ("a.md", None),
    ] {
        assert_eq!(Language::of(name), expected, "{name}");
    }
}

/// The reader's output for a fixture, one definition a line: line, kind, container and name, signature, uses.
fn told(code: &Code) -> String {
    let mut told = String::new();
    for one in &code.definitions {
        let dot = if one.container.is_empty() { "" } else { "." };
        let (kind, uses) = (one.kind.as_str(), one.uses.join(" "));
        writeln!(told, "{} {kind} {}{dot}{} | {} | {uses}", one.line + 1, one.container, one.name, one.signature)
            .unwrap();
    }
    writeln!(told, "uses {}", code.uses.join(" ")).unwrap();
    writeln!(told, "imports {}", code.imports.join(", ")).unwrap();
    told
}

/// Each language's fixture, and beside it what it says.
#[test]
fn each_language_says_what_it_defines_uses_and_imports() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut seen = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(language) = Language::of(&name) else { continue };
        seen.push(language);
        let told = told(&code(&name, &fs::read_to_string(&path).unwrap()));
        let expected = folder.join(format!("{name}.txt"));
        if std::env::var_os("ATLAS_WRITE_FIXTURES").is_some() {
            fs::write(&expected, &told).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap();
        assert_eq!(told, expected, "{name}");
    }
    for language in Language::ALL {
        assert!(seen.contains(&language), "no fixture for {language:?}");
    }
}

#[test]
fn functions_that_differ_in_the_names_of_locals_have_one_shape() {
    let rust = |name: &str, a: &str, b: &str, call: &str| {
        format!(
            "fn {name}({a}: &str) -> usize {{ let {b} = {a}.len(); for x in 0..{b} {{ {call}({a}, x + {b}); }} {b} * 2 + 1 }}"
        )
    };
    let shape = |text: &str| code("a.rs", text).definitions[0].shape;
    let one = shape(&rust("one", "text", "length", "add"));
    assert_ne!(one, 0);
    assert_eq!(shape(&rust("two", "t", "l", "add")), one);
    assert_eq!(shape(&rust("one", "t", "l", "add").replace("; ", ";\n    // why\n    ")), one);
    assert_ne!(shape(&rust("one", "text", "length", "remove")), one, "it calls another function");
    assert_ne!(shape(&rust("one", "text", "length", "add").replace("* 2", "* 3")), one);
    assert_ne!(shape(&rust("one", "text", "length", "add").replace("&str", "&[u8]")), one, "other parameters");
    // Locals in other order are another function.
    assert_ne!(shape(&rust("one", "text", "length", "add").replace("x + length", "length + x")), one);
    assert_eq!(shape("fn a(&self) -> u32 { self.a }"), 0, "what is so short is alike by chance");
    for (name, text) in [
        ("a.go", "func F(n int) int { V := n * 2; for i := 0; i < V; i++ { put(V, i) }; return V }"),
        ("a.py", "def F(n):\n    V = n * 2\n    for i in range(V):\n        put(V, i, n, [V, n])\n    return V\n"),
        ("a.ts", "function F(n: number) { const V = n * 2; for (const i of all(V)) { put(V, i); } return V; }"),
        ("a.java", "class C { int F(int n) { int V = n * 2; for (int i = 0; i < V; i++) { put(V, i); } return V; } }"),
        ("a.c", "int F(int n) { int V = n * 2; for (int i = 0; i < V; i++) { put(V, i); } return V; }"),
        ("a.rb", "def F(n)\n  V = n * 2\n  V.times { |i| put(V, i, n, [V, n, i]) }\n  V + n\nend\n"),
    ] {
        let shapes = |function: &str, local: &str| {
            let code = code(name, &text.replace('F', function).replace('V', local));
            code.definitions.iter().map(|one| one.shape).filter(|shape| *shape != 0).collect::<Vec<_>>()
        };
        assert_eq!(shapes("one", "value").len(), 1, "{name}");
        assert_eq!(shapes("one", "value"), shapes("two", "w"), "{name}");
        assert_ne!(shapes("one", "value"), shapes("one", "put"), "{name}");
    }
}

#[test]
fn only_what_qualifies_a_name_is_cut_off() {
    for (whole, expected) in [
        ("a::b::C<x::Y>::go", ("C", "go")),
        ("a.b", ("a", "b")),
        ("A\\B", ("A", "B")),
        ("plain", ("", "plain")),
        ("binary_operator", ("", "binary_operator")),
        ("operators", ("", "operators")),
        ("Box::operator==", ("Box", "operator==")),
        ("", ("", "")),
    ] {
        assert_eq!(name::parts(whole), expected, "{whole}");
    }
}

#[test]
fn a_name_on_a_line_below_its_qualifier_is_found_there() {
    let code = code("a.cpp", "int a::\nB<\nT>::\n go(int n) { return n; }\n");
    let [go] = code.definitions.as_slice() else { panic!("{code:?}") };
    assert_eq!((go.name.as_str(), go.container.as_str(), go.line, go.lines), ("go", "B", 3, (0, 3)));
}

#[test]
fn hostile_texts_are_read_or_refused_in_time() {
    let deep = |open: &str| open.repeat(MAX_BYTES / open.len());
    for (name, text) in [
        ("a.rs", deep("(")),
        ("a.rs", deep("fn a(){")),
        ("a.js", deep("[")),
        ("a.js", deep("`${")),
        ("a.py", deep("(")),
        ("a.c", deep("#if 1\n")),
        ("a.cpp", deep("a<")),
        ("a.sh", deep("$(")),
        ("a.php", format!("<?php {}", deep("<<<A\n").get(..100_000).unwrap_or_default())),
        ("a.go", "a".repeat(MAX_BYTES)),
        ("a.rb", "\0".repeat(10_000)),
    ] {
        let language = Language::of(name).unwrap();
        // It comes back.
        let _ = read(language, &text, Duration::from_millis(300));
    }
    assert_eq!(read(Language::Rust, &"a".repeat(MAX_BYTES + 1), TIME), None);
    let many = "fn f() { g(); }\n".repeat(20_000);
    assert_eq!(code("a.rs", &many).definitions.len(), atlas_segment::code::MAX_DEFINITIONS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn definitions_stand_on_their_lines(name in prop::sample::select(vec!["a.rs", "a.go", "a.py", "a.ts", "a.js", "a.java", "a.c", "a.cpp", "a.cs", "a.kt", "a.swift", "a.rb", "a.php", "a.sh"]), cut in any::<prop::sample::Index>(), change in "[(){}\n;:<a-b é]{0,6}") {
        let fixture = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name.replace("a.", "sample."))).unwrap();
        let at = fixture.floor_char_boundary(cut.index(fixture.len()));
        let text = format!("{}{change}{}", &fixture[..at], &fixture[at..]);
        let lines: Vec<&str> = text.split('\n').collect();
        for one in code(name, &text).definitions {
            prop_assert!(lines[one.line as usize].contains(&one.name), "{}: {}", one.line, one.name);
            prop_assert!(one.lines.0 <= one.line && one.line <= one.lines.1, "{one:?}");
            prop_assert!(one.uses.is_sorted_by(|one, other| one < other));
        }
    }
}
