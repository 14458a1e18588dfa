//! Marks within text: comments, highlights and tags.

use pulldown_cmark::{CowStr, Event};

use super::escaped;
use crate::links;

/// The text without Obsidian's comments (`%%…%%`) outside of fenced code. Lines stay lines.
pub(super) fn without_comments(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let (mut fence, mut in_comment) = (None, false);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) if !in_comment => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                shown.push_str(line);
                continue;
            }
            _ => {}
        }
        if fence.is_some() || !(in_comment || line.contains("%%")) {
            shown.push_str(line);
            continue;
        }
        for (place, piece) in line.split("%%").enumerate() {
            if place > 0 {
                in_comment = !in_comment;
            }
            if !in_comment {
                shown.push_str(piece);
            }
        }
        if in_comment {
            shown.push('\n');
        }
    }
    shown
}

/// Most quotes and lists that one line begins.
const MAX_MARKERS: usize = 40;

/// The text, in which no line begins more quotes and lists than a person writes: reading those takes very long.
pub(super) fn shallow(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let is_marker =
            |byte: &u8| matches!(byte, b'>' | b'-' | b'*' | b'+' | b'.' | b')' | b' ' | b'\t' | b'0'..=b'9');
        let markers =
            line.bytes().take_while(is_marker).filter(|byte| matches!(byte, b'>' | b'-' | b'*' | b'+' | b'.' | b')'));
        let is_rule = !line.contains('>') && !line.trim_end().contains(' ');
        if is_rule || markers.count() <= MAX_MARKERS {
            shown.push_str(line);
            continue;
        }
        // The first marker that is escaped makes a text of the rest.
        let mut left = MAX_MARKERS;
        let place = line.bytes().position(|byte| {
            left -= usize::from(matches!(byte, b'>' | b'-' | b'*' | b'+' | b'.' | b')'));
            left == 0
        });
        let (begin, rest) = line.split_at(place.unwrap_or(0));
        shown.push_str(begin);
        shown.push('\\');
        shown.push_str(rest);
    }
    shown
}

/// The text of an item without a status of its own, such as `[/]`, which is added to the events.
pub(super) fn status<'a>(text: CowStr<'a>, events: &mut Vec<Event<'a>>) -> CowStr<'a> {
    let mut letters = text.chars();
    let (Some('['), Some(letter), Some(']'), Some(' ')) =
        (letters.next(), letters.next(), letters.next(), letters.next())
    else {
        return text;
    };
    let rest = letters.as_str().to_owned();
    let shown = escaped(&letter.to_string());
    events.push(Event::InlineHtml(format!("<span class=\"box\" title=\"status {shown}\">[{shown}]</span> ").into()));
    rest.into()
}

/// Adds `text` to the events, with its highlights and tags.
pub(super) fn marks<'a>(text: CowStr<'a>, events: &mut Vec<Event<'a>>) {
    if !text.contains("==") && !text.contains('#') {
        events.push(Event::Text(text));
        return;
    }
    let pieces: Vec<&str> = text.split("==").collect();
    // A last mark without another stays as it is.
    let last_open = if pieces.len().is_multiple_of(2) { pieces.len().saturating_sub(1) } else { pieces.len() };
    for (place, piece) in pieces.iter().enumerate() {
        if place >= last_open {
            events.push(Event::Text("==".into()));
        } else if place > 0 {
            events.push(Event::InlineHtml(if place % 2 == 1 { "<mark>".into() } else { "</mark>".into() }));
        }
        tags(piece, events);
    }
}

fn tags(text: &str, events: &mut Vec<Event<'_>>) {
    let is_tag = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '/');
    let mut rest = text;
    let mut before = ' ';
    while let Some((start, end)) = rest.find('#').map(|start| {
        let name = rest.get(start + 1..).unwrap_or_default();
        (start, start + 1 + name.find(|letter| !is_tag(letter)).unwrap_or(name.len()))
    }) {
        let (plain, name) = (rest.get(..start).unwrap_or_default(), rest.get(start + 1..end).unwrap_or_default());
        before = plain.chars().next_back().unwrap_or(before);
        events.push(Event::Text(plain.to_owned().into()));
        if before.is_whitespace() && name.chars().any(|letter| !letter.is_ascii_digit()) {
            let address = links::page("search", &[("q", &format!("tag:{name}"))]);
            events
                .push(Event::InlineHtml(format!("<a class=\"tag\" href=\"{address}\">#{}</a>", escaped(name)).into()));
        } else {
            events.push(Event::Text(format!("#{name}").into()));
        }
        before = name.chars().next_back().unwrap_or('#');
        rest = rest.get(end..).unwrap_or_default();
    }
    events.push(Event::Text(rest.to_owned().into()));
}
