//! Trees of lists with all kinds of indentation: an edit of an item or a task changes its own lines and no others.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::edit::change_task;
use crate::parse;
use crate::task::{Change, Settings, Status};

/// A list item and its nested items.
#[derive(Debug, Clone)]
struct Item {
    marker: &'static str,
    /// The number of columns that its list is indented more than necessary.
    deeper: usize,
    /// The white space for each part of its indent: a tab if it fits.
    tabs: Vec<bool>,
    /// A second line of its text, and whether a blank line follows the item.
    goes_on: bool,
    is_loose: bool,
    items: Vec<Item>,
}

fn any_item() -> impl Strategy<Value = Item> {
    let own = (
        select(vec!["- ", "* ", "+ ", "1. ", "1) ", "-   "]),
        0..3_usize,
        vec(any::<bool>(), 12),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
    );
    let leaf = own.prop_map(|(marker, deeper, tabs, goes_on, is_loose)| Item {
        marker,
        deeper,
        tabs,
        goes_on,
        is_loose,
        items: Vec::new(),
    });
    let outer = leaf.clone();
    leaf.prop_recursive(4, 24, 4, move |inner| {
        (outer.clone(), vec(inner, 0..4)).prop_map(|(item, items)| Item { items, ..item })
    })
}

/// A note built line by line, and the first and last line of each of its items, without the blank lines at its end.
#[derive(Default)]
struct Tree {
    quote: &'static str,
    lines: Vec<String>,
    items: Vec<Range<usize>>,
}

impl Tree {
    fn list(&mut self, items: &[Item], column: usize) {
        let column = column + items.first().map_or(0, |item| if column == 0 { 0 } else { item.deeper });
        for item in items {
            let first = self.lines.len();
            let index = self.items.len();
            self.items.push(first..first + 1);
            let line = format!("{}[ ] item ^i{index}", item.marker);
            self.line(column, &item.tabs, &line);
            let inside = column + item.marker.len();
            if item.goes_on {
                self.line(inside, &item.tabs, "goes on");
            }
            self.list(&item.items, inside);
            let blank = self.lines.iter().rev().take_while(|line| line.trim_matches(['>', ' ']).is_empty()).count();
            self.items[index].end = self.lines.len() - blank;
            if item.is_loose {
                self.lines.push(self.quote.trim_end().to_owned());
            }
        }
    }

    /// Writes a line that begins in `column`, after the quote markers.
    fn line(&mut self, column: usize, tabs: &[bool], said: &str) {
        let mut line = self.quote.to_owned();
        let quote = line.len();
        let (mut at, column) = (quote, quote + column);
        let mut tabs = tabs.iter().cycle();
        while at < column {
            let tab = 4 - at % 4;
            let is_tab = *tabs.next().unwrap() && at + tab <= column;
            line.push(if is_tab { '\t' } else { ' ' });
            at += if is_tab { tab } else { 1 };
        }
        self.lines.push(line + said);
    }

    fn text(&self, line_break: &str) -> String {
        self.lines.iter().map(|line| format!("{line}{line_break}")).collect()
    }
}

fn any_tree() -> impl Strategy<Value = Tree> {
    let quote = select(vec!["", "", "> ", "> > "]);
    (quote, vec(any_item(), 1..4)).prop_map(|(quote, items)| {
        let mut tree = Tree { quote, ..Tree::default() };
        tree.lines.push("# Head".to_owned());
        tree.lines.push(String::new());
        if !quote.is_empty() {
            tree.lines.push(format!("{quote}[!todo] What there is"));
        }
        tree.list(&items, 0);
        tree.lines.extend([String::new(), "The end.".to_owned()]);
        tree
    })
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.text("\n"), self.items)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_of_an_item_changes_exactly_its_own_lines(tree in any_tree(), line_break in select(vec!["\n", "\r\n"])) {
        let text = tree.text(line_break);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (index, own) in tree.items.iter().enumerate() {
            let (before, above) = (lines[..own.start].concat(), lines[..own.end].concat());
            let (after, new) = (lines[own.end..].concat(), format!("new{line_break}"));
            let item = lines[own.clone()].concat();
            for (op, expected) in [
                ("replace_section", format!("{before}{new}{after}")),
                ("insert_before", format!("{before}{new}{item}{after}")),
                ("insert_after", format!("{above}{new}{after}")),
                ("append_to_section", format!("{above}{new}{after}")),
            ] {
                let edit = json!({ "op": op, "target": { "block": format!("i{index}") }, "text": "new" });
                let edited = edited(&text, edit);
                // A blank line keeps it apart from an item above it.
                let spaced = expected.replacen(&new, &format!("{line_break}{new}"), 1);
                let is_spaced = op != "replace_section" && edited == spaced;
                prop_assert!(is_spaced || edited == expected, "{} of i{}: {:?}", op, index, edited);
            }
        }
    }

    #[test]
    fn every_item_with_a_box_is_a_task_and_an_edit_of_it_changes_its_own_line(tree in any_tree()) {
        let text = tree.text("\n");
        let tasks: Vec<usize> = parse(&text).tasks.iter().map(|task| task.line as usize).collect();
        let firsts: Vec<usize> = tree.items.iter().map(|item| item.start).collect();
        prop_assert_eq!(tasks, firsts.clone());
        for first in firsts {
            let mut lines = tree.lines.clone();
            lines[first] = lines[first].replace("[ ]", "[x]");
            let changed = change_task(&text, first as u32 + 1, Some(Status::Done), &Change::default(), &Settings::default()).unwrap();
            prop_assert_eq!(changed.text, Tree { lines, ..Tree::default() }.text("\n"));
        }
    }
}

#[test]
fn a_list_indented_with_tabs_is_edited_line_by_line() {
    const NOTE: &str = "- one\n\t- sub a ^aa\n\t- sub b ^bb\n- two\n";
    let on =
        |op: &str, id: &str, text: &str| edited(NOTE, json!({ "op": op, "target": { "block": id }, "text": text }));
    assert_eq!(on("replace_section", "bb", "\t- new"), NOTE.replace("\t- sub b ^bb", "\t- new"));
    assert_eq!(on("insert_before", "aa", "\t- new"), NOTE.replace("\t- sub a", "\t- new\n\t- sub a"));
    assert_eq!(on("insert_after", "aa", "\t- new"), NOTE.replace("^aa", "^aa\n\t- new"));
    // A `>` consumes a part of a tab too.
    let quote = ">\t- [ ] one\n>\t\t- [ ] sub ^aa\n>\t- [ ] two ^bb\n";
    let tasks: Vec<_> = parse(quote).tasks.into_iter().map(|task| (task.line, task.text)).collect();
    assert_eq!(tasks, [(0, "one".to_owned()), (1, "sub ^aa".to_owned()), (2, "two ^bb".to_owned())]);
    let replaced = edited(quote, json!({ "op": "replace_section", "target": { "block": "bb" }, "text": "" }));
    assert_eq!(replaced, quote.replace(">\t- [ ] two ^bb\n", ""));
}
