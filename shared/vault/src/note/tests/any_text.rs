//! Properties that hold for every text, however odd or hostile.

use std::time::{Duration, Instant};

use super::*;
use proptest::prelude::*;

/// Texts built from pieces of markdown.
fn markdown() -> impl Strategy<Value = String> {
    const TOKENS: &[&str] = &[
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        " ",
        " ",
        "    ",
        "\t",
        "a",
        "b c",
        "é",
        "日本",
        "🗂️",
        "---",
        "...",
        "===",
        "#",
        "# ",
        "#tag",
        "[[",
        "]]",
        "[",
        "]",
        "![[",
        "!",
        "(",
        ")",
        "](",
        "|",
        "\\",
        "\\|",
        "^id",
        "^",
        "`",
        "``",
        "```",
        "~~~",
        "%%",
        "%",
        "$",
        "$$",
        "<!--",
        "-->",
        "<b>",
        "</div>",
        "<",
        ">",
        "> ",
        "- ",
        "* ",
        "1. ",
        "- [ ] ",
        "- [x] ",
        "[^1]: ",
        "[a]: ",
        "a: ",
        "- a",
        "\"",
        "'",
        "{",
        "}",
        ",",
        "*a",
        "&a ",
        "tags: ",
        "aliases: ",
        "%20",
        "\u{FEFF}",
        "\0",
        "5",
        "_",
        "*",
        "**",
        "https://",
        "&amp;",
    ];
    prop::collection::vec(prop::sample::select(TOKENS), 0..60).prop_map(|tokens| tokens.concat())
}

fn any_note() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => markdown(),
        1 => (markdown(), markdown()).prop_map(|(yaml, body)| format!("---\n{yaml}\n---\n{body}")),
        1 => "(?s).{0,200}",
    ]
}

/// The line of a byte offset, counted naively.
fn line_of(text: &str, offset: usize) -> u32 {
    text[..offset].matches('\n').count() as u32
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn every_part_is_where_it_says(text in any_note()) {
        let note = parse(&text);
        for heading in &note.headings {
            prop_assert!(!text[heading.offset..heading.end].starts_with([' ', '\n', '\r']));
            prop_assert_eq!(heading.line, line_of(&text, heading.offset));
            prop_assert!((1..=6).contains(&heading.level));
        }
        for link in &note.links {
            let written = &text[link.range.clone()];
            let (open, close) = match link.kind {
                LinkKind::Wikilink => ("[[", "]]"),
                LinkKind::Embed => ("![[", "]]"),
                LinkKind::Markdown => ("[", ""),
                LinkKind::MarkdownEmbed => ("![", ""),
                LinkKind::CanvasFile => unreachable!("notes have none"),
            };
            prop_assert!(written.starts_with(open) && written.ends_with(close), "{:?}", link);
            prop_assert!(!link.target.is_empty() || link.subpath.is_some());
            prop_assert!(text.get(link.destination.clone()).is_some(), "{:?}", link);
            prop_assert_eq!(link.line, line_of(&text, link.range.start));
        }
        for tag in &note.tags {
            if let Some(range) = &tag.range {
                prop_assert_eq!(&text[range.clone()], format!("#{}", tag.name));
            }
            prop_assert!(tag.name.chars().any(|c| !c.is_numeric()));
        }
        for task in &note.tasks {
            prop_assert!(text[task.status_offset..].starts_with(task.status));
            prop_assert!(text[..task.status_offset].ends_with('['));
            prop_assert_eq!(task.line, line_of(&text, task.status_offset));
        }
        for id in &note.block_ids {
            prop_assert_eq!(&text[id.range.clone()], format!("^{}", id.name));
            prop_assert_eq!(id.line, line_of(&text, id.range.start));
        }
        if let Some(frontmatter) = &note.frontmatter {
            let yaml = &text[frontmatter.range.clone()];
            let opening = text[..frontmatter.range.start].strip_prefix('\u{FEFF}').unwrap_or(&text);
            prop_assert!(opening.starts_with("---"));
            prop_assert!(text[frontmatter.range.end..frontmatter.body_start].starts_with(['-', '.']), "{:?}", yaml);
        }
    }

    #[test]
    fn parts_come_in_the_order_of_the_text(text in any_note()) {
        let note = parse(&text);
        prop_assert!(note.headings.is_sorted_by_key(|heading| heading.offset));
        prop_assert!(note.links.is_sorted_by_key(|link| link.range.start));
        prop_assert!(note.tags.is_sorted_by_key(|tag| tag.range.as_ref().map(|range| range.start)));
        prop_assert!(note.tasks.is_sorted_by_key(|task| task.status_offset));
        prop_assert!(note.block_ids.is_sorted_by_key(|id| id.range.start));
    }

    #[test]
    fn wikilinks_overlap_no_other_and_no_tag(text in any_note()) {
        let note = parse(&text);
        let wikilinks = note.links.iter().filter(|link| matches!(link.kind, LinkKind::Wikilink | LinkKind::Embed));
        let tags = note.tags.iter().filter_map(|tag| tag.range.clone());
        let mut ranges: Vec<_> = wikilinks.map(|link| link.range.clone()).chain(tags).collect();
        ranges.sort_by_key(|range| range.start);
        prop_assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start), "{:?}", ranges);
    }

    #[test]
    fn frontmatter_moves_the_body_and_changes_nothing_in_it(body in markdown()) {
        let body = format!("text\n\n{body}");
        let start = "---\na: 1\n---\n";
        let (plain, moved) = (parse(&body), parse(&format!("{start}{body}")));
        let targets = |note: &Note| note.links.iter().map(|link| (link.target.clone(), link.line)).collect::<Vec<_>>();
        prop_assert_eq!(targets(&plain), targets(&moved).into_iter().map(|(t, line)| (t, line - 3)).collect::<Vec<_>>());
        prop_assert_eq!(plain.headings.len(), moved.headings.len());
        prop_assert_eq!(plain.tasks.len(), moved.tasks.len());
    }
}

/// Quadratic work on texts of this size takes minutes, so the limit may be generous.
#[test]
fn hostile_texts_take_no_longer_than_others() {
    const N: usize = 100_000;
    let deep = |marker: &str| marker.repeat(N) + "a\n" + &"b\n".repeat(N);
    let backticks: String = (1..1500).map(|run| "`".repeat(run) + " ").collect();
    let texts = [
        "[".repeat(N) + &"]".repeat(N),
        "[[".repeat(N),
        "[[a".repeat(N),
        "[[a|[".repeat(N),
        "[[a [x](y)".repeat(N),
        "[[a `x` ".repeat(N),
        "[a](".repeat(N),
        "![[".repeat(N),
        "#".repeat(N),
        " #1".repeat(N),
        deep("> "),
        deep("- "),
        deep("1. "),
        deep("- [^a]: "),
        deep("\t- "),
        "- [ ] ".repeat(N),
        format!("x %% {backticks}"),
        backticks,
        "%%".repeat(N),
        "%%a%%".repeat(N),
        "x %%a\n\n".repeat(N),
        "%%a%%<!--".repeat(N),
        "x $a ".repeat(N),
        "a$$b$ ".repeat(N),
        "$$a\n".repeat(N),
        "<a b='".repeat(N),
        "\\".repeat(N) + "[[a]]",
        " ^a".repeat(N),
        "*_".repeat(N) + &"_*".repeat(N),
        "---\n".to_owned() + &"a: b\n".repeat(N),
        "word [[link]] #tag ".repeat(10_000_000 / 19),
        "\r".repeat(10_000_000),
    ];
    for text in texts {
        let started = Instant::now();
        let note = parse(&text);
        let taken = started.elapsed();
        let shown = &text[..20.min(text.len())];
        assert!(taken < Duration::from_secs(20), "{shown:?} took {taken:?}");
        assert!(note.links.len() <= MAX_ITEMS && note.tags.len() <= MAX_ITEMS);
    }
}

#[test]
fn more_items_than_the_limit_are_left_out() {
    let note = parse(&"[[a]] [b](c) #d ^e\n".repeat(MAX_ITEMS + 10));
    assert_eq!([note.links.len(), note.tags.len(), note.block_ids.len()], [MAX_ITEMS; 3]);
    let note = parse(&"# a\n- [ ] b\n".repeat(MAX_ITEMS + 10));
    assert_eq!([note.headings.len(), note.tasks.len()], [MAX_ITEMS; 2]);
}

#[test]
fn what_stands_too_far_down_is_left_out() {
    let filler = "é".repeat(MAX_BODY_BYTES / 2 - 10);
    assert_eq!(links(&format!("{filler} [[a]] text that is long enough [[b]]")), ["a"]);
}
