//! Wikilinks, embeds and markdown links.

use super::*;

#[test]
fn a_wikilink_has_a_target_a_subpath_and_a_display_text() {
    for (text, expected) in [
        ("[[a]]", vec!["a"]),
        ("[[folder/a b.md]]", vec!["folder/a b.md"]),
        ("[[ a | b ]]", vec!["a|b"]),
        ("[[a#Heading]]", vec!["a#Heading"]),
        ("[[a#One#Two|b]]", vec!["a#One#Two|b"]),
        ("[[a#^id]]", vec!["a#^id"]),
        ("[[#Heading]]", vec!["#Heading"]),
        ("[[#^id|b]]", vec!["#^id|b"]),
        ("![[a.png]]", vec!["!a.png"]),
        ("![[a.png|300]]", vec!["!a.png|300"]),
        ("![[a.png|caption|300x200]]", vec!["!a.png|caption|300x200"]),
        ("[[a|]]", vec!["a"]),
        ("[[a%20b]]", vec!["a%20b"]),
        ("[[C++ & $x_y_z*]]", vec!["C++ & $x_y_z*"]),
        ("[[日本語/🗂️ メモ]]", vec!["日本語/🗂️ メモ"]),
        ("[[a]][[b]]", vec!["a", "b"]),
        ("a[[b]]c", vec!["b"]),
        ("**[[a]]** ==[[b]]== *[[c_d]]_", vec!["a", "b", "c_d"]),
        ("[[https://example.org]]", vec!["https://example.org"]),
        ("# [[a]]\n> [[b]]\n- [[c]]\n\n[^1]: [[d]]", vec!["a", "b", "c", "d"]),
    ] {
        assert_eq!(links(text), expected, "{text:?}");
    }
}

#[test]
fn in_a_table_the_bar_is_escaped() {
    assert_eq!(links("| a | b |\n|---|---|\n| [[c\\|d]] | ![[e.png\\|90]] |"), ["c|d", "!e.png|90"]);
}

#[test]
fn brackets_around_and_in_a_wikilink_do_no_harm() {
    for (text, expected) in [
        ("[[[a]]]", vec!["a"]),
        ("[ [[a]] ]", vec!["a"]),
        ("[[a [[b]] c]]", vec!["b"]),
        ("[[a|[1]]]", vec!["a|[1]"]),
        ("[[a|b [c] d]]", vec!["a|b [c] d"]),
        ("[[a|`code`]]", vec!["a|`code`"]),
        ("[[a|<b>c</b>]] d", vec!["a|<b>c</b>"]),
        ("[[a `]]` b", vec![]),
        ("[[a [b] c]]", vec![]),
        ("[[]] [[|b]] [[#]] [[ ]]", vec![]),
        ("[[a\nb]]", vec![]),
        ("[[a\rb]]", vec![]),
        ("[[a", vec![]),
        ("[[a]", vec![]),
        ("\\[[a]]", vec![]),
        ("\\\\[[a]]", vec!["a"]),
        ("\\![[a]]", vec!["a"]),
        ("!\\[[a]]", vec![]),
    ] {
        assert_eq!(links(text), expected, "{text:?}");
    }
}

#[test]
fn a_markdown_link_is_percent_decoded_and_split_at_its_first_hash() {
    for (text, expected) in [
        ("[x](a.md)", vec!["a.md|x"]),
        ("[x](path%20with%20space.md#sec)", vec!["path with space.md#sec|x"]),
        ("[x](<path with space.md>)", vec!["path with space.md|x"]),
        ("[x](a%23b.md#c%20d)", vec!["a#b.md#c d|x"]),
        ("[x](#Some%20heading)", vec!["#Some heading|x"]),
        ("[x](100%.md)", vec!["100%.md|x"]),
        ("[x](%FF.md)", vec!["%FF.md|x"]),
        ("[x](a\\(b\\).md \"title #t\")", vec!["a(b).md|x"]),
        ("[x](a&amp;b.md)", vec!["a&b.md|x"]),
        ("[](a.md)", vec!["a.md"]),
        ("[*x* `y` z](a.md)", vec!["a.md|*x* `y` z"]),
        ("[a \\] b](c.md)", vec!["c.md|a \\] b"]),
        ("![alt](a.png)", vec!["!a.png|alt"]),
        ("[![alt](a.png)](b.md)", vec!["b.md|![alt](a.png)", "!a.png|alt"]),
        ("[x][r]\n\n[r]: a%20b.md#c 'title'", vec!["a b.md#c|x"]),
        ("[r][] and [r]\n\n[r]: <a b.md>", vec!["a b.md|r", "a b.md|r"]),
        ("[x](a b.md)", vec![]),
        ("[x]() [x](#)", vec![]),
        ("[x]", vec![]),
        ("\\[x](a.md)", vec![]),
        ("<https://example.org/#a> https://example.org/#b", vec![]),
        ("text[^1]\n\n[^1]: https://example.org", vec![]),
    ] {
        assert_eq!(links(text), expected, "{text:?}");
    }
}

#[test]
fn a_link_with_a_scheme_leads_out_and_stays_as_written() {
    let external = |text: &str| {
        let link = parse(text).links.remove(0);
        (link.is_external(), link.target)
    };
    for url in ["https://example.org/a%20b?c#d", "mailto:a@b.org", "obsidian://open?vault=v", "//example.org/a"] {
        assert_eq!(external(&format!("[x]({url})")), (true, url.to_owned()));
    }
    assert_eq!(external("![x](https://example.org/a.png)"), (true, "https://example.org/a.png".to_owned()));
    assert_eq!(external("[x](a/b:c.md)"), (false, "a/b:c.md".to_owned()));
    assert_eq!(external("[x](note%3A.md)"), (false, "note%3A.md".to_owned()));
    assert_eq!(external("[[https://example.org]]"), (false, "https://example.org".to_owned()));
}

#[test]
fn of_links_that_overlap_the_first_holds() {
    for (text, expected) in [
        ("[[a]](b.md)", vec!["a"]),
        ("[[a]][b]\n\n[b]: c.md\n[a]: d.md", vec!["a", "c.md|b"]),
        ("[[BUG] a](b.md) [[c]]", vec!["b.md|[BUG] a", "c"]),
        ("[see [[a]] there](b.md)", vec!["b.md|see [[a]] there", "a"]),
        ("[a](b[[c]].md)", vec!["b[[c]].md|a"]),
        ("[![[a]]](b.md)", vec!["b.md|![[a]]", "!a"]),
        ("[a](b$c.md) and [d](e$f.md)", vec!["b$c.md|a", "e$f.md|d"]),
        ("[[$A]] and [[$B]]", vec!["$A", "$B"]),
        ("[[a|b](c.md)", vec!["c.md|a|b"]),
    ] {
        assert_eq!(links(text), expected, "{text:?}");
    }
}

#[test]
fn a_link_knows_where_it_is() {
    let text = "---\nup: \"[[z]]\"\n---\n%%[[no]]%% 日本 [[a|b]]\r\n\r\n> ![[c]] and [d](e.md)\n\n[f]: g\n![h][f]";
    let found: Vec<_> = parse(text).links.into_iter().map(|link| (link.line, link.kind, &text[link.range])).collect();
    let expected = [
        (1, LinkKind::Wikilink, "[[z]]"),
        (3, LinkKind::Wikilink, "[[a|b]]"),
        (5, LinkKind::Embed, "![[c]]"),
        (5, LinkKind::Markdown, "[d](e.md)"),
        (8, LinkKind::MarkdownEmbed, "![h][f]"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_link_knows_where_its_destination_is_written() {
    for (text, expected) in [
        ("[[a]] ![[ b c#d | e ]]", vec!["a", "b c#d"]),
        ("| [[c\\|d]] |", vec!["c"]),
        ("[[[a]]] [[#x]]", vec!["a", "#x"]),
        ("---\nup: \"[[é/z#h|d]]\"\n---\n[[y]]", vec!["é/z#h", "y"]),
        ("[x](a%20b.md#c) [](<d e.md#f> \"t\") ![g]( h.md )", vec!["a%20b.md#c", "d e.md#f", "h.md"]),
        ("[x](a\\(b\\).md 't') [`]`](c(d).md)", vec!["a\\(b\\).md", "c(d).md"]),
        ("[![alt](a.png)](b.md)", vec!["b.md", "a.png"]),
        ("[x][r] [r][] [r]\n\n[r]:\n  <a b.md#c> 't'", vec!["a b.md#c", "a b.md#c", "a b.md#c"]),
        ("> [A\\]: b]\n>\n> [a\\]: b]: c.md", vec!["c.md"]),
    ] {
        let links = parse(text).links;
        let written: Vec<&str> = links.into_iter().map(|link| &text[link.destination]).collect();
        assert_eq!(written, expected, "{text:?}");
    }
}
