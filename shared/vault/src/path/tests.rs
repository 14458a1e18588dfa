use super::*;
use proptest::prelude::*;

#[track_caller]
fn accepts(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap_or_else(|error| panic!("{text:?} was refused: {error}"))
}

#[track_caller]
fn refuses(text: &str) -> PathError {
    VaultPath::parse(text).expect_err(&format!("{text:?} was accepted"))
}

#[test]
fn names_of_real_vaults_are_kept_as_they_are() {
    for name in [
        "note.md",
        "..md",
        ".md",
        "...",
        "a/.hidden/b",
        "100%.md",
        "50%25 off.md",
        "%.md",
        "%zz/%e3%81%82.md",
        "C#.md",
        "[draft] ~temp~.md",
        "\"quoted\" and 'quoted'.md",
        "01 - Community/🗂️ Events/Übung.md",
        "日本語/はじめに.md",
        " leading and trailing /  .md ",
        "ab:c/d.md",
        "a/b:c.md",
    ] {
        assert_eq!(accepts(name).as_str(), name);
    }
}

#[test]
fn a_path_in_nfd_becomes_nfc() {
    assert_eq!(accepts("U\u{308}bung/か\u{3099}.md").as_str(), "Übung/が.md");
}

#[test]
fn a_path_that_leads_elsewhere_is_refused() {
    use PathError as E;
    let is = |text: &str, wanted: fn(&PathError) -> bool| {
        let error = refuses(text);
        assert!(wanted(&error), "{text:?} gave {error:?}");
    };
    is("", |e| matches!(e, E::Empty));
    is("/", |e| matches!(e, E::Absolute { .. }));
    is("/etc/passwd", |e| matches!(e, E::Absolute { .. }));
    is("//host/share", |e| matches!(e, E::Absolute { .. }));
    is("folder/", |e| matches!(e, E::TrailingSlash { .. }));
    is("a//b", |e| matches!(e, E::EmptySegment { .. }));
    is(".", |e| matches!(e, E::DotSegment { .. }));
    is("..", |e| matches!(e, E::DotSegment { .. }));
    is("../a", |e| matches!(e, E::DotSegment { .. }));
    is("a/./b", |e| matches!(e, E::DotSegment { .. }));
    is("a/../../b", |e| matches!(e, E::DotSegment { .. }));
    is("a/..", |e| matches!(e, E::DotSegment { .. }));
    is("..\\a", |e| matches!(e, E::Backslash { .. }));
    is("a\\b.md", |e| matches!(e, E::Backslash { .. }));
    is("C:/a", |e| matches!(e, E::DriveLetter { .. }));
    is("c:a", |e| matches!(e, E::DriveLetter { .. }));
    is("\u{212A}:a", |e| matches!(e, E::DriveLetter { .. }));
    is("a\0b", |e| matches!(e, E::ControlCharacter { character: '\0', .. }));
    is("a\nb", |e| matches!(e, E::ControlCharacter { character: '\n', .. }));
    is("a\u{7f}", |e| matches!(e, E::ControlCharacter { .. }));
    is("a\u{85}", |e| matches!(e, E::ControlCharacter { .. }));
}

#[test]
fn a_way_out_behind_percent_encoding_is_refused() {
    for text in [
        "%2e%2e/a",
        "%2E%2e",
        ".%2e/a",
        "%252e%252e/a",
        "%25252525252525252e%2e/a",
        "..%2fa",
        "a/..%2F..%2fb",
        "%2e/a",
        "%5c..",
        "..%5ca",
        "a%5cb",
        "%2fetc/passwd",
        "%252fetc/passwd",
        "a%00.md",
        "a%2500.md",
        "c%3a/a",
        "%63%3A",
        "%ff/%2e%2e/b",
        "%%32%65%%32%65/a",
    ] {
        let error = VaultPath::parse(text).expect_err(text);
        assert!(matches!(error, PathError::Encoded { .. } | PathError::DotSegment { .. }), "{text:?} gave {error:?}");
    }
}

#[test]
fn lengths_are_bounded_in_bytes() {
    let name = "あ".repeat(MAX_SEGMENT_BYTES / 3);
    assert_eq!(name.len(), MAX_SEGMENT_BYTES);
    accepts(&name);
    assert!(matches!(refuses(&format!("{name}a")), PathError::SegmentTooLong { bytes: 256, .. }));

    let longest = vec!["n".repeat(204); 5].join("/");
    assert_eq!(longest.len(), MAX_PATH_BYTES);
    accepts(&longest);
    assert!(matches!(refuses(&format!("{longest}n")), PathError::TooLong { bytes: 1025, .. }));
    assert!(matches!(refuses(&"/n".repeat(1 << 20)), PathError::TooLong { .. }));
}

#[test]
fn an_error_says_what_to_write_in_one_short_line() {
    assert_eq!(refuses("a\\b").to_string(), "the path \"a\\\\b\" contains a backslash; separate folders with \"/\"");
    assert_eq!(refuses("a\nb").to_string(), "the path \"a\\nb\" contains the control character U+000A; leave it out");
    let message = refuses(&"é/".repeat(2000)).to_string();
    assert!(message.chars().count() < MAX_ECHO_CHARS + 100, "{message}");
}

#[test]
fn a_path_knows_its_parts() {
    let parts = |text: &str| {
        let path = accepts(text);
        let owned = |part: &str| part.to_owned();
        (path.folder().map(owned), owned(path.stem()), path.extension().map(owned), path.is_note())
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(parts("a/b/c.d.md"), (some("a/b"), "c.d".into(), some("md"), true));
    assert_eq!(parts("c.MD"), (None, "c".into(), some("MD"), true));
    assert_eq!(parts("..md"), (None, ".".into(), some("md"), true));
    assert_eq!(parts("a.b/.md"), (some("a.b"), ".md".into(), None, false));
    assert_eq!(parts("a.md/LICENSE"), (some("a.md"), "LICENSE".into(), None, false));
    assert_eq!(parts("a.md."), (None, "a.md".into(), some(""), false));
    assert_eq!(accepts("a/b.md").file_name(), "b.md");
}

#[test]
fn a_bad_path_cannot_be_deserialised() {
    let path: VaultPath = serde_json::from_str("\"U\u{308}.md\"").unwrap();
    assert_eq!(serde_json::to_string(&path).unwrap(), "\"Ü.md\"");
    assert!(serde_json::from_str::<VaultPath>("\"a/../b\"").is_err());
}

/// Texts built from pieces of attacks.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("."),
        Just(".."),
        Just("/"),
        Just("\\"),
        Just("%"),
        Just("25"),
        Just("2e"),
        Just("2F"),
        Just("5c"),
        Just("%2e"),
        Just("%2f"),
        Just("%5C"),
        Just("%00"),
        Just("%ff"),
        Just("a"),
        Just("c:"),
        Just("\u{301}"),
        Just("é"),
        Just("\u{212A}"),
        Just("3a"),
        Just(" "),
        Just("\0"),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

/// Whether the path leaves the root. Follows it segment by segment, with `\` as a separator too.
fn escapes(path: &[u8]) -> bool {
    let mut depth = 0_i32;
    for segment in path.split(|byte| matches!(byte, b'/' | b'\\')) {
        depth += match segment {
            b"" | b"." => 0,
            b".." => -1,
            _ => 1,
        };
        if depth < 0 {
            return true;
        }
    }
    matches!(path, [b'/' | b'\\', ..]) || matches!(path, [a, b':', ..] if a.is_ascii_alphabetic()) || path.contains(&0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_accepted_path_leaves_the_root_however_often_decoded(text in prop_oneof![hostile(), ".*"]) {
        if let Ok(path) = VaultPath::parse(&text) {
            let mut bytes = path.as_str().as_bytes().to_vec();
            for _ in 0..8 {
                prop_assert!(!escapes(&bytes), "{:?} from {:?}", String::from_utf8_lossy(&bytes), text);
                bytes = percent_decode(&bytes).collect();
            }
        }
    }

    #[test]
    fn parsing_twice_is_parsing_once(text in prop_oneof![hostile(), "[a-z/é\u{301}か\u{3099}]*", ".*"]) {
        if let Ok(path) = VaultPath::parse(&text) {
            prop_assert_eq!(VaultPath::parse(path.as_str()), Ok(path.clone()));
            prop_assert_eq!(serde_json::from_str::<VaultPath>(&serde_json::to_string(&path).unwrap()).unwrap(), path);
        }
    }

    #[test]
    fn a_path_is_its_folder_and_its_name(text in "[a-z./]{1,12}") {
        if let Ok(path) = VaultPath::parse(&text) {
            let folder = path.folder().map(|folder| format!("{folder}/")).unwrap_or_default();
            let extension = path.extension().map(|extension| format!(".{extension}")).unwrap_or_default();
            prop_assert_eq!(format!("{folder}{}", path.file_name()), path.as_str());
            prop_assert_eq!(format!("{}{extension}", path.stem()), path.file_name());
        }
    }
}
