//! The structure of a note's body, from `pulldown-cmark`: headings, list items, markdown links, and code, HTML and definitions. All
//! access to the parser goes through [`Events`].

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, OffsetIter, Options, Parser, RefDefs, Tag, TagEnd};

use crate::note::parts::MAX_ITEMS;
use crate::wikilink;

/// The blocks of a body, for the inline reader and the note, in the order of the text.
#[derive(Default)]
pub(crate) struct Blocks {
    pub(crate) headings: Vec<HeadingBlock>,
    /// In the order of the text.
    pub(crate) items: Vec<ItemBlock>,
    /// Sorted by their start.
    pub(crate) links: Vec<MarkdownLink>,
    /// Sorted by their start. They do not overlap.
    pub(crate) skips: Vec<Skip>,
}

pub(crate) struct HeadingBlock {
    pub(crate) level: u8,
    pub(crate) range: Range<usize>,
}

/// A list item without those below it.
pub(crate) struct ItemBlock {
    /// The offset of its marker.
    pub(crate) start: usize,
    /// The end of its own text: where the first list in it begins.
    pub(crate) end: usize,
    /// The index of the item that it is in.
    pub(crate) parent: Option<u32>,
    /// The start of the outermost list that it is in.
    pub(crate) list: usize,
}

pub(crate) struct MarkdownLink {
    pub(crate) embed: bool,
    /// The destination with escapes and entities resolved.
    pub(crate) destination: String,
    /// The range of the destination as written, without `<` and `>`; empty if it is unknown.
    pub(crate) written: Range<usize>,
    pub(crate) range: Range<usize>,
    /// The text between the brackets.
    pub(crate) display: Range<usize>,
}

/// A part of the body that is not searched for links and tags.
pub(crate) struct Skip {
    pub(crate) range: Range<usize>,
    /// The index of the link whose destination this is; `None` for code, HTML and definitions.
    pub(crate) link: Option<usize>,
}

/// The parser's events for a body, in order, each with its range. Lists and their items begin at their marker.
pub(crate) struct Events<'a> {
    body: &'a str,
    events: OffsetIter<'a>,
}

impl<'a> Events<'a> {
    pub(crate) fn of(body: &'a str) -> Self {
        Self { body, events: Parser::new_ext(body, Options::ENABLE_FOOTNOTES).into_offset_iter() }
    }

    /// Those with tables as blocks of their own.
    pub(crate) fn with_tables(body: &'a str) -> Self {
        let options = Options::ENABLE_FOOTNOTES | Options::ENABLE_TABLES;
        Self { body, events: Parser::new_ext(body, options).into_offset_iter() }
    }

    pub(crate) fn definitions(&self) -> &RefDefs<'_> {
        self.events.reference_definitions()
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = (Event<'a>, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let (event, mut range) = self.events.next()?;
        if matches!(event, Event::Start(Tag::List(_) | Tag::Item) | Event::End(TagEnd::List(_) | TagEnd::Item)) {
            range.start = marker_at(self.body, range.start);
            range.end = range.end.max(range.start);
        }
        Some((event, range))
    }
}

/// The offset of the list item's marker, when the parser says that the item begins at `start`. The parser subtracts as many bytes from
/// the marker's offset as the indent has columns, at most 3. Where an outer item has consumed a part of a tab, that offset is in the line
/// above or at the `>` of a quote.
fn marker_at(body: &str, start: usize) -> usize {
    let ahead = body.as_bytes().iter().skip(start).take(3);
    start + ahead.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'>')).count()
}

/// Reads the structure of `body`.
pub(crate) fn read(body: &str) -> Blocks {
    let mut reader = Reader {
        body,
        blocks: Blocks::default(),
        definition: None,
        open: Vec::new(),
        containers: 0,
        lists: Vec::new(),
        open_items: Vec::new(),
    };
    let mut events = Events::of(body);
    for (_, definition) in events.definitions().iter() {
        reader.skip(definition.span.clone());
    }
    while let Some((event, range)) = events.next() {
        if let Event::Start(Tag::Link { link_type, id, .. } | Tag::Image { link_type, id, .. }) = &event {
            let definition = events.definitions().get(id).filter(|_| is_by_reference(*link_type));
            reader.definition = definition.map(|definition| definition.span.clone());
        }
        reader.event(event, range);
    }
    let mut blocks = reader.blocks;
    blocks.skips.sort_unstable_by_key(|skip| skip.range.start);
    blocks
}

/// The text of a heading, given its lines.
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

fn is_by_reference(link_type: LinkType) -> bool {
    matches!(link_type, LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut)
}

/// The destination that begins after the white space at `at`, without `<` and `>`.
fn destination_at(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let from = |start: usize| bytes.iter().enumerate().skip(start);
    let start = from(at).find(|(_, byte)| !byte.is_ascii_whitespace()).map_or(bytes.len(), |(start, _)| start);
    let is_bracketed = bytes.get(start) == Some(&b'<');
    let start = start + usize::from(is_bracketed);
    let (mut escaped, mut depth) = (false, 0_usize);
    for (end, byte) in from(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'>' if is_bracketed => return start..end,
            _ if is_bracketed => {}
            b')' if depth == 0 => return start..end,
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ if byte.is_ascii_whitespace() => return start..end,
            _ => {}
        }
    }
    start..bytes.len()
}

struct Reader<'a> {
    body: &'a str,
    blocks: Blocks,
    /// The definition of the link that begins, if it is a reference link.
    definition: Option<Range<usize>>,
    /// Links that are open: the index of each, and the range of its display text so far.
    open: Vec<(Option<usize>, Range<usize>)>,
    /// The number of open quotes, lists and footnotes.
    containers: usize,
    /// The starts of the open lists.
    lists: Vec<usize>,
    /// The indices of the open items, and whether the own text of each goes on.
    open_items: Vec<(usize, bool)>,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, .. }) => self.link(false, link_type, &dest_url, &range),
            Event::Start(Tag::Image { link_type, dest_url, .. }) => self.link(true, link_type, &dest_url, &range),
            Event::End(TagEnd::Link | TagEnd::Image) => self.link_end(),
            Event::Start(tag) => self.start(&tag, range),
            Event::End(end @ (TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::FootnoteDefinition)) => {
                self.containers = self.containers.saturating_sub(1);
                if matches!(end, TagEnd::List(_)) {
                    self.lists.pop();
                }
            }
            Event::End(TagEnd::Item) => {
                if let Some((item, true)) = self.open_items.pop() {
                    self.end_item(item, range.end);
                }
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
            Tag::List(_) => {
                self.containers += 1;
                self.lists.push(range.start);
                if let Some((item, goes_on @ true)) = self.open_items.last_mut() {
                    *goes_on = false;
                    let item = *item;
                    self.end_item(item, range.start);
                }
            }
            Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) => self.containers += 1,
            Tag::Item => {
                let parent = self.open_items.last().and_then(|(item, _)| u32::try_from(*item).ok());
                let list = self.lists.first().copied().unwrap_or(range.start);
                self.open_items.push((self.blocks.items.len(), true));
                self.blocks.items.push(ItemBlock { start: range.start, end: range.end, parent, list });
            }
            Tag::CodeBlock(_) | Tag::HtmlBlock => self.skip(range),
            _ => self.shown(&range),
        }
    }

    fn end_item(&mut self, item: usize, end: usize) {
        if let Some(item) = self.blocks.items.get_mut(item) {
            item.end = end.max(item.start);
        }
    }

    fn skip(&mut self, range: Range<usize>) {
        self.blocks.skips.push(Skip { range, link: None });
    }

    /// Extends the display text of the innermost open link by `range`.
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
            let written = self.definition.take().map_or(0..0, |span| self.defined(span));
            self.blocks.links.push(MarkdownLink { embed, destination, written, range: range.clone(), display });
        }
        self.open.push((index, display..display));
    }

    /// The destination in the definition at `span`: after its label.
    fn defined(&self, span: Range<usize>) -> Range<usize> {
        let definition = self.body.get(..span.end).unwrap_or_default();
        let label = memchr::memmem::find_iter(definition.as_bytes().get(span.start..).unwrap_or_default(), "]:");
        let end = label.map(|at| span.start + at).find(|at| !wikilink::is_escaped(definition.as_bytes(), *at));
        end.map_or(0..0, |end| destination_at(definition, end + 2))
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
        let whole = self.body.get(..link.range.end).unwrap_or_default();
        if link.written.is_empty() && whole.as_bytes().get(bracket + 1) == Some(&b'(') {
            link.written = destination_at(whole, bracket + 2);
        }
        let destination = (bracket + 1).min(link.range.end)..link.range.end;
        if !destination.is_empty() {
            self.blocks.skips.push(Skip { range: destination, link: Some(index) });
        }
    }
}
