//! Notes as HTML, as Obsidian shows them. A note is hostile input: whatever it has is read as markdown, and the result is sanitised as a whole.
//!
//! # Layout
//!
//! - this file: from a note's text to HTML
//! - `callouts`, `inline`: what Obsidian's markdown has beyond the common one; `clean`: what HTML may stay; `parts`: how far an unclosed tag
//!   reaches

mod callouts;
mod clean;
mod inline;
mod parts;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use maud::{Markup, PreEscaped, html};
use percent_encoding::percent_decode_str;
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream, html as writer};

use crate::links;

/// The prefix of all identifiers of a note, so that none is one of the page's.
pub(crate) const PREFIX: &str = "n-";
/// Longest anchor, in letters.
const MAX_ANCHOR: usize = 100;
/// Most elements within each other: what is deeper loses its markup.
const MAX_DEPTH: usize = 64;
/// Most tags of HTML: what comes after them is shown as text.
const MAX_TAGS: usize = 2000;
/// Most bytes of notes that are shown within a note, each as often as it stands there, with what is around it; others are links.
const MAX_EMBEDDED: usize = 2 << 20;
const AROUND_EMBED: usize = 200;
/// Most headings of an outline.
const MAX_HEADINGS: usize = 500;
/// Endings of files that are shown as pictures, as sounds and as films.
const PICTURES: [&str; 8] = ["png", "jpg", "jpeg", "gif", "webp", "avif", "bmp", "svg"];
const SOUNDS: [&str; 6] = ["mp3", "wav", "m4a", "ogg", "flac", "3gp"];
const FILMS: [&str; 3] = ["mp4", "webm", "ogv"];

/// The paths that the links of a note lead to, by the targets as written.
pub(crate) type Targets = BTreeMap<String, String>;

/// The context in which a note is shown.
#[derive(Default)]
pub(crate) struct Surroundings {
    pub(crate) targets: Targets,
    /// Notes that it shows within itself, as HTML, by the targets as written.
    pub(crate) embeds: BTreeMap<String, Markup>,
    /// Whether pictures of other sites are shown.
    pub(crate) with_pictures: bool,
    /// Whether only a part of a note is shown, of whose links nothing is known.
    pub(crate) is_part: bool,
}

/// A heading of an outline.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) level: u8,
    pub(crate) text: String,
    pub(crate) anchor: String,
}

/// A note as HTML.
pub(crate) struct Shown {
    pub(crate) html: Markup,
    pub(crate) headings: Vec<Heading>,
    /// The number of pictures of other sites that are left out.
    pub(crate) pictures: usize,
}

/// The anchor of a heading or block within its page, without [`PREFIX`].
pub(crate) fn anchor(text: &str) -> String {
    let last = text.rsplit('#').next().unwrap_or_default().trim();
    let mut anchor = String::new();
    for letter in last.chars().take(MAX_ANCHOR) {
        if letter.is_alphanumeric() {
            anchor.extend(letter.to_lowercase());
        } else if !anchor.ends_with('-') {
            anchor.push('-');
        }
    }
    anchor.trim_matches('-').to_owned()
}

/// The targets of wikilinks, as written.
#[derive(Default)]
pub(crate) struct Wikilinks {
    /// Of those that lead elsewhere.
    pub(crate) links: BTreeSet<String>,
    /// Of those that are shown within the note.
    pub(crate) embeds: BTreeSet<String>,
}

/// The wikilinks of `text`.
pub(crate) fn wikilinks(text: &str) -> Wikilinks {
    let mut found = Wikilinks::default();
    for event in Parser::new_ext(text, options()) {
        match event {
            Event::Start(Tag::Link { link_type: LinkType::WikiLink { .. }, dest_url, .. }) => {
                found.links.insert(unescaped(&dest_url).to_owned());
            }
            Event::Start(Tag::Image { link_type: LinkType::WikiLink { .. }, dest_url, .. }) => {
                found.embeds.insert(unescaped(&dest_url).to_owned());
            }
            _ => {}
        }
    }
    found
}

/// The target of a wikilink without the backslash before its pipe, which a table needs.
fn unescaped(written: &str) -> &str {
    written.strip_suffix('\\').unwrap_or(written)
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_WIKILINKS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
}

/// Shows `text`.
pub(crate) fn show(text: &str, surroundings: &Surroundings) -> Shown {
    let text = inline::shallow(&inline::without_comments(text)).replace(parts::END, "\u{fffd}");
    let parser = TextMergeStream::new(shallow(Parser::new_ext(&text, options())));
    let mut reader =
        Reader { surroundings, headings: Vec::new(), pictures: 0, tags: 0, embedded: 0, anchors: HashMap::new() };
    let events = reader.read(parser);
    let mut html = String::with_capacity(text.len() * 2);
    writer::push_html(&mut html, callouts::callouts(parts::parts(events)).into_iter());
    let html = html.split(parts::END).map(|part| clean::clean(part, surroundings.with_pictures)).collect();
    Shown { html: PreEscaped(html), headings: reader.headings, pictures: reader.pictures }
}

/// The events without those of elements that are too deep within others.
fn shallow<'a>(events: impl Iterator<Item = Event<'a>>) -> impl Iterator<Item = Event<'a>> {
    let mut kept: Vec<bool> = Vec::new();
    let mut depth = 0_usize;
    events.filter(move |event| match event {
        Event::Start(_) => {
            let is_kept = depth < MAX_DEPTH;
            depth += usize::from(is_kept);
            kept.push(is_kept);
            is_kept
        }
        Event::End(_) => {
            let is_kept = kept.pop().unwrap_or(true);
            depth = depth.saturating_sub(usize::from(is_kept));
            is_kept
        }
        _ => true,
    })
}

struct Reader<'s> {
    surroundings: &'s Surroundings,
    headings: Vec<Heading>,
    pictures: usize,
    /// The tags of HTML so far.
    tags: usize,
    /// Bytes of the notes within the note so far.
    embedded: usize,
    /// The anchors of headings, each with the greatest number after its name.
    anchors: HashMap<String, u32>,
}

impl<'s> Reader<'s> {
    fn read<'a>(&mut self, parser: impl Iterator<Item = Event<'a>>) -> Vec<Event<'a>> {
        let mut events: Vec<Event<'a>> = Vec::new();
        // The ends of links and images that are shown as something else.
        let mut ends: Vec<&'static str> = Vec::new();
        let mut heading: Option<(usize, String)> = None;
        let (mut in_code, mut in_metadata, mut in_link, mut begins_item) = (false, false, 0_u32, false);
        let mut alternative: Option<(String, Tag<'a>)> = None;
        for event in parser {
            // The text of an image is its alternative text.
            if let Some((text, _)) = &mut alternative {
                match event {
                    Event::End(TagEnd::Image) => {
                        if let Some((text, tag)) = alternative.take() {
                            events.push(Event::InlineHtml(self.image(&tag, &text).into()));
                        }
                    }
                    Event::Text(more) | Event::Code(more) => text.push_str(&more),
                    _ => {}
                }
                continue;
            }
            let begins = std::mem::take(&mut begins_item);
            match event {
                Event::Start(Tag::Item) => {
                    begins_item = true;
                    events.push(Event::Start(Tag::Item));
                }
                Event::Start(Tag::Paragraph) if begins => {
                    begins_item = true;
                    events.push(Event::Start(Tag::Paragraph));
                }
                Event::Start(Tag::MetadataBlock(_)) => in_metadata = true,
                Event::End(TagEnd::MetadataBlock(_)) => in_metadata = false,
                _ if in_metadata => {}
                Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                    heading = Some((events.len(), String::new()));
                    events.push(Event::Start(Tag::Heading { level, id: None, classes, attrs }));
                }
                Event::End(TagEnd::Heading(level)) => {
                    if let Some((place, text)) = heading.take() {
                        let anchor = self.heading(level as u8, &text);
                        // Of parts of a note there may be several on a page.
                        let is_whole = !self.surroundings.is_part;
                        if let Some(Event::Start(Tag::Heading { id, .. })) = events.get_mut(place).filter(|_| is_whole)
                        {
                            *id = Some(anchor.into());
                        }
                    }
                    events.push(Event::End(TagEnd::Heading(level)));
                }
                Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                    let (open, close) = self.link(link_type, &dest_url);
                    ends.push(close);
                    in_link = in_link.saturating_add(1);
                    events.push(Event::InlineHtml(open.into()));
                }
                Event::End(TagEnd::Link) => {
                    in_link = in_link.saturating_sub(1);
                    events.push(Event::InlineHtml(ends.pop().unwrap_or_default().into()));
                }
                Event::Start(tag @ Tag::Image { .. }) => alternative = Some((String::new(), tag)),
                Event::Start(Tag::CodeBlock(kind)) => {
                    in_code = true;
                    events.push(Event::Start(Tag::CodeBlock(kind)));
                }
                Event::End(TagEnd::CodeBlock) => {
                    in_code = false;
                    events.push(Event::End(TagEnd::CodeBlock));
                }
                Event::TaskListMarker(is_done) => {
                    let (letter, name) = if is_done { ("☑", "done") } else { ("☐", "to do") };
                    events.push(Event::InlineHtml(
                        format!("<span class=\"box\" title=\"{name}\">{letter}</span> ").into(),
                    ));
                }
                Event::Text(text) => {
                    if let Some((_, title)) = &mut heading {
                        title.push_str(&text);
                    }
                    let text = if begins { inline::status(text, &mut events) } else { text };
                    if in_code || in_link > 0 {
                        events.push(Event::Text(text))
                    } else {
                        inline::marks(text, &mut events)
                    }
                }
                Event::Code(code) => {
                    if let Some((_, title)) = &mut heading {
                        title.push_str(&code);
                    }
                    events.push(Event::Code(code));
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    self.tags = self.tags.saturating_add(html.matches('<').count());
                    events.push(if self.tags <= MAX_TAGS { Event::Html(html) } else { Event::Text(html) });
                }
                event => events.push(event),
            }
        }
        events
    }

    /// The anchor of a heading, which no other one has.
    fn heading(&mut self, level: u8, text: &str) -> String {
        let base = anchor(text);
        let mut anchor = base.clone();
        if let Some(mut number) = self.anchors.get(&base).copied() {
            // A heading may have a number of its own.
            while self.anchors.contains_key(&anchor) {
                number = number.saturating_add(1);
                anchor = format!("{base}-{number}");
            }
            self.anchors.insert(base, number);
        }
        self.anchors.insert(anchor.clone(), 1);
        if self.headings.len() < MAX_HEADINGS {
            self.headings.push(Heading { level, text: text.to_owned(), anchor: format!("{PREFIX}{anchor}") });
        }
        anchor
    }

    /// Whether another note may be shown within the note.
    fn has_room(&mut self, embedded: &Markup) -> bool {
        self.embedded = self.embedded.saturating_add(AROUND_EMBED + embedded.0.len());
        self.embedded <= MAX_EMBEDDED
    }

    /// The file that a link leads to.
    fn target(&self, written: &str) -> Option<&'s str> {
        let targets = &self.surroundings.targets;
        let decoded = || percent_decode_str(written).decode_utf8().ok().map(std::borrow::Cow::into_owned);
        targets.get(written).or_else(|| targets.get(&decoded()?)).map(String::as_str)
    }

    /// The start and the end of a link.
    fn link(&self, kind: LinkType, written: &str) -> (String, &'static str) {
        let written = unescaped(written);
        let open = |markup: Markup| markup.into_string().trim_end_matches("</a>").to_owned();
        let decoded = percent_decode_str(written).decode_utf8_lossy().into_owned();
        let (_, subpath) = decoded.split_once('#').unwrap_or((&decoded, ""));
        let is_wikilink = matches!(kind, LinkType::WikiLink { .. });
        if let Some(path) = self.target(written) {
            let anchor = if subpath.is_empty() { String::new() } else { format!("{PREFIX}{}", anchor(subpath)) };
            let address = if links::is_note(path) { links::note_at(path, &anchor) } else { links::file(path) };
            return (open(html! { a href=(address) {} }), "</a>");
        }
        if written.starts_with('#') {
            return (open(html! { a href={ "#" (anchor(subpath)) } {} }), "</a>");
        }
        let is_outside = clean::OUTSIDE.iter().any(|beginning| written.starts_with(beginning));
        if is_outside && !is_wikilink {
            return (open(html! { a href=(written) {} }), "</a>");
        }
        if self.surroundings.is_part {
            return ("<span class=\"elsewhere\">".to_owned(), "</span>");
        }
        ("<span class=\"missing\" title=\"There is no such note\">".to_owned(), "</span>")
    }

    /// An image, a sound, a film, or a note within the note.
    fn image(&mut self, tag: &Tag<'_>, text: &str) -> String {
        let Tag::Image { link_type, dest_url, .. } = tag else { return String::new() };
        let surroundings = self.surroundings;
        let written = unescaped(dest_url);
        // `![[picture.png|300]]` has a width instead of a text.
        let (words, width) = match text.rsplit_once('|').unwrap_or((text, text)) {
            (words, size) if size.split('x').all(|part| part.parse::<u16>().is_ok()) => {
                (if words == text { "" } else { words }, size.split('x').next().unwrap_or_default())
            }
            _ => (text, ""),
        };
        let shown = match self.target(written) {
            Some(path) if has_ending(path, &PICTURES) => html! {
                img src=(links::file(path)) alt=(if words.is_empty() { links::name(path) } else { words }) width=[Some(width).filter(|width| !width.is_empty())];
            },
            Some(path) if has_ending(path, &SOUNDS) => html! { audio controls src=(links::file(path)) {} },
            Some(path) if has_ending(path, &FILMS) => html! { video controls src=(links::file(path)) {} },
            Some(path) => match surroundings.embeds.get(written).filter(|embedded| self.has_room(embedded)) {
                Some(embedded) => html! {
                    div class="embed" { div class="from" { a href=(links::document(path)) { (links::name(path)) } } (embedded) }
                },
                None => html! { a href=(links::document(path)) { (links::name(path)) } },
            },
            None if written.starts_with("https://") && self.surroundings.with_pictures => {
                html! { img src=(written) alt=(words); }
            }
            None if !matches!(link_type, LinkType::WikiLink { .. }) && written.contains("://") => {
                self.pictures = self.pictures.saturating_add(1);
                html! { span class="picture" { "Picture of " (host(written)) @if !words.is_empty() { ": " (words) } } }
            }
            None if self.surroundings.is_part => html! { span class="elsewhere" { (written) } },
            None => html! { span class="missing" title="There is no such file" { (written) } },
        };
        shown.into_string()
    }
}

/// The host of an address.
fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

fn has_ending(path: &str, endings: &[&str]) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| endings.iter().any(|one| ending.eq_ignore_ascii_case(one)))
}

/// Whether the file at `path` is one that pages show within a note.
pub(crate) fn is_shown(path: &str) -> bool {
    has_ending(path, &PICTURES) || has_ending(path, &SOUNDS) || has_ending(path, &FILMS)
}

/// Text, escaped.
fn escaped(text: &str) -> CowStr<'static> {
    html! { (text) }.into_string().into()
}
