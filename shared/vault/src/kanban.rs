//! Boards of the Kanban plugin: notes whose headings are lanes, and whose list items are cards. A change keeps every
//! other byte.

use std::borrow::Cow;
use std::ops::Range;

use crate::lines::{fit, line_break, line_end, line_start, next_line, spliced};
use crate::list_item::further_lines;
use crate::note::{self, Note};
use crate::{block_id, fold, mask, task};

/// A board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    /// Its lanes, from left to right; the archive is the last.
    pub lanes: Vec<Lane>,
}

/// A lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Most cards that it should have, if limited.
    pub limit: Option<u32>,
    /// Whether its cards are done.
    pub is_complete: bool,
    /// Whether it is the archive.
    pub is_archive: bool,
    /// Its cards, from top to bottom.
    pub cards: Vec<Card>,
    /// The position of its first card, or where it would be.
    top: usize,
}

/// A card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its text, including further lines, without its block id.
    pub text: String,
    /// Its block id, without `^`.
    pub block_id: Option<String>,
    /// Whether it is checked.
    pub is_checked: bool,
    /// Its lines.
    range: Range<usize>,
    /// Its list marker.
    marker: Range<usize>,
    /// The mark in its check box; if it has none, the empty range at which a box goes.
    mark: Range<usize>,
}

/// The position of a card in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Above the others.
    Top,
    /// Below the others.
    Bottom,
}

/// Why a board cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KanbanError {
    /// There is no such lane, or there are several.
    #[error("the board has {count} columns called {name:?}; its columns are {lanes}")]
    Lane {
        /// The requested name.
        name: String,
        /// The number of lanes with that name.
        count: usize,
        /// The names of all lanes.
        lanes: String,
    },
    /// There is no such card, or there are several.
    #[error("the column {lane:?} has {count} cards with the text {text:?}: write the whole text of one")]
    Card {
        /// The lane searched.
        lane: String,
        /// The text searched for.
        text: String,
        /// The number of such cards.
        count: usize,
    },
}

/// The property that makes a note a board.
pub const PROPERTY: &str = "kanban-plugin";

impl Board {
    /// The board of a note; [`None`] if the note is not a board.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let note = note::parse(text);
        note.properties()?.get(PROPERTY)?;
        let start = note.frontmatter.as_ref().map_or(0, |frontmatter| frontmatter.body_start);
        // The plugin's settings are in a comment at the end.
        let masked = mask::mask(text.get(start..)?);
        let end = start + masked.trim_end().len();
        let mut lanes = Vec::new();
        for (index, heading) in note.headings.iter().enumerate() {
            let lane_end = note.headings.get(index + 1).map_or(end, |next| next.offset);
            lanes.push(Lane::read(text, &note, heading.end, lane_end, &heading.text, heading.offset));
        }
        Some(Self { lanes })
    }

    /// The lane of this name, in any case.
    ///
    /// # Errors
    /// When there is none, or several.
    pub fn lane(&self, name: &str) -> Result<&Lane, KanbanError> {
        let wanted = fold(name.trim());
        let found: Vec<&Lane> = self.lanes.iter().filter(|lane| fold(&lane.name) == wanted).collect();
        match found.as_slice() {
            [only] => Ok(only),
            _ => {
                let lanes: Vec<String> = self.lanes.iter().take(50).map(|lane| format!("{:?}", lane.name)).collect();
                Err(KanbanError::Lane { name: name.to_owned(), count: found.len(), lanes: lanes.join(", ") })
            }
        }
    }

    /// `text`, whose board this is, with a new card.
    ///
    /// # Errors
    /// When there is no such lane.
    pub fn with_card(
        &self,
        text: &str,
        lane: &str,
        card: &str,
        is_checked: bool,
        position: Position,
    ) -> Result<String, KanbanError> {
        let lane = self.lane(lane)?;
        let end = line_break(text).unwrap_or("\n");
        let status = if is_checked || lane.is_complete { 'x' } else { ' ' };
        let marker = lane.marker(text).unwrap_or("-");
        // A tab is too little below a long number.
        let indent = if width(marker) + 1 > TAB { " ".repeat(width(marker) + 1) } else { "\t".to_owned() };
        let lines = card.trim().lines().collect::<Vec<_>>().join(&format!("{end}{indent}"));
        let (at, new) = lane.placed(text, &format!("{marker} [{status}] {lines}{end}"), position);
        Ok(spliced(text, vec![(at..at, new)]))
    }

    /// `text`, whose board this is, with a card moved to another lane. It is checked when it enters a lane of done
    /// cards, and unchecked when it leaves one. A card without a check box gets one, as the plugin writes cards.
    ///
    /// # Errors
    /// When there is no such lane or card.
    pub fn with_moved(
        &self,
        text: &str,
        from: &str,
        to: &str,
        card: &str,
        position: Position,
    ) -> Result<String, KanbanError> {
        let (from, to) = (self.lane(from)?, self.lane(to)?);
        let card = from.card(card)?;
        let written = |range: Range<usize>| text.get(range).unwrap_or_default();
        let has_box = !card.mark.is_empty();
        let mark = match (from.is_complete, to.is_complete) {
            (true, true) if card.is_checked => None,
            (_, true) => Some("x"),
            (true, false) => Some(" "),
            (false, false) => None,
        };
        // Items with another bullet would be another list, of which the plugin would make no cards.
        let marker = to.marker(text).unwrap_or_else(|| written(card.marker.clone()));
        let mark = match (has_box, mark) {
            (true, None) => written(card.mark.clone()).to_owned(),
            (true, Some(mark)) => mark.to_owned(),
            (false, mark) => format!("[{}] ", mark.unwrap_or(" ")),
        };
        let before = written(card.marker.end..card.mark.start);
        let space = before.len() - before.trim_start_matches([' ', '\t']).len();
        let content = width(marker) + width(before.get(..space).unwrap_or_default()).clamp(1, TAB);
        let further = next_line(text, line_end(text, card.mark.end)).min(card.range.end);
        let (first, further) = (written(card.mark.end..further), indented(written(further..card.range.end), content));
        let mut lines = [marker, before, &mark, first, &further].concat();
        if !lines.ends_with('\n') {
            lines.push_str(line_break(text).unwrap_or("\n"));
        }
        let (at, new) = to.placed(text, &lines, position);
        Ok(spliced(text, vec![(card.range.clone(), String::new()), (at..at, new)]))
    }
}

impl Lane {
    fn read(text: &str, note: &Note, start: usize, end: usize, heading: &str, heading_at: usize) -> Self {
        let (name, limit) = match heading.strip_suffix(')').and_then(|heading| heading.rsplit_once('(')) {
            Some((name, limit)) if limit.parse::<u32>().is_ok() && !name.trim().is_empty() => {
                (name.trim(), limit.parse().ok())
            }
            _ => (heading, None),
        };
        let cards = cards(text, note, start..end);
        let first = cards.first().map_or(end, |card| card.range.start);
        let above = text.get(start..first.max(start)).unwrap_or_default();
        let before = text.get(..heading_at).unwrap_or_default().trim_end();
        Self {
            name: name.to_owned(),
            limit,
            is_complete: above.lines().any(is_complete_mark),
            is_archive: before.lines().next_back().is_some_and(|line| line.trim() == "***"),
            top: cards.first().map_or_else(|| empty_top(text, start, end), |card| card.range.start),
            cards,
        }
    }

    fn card(&self, text: &str) -> Result<&Card, KanbanError> {
        let wanted = fold(text.trim());
        let first_line = |text: &str| fold(text.lines().next().unwrap_or_default().trim());
        let is_whole = |card: &&Card| fold(card.text.trim()) == wanted;
        let is_first_line = |card: &&Card| first_line(&card.text) == wanted;
        let mut found: Vec<&Card> = self.cards.iter().filter(is_whole).collect();
        if found.is_empty() {
            found = self.cards.iter().filter(is_first_line).collect();
        }
        if found.is_empty()
            && let Some((before, id)) = wanted.rsplit_once('^')
        {
            // With its block id.
            let is_so = |card: &&Card| {
                let is_text =
                    fold(card.text.trim()) == before.trim_end() || first_line(&card.text) == before.trim_end();
                is_text && card.block_id.as_deref().map(fold).as_deref() == Some(id)
            };
            found = self.cards.iter().filter(is_so).collect();
        }
        match found.as_slice() {
            [only] => Ok(only),
            _ => Err(KanbanError::Card { lane: self.name.clone(), text: text.to_owned(), count: found.len() }),
        }
    }

    /// The position for the `lines` of a card, and the text to insert there.
    fn placed(&self, text: &str, lines: &str, position: Position) -> (usize, String) {
        let at = match (position, self.cards.last()) {
            (Position::Bottom, Some(last)) => last.range.end,
            _ => self.top,
        };
        let begins_line = at == 0 || text.get(..at).is_some_and(|before| before.ends_with('\n'));
        (at, if begins_line { lines.to_owned() } else { fit(text, &format!("\n{lines}")).into_owned() })
    }

    /// The list marker of its cards, with their indent.
    fn marker<'t>(&self, text: &'t str) -> Option<&'t str> {
        let first = self.cards.first()?;
        text.get(first.range.start..first.marker.end)
    }
}

/// The width of a tab.
const TAB: usize = 4;

/// The width of text in ASCII.
fn width(text: &str) -> usize {
    text.bytes().fold(0, |width, byte| width + if byte == b'\t' { TAB - width % TAB } else { 1 })
}

/// The `lines` of a card below its first, at least at this column; they stay in line with each other.
fn indented(lines: &str, column: usize) -> Cow<'_, str> {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let is_blank = |line: &str| line.trim().is_empty();
    let widths =
        lines.lines().filter(|line| !is_blank(line)).map(|line| width(line.get(..indent(line)).unwrap_or_default()));
    let missing = column.saturating_sub(widths.min().unwrap_or(column));
    if missing == 0 {
        return Cow::Borrowed(lines);
    }
    let more = |line: &str| {
        let (before, behind) = line.split_at(if is_blank(line) { 0 } else { indent(line) });
        let space = if is_blank(line) { String::new() } else { " ".repeat(missing) };
        [before, &space, behind].concat()
    };
    Cow::Owned(lines.split_inclusive('\n').map(more).collect())
}

/// The cards in a part of the note: its items that are in no other list, quote or footnote.
fn cards(text: &str, note: &Note, part: Range<usize>) -> Vec<Card> {
    let first = note.items.partition_point(|item| item.range.start < part.start);
    let items = note.items.get(first..).unwrap_or_default().iter();
    let items = items.take_while(|item| item.range.start < part.end).filter(|item| item.parent.is_none());
    let is_outermost = |item: &&note::Item| {
        let indent = text.get(line_start(text, item.range.start)..item.range.start).unwrap_or_default();
        indent.len() < 4 && indent.bytes().all(|byte| byte == b' ')
    };
    let mut items = items.filter(is_outermost).peekable();
    let mut cards = Vec::new();
    while let Some(item) = items.next() {
        let end = items.peek().map_or(part.end, |next| line_start(text, next.range.start));
        let first = note.tasks.partition_point(|task| task.status_offset < item.range.start);
        cards.extend(Card::read(text, item.range.start, end, note.tasks.get(first)));
    }
    cards
}

impl Card {
    /// The card whose list marker is at `item`; `task` is the first task from there on. [`None`] if it is empty.
    fn read(text: &str, item: usize, end: usize, task: Option<&note::Task>) -> Option<Self> {
        let line = text.get(item..line_end(text, item))?;
        let content = task::after_marker(line)?;
        let marker = item..item + line.len() - content.len();
        let content = content.trim_start_matches([' ', '\t']);
        let at = item + line.len() - content.len();
        let task = task.filter(|task| task.status_offset == at + 1);
        let first = task.map_or_else(|| content.trim(), |task| task.text.as_str());
        let mut block_id = None;
        let mut lines = vec![without_id(first, &mut block_id)];
        let card_end = further_lines(text, next_line(text, line_end(text, item)), end, &mut lines);
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        if let Some(last) = lines.last_mut() {
            *last = without_id(last, &mut block_id);
        }
        Some(Self {
            text: lines.join("\n").trim_end().to_owned(),
            block_id: block_id.map(str::to_owned),
            is_checked: task.is_some_and(|task| task.status != ' '),
            range: line_start(text, item)..card_end,
            marker,
            mark: task.map_or(at..at, |task| at + 1..at + 1 + task.status.len_utf8()),
        })
    }
}

/// `line` without the block id at its end, which `found` becomes.
fn without_id<'t>(line: &'t str, found: &mut Option<&'t str>) -> &'t str {
    let id = line.rfind('^').and_then(|at| Some((at, block_id::read(line, at)?)));
    let Some((at, end)) = id else { return line };
    *found = line.get(at + 1..end);
    line.get(..at).unwrap_or_default().trim_end()
}

/// The plugin's word for a lane of done cards, in the languages that it is translated to.
const COMPLETE: [&str; 8] =
    ["Complete", "Completato", "Concluído", "Fertiggestellt", "Выполнено", "完了", "完成", "완료됨"];

/// Whether a line marks a lane of done cards: the plugin's word in bold.
fn is_complete_mark(line: &str) -> bool {
    let bold = |mark: &str| line.trim().strip_prefix(mark)?.strip_suffix(mark);
    bold("**").or_else(|| bold("__")).is_some_and(|word| COMPLETE.contains(&word))
}

/// The position of the first card of an empty lane, whose heading ends at `start`: below other text in the lane, else
/// below the heading and an empty line.
fn empty_top(text: &str, start: usize, end: usize) -> usize {
    let region = text.get(start..end.max(start)).unwrap_or_default().trim_end();
    // The line that separates the archive.
    let region = region.strip_suffix("\n***").map_or(region, str::trim_end);
    let below = next_line(text, line_end(text, start + region.len()));
    let after_next = line_end(text, below);
    let is_blank = after_next < text.len() && text.get(below..after_next).unwrap_or_default().trim().is_empty();
    if region.is_empty() && is_blank { next_line(text, after_next) } else { below }
}

#[cfg(test)]
mod tests;
