//! How tasks are sorted and grouped.

use std::cmp::{Ordering, Reverse};

use super::filter::{DateField, TextField, rank, word};
use super::{GroupKey, Item, dates};

/// Most groups that one task can be in.
pub(super) const MAX_GROUPS_OF_ONE: usize = 100;

/// A property to sort or group tasks by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Property {
    Status,
    StatusName,
    StatusType,
    Date(DateField),
    Description,
    Priority,
    Recurring,
    Recurrence,
    Tag(usize),
    Path,
    Folder,
    Root,
    FileName,
    Heading,
    Id,
}

impl Property {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "status" => Self::Status,
            "status.name" => Self::StatusName,
            "status.type" => Self::StatusType,
            "description" => Self::Description,
            "priority" => Self::Priority,
            "recurring" => Self::Recurring,
            "recurrence" => Self::Recurrence,
            "tag" | "tags" => Self::Tag(1),
            "path" => Self::Path,
            "folder" => Self::Folder,
            "root" => Self::Root,
            "filename" => Self::FileName,
            "heading" => Self::Heading,
            "id" => Self::Id,
            _ => Self::Date(DateField::ALL.into_iter().find(|field| field.as_str() == name)?),
        })
    }
}

/// A sort key.
#[derive(Debug)]
pub(super) struct Sort {
    by: Property,
    is_reversed: bool,
}

/// A group key.
#[derive(Debug)]
pub(super) struct Group {
    by: Property,
    is_reversed: bool,
}

/// `words` without `reverse`, and whether `reverse` occurred.
fn reversed(words: &str) -> (String, bool) {
    let words = words.trim().to_ascii_lowercase();
    let reversed = words.strip_suffix("reverse").filter(|rest| rest.ends_with(char::is_whitespace));
    let is_reversed = reversed.is_some();
    (reversed.unwrap_or(&words).trim_end().to_owned(), is_reversed)
}

impl Sort {
    /// `due reverse`, `tag 2`.
    pub(super) fn parse(words: &str) -> Result<Self, String> {
        let (mut name, mut is_reversed) = reversed(words);
        let mut by = Property::named(&name);
        // `tag reverse 2` is accepted too.
        if let Some((rest, place)) = name.clone().rsplit_once(char::is_whitespace)
            && let Ok(place @ 1..=100) = place.parse::<usize>()
        {
            let (rest, is_more) = reversed(rest);
            (name, is_reversed) = (rest, is_reversed || is_more);
            by = word(&name, "tag").or_else(|| word(&name, "tags")).map(|_| Property::Tag(place));
        }
        let sorted = by.filter(|by| !matches!(by, Property::Folder | Property::Root | Property::Recurrence));
        sorted.map(|by| Self { by, is_reversed }).ok_or_else(|| {
            format!("cannot sort by {words:?}: write due, scheduled, start, created, done, cancelled, happens, status, status.name, status.type, priority, description, recurring, tag, path, filename, heading or id")
        })
    }

    pub(super) fn compare(&self, one: &Item<'_>, other: &Item<'_>) -> Ordering {
        let folded = |field| one.folded.of(field, one).cmp(other.folded.of(field, other));
        let order = match self.by {
            Property::Status => {
                let key = |item: &Item<'_>| item.status_type().is_done();
                key(one).cmp(&key(other))
            }
            Property::StatusName => one.status.name.cmp(other.status.name),
            Property::StatusType => one.status_type().cmp(&other.status_type()),
            Property::Date(field) => day(one, field).cmp(&day(other, field)),
            Property::Description => folded(TextField::Description),
            Property::Priority => rank(one.fields.priority).cmp(&rank(other.fields.priority)),
            Property::Recurring | Property::Recurrence => {
                one.fields.recurrence.is_none().cmp(&other.fields.recurrence.is_none())
            }
            Property::Tag(place) => {
                let [of_one, of_other] = [one, other].map(|item| item.folded.of(TextField::Tags, item).get(place - 1));
                // Tasks without the property come last.
                of_other.map(Reverse).cmp(&of_one.map(Reverse))
            }
            Property::Path | Property::Folder | Property::Root => one.path.cmp(other.path),
            Property::FileName => folded(TextField::FileName),
            Property::Heading => one.heading.cmp(&other.heading),
            Property::Id => one.fields.id.cmp(&other.fields.id),
        };
        if self.is_reversed { order.reverse() } else { order }
    }

    pub(super) fn needs_headings(&self) -> bool {
        self.by == Property::Heading
    }
}

/// The sort key of a date: dates that do not exist come first, missing dates last.
fn day<'a>(item: &Item<'a>, field: DateField) -> (u8, &'a str) {
    // Dates of this form sort in the order of their texts.
    match field.of(item).min() {
        None => (2, ""),
        Some(day) if dates::day(day).is_none() => (0, day),
        Some(day) => (1, day),
    }
}

impl Group {
    /// `due`, `folder reverse`.
    pub(super) fn parse(words: &str) -> Result<Self, String> {
        let (name, is_reversed) = reversed(words);
        let by = Property::named(&name).filter(|by| *by != Property::Description);
        by.map(|by| Self { by, is_reversed }).ok_or_else(|| {
            format!("cannot group by {words:?}: write due, scheduled, start, created, done, cancelled, happens, status, status.name, status.type, priority, recurring, recurrence, tags, path, folder, root, filename, heading or id")
        })
    }

    /// The groups that a task is in.
    pub(super) fn keys(&self, item: &Item<'_>) -> Vec<GroupKey> {
        let key = |rank: u8, name: &str| vec![GroupKey { rank, name: name.to_owned() }];
        let without_end = |name: &str| key(0, name.strip_suffix(".md").unwrap_or(name));
        match self.by {
            Property::Status => key(0, if item.status_type().is_done() { "Done" } else { "Todo" }),
            Property::StatusName => key(0, item.status.name),
            Property::StatusType => key(item.status_type() as u8, item.status_type().as_str()),
            Property::Date(field) => match day(item, field) {
                (2, _) => key(2, &format!("No {} date", field.as_str())),
                (rank, written) => match dates::day(written) {
                    Some(day) => key(rank, &day.strftime("%F %A").to_string()),
                    None => key(rank, &format!("Invalid {} date", field.as_str())),
                },
            },
            Property::Priority => {
                let names = ["Highest", "High", "Medium", "Normal", "Low", "Lowest"];
                let place = rank(item.fields.priority);
                key(place, &format!("{} priority", names.get(usize::from(place)).unwrap_or(&"Normal")))
            }
            Property::Recurring => key(0, if item.fields.recurrence.is_some() { "Recurring" } else { "Not Recurring" }),
            Property::Recurrence => key(0, item.fields.recurrence.unwrap_or("None")),
            Property::Tag(_) => {
                let tags = item.fields.tags.iter().take(MAX_GROUPS_OF_ONE);
                let mut keys: Vec<GroupKey> = tags.map(|tag| GroupKey { rank: 0, name: format!("#{tag}") }).collect();
                keys.sort_unstable();
                keys.dedup();
                if keys.is_empty() { key(0, "(No tags)") } else { keys }
            }
            Property::Path => without_end(item.path),
            Property::Folder => key(0, item.folder()),
            Property::Root => key(0, item.root()),
            Property::FileName => without_end(item.file_name()),
            Property::Heading => key(0, item.heading.unwrap_or("(No heading)")),
            Property::Id => key(0, item.fields.id.unwrap_or_default()),
            // These properties cannot be grouped by.
            Property::Description => Vec::new(),
        }
    }

    pub(super) fn directed(&self, order: Ordering) -> Ordering {
        if self.is_reversed { order.reverse() } else { order }
    }

    pub(super) fn needs_headings(&self) -> bool {
        self.by == Property::Heading
    }
}
