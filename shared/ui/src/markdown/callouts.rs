//! Callouts: quotes that begin with `[!kind] Title`; with `+` or `-` behind the kind they fold.

use pulldown_cmark::{Event, Tag, TagEnd};

/// The kinds with a look of their own.
pub(super) const KINDS: [&str; 18] = [
    "note",
    "abstract",
    "info",
    "todo",
    "tip",
    "hint",
    "success",
    "question",
    "warning",
    "caution",
    "attention",
    "failure",
    "danger",
    "error",
    "bug",
    "example",
    "quote",
    "important",
];

/// The events, with callouts as HTML.
pub(super) fn callouts(events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let mut shown = Vec::with_capacity(events.len());
    // The end of each open quote.
    let mut ends: Vec<Option<&'static str>> = Vec::new();
    let mut events = events.into_iter().peekable();
    while let Some(event) = events.next() {
        match event {
            Event::Start(Tag::BlockQuote(kind)) => {
                if !matches!(events.peek(), Some(Event::Start(Tag::Paragraph))) {
                    ends.push(None);
                    shown.push(Event::Start(Tag::BlockQuote(kind)));
                    continue;
                }
                let paragraph = events.next();
                let head = match events.peek() {
                    Some(Event::Text(text)) => head(text),
                    _ => None,
                };
                let Some((name, fold, title)) = head else {
                    ends.push(None);
                    shown.push(Event::Start(Tag::BlockQuote(kind)));
                    shown.extend(paragraph);
                    continue;
                };
                events.next();
                let (open, end, title_tags) = match fold {
                    Some(is_open) => {
                        let open = if is_open { " open" } else { "" };
                        (format!("<details class=\"callout {name}\"{open}>"), "</details>", ("<summary>", "</summary>"))
                    }
                    None => (format!("<div class=\"callout {name}\">"), "</div>", ("<div class=\"title\">", "</div>")),
                };
                ends.push(Some(end));
                shown.push(Event::Html(open.into()));
                shown.push(Event::InlineHtml(title_tags.0.into()));
                shown.push(Event::Text(title.into()));
                // The title goes to the end of its line.
                let mut is_closed = false;
                for event in events.by_ref() {
                    match event {
                        Event::SoftBreak | Event::HardBreak if !is_closed => {
                            is_closed = true;
                            shown.push(Event::InlineHtml(title_tags.1.into()));
                            shown.push(Event::Start(Tag::Paragraph));
                        }
                        Event::End(TagEnd::Paragraph) => {
                            shown.push(if is_closed { event } else { Event::InlineHtml(title_tags.1.into()) });
                            break;
                        }
                        event => shown.push(event),
                    }
                }
            }
            Event::End(TagEnd::BlockQuote(kind)) => shown.push(match ends.pop().flatten() {
                Some(end) => Event::Html(end.into()),
                None => Event::End(TagEnd::BlockQuote(kind)),
            }),
            event => shown.push(event),
        }
    }
    shown
}

/// The kind, whether it folds and is open, and the title.
fn head(text: &str) -> Option<(&'static str, Option<bool>, String)> {
    let (kind, rest) = text.strip_prefix("[!")?.split_once(']')?;
    let kind = kind.split('|').next().unwrap_or_default().trim().to_lowercase();
    let fold = match rest.as_bytes().first() {
        Some(b'+') => Some(true),
        Some(b'-') => Some(false),
        _ => None,
    };
    let title = rest.get(usize::from(fold.is_some())..).unwrap_or_default().trim_start();
    let title = if title.is_empty() { capital(&kind) } else { title.to_owned() };
    let name = KINDS.into_iter().find(|name| *name == kind).unwrap_or("note");
    Some((name, fold, title))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
