use super::*;
use crate::note::parse;

mod any_vault;

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

/// The move of one of `files`.
fn moved(files: &[&str], from: &str, to: &str) -> Moves {
    Moves::new([(path(from), path(to))], files.iter().map(|file| path(file)).collect())
}

/// `text` after its links were rewritten, in the note at `at`.
#[track_caller]
fn relinked(text: &str, at: &str, moved: &Moves) -> String {
    relink(text, &path(at), moved).unwrap().map_or_else(|| text.to_owned(), |relinked| relinked.text)
}

#[test]
fn a_link_is_rewritten_as_it_was_written() {
    let moved = moved(&["a/Old note.md", "n.md", "x/n.md"], "a/Old note.md", "b/New (1) é.md");
    for (text, expected) in [
        ("[[Old note]]", "[[New (1) é]]"),
        ("[[old NOTE.md]]", "[[New (1) é.md]]"),
        ("[[a/Old note]]", "[[b/New (1) é]]"),
        ("[[/a/Old note]]", "[[/b/New (1) é]]"),
        ("[[./a/Old note.md]]", "[[./b/New (1) é.md]]"),
        ("![[ Old note#Heading#Sub | shown ]]", "![[ New (1) é#Heading#Sub | shown ]]"),
        ("[[Old note#^id]]", "[[New (1) é#^id]]"),
        ("| [[Old note\\|shown]] |", "| [[New (1) é\\|shown]] |"),
        ("[[[Old note]]]", "[[[New (1) é]]]"),
        ("[x](Old%20note.md)", "[x](New%20%281%29%20é.md)"),
        ("[x](a/Old%20note.md#Some%20part 'title')", "[x](b/New%20%281%29%20é.md#Some%20part 'title')"),
        ("![x](<Old note> \"t\")", "![x](<New (1) é> \"t\")"),
        ("[x](<Old%20note.md>)", "[x](<New%20%281%29%20é.md>)"),
        ("[x](Old&#32;note.md#a%20b)", "[x](New%20%281%29%20é.md#a%20b)"),
        ("[x][r] [r]\n\n[r]: <Old note.md#h> 't'", "[x][r] [r]\n\n[r]: <New (1) é.md#h> 't'"),
        (
            "---\nup: \"[[Old note|x]]\" # y\nin: [\"[[Old note]]\"]\n---\n",
            "---\nup: \"[[New (1) é|x]]\" # y\nin: [\"[[New (1) é]]\"]\n---\n",
        ),
        (
            "---\nup: '[[Old note|it''s]]'\nin: \"[[\\x4fld\\u0020note#a|\\\"q\\\"]]\"\n---\n",
            "---\nup: '[[New (1) é|it''s]]'\nin: \"[[New (1) é#a|\\\"q\\\"]]\"\n---\n",
        ),
        ("> - [[Old note]]\r\n\r\n  [[Old note]]  ", "> - [[New (1) é]]\r\n\r\n  [[New (1) é]]  "),
        ("[![[Old note]]](Old%20note)", "[![[New (1) é]]](New%20%281%29%20é)"),
        ("a\r```\r[[Old note]]\r```\r[[Old note]]\r", "a\r```\r[[Old note]]\r```\r[[New (1) é]]\r"),
    ] {
        assert_eq!(relinked(text, "n.md", &moved), expected);
    }
    assert_eq!(relinked("[[../a/Old note]] [[../n]]", "x/n.md", &moved), "[[../b/New (1) é]] [[../n]]");
    assert_eq!(relink("[[Old note]] [x](Old%20note)", &path("n.md"), &moved).unwrap().unwrap().meant.len(), 2);
}

#[test]
fn a_target_in_quotes_is_escaped_as_they_need() {
    let moved = moved(&["Old.md", "n.md"], "Old.md", "it's a \"q\" b.md");
    let text = "---\na: '[[Old]]'\nb: \"[[Old|x]]\"\nc: see [[Old]]\nd: |\n  [[Old]]\n---\n[[Old]]\n";
    let expected = "---\na: '[[it''s a \"q\" b]]'\nb: \"[[it's a \\\"q\\\" b|x]]\"\nc: see [[it's a \"q\" b]]\n\
        d: |\n  [[it's a \"q\" b]]\n---\n[[it's a \"q\" b]]\n";
    assert_eq!(relinked(text, "n.md", &moved), expected);
    assert_eq!(relinked("\u{FEFF}a: '[[Old]]'\n", "n.base", &moved), "\u{FEFF}a: '[[it''s a \"q\" b]]'\n");
    let canvas = r#"{"nodes":[{"text":"---\na: \"[[Old]]\"\n---"}]}"#;
    let expected = r#"{"nodes":[{"text":"---\na: \"[[it's a \\\"q\\\" b]]\"\n---"}]}"#;
    assert_eq!(relinked(canvas, "n.canvas", &moved), expected);
}

#[test]
fn in_a_note_that_may_be_newer_than_the_move_only_broken_links_are_rewritten() {
    let files = ["Old.md", "x/New.md", "n.md"];
    let moved = moved(&files, "Old.md", "New.md");
    // `New` is the moved note from now on.
    let text = "[[Old]] [[New]] [[Nowhere]]";
    assert_eq!(relinked(text, "n.md", &moved), "[[New]] [[x/New]] [[Nowhere]]");
    assert_eq!(relinked(text, "n.md", &moved.only_broken()), "[[New]] [[New]] [[Nowhere]]");
    // In the moved note itself.
    let moved = Moves::new(
        [(path("a/n.md"), path("b/n.md"))],
        ["a/n.md", "a/x.md", "b/x.md", "a/y.md"].map(path).into_iter().collect(),
    );
    assert_eq!(relinked("[[./x]] [[./y]]", "a/n.md", &moved.only_broken()), "[[./x]] [[../a/y]]");
}

#[test]
fn what_is_no_link_to_it_stays() {
    let moved = moved(&["Old.md", "n.md", "Other.md"], "Old.md", "New.md");
    for text in [
        "`[[Old]]` %%[[Old]]%%\n\n    [[Old]]\n",
        "```\n[[Old]]\n```",
        "[[Other]] [[Nowhere]] [[New]] [[#Old]] Old",
        "[x](https://example.org/Old.md) [[https://Old]]",
        "---\nup: [[Old]]\n\"[[Old]]\": \"`[[Other]]`\"\n---\n",
        "",
    ] {
        assert_eq!(relink(text, &path("n.md"), &moved), Ok(None), "{text:?}");
    }
}

#[test]
fn a_bare_name_that_is_not_the_only_one_becomes_a_path() {
    let to_a_name_in_use = moved(&["Old.md", "x/New.md", "n.md"], "Old.md", "a/New.md");
    // Links that meant the other file must still mean it.
    assert_eq!(relinked("[[Old]] [[New]]", "n.md", &to_a_name_in_use), "[[a/New]] [[x/New]]");
    assert_eq!(relinked("[[Old]] [[New]]", "x/n.md", &to_a_name_in_use), "[[a/New]] [[New]]");
    let only_the_folder = moved(&["a/Note.md", "n.md"], "a/Note.md", "b/Note.md");
    assert_eq!(relinked("[[Note]] [[a/Note]]", "n.md", &only_the_folder), "[[Note]] [[b/Note]]");
    let to_the_root = moved(&["a/Old.md", "x/New.md"], "a/Old.md", "New.md");
    assert_eq!(relinked("[[Old]] [[New]]", "n.md", &to_the_root), "[[New]] [[x/New]]");
}

#[test]
fn the_moved_notes_own_links_mean_what_they_meant() {
    let moved = moved(&["a/Old.md", "a/x.md", "b/x.md", "c.png", "a/b/y.md"], "a/Old.md", "b/New.md");
    assert_eq!(
        relinked("[[x]] [[./x]] ![](../c.png) [[Old#h]] [[#h]] [[b/y]] [[y]] [[c.png]]", "a/Old.md", &moved),
        "[[a/x]] [[../a/x]] ![](../c.png) [[New#h]] [[#h]] [[b/y]] [[y]] [[c.png]]"
    );
}

#[test]
fn files_can_change_places() {
    let files = ["a/One.md", "b/Two.md", "n.md"].map(path);
    let swap = [("a/One.md", "b/Two.md"), ("b/Two.md", "a/One.md")].map(|(from, to)| (path(from), path(to)));
    let moves = Moves::new(swap, files.into_iter().collect());
    assert_eq!(relinked("[[One]] [[b/Two|x]] [t](Two.md)", "n.md", &moves), "[[Two]] [[a/One|x]] [t](One.md)");
    assert_eq!(relinked("[[One]] [[./One]] [[Two]]", "a/One.md", &moves), "[[Two]] [[./Two]] [[One]]");
}

#[test]
fn a_link_to_what_is_moved_over_leads_to_what_comes_there() {
    let moved = moved(&["a/Old.md", "There.md", "x/There.md", "n.md"], "a/Old.md", "There.md");
    assert_eq!(relinked("[[There]] [[Old]]", "n.md", &moved), "[[There]] [[There]]");
}

#[test]
fn the_links_of_a_copy_mean_what_they_mean_in_the_note() {
    let files: Files = ["a/Note.md", "a/x.md", "b/x.md", "c.png"].map(path).into_iter().collect();
    let text = "[[x]] [x](./x.md) [[Note#h]] [[#h]] ![[c.png]]";
    let copy = relink_copy(text, &path("a/Note.md"), &path("b/Note.md"), files.clone()).unwrap().unwrap();
    assert_eq!(copy.text, "[[a/x]] [x](../a/x.md) [[a/Note#h]] [[#h]] ![[c.png]]");
    assert_eq!(copy.meant, ["a/x.md", "a/x.md", "a/Note.md"].map(path));
    assert_eq!(relink_copy("[[x]]", &path("a/Note.md"), &path("a/Copy.md"), files), Ok(None));
}

#[test]
fn another_wording_is_one_whose_links_mean_the_same() {
    let moved = moved(&["b/New.md", "n.md"], "b/New.md", "a/Old.md");
    let is = |other: &str| rewording("see [[New|it]]\n", other, &path("n.md"), &moved) == Some(vec![path("a/Old.md")]);
    assert!(is("see [[Old|it]]\n") && is("see [[OLD|it]]\n") && is("see [[a/Old.md|it]]\n"));
    assert!(
        !is("see [[New|it]]\n") && !is("See [[Old|it]]\n") && !is("see [[Old|them]]\n") && !is("see [[Old#h|it]]\n")
    );
}

#[test]
fn a_name_that_a_link_would_not_lead_to_is_reached_otherwise() {
    let with_dot = moved(&["Old.md", "v1.2", "n.md"], "Old.md", "v1.2.md");
    assert_eq!(relinked("[[Old]]", "n.md", &with_dot), "[[v1.2.md]]");
    let scheme = moved(&["Old.md"], "Old.md", "ab:c.md");
    assert_eq!(relinked("[x](Old.md) [[Old]]", "n.md", &scheme), "[x](/ab:c.md) [[ab:c]]");
    let case = moved(&["note.md"], "note.md", "Note.md");
    assert_eq!(relink("[[note]]", &path("n.md"), &case), Ok(None));
    for (to, encoded) in [
        ("a#b|c.md", "a%23b%7Cc"),
        ("[a].md", "%5Ba%5D"),
        ("50% &amp; `$x`.md", "50%25%20%26amp;%20%60%24x%60"),
        ("潮 🌊.md", "潮%20🌊"),
    ] {
        let hard = moved(&["Old.md"], "Old.md", to);
        assert_eq!(relinked("`$ [x](Old)", "n.md", &hard), format!("`$ [x]({encoded})"));
    }
    let encoded = moved(&["é.md"], "é.md", "日.md");
    assert_eq!(relinked("[x](%C3%A9.md) [x](é.md)", "n.md", &encoded), "[x](%E6%97%A5.md) [x](日.md)");
}

#[test]
fn a_link_that_cannot_be_written_is_named() {
    for (text, to) in [
        ("\n[[Old]]", "a#b.md"),
        ("\n[[Old]]", "a|b.md"),
        ("\n[[Old]]", "[a].md"),
        // The backtick would end the code.
        ("`\n[[Old]]", "a`b.md"),
        ("---\nup: see [[Old]]\n---\n", "ab: c.md"),
    ] {
        let moved = moved(&["Old.md", "n.md"], "Old.md", to);
        let error = relink(text, &path("n.md"), &moved).unwrap_err();
        assert_eq!((error.line, &error.meant, &error.note), (1, &path(to), &path("n.md")), "{text:?}");
    }
}

#[test]
fn where_files_have_moved_a_link_that_cannot_be_written_is_left_alone() {
    let files = ["Old.md", "Two.md", "n.md"];
    let cases = [
        // A wikilink cannot name the file; a markdown link can.
        ("[[Old]] [x](Old.md)\n[[Two]] [[Old#h]]", "a#b.md", "[[Old]] [x](a%23b.md)\n[[Three]] [[Old#h]]", vec![0, 1]),
        // The text around one link ends in code then.
        ("`\n[[Old]] [[Two]]", "a`b.md", "`\n[[Old]] [[Three]]", vec![1]),
        (
            "---\nup: see [[Old]]\n---\n[[Old]] [[Two]]",
            "ab: c.md",
            "---\nup: see [[Old]]\n---\n[[ab: c]] [[Three]]",
            vec![1],
        ),
        ("[[Two]]", "a#b.md", "[[Three]]", vec![]),
        ("[[Old]]", "a#b.md", "[[Old]]", vec![0]),
    ];
    for (text, to, expected, lines) in cases {
        let ways = [(path("Old.md"), path(to)), (path("Two.md"), path("Three.md"))];
        let moves = Moves::new(ways, files.map(path).into_iter().collect());
        let (relinked, left) = relink_possible(text, &path("n.md"), &moves);
        assert_eq!(relinked.map_or_else(|| text.to_owned(), |relinked| relinked.text), expected, "{left:?}");
        assert_eq!(left.iter().map(|left| left.line).collect::<Vec<_>>(), lines, "{text:?}");
        assert!(left.iter().all(|left| left.meant == path(to)), "{left:?}");
    }
}

#[test]
fn a_name_is_found_however_it_is_escaped() {
    let moved = moved(&["mix/Ärger & Co (1).md", "n.md"], "mix/Ärger & Co (1).md", "mix/Öl.md");
    for (text, expected) in [
        ("[x](%c3%84rger%20%26%20Co%20%281%29.md)", "[x](%C3%96l.md)"),
        ("[x](%C3%84%72ger%20%26%20Co%20(1).md#h)", "[x](%C3%96l.md#h)"),
        ("[x](Ärger%20&amp;%20Co%20\\(1\\).md)", "[x](Öl.md)"),
        ("[x](<&Auml;rger & Co (1).md>)", "[x](<Öl.md>)"),
        ("[x](&#196;rger%20&%20Co%20(1).md)", "[x](Öl.md)"),
        ("---\nup: \"[[\\xc4rger & Co (1)]]\"\n---\n", "---\nup: \"[[Öl]]\"\n---\n"),
        ("---\nup: >-\n  [[Ärger\n  & Co (1)]]\n---\n", "---\nup: >-\n  [[Öl]]\n---\n"),
    ] {
        assert_eq!(relinked(text, "n.md", &moved), expected);
    }
}

#[test]
fn names_meant_are_those_to_look_for() {
    let text = "[[a/B]] [x](c%20d.PNG) [[#h]] https://example.org [y](https://example.org/z.md)";
    assert_eq!(names_meant(&path("n.md"), text).collect::<Vec<_>>(), ["b.md", "c d.png", "c d.png.md"]);
}

#[test]
fn written_names_are_those_that_links_have() {
    let of = |text: &str| written_names(&path(text)).into_iter().collect::<Vec<_>>();
    assert_eq!(of("a/plan.md"), ["plan"]);
    assert_eq!(of("a/my plan.md"), ["my plan", "my%20plan"]);
    assert_eq!(of("pic.png"), ["pic.png"]);
    assert_eq!(of("潮.md"), ["%E6%BD%AE", "\\u6f6e", "潮"]);
    assert_eq!(of("it's.md"), ["it''s", "it's"]);
    let rare = of("R&D (é).md");
    for name in
        ["R&D (é)", "R&D%20(é)", "R&amp;D (é)", "R&D \\(é\\)", "R&D%20%28é%29", "R%26D%20(%C3%A9)", "R&D (e\u{301})"]
    {
        assert!(rare.iter().any(|known| known == name), "{name} {rare:?}");
    }
}
