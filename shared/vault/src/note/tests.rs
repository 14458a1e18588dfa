use super::*;
use crate::path::VaultPath;

mod any_text;
mod blocks;
mod frontmatter;
mod links;
mod tags;

/// The headings as they would be written with `#`.
fn headings(text: &str) -> Vec<String> {
    let written = |heading: Heading| format!("{} {}", "#".repeat(heading.level.into()), heading.text);
    parse(text).headings.into_iter().map(written).collect()
}

/// The links as `target`, `target#subpath` or `target#subpath|display`, embeds with `!`.
fn links(text: &str) -> Vec<String> {
    let written = |link: Link| {
        let subpath = link.subpath.as_ref().map(|subpath| format!("#{subpath}")).unwrap_or_default();
        let display = link.display.as_ref().map(|display| format!("|{display}")).unwrap_or_default();
        format!("{}{}{subpath}{display}", if link.is_embed() { "!" } else { "" }, link.target)
    };
    parse(text).links.into_iter().map(written).collect()
}

fn tags(text: &str) -> Vec<String> {
    parse(text).tags.into_iter().map(|tag| tag.name).collect()
}

#[track_caller]
fn yields_nothing(text: &str) {
    let mut note = parse(text);
    note.frontmatter = None;
    note.items.clear();
    assert_eq!(note, Note::default(), "{text:?}");
}

#[test]
fn a_note_without_anything_in_it_yields_nothing() {
    for text in ["", " ", "\n", "\r", "\u{FEFF}", "plain text", "---", "---\n", "\0"] {
        yields_nothing(text);
    }
}

#[test]
fn nothing_is_read_in_code_math_html_and_comments() {
    for text in [
        "```\n# a\n[[b]] #c ^d\n- [ ] e\n```",
        "~~~ #info\n[[b]]\n~~~~",
        "```\nnever closed [[b]] #c\n\n# d",
        "- a\n\n  ```\n  [[b]] #c\n  ```",
        "> ```\n> [[b]] #c\n> ```",
        "text\n\n    [[indented]] #code",
        "\t# code",
        "a `[[b]] #c` d",
        "a ``[[b]] ` #c`` d",
        "a `[b](c)` d",
        "<!-- [[a]] #b -->",
        "a <!-- [[b]] #c\n[d](e) --> f",
        "<!--\n# a\n\n- [ ] b\n-->",
        "<!-- never closed\n\n[[a]] #b",
        "<div>\n[[a]] #b\n</div>",
        "a <span style=\"color: #fff\" title=' #x '>b</span>",
        "a $[[b]] #c$ d",
        "a $\\left[a\\right](b) #c$ d",
        "a $$[[b]] #c$$ d",
        "$$\n[[a]]\n\n# b\n#c\n$$",
        "%%[[a]] #b%%",
        "a %%[[b]] #c%% d",
        "a %%[[b]]\n #c%% d",
        "%%\n# a\n\n- [ ] b ^c\n%%",
        "%%\n```\n%%",
        "%% never closed\n\n# a",
        "> %%\n> [[a]]\n> %%",
        "- %%[[a]]%%",
    ] {
        yields_nothing(text);
    }
}

#[test]
fn what_follows_code_math_html_and_comments_is_read() {
    for text in [
        "```\n[[no]]\n``` \n[[yes]]",
        "> ```\n> [[no]]\n\n[[yes]] %%",
        "`[[no]]` [[yes]]",
        "a ` b [[yes]]",
        "`%%` [[yes]] `%%`",
        "```\n%%\n```\n[[yes]]\n```\n%%\n```",
        "<!-- %% -->\n[[yes]]",
        "<!--\n%%\n-->\n\n[[yes]]",
        "a <!-- %% --> [[yes]]",
        "%%[[no]]%% [[yes]] %%[[no]]%%",
        "%%\n[[no]]\n%% [[yes]]",
        "%%[[no]]%%    [[yes]]",
        "text %% never closed\n\n[[yes]]",
        "\\%% [[yes]] %%",
        "$$[[no]]$$ [[yes]]",
        "$$ never closed [[yes]]",
        "$5 [[yes]] $6",
        "from $5-$10 [[yes]]",
        "a $ [[yes]] $",
        "\\$[[yes]]$",
        "$x\n[[yes]]$",
        "US$ [[yes]] US$",
        "<b>[[yes]]</b>",
        "a < b [[yes]] c > d",
        "<details>\n\n[[yes]]\n\n</details>",
        "[^1]: text\n\n    [[yes]]",
    ] {
        assert_eq!(links(text), ["yes"], "{text:?}");
    }
}

#[test]
fn a_comment_does_not_change_what_stands_around_it() {
    assert_eq!(headings("%%\nc\n%%\n# A\n%%c%%\n---\n## B %%c%%"), ["# A", "## B %%c%%"]);
    assert_eq!(headings("text\n%%c%%\n===="), [] as [&str; 0]);
    let note = parse("- [ ] a\n%% c %%\n- [x] b");
    assert_eq!(note.tasks.iter().map(|task| task.line).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn a_note_is_called_by_its_title_its_first_heading_or_its_name() {
    let path = VaultPath::parse("folder/the.name.md").unwrap();
    let title = |text: &str| parse(text).title(&path).to_owned();
    assert_eq!(title("---\ntitle: The title\n---\n# Heading"), "The title");
    assert_eq!(title("---\ntitle: 5\n---\n## Two\n\n# One\n\n# Other"), "One");
    assert_eq!(title("---\ntitle: ''\n---\n#\n# One"), "One");
    assert_eq!(title("---\ntitle: [\n---\n## Two"), "the.name");
}

#[test]
fn an_anchor_is_lower_case_with_hyphens_and_never_empty() {
    for (heading, expected) in [
        ("Components", "#components"),
        ("Decisions (ADR-lite)", "#decisions-adr-lite"),
        ("  a \t b  ", "#a-b"),
        ("a & b", "#a--b"),
        ("Übersicht: ÄÖ", "#übersicht-äö"),
        ("はじめに、まず", "#はじめにまず"),
        ("v1.2_3", "#v123"),
        ("???", "#"),
        ("", "#"),
    ] {
        assert_eq!(anchor(heading), expected, "{heading:?}");
    }
    assert_eq!(parse("# A *b*").headings[0].anchor(), "#a-b");
}
