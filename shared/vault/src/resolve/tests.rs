use super::*;

mod help;

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

/// Checks what links in the note at `from` mean, given these files.
#[track_caller]
fn links_mean(files: &[&str], from: &str, expected: &[(&str, Option<&str>)]) {
    let files: Files = files.iter().map(|file| path(file)).collect();
    for (target, meant) in expected {
        let from = path(from);
        assert_eq!(resolve(target, &from, &files).map(VaultPath::as_str), *meant, "{target:?} in {from}");
    }
}

#[test]
fn a_name_that_one_file_has_is_that_file_wherever_it_is() {
    let files = ["deep/down/Tide.md", "v1.2.md", "Log.md", "図/潮 🌊.md", "Café.md", "LICENSE"];
    links_mean(
        &files,
        "other/note.md",
        &[
            ("Tide", Some("deep/down/Tide.md")),
            ("tide.MD", Some("deep/down/Tide.md")),
            ("down/TIDE", Some("deep/down/Tide.md")),
            ("own/Tide", None),
            ("Tide.md.md", None),
            ("v1.2", Some("v1.2.md")),
            ("潮 🌊", Some("図/潮 🌊.md")),
            ("図/潮 🌊", Some("図/潮 🌊.md")),
            ("CAFE\u{301}", Some("Café.md")),
            ("LICENSE", None),
            ("", Some("other/note.md")),
            ("/", None),
            ("down/", None),
            ("Tide ", None),
            ("https://example.org", None),
        ],
    );
}

#[test]
fn other_files_are_meant_with_their_extension_only() {
    let files = ["a.png", "sub/plan.canvas", "sub/plan.md", "x/note.md.png", "note.md"];
    links_mean(
        &files,
        "n.md",
        &[
            ("a.png", Some("a.png")),
            ("a", None),
            ("A.PNG", Some("a.png")),
            ("plan", Some("sub/plan.md")),
            ("plan.canvas", Some("sub/plan.canvas")),
            ("note.md", Some("note.md")),
            ("note.md.png", Some("x/note.md.png")),
        ],
    );
    links_mean(&["v1.2", "x/v1.2.md"], "n.md", &[("v1.2", Some("v1.2")), ("x/v1.2", Some("x/v1.2.md"))]);
}

/// Observed in Obsidian 1.13.
#[test]
fn of_several_the_exact_path_then_the_nearest_then_the_shortest_is_meant() {
    let files = ["Note.md", "a/Note.md", "a/b/Note.md"];
    for (from, expected) in [("a/n.md", "Note.md"), ("n.md", "Note.md"), ("a/b/n.md", "Note.md")] {
        links_mean(&files, from, &[("Note", Some(expected)), ("b/Note", Some("a/b/Note.md"))]);
    }
    let files = ["b/Note.md", "a/b/Note.md", "zzzz/Note.md", "zzzz/deep/down/Note.md"];
    links_mean(&files, "zzzz/n.md", &[("Note", Some("zzzz/Note.md")), ("b/Note", Some("b/Note.md")), ("/Note", None)]);
    // A file in a folder above is not nearer; one in a folder below is.
    links_mean(&files, "zzzz/deep/n.md", &[("Note", Some("zzzz/deep/down/Note.md"))]);
    links_mean(&files, "zzzz/other/n.md", &[("Note", Some("b/Note.md"))]);
    links_mean(&files, "zzz/n.md", &[("Note", Some("b/Note.md"))]);
    links_mean(&["a/b/Note.md", "zzzz/Note.md"], "n.md", &[("Note", Some("a/b/Note.md"))]);
    links_mean(&["bb/T.md", "aa/T.md"], "n.md", &[("T", Some("aa/T.md"))]);
    links_mean(&["x/日本語/T.md", "x/abcd/T.md"], "n.md", &[("T", Some("x/日本語/T.md"))]);
    links_mean(&["ab/c.md"], "n.md", &[("b/c", None), ("c", Some("ab/c.md"))]);
}

#[test]
fn a_relative_path_begins_at_the_notes_folder() {
    let files = ["top.md", "a/x.md", "a/b/x.md", "a/b/y.png", "x.md"];
    links_mean(
        &files,
        "a/b/n.md",
        &[
            ("./x", Some("a/b/x.md")),
            ("../x.md", Some("a/x.md")),
            ("../../x", Some("x.md")),
            ("../../../x", Some("x.md")),
            ("./../x", Some("a/x.md")),
            ("../b/Y.png", Some("a/b/y.png")),
            ("./top", None),
            ("/x", Some("x.md")),
            ("/b/x", None),
            ("b/x", Some("a/b/x.md")),
        ],
    );
    links_mean(&files, "n.md", &[("./x", Some("x.md")), ("../x", Some("x.md")), ("./y.png", None)]);
}

#[test]
fn names_that_differ_in_case_only_are_told_apart_by_a_whole_path() {
    let files = ["a/Note.md", "a/note.md"];
    links_mean(&files, "n.md", &[("a/note", Some("a/note.md")), ("a/Note", Some("a/Note.md"))]);
    links_mean(&files, "n.md", &[("a/NOTE", Some("a/Note.md"))]);
}

#[test]
fn hidden_files_are_never_meant() {
    links_mean(&[".trash/a.md", "x/.hidden/b.md"], "n.md", &[("a", None), ("b", None), (".trash/a", None)]);
}

#[test]
fn what_one_file_alone_can_be_meant_by_means_it_everywhere() {
    let files: Files =
        ["a/One.md", "b/two.md", "c/two.md", "three.md", "d/three.md", "v1.2"].map(path).into_iter().collect();
    let only = |target: &str| files.only(target).map(VaultPath::as_str);
    for (target, meant) in [
        ("one", "a/One.md"),
        ("v1.2", "v1.2"),
        ("a/One", "a/One.md"),
        ("b/two", "b/two.md"),
        ("three", "three.md"),
        ("/three", "three.md"),
    ] {
        assert_eq!(only(target), Some(meant), "{target}");
    }
    for other in ["two", "./three", "../a/One", "", "four", "/One"] {
        assert_eq!(only(other), None, "{other}");
    }
}

#[test]
fn many_files_of_one_name_are_no_matter() {
    // Quadratic work would not finish in reasonable time.
    let names = |number: usize| format!("folder-{number:05}/index.md");
    let files: Files = (0..50_000).map(|number| path(&names(number))).collect();
    let from = path("n.md");
    for number in 0..50_000 {
        assert_eq!(resolve(&names(number), &from, &files).map(VaultPath::as_str), Some(names(number).as_str()));
    }
}

#[test]
fn names_are_those_that_files_are_found_by() {
    let of = |target: &str| names(target).collect::<Vec<_>>();
    assert_eq!(of("a/Tide"), ["tide.md"]);
    assert_eq!(of("V1.2"), ["v1.2", "v1.2.md"]);
    assert_eq!(of("cafe\u{301}.PNG"), ["café.png", "café.png.md"]);
    assert_eq!(of("a/"), [""; 0]);
}
