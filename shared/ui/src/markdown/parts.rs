//! A note in parts, each of which is sanitised alone. By the rules of HTML an unclosed `<b>` begins again in each block below it, up to the end of
//! its part: many of them before many blocks would make a very large page.

use pulldown_cmark::Event;

/// Ends a part, in HTML. Nothing else in it has this letter.
pub(super) const END: char = '\0';
/// The elements that begin again.
pub(super) const FORMATTING: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
/// The elements in which a link ends without its end, as `a` itself.
const LINKS: [&str; 11] =
    ["a", "applet", "caption", "marquee", "object", "select", "template", "td", "th", "svg", "math"];
/// As many elements as a link weighs: it begins again with its address, but no two of them do.
const OF_LINK: usize = 50;
/// Most elements that a part may get so, if it has more than one block; and a note.
const MAX_OF_PART: usize = 8_000;
const MAX_OF_NOTE: usize = 400_000;

/// The tags that may begin again, and the places where they may.
#[derive(Clone, Copy, Default)]
struct Repeats {
    tags: usize,
    has_link: bool,
    places: usize,
}

impl Repeats {
    fn add(&mut self, event: &Event<'_>) {
        let Event::Html(html) = event else {
            self.places = self.places.saturating_add(1);
            return;
        };
        for tag in html.split('<').skip(1) {
            let end = tag.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(tag.len());
            let name = tag.get(..end).unwrap_or_default();
            let is_in = |names: &[&str]| names.iter().any(|one| name.eq_ignore_ascii_case(one));
            self.places = self.places.saturating_add(1);
            self.has_link |= is_in(&LINKS);
            self.tags = self.tags.saturating_add(usize::from(is_in(&FORMATTING)));
        }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            tags: self.tags.saturating_add(other.tags),
            has_link: self.has_link || other.has_link,
            places: self.places.saturating_add(other.places),
        }
    }

    const fn elements(self) -> usize {
        let tags = if self.has_link { self.tags.saturating_add(OF_LINK) } else { self.tags };
        tags.saturating_mul(self.places)
    }
}

/// The events with an [`END`] between two parts. [`Event::Html`] is the note's own; it becomes text in blocks that would get too many elements.
pub(super) fn parts(events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let mut shown = Vec::with_capacity(events.len());
    let (mut part, mut block, mut of_note) = (Repeats::default(), Repeats::default(), 0_usize);
    let (mut begin, mut depth) = (0, 0_usize);
    for event in events {
        block.add(&event);
        match event {
            Event::Start(_) => depth = depth.saturating_add(1),
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        shown.push(event);
        if depth > 0 {
            continue;
        }
        if part.and(block).elements() > MAX_OF_PART {
            of_note = of_note.saturating_add(part.elements());
            part = Repeats::default();
            shown.insert(begin, Event::InlineHtml(END.to_string().into()));
        }
        if of_note.saturating_add(part.and(block).elements()) > MAX_OF_NOTE {
            block = Repeats { places: block.places, ..Repeats::default() };
            for event in shown.iter_mut().skip(begin) {
                if let Event::Html(html) = event {
                    *event = Event::Text(html.clone());
                }
            }
        }
        part = part.and(block);
        block = Repeats::default();
        begin = shown.len();
    }
    shown
}
