//! Tags in the text.

use super::*;

#[test]
fn a_tag_has_letters_digits_some_signs_and_emoji_and_is_not_a_number() {
    for (text, expected) in [
        ("#tag", vec!["tag"]),
        ("a #b, #c. (#d) #e", vec!["b", "c", "e"]),
        ("#a/b-c_d/2024", vec!["a/b-c_d/2024"]),
        ("#Ünïcode #日本語 #tag、次", vec!["Ünïcode", "日本語", "tag"]),
        ("#हिन्दी #می\u{200C}خواهم", vec!["हिन्दी", "می\u{200C}خواهم"]),
        ("#🗂️ #👨\u{200D}👩\u{200D}👧 #a🎉b", vec!["🗂️", "👨\u{200D}👩\u{200D}👧", "a🎉b"]),
        ("#1984 #y1984 #1984a #19-84 #١٢", vec!["y1984", "1984a", "19-84"]),
        ("#a/ #/", vec!["a"]),
        ("#_ #-", vec!["_", "-"]),
        ("# a ## #", vec![]),
        ("a#b ##c \\#d #", vec![]),
        ("#a#b", vec!["a"]),
        ("#a“b” #c…", vec!["a", "c"]),
        ("x\t#a\r\n#b\r#c\u{3000}#d", vec!["a", "b", "c", "d"]),
        ("## Heading #tag", vec!["tag"]),
        ("> #a\n- #b\n1. #c\n| #d |", vec!["a", "b", "c", "d"]),
        ("[[a #b]] [x](<a #b>) [y](z \" #t\")", vec![]),
        ("[x #a](b)", vec!["a"]),
        ("[r]: <a #b> ' #c'\n\n[r]", vec![]),
        ("https://example.org/#a", vec![]),
        ("*#a* **#b**", vec![]),
        ("#a #a", vec!["a", "a"]),
    ] {
        assert_eq!(tags(text), expected, "{text:?}");
    }
}

#[test]
fn a_tag_knows_where_it_is() {
    let text = "---\ntags: [one]\n---\nあ #two/three/ #four";
    let found: Vec<_> = parse(text).tags.into_iter().map(|tag| tag.range.map(|range| &text[range])).collect();
    assert_eq!(found, [None, Some("#two/three"), Some("#four")]);
}
