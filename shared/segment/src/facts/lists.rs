//! List items, and the inline fields of a note.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use atlas_expressions::inline::{Field, in_brackets, task_dates, whole_line};
use atlas_vault::{Item, Note};
use bincode::{Decode, Encode};

/// Most bytes of an item's text; what is longer is cut.
const MAX_ITEM_BYTES: usize = 32 << 10;

/// A list item, without the items below it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ListItem {
    /// Its line, counted from 0.
    pub line: u32,
    /// The number of its lines.
    pub lines: u32,
    /// The line of the item that it is below.
    pub parent: Option<u32>,
    /// The line that the outermost list around it begins on.
    pub list: u32,
    /// Its marker: `-`, `*`, `+`, `1.` or `1)`.
    pub marker: String,
    /// The character between the brackets of its check box, if it has one.
    pub status: Option<char>,
    /// Its text without marker and check box, each line trimmed.
    pub text: String,
    /// Its tags, without `#`, each once.
    pub tags: Vec<String>,
    /// Its links within the vault, in order.
    pub links: Vec<ItemLink>,
    /// The id of its block, without `^`.
    pub block_id: Option<String>,
}

/// A link in an item.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ItemLink {
    /// Whether it is an embed.
    pub embed: bool,
    /// The target as written, without the part after `#`.
    pub target: String,
    /// The part after `#`.
    pub subpath: Option<String>,
    /// The text shown instead of the target.
    pub display: Option<String>,
}

impl ListItem {
    /// Its text with spaces for line breaks, in which its fields are.
    #[must_use]
    pub fn one_line(&self) -> String {
        self.text.replace('\n', " ")
    }

    /// The fields in its text, given in [`one line`](Self::one_line): those in brackets, and dates behind signs; if it is no task and has
    /// none, what the whole item says.
    #[must_use]
    pub fn fields<'t>(&self, one_line: &'t str) -> Vec<Field<'t>> {
        let mut fields = in_brackets(one_line);
        if !one_line.is_ascii() {
            fields.extend(task_dates(one_line));
        }
        if fields.is_empty() && self.status.is_none() {
            fields.extend(whole_line(one_line));
        }
        fields
    }
}

/// The list items of a note, in order.
pub(super) fn items(note: &Note, text: &str) -> Vec<ListItem> {
    note.items.iter().map(|item| self::item(note, text, item)).collect()
}

fn item(note: &Note, text: &str, item: &Item) -> ListItem {
    let own = text.get(item.range.clone()).unwrap_or_default();
    let marker = own.split(char::is_whitespace).next().unwrap_or_default();
    let mut rest = own.get(marker.len()..).unwrap_or_default();
    let task = within(&note.tasks, &item.range, |task| Some(task.status_offset)).first();
    if let Some(task) = task {
        let boxed = task.status_offset + task.status.len_utf8() + 1;
        rest = text.get(boxed..item.range.end).unwrap_or_default();
    }
    let mut lines = String::new();
    for (at, line) in rest.trim().lines().enumerate() {
        let room = MAX_ITEM_BYTES.saturating_sub(lines.len() + 1);
        if room == 0 {
            break;
        }
        if at > 0 {
            lines.push('\n');
        }
        let line = line.trim();
        lines.push_str(line.get(..line.floor_char_boundary(room)).unwrap_or_default());
    }
    let mut known = HashSet::new();
    let tags = within(&note.tags, &item.range, |tag| tag.range.as_ref().map(|range| range.start)).iter();
    let tags = tags.filter(|tag| known.insert(tag.name.as_str())).map(|tag| tag.name.clone());
    let links = within(&note.links, &item.range, |link| Some(link.range.start)).iter();
    let links = links.filter(|link| !link.is_external()).map(|link| ItemLink {
        embed: link.is_embed(),
        target: link.target.clone(),
        subpath: link.subpath.clone(),
        display: link.display.clone(),
    });
    let block_id = within(&note.block_ids, &item.range, |id| Some(id.range.start)).last();
    ListItem {
        line: item.line,
        lines: item.lines,
        parent: item.parent.and_then(|parent| Some(note.items.get(parent as usize)?.line)),
        list: item.list,
        marker: marker.to_owned(),
        status: task.map(|task| task.status),
        text: lines,
        tags: tags.collect(),
        links: links.collect(),
        block_id: block_id.map(|id| id.name.clone()),
    }
}

/// The items that begin in `range`, in the order of the text; those without a place come first.
fn within<'n, T>(all: &'n [T], range: &Range<usize>, start: impl Fn(&T) -> Option<usize>) -> &'n [T] {
    let from = all.partition_point(|one| start(one).is_none_or(|start| start < range.start));
    let to = all.partition_point(|one| start(one).is_none_or(|start| start < range.end));
    all.get(from..to).unwrap_or_default()
}

/// The fields of a note by their names as written, each with its values in order: those of its list items, then those of other lines.
/// Fields of tasks are no fields of their note.
pub(super) fn fields(note: &Note, text: &str, items: &[ListItem]) -> BTreeMap<String, Vec<String>> {
    let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |field: &Field<'_>| match fields.get_mut(field.key) {
        Some(values) => values.push(field.value.to_owned()),
        None => _ = fields.insert(field.key.to_owned(), vec![field.value.to_owned()]),
    };
    for item in items.iter().filter(|item| item.status.is_none()) {
        item.fields(&item.one_line()).iter().for_each(&mut add);
    }
    for line in &note.field_lines {
        let line = text.get(line.clone()).unwrap_or_default().trim();
        let found = in_brackets(line);
        if found.is_empty() {
            whole_line(line).iter().for_each(&mut add);
        } else {
            found.iter().for_each(&mut add);
        }
    }
    fields.remove("");
    fields
}
