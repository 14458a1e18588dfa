//! The structure of a note's body, from `pulldown-cmark`: headings, list items, markdown links, and
//! what holds no text of the author's.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::note::MAX_ITEMS;

/// What the inline reader and the note are made from, in the order of the text.
#[derive(Default)]
pub(crate) struct Blocks {
    pub(crate) headings: Vec<HeadingBlock>,
    /// Where list items begin.
    pub(crate) items: Vec<usize>,
    /// By where they begin.
    pub(crate) links: Vec<MarkdownLink>,
    /// By the place from which on they are skipped. They do not overlap.
    pub(crate) skips: Vec<Skip>,
}

pub(crate) struct HeadingBlock {
    pub(crate) level: u8,
    pub(crate) range: Range<usize>,
}

pub(crate) struct MarkdownLink {
    pub(crate) embed: bool,
    /// The destination with escapes and entities resolved.
    pub(crate) destination: String,
    pub(crate) range: Range<usize>,
    /// Between the brackets.
    pub(crate) display: Range<usize>,
}

/// A part of the body that is not looked into.
pub(crate) struct Skip {
    pub(crate) range: Range<usize>,
    /// The index of the link whose destination this is; `None` for code, HTML and definitions.
    pub(crate) link: Option<usize>,
}

/// Reads the structure of `body`.
pub(crate) fn read(body: &str) -> Blocks {
    let mut reader = Reader { body, blocks: Blocks::default(), open: Vec::new(), containers: 0 };
    let events = Parser::new_ext(body, Options::ENABLE_FOOTNOTES).into_offset_iter();
    for (_, definition) in events.reference_definitions().iter() {
        reader.skip(definition.span.clone());
    }
    for (event, range) in events {
        reader.event(event, range);
    }
    let mut blocks = reader.blocks;
    blocks.skips.sort_unstable_by_key(|skip| skip.range.start);
    blocks
}

/// The text of a heading, from the lines that it takes.
pub(crate) fn heading_text(lines: &str) -> String {
    let lines = lines.trim();
    if lines.starts_with('#') {
        let text = lines.trim_start_matches('#').trim();
        let open = text.trim_end_matches('#');
        let closed = open.is_empty() || open.ends_with([' ', '\t']);
        return if closed { open.trim_end() } else { text }.to_owned();
    }
    let mut text: Vec<&str> = lines.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
    text.pop();
    text.join(" ")
}

struct Reader<'a> {
    body: &'a str,
    blocks: Blocks,
    /// Links begun and not ended: the index of each, and how far what it shows has come.
    open: Vec<(Option<usize>, Range<usize>)>,
    /// Quotes, lists and footnotes begun and not ended.
    containers: usize,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, .. }) => self.link(false, link_type, &dest_url, &range),
            Event::Start(Tag::Image { link_type, dest_url, .. }) => self.link(true, link_type, &dest_url, &range),
            Event::End(TagEnd::Link | TagEnd::Image) => self.link_end(),
            Event::Start(tag) => self.start(&tag, range),
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::FootnoteDefinition) => {
                self.containers = self.containers.saturating_sub(1);
            }
            Event::End(_) => {}
            Event::Code(_) | Event::InlineHtml(_) => {
                self.shown(&range);
                self.skip(range);
            }
            _ => self.shown(&range),
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, .. } if self.containers == 0 && self.blocks.headings.len() < MAX_ITEMS => {
                self.blocks.headings.push(HeadingBlock { level: *level as u8, range });
            }
            Tag::BlockQuote(_) | Tag::List(_) | Tag::FootnoteDefinition(_) => self.containers += 1,
            Tag::Item => self.blocks.items.push(range.start),
            Tag::CodeBlock(_) | Tag::HtmlBlock => self.skip(range),
            _ => self.shown(&range),
        }
    }

    fn skip(&mut self, range: Range<usize>) {
        self.blocks.skips.push(Skip { range, link: None });
    }

    /// Counts `range` to what the innermost open link shows.
    fn shown(&mut self, range: &Range<usize>) {
        if let Some((_, shown)) = self.open.last_mut() {
            shown.end = shown.end.max(range.end);
        }
    }

    fn link(&mut self, embed: bool, link_type: LinkType, destination: &str, range: &Range<usize>) {
        self.shown(range);
        let display = range.start + 1 + usize::from(embed);
        let ignored = matches!(link_type, LinkType::Autolink | LinkType::Email);
        let index = (!ignored && self.blocks.links.len() < MAX_ITEMS).then_some(self.blocks.links.len());
        if index.is_some() {
            let destination = destination.to_owned();
            let display = display..display;
            self.blocks.links.push(MarkdownLink { embed, destination, range: range.clone(), display });
        }
        self.open.push((index, display..display));
    }

    fn link_end(&mut self) {
        let Some((Some(index), shown)) = self.open.pop() else {
            return;
        };
        let Some(link) = self.blocks.links.get_mut(index) else {
            return;
        };
        let rest = self.body.as_bytes().get(shown.end..link.range.end).unwrap_or_default();
        let bracket = memchr::memchr(b']', rest).map_or(link.range.end, |at| shown.end + at);
        link.display = shown.start..bracket;
        let destination = (bracket + 1).min(link.range.end)..link.range.end;
        if !destination.is_empty() {
            self.blocks.skips.push(Skip { range: destination, link: Some(index) });
        }
    }
}
