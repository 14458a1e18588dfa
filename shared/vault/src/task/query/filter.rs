//! Single filters: `due before tomorrow`.

use std::cell::OnceCell;

use jiff::civil::Date;

use super::dates::{self, Days};
use super::text::Condition;
use super::{Item, StatusType};
use crate::fold::fold;
use crate::task::symbols::Priority;

/// A condition on a task.
#[derive(Debug)]
pub(super) enum Filter {
    Done(bool),
    Type(StatusType, bool),
    Text(TextField, Condition, bool),
    Day(DateField, Relation, Days),
    HasDay(DateField, bool),
    NoDay(DateField),
    Priority(Compared, u8),
    Has(Part, bool),
    OnTop,
}

/// A part that a task may have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Recurrence,
    Tags,
    Id,
    DependsOn,
}

/// A text of a task or of its note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextField {
    StatusName,
    Path,
    Folder,
    Root,
    FileName,
    Heading,
    Description,
    Tags,
    Id,
    Recurrence,
}

const TEXT_FIELDS: [(&str, TextField); 11] = [
    ("status.name", TextField::StatusName),
    ("path", TextField::Path),
    ("folder", TextField::Folder),
    ("root", TextField::Root),
    ("filename", TextField::FileName),
    ("heading", TextField::Heading),
    ("description", TextField::Description),
    ("tags", TextField::Tags),
    ("tag", TextField::Tags),
    ("id", TextField::Id),
    ("recurrence", TextField::Recurrence),
];

/// A date of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateField {
    Due,
    Scheduled,
    Start,
    Created,
    Done,
    Cancelled,
    /// The earliest of start, scheduled and due.
    Happens,
}

impl DateField {
    pub(super) const ALL: [Self; 7] =
        [Self::Due, Self::Scheduled, Self::Start, Self::Created, Self::Done, Self::Cancelled, Self::Happens];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Scheduled => "scheduled",
            Self::Start => "start",
            Self::Created => "created",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Happens => "happens",
        }
    }

    /// The date of a task as written.
    pub(super) fn of<'a>(self, item: &Item<'a>) -> impl Iterator<Item = &'a str> {
        let fields = item.fields;
        let days = match self {
            Self::Due => [fields.due, None, None],
            Self::Scheduled => [fields.scheduled, None, None],
            Self::Start => [fields.start, None, None],
            Self::Created => [fields.created, None, None],
            Self::Done => [fields.done, None, None],
            Self::Cancelled => [fields.cancelled, None, None],
            Self::Happens => [fields.start, fields.scheduled, fields.due],
        };
        days.into_iter().flatten()
    }
}

/// How a date relates to other dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Before,
    UpTo,
    Within,
    From,
    After,
}

const RELATIONS: [(&str, Relation); 8] = [
    ("on or before", Relation::UpTo),
    ("in or before", Relation::UpTo),
    ("on or after", Relation::From),
    ("in or after", Relation::From),
    ("before", Relation::Before),
    ("after", Relation::After),
    ("on", Relation::Within),
    ("in", Relation::Within),
];

impl Relation {
    fn holds(self, day: Date, days: &Days) -> bool {
        match self {
            Self::Before => day < *days.start(),
            Self::UpTo => day <= *days.end(),
            Self::Within => days.contains(&day),
            Self::From => day >= *days.start(),
            Self::After => day > *days.end(),
        }
    }
}

/// How a priority is compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compared {
    Is,
    Not,
    Above,
    Below,
}

/// Priorities from the highest to the lowest.
const PRIORITIES: [&str; 6] = ["highest", "high", "medium", "none", "low", "lowest"];

/// The rank of a priority in [`PRIORITIES`].
pub(super) const fn rank(priority: Option<Priority>) -> u8 {
    match priority {
        Some(Priority::Highest) => 0,
        Some(Priority::High) => 1,
        Some(Priority::Medium) => 2,
        None => 3,
        Some(Priority::Low) => 4,
        Some(Priority::Lowest) => 5,
    }
}

/// The text after the given words at the beginning of `text`. Only whole words match; the white space after them is
/// skipped.
pub(super) fn word<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(words)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim_start())
}

impl Filter {
    /// Parses a filter.
    pub(super) fn parse(text: &str, today: Date) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let simple = match lower.as_str() {
            "done" => Some(Self::Done(true)),
            "not done" => Some(Self::Done(false)),
            "is recurring" => Some(Self::Has(Part::Recurrence, true)),
            "is not recurring" => Some(Self::Has(Part::Recurrence, false)),
            "has tags" | "has tag" => Some(Self::Has(Part::Tags, true)),
            "no tags" | "no tag" => Some(Self::Has(Part::Tags, false)),
            "has id" => Some(Self::Has(Part::Id, true)),
            "no id" => Some(Self::Has(Part::Id, false)),
            "has depends on" => Some(Self::Has(Part::DependsOn, true)),
            "no depends on" => Some(Self::Has(Part::DependsOn, false)),
            "exclude sub-items" => Some(Self::OnTop),
            _ => None,
        };
        if let Some(simple) = simple {
            return Ok(simple);
        }
        for known in ["filter by function", "is blocking", "is not blocking", "is blocked", "is not blocked", "urgency"]
        {
            if word(&lower, known).is_some() {
                return Err(format!("{known} is not supported"));
            }
        }
        let found = status_type(&lower).or_else(|| priority(&lower)).or_else(|| date(&lower, today));
        found.or_else(|| self::text(text, &lower)).unwrap_or_else(|| {
            Err(format!(
                "{text:?} is not a filter: write not done, due before tomorrow, path includes a, priority is high, …"
            ))
        })
    }

    pub(super) fn needs_headings(&self) -> bool {
        matches!(self, Self::Text(TextField::Heading, ..))
    }

    pub(super) fn matches(&self, item: &Item<'_>) -> bool {
        match self {
            Self::Done(wanted) => item.status_type().is_done() == *wanted,
            Self::Type(wanted, is) => (item.status_type() == *wanted) == *is,
            Self::Text(field, Condition::Includes(part), is) => {
                item.folded.of(*field, item).iter().any(|text| text.contains(part.as_str())) == *is
            }
            Self::Text(field, Condition::Matches(regex), is) => field.any(item, |text| regex.is_match(text)) == *is,
            Self::Day(field, relation, days) => {
                let mut written = field.of(item).peekable();
                // A task without a start date can be started at any time.
                if written.peek().is_none() {
                    return *field == DateField::Start;
                }
                written.any(|day| dates::day(day).is_some_and(|day| relation.holds(day, days)))
            }
            Self::HasDay(field, wanted) => field.of(item).next().is_some() == *wanted,
            Self::NoDay(field) => field.of(item).any(|day| dates::day(day).is_none()),
            Self::Priority(compared, than) => {
                let of = rank(item.fields.priority);
                match compared {
                    Compared::Is => of == *than,
                    Compared::Not => of != *than,
                    Compared::Above => of < *than,
                    Compared::Below => of > *than,
                }
            }
            Self::Has(part, wanted) => {
                let has = match part {
                    Part::Recurrence => item.fields.recurrence.is_some(),
                    Part::Tags => !item.fields.tags.is_empty(),
                    Part::Id => item.fields.id.is_some(),
                    Part::DependsOn => !item.fields.depends_on.is_empty(),
                };
                has == *wanted
            }
            Self::OnTop => item.indent == 0,
        }
    }
}

/// The folded texts of a task. Each is folded when it is first used.
#[derive(Debug, Default)]
pub struct Folded([OnceCell<Vec<String>>; TextField::COUNT]);

impl Folded {
    /// The text, or several texts. Tags have their `#`.
    pub(super) fn of(&self, field: TextField, item: &Item<'_>) -> &[String] {
        let texts = || {
            let mut texts = Vec::new();
            field.any(item, |text| {
                texts.push(fold(text));
                false
            });
            texts
        };
        self.0.get(field as usize).map(|known| known.get_or_init(texts).as_slice()).unwrap_or_default()
    }
}

impl TextField {
    const COUNT: usize = Self::Recurrence as usize + 1;

    /// Whether the condition holds for the text, or for one of several.
    fn any(self, item: &Item<'_>, mut holds: impl FnMut(&str) -> bool) -> bool {
        match self {
            Self::StatusName => holds(item.status.name),
            Self::Path => holds(item.path),
            Self::Folder => holds(item.folder()),
            Self::Root => holds(item.root()),
            Self::FileName => holds(item.file_name()),
            Self::Heading => holds(item.heading.unwrap_or_default()),
            Self::Description => holds(&item.fields.description),
            Self::Tags => item.fields.tags.iter().any(|tag| holds(&format!("#{tag}"))),
            Self::Id => holds(item.fields.id.unwrap_or_default()),
            Self::Recurrence => holds(item.fields.recurrence.unwrap_or_default()),
        }
    }
}

fn status_type(lower: &str) -> Option<Result<Filter, String>> {
    let rest = word(lower, "status.type")?;
    let (is, name) = match word(rest, "is not") {
        Some(name) => (false, Some(name)),
        None => (true, word(rest, "is")),
    };
    let found = name.and_then(StatusType::named).map(|wanted| Filter::Type(wanted, is));
    Some(
        found.ok_or_else(|| "write status.type is TODO, or IN_PROGRESS, ON_HOLD, DONE, CANCELLED, NON_TASK".to_owned()),
    )
}

fn priority(lower: &str) -> Option<Result<Filter, String>> {
    let rest = word(lower, "priority")?;
    let rest = word(rest, "is").unwrap_or(rest);
    let comparisons = [("above", Compared::Above), ("below", Compared::Below), ("not", Compared::Not)];
    let compared = comparisons.into_iter().find_map(|(name, compared)| Some((compared, word(rest, name)?)));
    let (compared, name) = compared.unwrap_or((Compared::Is, rest));
    let found = (0..).zip(PRIORITIES).find(|(_, known)| *known == name);
    let found = found.map(|(than, _)| Filter::Priority(compared, than));
    Some(found.ok_or_else(|| {
        "write priority is high, or above, below, not before one of highest, high, medium, none, low, lowest".to_owned()
    }))
}

fn date(lower: &str, today: Date) -> Option<Result<Filter, String>> {
    for field in DateField::ALL {
        let name = field.as_str();
        let of_day = |before: &str| word(lower, before).and_then(|rest| word(rest, name)) == Some("date");
        if of_day("has") || of_day("no") {
            return Some(Ok(Filter::HasDay(field, of_day("has"))));
        }
        let starts = word(lower, "starts").filter(|_| field == DateField::Start);
        let Some(rest) = word(lower, name).or(starts) else { continue };
        if rest == "date is invalid" {
            return Some(Ok(Filter::NoDay(field)));
        }
        // `in` may be part of the date: `in 3 days`.
        if let Some(days) = dates::read(rest, today) {
            return Some(Ok(Filter::Day(field, Relation::Within, days)));
        }
        let relation = RELATIONS.into_iter().find_map(|(name, relation)| Some((relation, word(rest, name)?)));
        let (relation, text) = relation.unwrap_or((Relation::Within, rest));
        let days = dates::read(text, today);
        return Some(days.map(|days| Filter::Day(field, relation, days)).ok_or_else(|| {
            format!("{text:?} is not a known day: write 2026-03-01, tomorrow, 3 days ago, next monday, this week, 2026-W10, or two days YYYY-MM-DD")
        }));
    }
    None
}

fn text(text: &str, lower: &str) -> Option<Result<Filter, String>> {
    let (field, rest) = TEXT_FIELDS.into_iter().find_map(|(name, field)| Some((field, word(lower, name)?)))?;
    let ways = [
        ("includes", false, true),
        ("include", false, true),
        ("does not include", false, false),
        ("do not include", false, false),
        ("regex matches", true, true),
        ("regex does not match", true, false),
    ];
    let way = ways.into_iter().find_map(|(name, is_regex, is)| Some((word(rest, name)?, is_regex, is)));
    let Some((rest, is_regex, is)) = way else {
        return Some(Err("write includes, does not include, regex matches or regex does not match".to_owned()));
    };
    // Taken from the original text, since case matters.
    let wanted = text.get(text.len().saturating_sub(rest.len())..).unwrap_or_default();
    let condition = if is_regex { Condition::matches(wanted) } else { Ok(Condition::includes(wanted)) };
    Some(condition.map(|condition| Filter::Text(field, condition, is)))
}
