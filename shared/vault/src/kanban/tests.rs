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
fn every_item_below_a_heading_is_a_card() {
    let text = "---\nkanban-plugin: board\n---\n# Plan\n\n## Todo\n\n- buy milk\n- [ ] task\n  - [ ] part\n> - quoted\n\n\n### Done\n\n**Complete**\n- shipped\n";
    let board = Board::read(text).unwrap();
    let cards: Vec<Vec<(&str, bool)>> = board
        .lanes
        .iter()
        .map(|lane| lane.cards.iter().map(|card| (card.text.as_str(), card.is_checked)).collect())
        .collect();
    let expected = [vec![], vec![("buy milk", false), ("task\n- [ ] part", false)], vec![("shipped", false)]];
    assert_eq!(cards, expected);
    let moved = board.with_moved(text, "Todo", "Done", "buy milk", Position::Bottom).unwrap();
    assert_eq!(moved, text.replace("- buy milk\n", "").replace("- shipped\n", "- shipped\n- [x] buy milk\n"));
    let moved = board.with_moved(text, "Done", "Todo", "Shipped", Position::Top).unwrap();
    assert_eq!(moved, text.replace("- shipped\n", "").replace("- buy", "- [ ] shipped\n- buy"));
}

#[test]
fn a_card_has_the_bullet_of_its_lane() {
    let text = "---\nkanban-plugin: board\n---\n## A\n\n- a\n- [ ] b\n\n## B\n\n* [ ] c\n\n## C\n\n1. [ ] d\n";
    let board = Board::read(text).unwrap();
    let moved = board.with_moved(text, "A", "B", "a", Position::Bottom).unwrap();
    assert_eq!(moved, text.replace("- a\n", "").replace("* [ ] c\n", "* [ ] c\n* [ ] a\n"));
    let added = board.with_card(text, "C", "e", false, Position::Bottom).unwrap();
    assert_eq!(added, format!("{text}1. [ ] e\n"));
    let moved = board.with_moved(text, "A", "C", "b", Position::Bottom).unwrap();
    assert_eq!(moved, format!("{}1. [ ] b\n", text.replace("- [ ] b\n", "")));
    let moved = board.with_moved(text, "C", "B", "d", Position::Top).unwrap();
    assert_eq!(moved, text.replace("1. [ ] d\n", "").replace("* [ ]", "* [ ] d\n* [ ]"));
}

#[test]
fn further_lines_of_a_card_stay_within_it_below_another_bullet() {
    let board =
        |card: &str, bullet: &str| format!("---\nkanban-plugin: board\n---\n## A\n\n{card}\n## B\n\n{bullet} [ ] b\n");
    for (card, bullet, expected) in [
        ("- [ ] a\n  - c\n\n    - d\n", "1.", "1. [ ] a\n   - c\n\n     - d\n"),
        ("- [ ] a\n\tmore\n", "1.", "1. [ ] a\n\tmore\n"),
        ("- [ ] a\n\tmore\n", "100.", "100. [ ] a\n\t more\n"),
        ("- a\n  more\n", "1.", "1. [ ] a\n   more\n"),
        ("1. [ ] a\n   more\n", "*", "* [ ] a\n   more\n"),
        ("- [ ] a\n  more\n", "  *", "  * [ ] a\n    more\n"),
    ] {
        for text in [board(card, bullet), board(card, bullet).replace('\n', "\r\n")] {
            let moved = Board::read(&text).unwrap().with_moved(&text, "A", "B", "a", Position::Bottom).unwrap();
            assert!(moved.replace("\r\n", "\n").ends_with(&format!("{bullet} [ ] b\n{expected}")), "{moved}");
            assert_eq!(Board::read(&moved).unwrap().lanes[1].cards.len(), 2, "{moved}");
        }
    }
    let text = board("", "100.");
    let added = Board::read(&text).unwrap().with_card(&text, "B", "a\nmore", false, Position::Bottom).unwrap();
    assert!(added.ends_with("100. [ ] a\n     more\n"), "{added}");
}

#[test]
fn a_block_id_is_no_part_of_the_title_and_stays() {
    let text = "---\nkanban-plugin: board\n---\n## A\n\n- [ ] a ^id1\n- [ ] b\n\tmore ^id2\n- c ^Id3\n\n## B\n\n";
    let board = Board::read(text).unwrap();
    let cards: Vec<_> =
        board.lanes[0].cards.iter().map(|card| (card.text.as_str(), card.block_id.as_deref())).collect();
    assert_eq!(cards, [("a", Some("id1")), ("b\nmore", Some("id2")), ("c", Some("Id3"))]);
    for (title, line) in [("a", "- [ ] a ^id1\n"), ("a ^id1", "- [ ] a ^id1\n"), ("b ^ID2", "- [ ] b\n\tmore ^id2\n")] {
        let moved = board.with_moved(text, "A", "B", title, Position::Bottom).unwrap();
        assert_eq!(moved, format!("{}{line}", text.replace(line, "")), "{title}");
    }
    assert!(board.with_moved(text, "A", "B", "a ^id2", Position::Bottom).is_err());
}

#[test]
fn a_lane_of_done_cards_is_marked_in_the_language_of_its_person() {
    for (mark, is_complete) in [
        ("**Fertiggestellt**", true),
        ("**完了**", true),
        ("__Complete__", true),
        ("**Done**", false),
        ("Complete", false),
    ] {
        let text = format!("---\nkanban-plugin: board\n---\n## A\n\n- [ ] a\n\n## B\n\n{mark}\n- [ ] b\n");
        let board = Board::read(&text).unwrap();
        let moved = board.with_moved(&text, "A", "B", "a", Position::Top).unwrap();
        let line = if is_complete { "- [x] a\n" } else { "- [ ] a\n" };
        assert!(moved.contains(&format!("{mark}\n{line}- [ ] b\n")), "{moved}");
    }
}

#[test]
fn cards_have_the_line_breaks_of_the_board() {
    let text = BOARD.replace('\n', "\r\n");
    let board = Board::read(&text).unwrap();
    for changed in [
        board.with_card(&text, "Todo", "Three\nlines", false, Position::Bottom),
        board.with_card(&text, "Empty", "Three\r\nlines", false, Position::Bottom),
        board.with_moved(&text, "Archive", "Done", "Gone", Position::Bottom),
    ] {
        let changed = changed.unwrap();
        assert_eq!(changed.matches('\n').count(), changed.matches("\r\n").count(), "{changed}");
    }
}

#[test]
fn boards_of_very_many_lanes_are_read_in_time() {
    let lanes = format!("## L\n\n{}\n", "- [ ] a\n".repeat(9)).repeat(10_000);
    let board = Board::read(&format!("---\nkanban-plugin: board\n---\n{lanes}")).unwrap();
    assert_eq!((board.lanes.len(), board.lanes.iter().map(|lane| lane.cards.len()).sum()), (10_000, 90_000));
}

proptest! {
    #[test]
    fn a_card_that_came_is_there_and_the_others_stay(body in "(## [AB]\n|\n|- \\[[ x]\\] [ab]\n|- [ab]\n|\tc\n|\\*\\*Complete\\*\\*\n|text\n|%% d %%\n){0,16}", card in "[a-c]{1,3}(\n[a-c]{1,3})?", is_top in any::<bool>()) {
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
