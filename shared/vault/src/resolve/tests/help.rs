//! Links as notes have them, and what they mean by the rules of Obsidian's help (its notes "Internal links", "Aliases", "Embed files" and
//! "Settings", which also provide the examples). Where the help says nothing, Obsidian's observed behaviour counts.

use super::*;
use crate::parse;

/// A rule, the path of the note with the links, its text, and the meaning of each link: a file and the part of it, or
/// [`NOTHING`].
type Row = (&'static str, &'static str, &'static str, &'static [&'static str]);

const NOTHING: &str = "nothing";

/// Checks that the links mean what they should, given these files.
#[track_caller]
fn rules_hold(files: &[&str], rows: &[Row]) {
    let files: Files = files.iter().map(|file| path(file)).collect();
    for (rule, from, text, expected) in rows {
        let from = path(from);
        let meant: Vec<String> = parse(text)
            .links
            .iter()
            .filter(|link| !link.is_external())
            .map(|link| match (resolve(&link.target, &from, &files), &link.subpath) {
                (None, _) => NOTHING.to_owned(),
                (Some(file), None) => file.to_string(),
                (Some(file), Some(part)) => format!("{file}#{part}"),
            })
            .collect();
        assert_eq!(meant, *expected, "{rule}: {text:?} in {from}");
    }
}

const LAWS: &str = "Three laws of motion.md";
const FIGURE: &str = "Attachments/Figure 1.png";

#[test]
fn a_link_is_a_wikilink_or_a_markdown_link_to_a_note_or_another_file() {
    let files =
        [LAWS, "Projects/Ideas.md", FIGURE, "Attachments/Document.pdf", "My canvas.canvas", "Notes 2.0.md", "day.md"];
    rules_hold(
        &files,
        &[
            ("the name of a note", "day.md", "[[Three laws of motion]]", &[LAWS]),
            ("and with its extension", "day.md", "[[Three laws of motion.md]]", &[LAWS]),
            ("a markdown link is URL encoded", "day.md", "[laws](Three%20laws%20of%20motion)", &[LAWS]),
            ("and with its extension", "day.md", "[laws](Three%20laws%20of%20motion.md)", &[LAWS]),
            ("or stands in angle brackets", "day.md", "[laws](<Three laws of motion.md>)", &[LAWS]),
            ("with a blank it is no link", "day.md", "[laws](Three laws of motion.md)", &[]),
            ("a wikilink is not decoded", "day.md", "[[Three%20laws%20of%20motion]]", &[NOTHING]),
            ("a folder's path starts at the root", "Projects/a.md", "[[Projects/Ideas]]", &["Projects/Ideas.md"]),
            ("case does not count", "day.md", "[[projects/IDEAS]]", &["Projects/Ideas.md"]),
            ("other files need an extension", "day.md", "[[Figure 1.png]] [[Figure 1]]", &[FIGURE, NOTHING]),
            ("a dot in a name is no extension", "day.md", "[[Notes 2.0]]", &["Notes 2.0.md"]),
            ("what there is not yet", "day.md", "[[Four laws]] [x](Four%20laws.md)", &[NOTHING, NOTHING]),
            ("an address leads out", "day.md", "[x](https://example.org/day.md)", &[]),
            ("properties hold links", "a.md", "---\nup: \"[[day]]\"\n---\n", &["day.md"]),
            ("an embed of a note", "a.md", "![[day]]", &["day.md"]),
            ("an image, and its size", "a.md", "![[Figure 1.png|100x145]]", &[FIGURE]),
            ("the same in markdown", "a.md", "![250](Attachments/Figure%201.png)", &[FIGURE]),
            ("a page of a PDF", "a.md", "![[Document.pdf#page=3]]", &["Attachments/Document.pdf#page=3"]),
            ("a canvas", "a.md", "![[My canvas.canvas]] [[My canvas]]", &["My canvas.canvas", NOTHING]),
        ],
    );
}

#[test]
fn a_link_leads_to_a_part_and_shows_what_it_likes() {
    rules_hold(
        &["About Obsidian.md", "2023-01-01.md", "Artificial Intelligence.md", "a.md"],
        &[
            ("a heading of the same note", "a.md", "[[#Preview a linked file]]", &["a.md#Preview a linked file"]),
            ("of another", "a.md", "[[About Obsidian#Links are first]]", &["About Obsidian.md#Links are first"]),
            ("a heading below another", "a.md", "[[About Obsidian#One#Two]]", &["About Obsidian.md#One#Two"]),
            ("in a markdown link", "a.md", "[x](About%20Obsidian.md#One%20a)", &["About Obsidian.md#One a"]),
            ("a block", "a.md", "[[2023-01-01#^37066d]]", &["2023-01-01.md#^37066d"]),
            ("a block of the same note", "a.md", "![[#^quote-of-the-day]]", &["a.md#^quote-of-the-day"]),
            ("a part that there is not, of a note that there is", "a.md", "[[a#^none]]", &["a.md#^none"]),
            ("a part of a note that there is not", "a.md", "[[b#Heading]]", &[NOTHING]),
            ("the text that is shown", "a.md", "[[Artificial Intelligence|AI]]", &["Artificial Intelligence.md"]),
            // The help: an alias is offered while the user types, and the link is written with the name.
            (
                "an alias alone means nothing",
                "Artificial Intelligence.md",
                "---\naliases: [AI]\n---\n[[AI]]",
                &[NOTHING],
            ),
            ("in a table", "a.md", "| x |\n|---|\n| [[2023-01-01\\|day]] |", &["2023-01-01.md"]),
        ],
    );
}

#[test]
fn of_the_same_names_a_path_tells_apart() {
    rules_hold(
        &["Log.md", "work/Log.md", "work/2024/Log.md", "home/Log.md", "home/Plan.md", "work/2024/Plan.md"],
        &[
            ("the path that is right from the root", "work/a.md", "[[Log]]", &["Log.md"]),
            (
                "the shortest path that tells apart",
                "a.md",
                "[[home/Log]] [[2024/Log]]",
                &["home/Log.md", "work/2024/Log.md"],
            ),
            ("of several, the one below the note's folder", "work/a.md", "[[Plan]]", &["work/2024/Plan.md"]),
            ("else the shortest path", "other/a.md", "[[Plan]]", &["home/Plan.md"]),
            ("relative to the file", "work/2024/a.md", "[[./Log]] [[../Log]]", &["work/2024/Log.md", "work/Log.md"]),
            ("the same in markdown", "work/2024/a.md", "[x](../Log.md) [x](../../Log.md)", &["work/Log.md", "Log.md"]),
            ("and no further", "work/2024/a.md", "[[../Plan]]", &[NOTHING]),
            ("absolute in the vault", "work/a.md", "[[/home/Log]] [x](/Log.md)", &["home/Log.md", "Log.md"]),
            ("and nothing else", "work/a.md", "[[/Plan]]", &[NOTHING]),
            ("a part of a folder's name is none", "a.md", "[[ome/Log]]", &[NOTHING]),
        ],
    );
}

#[test]
fn a_note_that_was_moved_is_found_by_its_name() {
    let links = "[[Tide]] [[ports/Tide]] [x](ports/Tide.md) [[Tide#^a]]";
    let row = |meant: &'static [&'static str]| -> Row {
        ("a link by name follows, one by path is left behind", "log.md", links, meant)
    };
    rules_hold(&["ports/Tide.md"], &[row(&["ports/Tide.md", "ports/Tide.md", "ports/Tide.md", "ports/Tide.md#^a"])]);
    rules_hold(&["sea/Tide.md"], &[row(&["sea/Tide.md", NOTHING, NOTHING, "sea/Tide.md#^a"])]);
    // Where another file of the same name stays behind, all links mean that one.
    let both = ["ports/Tide.md", "far/sea/Tide.md"];
    rules_hold(&both, &[row(&["ports/Tide.md", "ports/Tide.md", "ports/Tide.md", "ports/Tide.md#^a"])]);
}

#[test]
fn names_are_of_any_script() {
    rules_hold(
        &["日記/潮汐.md", "日記/🌊 波.md", "한국어.md", "Größe.md", "а.md"],
        &[
            ("by name", "a.md", "[[潮汐]] [[🌊 波]] [[한국어]]", &["日記/潮汐.md", "日記/🌊 波.md", "한국어.md"]),
            ("by path, with a heading", "a.md", "[[日記/潮汐#満潮|潮]]", &["日記/潮汐.md#満潮"]),
            ("encoded", "a.md", "[x](%E6%97%A5%E8%A8%98/%F0%9F%8C%8A%20%E6%B3%A2.md)", &["日記/🌊 波.md"]),
            ("as it is", "a.md", "![x](日記/潮汐.md)", &["日記/潮汐.md"]),
            (
                "decomposed, as some systems write it",
                "a.md",
                "[[Gro\u{308}ße]] [[\u{1112}\u{1161}\u{11ab}국어]]",
                &["Größe.md", "한국어.md"],
            ),
            ("whatever the case", "a.md", "[[GRÖßE]] [[А]]", &["Größe.md", "а.md"]),
            ("what only looks alike is another", "a.md", "[[a]] [[潮夕]]", &[NOTHING, NOTHING]),
        ],
    );
}

#[test]
fn what_is_not_read_as_text_holds_no_links() {
    rules_hold(
        &["Tide.md"],
        &[
            ("code in a line", "a.md", "`[[Tide]]` ``[x](Tide.md)``", &[]),
            ("a block of code", "a.md", "```md\n[[Tide]]\n```\n~~~\n![[Tide]]\n~~~\n\n    [[Tide]]\n", &[]),
            ("a comment", "a.md", "%%[[Tide]]%% %%\n[[Tide]]\n%% <!-- [[Tide]] -->", &[]),
            ("math", "a.md", "$[[Tide]]$ $$[[Tide]]$$", &[]),
            ("what is escaped", "a.md", "\\[[Tide]] \\[x](Tide.md)", &[]),
            ("what is not closed", "a.md", "[[Tide] [[Tide\n]]", &[]),
            (
                "but quotes, lists, headings and callouts",
                "a.md",
                "> [!note] [[Tide]]\n- [[Tide]]\n# [[Tide]]",
                &["Tide.md"; 3],
            ),
        ],
    );
}
