//! Boards of the Kanban plugin: notes whose headings of level 2 are lanes, and whose tasks are cards. A change keeps
//! every other byte.

use std::ops::Range;

use crate::lines::{line_end, next_line, spliced};
use crate::list_item::further_lines;
use crate::note::{self, Note};
use crate::{fold, mask};

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
    /// Its text, including further lines.
    pub text: String,
    /// Whether it is checked.
    pub is_checked: bool,
    /// Its lines.
    range: Range<usize>,
    status: usize,
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
        let headings: Vec<_> = note.headings.iter().filter(|heading| heading.level <= 2).collect();
        let mut lanes = Vec::new();
        for (index, heading) in headings.iter().enumerate().filter(|(_, heading)| heading.level == 2) {
            let lane_end = headings.get(index + 1).map_or(end, |next| next.offset);
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
        let end = line_break(text);
        let lines = card.trim().lines().collect::<Vec<_>>().join(&format!("{end}\t"));
        let status = if is_checked || lane.is_complete { 'x' } else { ' ' };
        let (at, new) = lane.placed(text, &format!("- [{status}] {lines}{end}"), position);
        Ok(spliced(text, vec![(at..at, new)]))
    }

    /// `text`, whose board this is, with a card moved to another lane. It is checked when it enters a lane of done
    /// cards, and unchecked when it leaves one.
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
        let mut lines = text.get(card.range.clone()).unwrap_or_default().to_owned();
        if from.is_complete != to.is_complete {
            let at = card.status - card.range.start;
            let mark = lines.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
            lines.replace_range(at..at + mark, if to.is_complete { "x" } else { " " });
        }
        if !lines.ends_with('\n') {
            lines.push_str(line_break(text));
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
        let first = note.tasks.partition_point(|task| task.status_offset < start);
        let below = note.tasks.get(first..).unwrap_or_default().iter().take_while(|task| task.status_offset < end);
        let cards: Vec<Card> = below.filter(|task| task.indent == 0).map(|task| Card::read(text, task, end)).collect();
        let first = cards.first().map_or(end, |card| card.range.start);
        let above = text.get(start..first.max(start)).unwrap_or_default();
        let before = text.get(..heading_at).unwrap_or_default().trim_end();
        Self {
            name: name.to_owned(),
            limit,
            is_complete: above.lines().any(|line| line.trim() == "**Complete**"),
            is_archive: before.lines().next_back().is_some_and(|line| line.trim() == "***"),
            top: cards.first().map_or_else(|| empty_top(text, start, end), |card| card.range.start),
            cards,
        }
    }

    fn card(&self, text: &str) -> Result<&Card, KanbanError> {
        let wanted = fold(text.trim());
        let is_whole = |card: &&Card| fold(card.text.trim()) == wanted;
        let is_first_line = |card: &&Card| fold(card.text.lines().next().unwrap_or_default().trim()) == wanted;
        let mut found: Vec<&Card> = self.cards.iter().filter(is_whole).collect();
        if found.is_empty() {
            found = self.cards.iter().filter(is_first_line).collect();
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
        (at, if begins_line { lines.to_owned() } else { format!("{}{lines}", line_break(text)) })
    }
}

impl Card {
    fn read(text: &str, task: &note::Task, end: usize) -> Self {
        let start = text.get(..task.status_offset).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let mut lines = vec![task.text.as_str()];
        let card_end = further_lines(text, next_line(text, line_end(text, start)), end, &mut lines);
        let range = start..card_end;
        Self {
            text: lines.join("\n").trim_end().to_owned(),
            is_checked: task.status != ' ',
            range,
            status: task.status_offset,
        }
    }
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

fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOARD: &str = "---\n\nkanban-plugin: board\n\n---\n\n## Todo (3)\n\n- [ ] One #a\n\tmore\n\n\tof it\n- [ ] Two\n\n\n## Empty\n\n\n\n## Done\n\n**Complete**\n- [x] Old\n\n\n***\n\n## Archive\n\n- [x] Gone\n\n%% kanban:settings\n```\n{\"kanban-plugin\":\"board\"}\n```\n%%";

    fn board() -> Board {
        Board::read(BOARD).unwrap()
    }

    #[test]
    fn lanes_and_cards_are_read() {
        let told: Vec<_> = board()
            .lanes
            .into_iter()
            .map(|lane| (lane.name, lane.limit, lane.is_complete, lane.is_archive, lane.cards.len()))
            .collect();
        let expected = [
            ("Todo", Some(3), false, false, 2),
            ("Empty", None, false, false, 0),
            ("Done", None, true, false, 1),
            ("Archive", None, false, true, 1),
        ];
        assert_eq!(
            told,
            expected.map(|(name, limit, done, archive, cards)| (name.to_owned(), limit, done, archive, cards))
        );
        assert_eq!(board().lanes[0].cards[0].text, "One #a\nmore\n\nof it");
        assert!(Board::read("## Todo\n- [ ] a").is_none());
    }

    #[test]
    fn a_card_with_any_mark_is_checked() {
        let text = "---\nkanban-plugin: board\n---\n## Todo\n\n- [✓] Ship\n\n## Done\n\n**Complete**\n- [x] Old\n";
        let moved = Board::read(text).unwrap().with_moved(text, "Todo", "Done", "Ship", Position::Bottom).unwrap();
        assert!(moved.contains("- [x] Ship\n") && !moved.contains('✓'), "{moved}");
    }

    #[test]
    fn cards_come_and_move_as_the_plugin_writes_them() {
        let added = board().with_card(BOARD, "todo", "Three\nlines", false, Position::Bottom).unwrap();
        assert_eq!(added, BOARD.replace("- [ ] Two\n", "- [ ] Two\n- [ ] Three\n\tlines\n"));
        let added = board().with_card(BOARD, "Todo", "Zero", true, Position::Top).unwrap();
        assert_eq!(added, BOARD.replace("- [ ] One", "- [x] Zero\n- [ ] One"));
        let added = board().with_card(BOARD, "Empty", "First", false, Position::Bottom).unwrap();
        assert_eq!(added, BOARD.replace("## Empty\n\n\n\n", "## Empty\n\n- [ ] First\n\n\n"));
        let moved = board().with_moved(BOARD, "Todo", "Done", "one #A", Position::Bottom).unwrap();
        let card = "- [ ] One #a\n\tmore\n\n\tof it\n";
        let expected =
            BOARD.replace(card, "").replace("- [x] Old\n", &format!("- [x] Old\n{}", card.replace("[ ]", "[x]")));
        assert_eq!(moved, expected);
        let back = Board::read(&moved).unwrap().with_moved(&moved, "Done", "Todo", "One #a", Position::Top).unwrap();
        assert_eq!(back, BOARD);
        assert!(board().with_card(BOARD, "None", "x", false, Position::Top).is_err());
        assert!(board().with_moved(BOARD, "Todo", "Done", "Three", Position::Top).is_err());
        let bare = "---\nkanban-plugin: basic\n---\n## A\n## B";
        let board = Board::read(bare).unwrap();
        assert_eq!(board.with_card(bare, "B", "x", false, Position::Bottom).unwrap(), format!("{bare}\n- [ ] x\n"));
        assert_eq!(
            board.with_card(bare, "A", "x", false, Position::Bottom).unwrap(),
            bare.replace("## A\n", "## A\n- [ ] x\n")
        );
    }

    #[test]
    fn boards_of_very_many_lanes_are_read_in_time() {
        let lanes = format!("## L\n\n{}\n", "- [ ] a\n".repeat(9)).repeat(10_000);
        let board = Board::read(&format!("---\nkanban-plugin: board\n---\n{lanes}")).unwrap();
        assert_eq!((board.lanes.len(), board.lanes.iter().map(|lane| lane.cards.len()).sum()), (10_000, 90_000));
    }

    proptest! {
        #[test]
        fn a_card_that_came_is_there_and_the_others_stay(body in "(## [AB]\n|\n|- \\[[ x]\\] [ab]\n|\tc\n|\\*\\*Complete\\*\\*\n|text\n|%% d %%\n){0,16}", card in "[a-c]{1,3}(\n[a-c]{1,3})?", is_top in any::<bool>()) {
            let text = format!("---\nkanban-plugin: board\n---\n{body}");
            let before = Board::read(&text).unwrap();
            let position = if is_top { Position::Top } else { Position::Bottom };
            for (index, lane) in before.lanes.iter().enumerate() {
                let Ok(after) = before.with_card(&text, &lane.name, &card, false, position) else { continue };
                let board = Board::read(&after).unwrap();
                prop_assert_eq!(board.lanes.len(), before.lanes.len());
                let mut cards: Vec<&str> = board.lanes[index].cards.iter().map(|card| card.text.as_str()).collect();
                let place = if is_top { 0 } else { cards.len() - 1 };
                prop_assert!(cards.len() == lane.cards.len() + 1, "{after:?}");
                prop_assert_eq!(cards.remove(place), card.as_str());
            }
        }
    }
}
