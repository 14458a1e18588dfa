//! The vocabulary of tasks, and its notation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// `[ ]`, and any unknown character.
    Todo,
    /// `[x]` or `[X]`
    Done,
    /// `[-]`
    Cancelled,
    /// `[/]`
    InProgress,
    /// `[<]`
    Scheduled,
}

impl Status {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Todo => "todo",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::InProgress => "in_progress",
            Self::Scheduled => "scheduled",
        }
    }

    /// The character between the brackets.
    #[must_use]
    pub const fn mark(self) -> char {
        match self {
            Self::Todo => ' ',
            Self::Done => 'x',
            Self::Cancelled => '-',
            Self::InProgress => '/',
            Self::Scheduled => '<',
        }
    }

    /// The status for the character `mark` between the brackets.
    #[must_use]
    pub const fn of(mark: char) -> Self {
        match mark {
            'x' | 'X' => Self::Done,
            '-' => Self::Cancelled,
            '/' => Self::InProgress,
            '<' => Self::Scheduled,
            _ => Self::Todo,
        }
    }
}

/// The priority of a task; no priority is between `Medium` and `Low`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Priority {
    Highest,
    High,
    Medium,
    Low,
    Lowest,
}

impl Priority {
    const ALL: [Self; 5] = [Self::Highest, Self::High, Self::Medium, Self::Low, Self::Lowest];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Highest => "highest",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::Lowest => "lowest",
        }
    }

    pub(super) const fn symbol(self) -> char {
        match self {
            Self::Highest => '🔺',
            Self::High => '⏫',
            Self::Medium => '🔼',
            Self::Low => '🔽',
            Self::Lowest => '⏬',
        }
    }

    /// The priority of this name or symbol.
    pub(super) fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|priority| text == priority.as_str() || text.chars().eq([priority.symbol()]))
    }

    pub(super) fn of_symbol(symbol: char) -> Option<Self> {
        Self::ALL.into_iter().find(|priority| priority.symbol() == symbol)
    }
}

/// The notation of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `📅 2026-01-01`
    #[default]
    Emoji,
    /// `[due:: 2026-01-01]`
    Dataview,
}

/// A field of a task, in the order in which fields are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Field {
    Id,
    DependsOn,
    Priority,
    Recurrence,
    OnCompletion,
    Created,
    Start,
    Scheduled,
    Due,
    Cancelled,
    Done,
}

impl Field {
    /// All of them, in their order.
    pub const ALL: [Self; 11] = [
        Self::Id,
        Self::DependsOn,
        Self::Priority,
        Self::Recurrence,
        Self::OnCompletion,
        Self::Created,
        Self::Start,
        Self::Scheduled,
        Self::Due,
        Self::Cancelled,
        Self::Done,
    ];

    /// The symbol before its value. A priority has none: it is a symbol itself.
    pub(super) const fn symbol(self) -> Option<char> {
        Some(match self {
            Self::Id => '🆔',
            Self::DependsOn => '⛔',
            Self::Priority => return None,
            Self::Recurrence => '🔁',
            Self::OnCompletion => '🏁',
            Self::Created => '➕',
            Self::Start => '🛫',
            Self::Scheduled => '⏳',
            Self::Due => '📅',
            Self::Cancelled => '❌',
            Self::Done => '✅',
        })
    }

    /// Its name in Dataview's brackets.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::DependsOn => "dependsOn",
            Self::Priority => "priority",
            Self::Recurrence => "repeat",
            Self::OnCompletion => "onCompletion",
            Self::Created => "created",
            Self::Start => "start",
            Self::Scheduled => "scheduled",
            Self::Due => "due",
            Self::Cancelled => "cancelled",
            Self::Done => "completion",
        }
    }

    /// The field with this symbol, or with a variant that is read as that symbol.
    pub(super) fn of_symbol(symbol: char) -> Option<Self> {
        match symbol {
            '⌛' => Some(Self::Scheduled),
            '📆' | '🗓' => Some(Self::Due),
            _ => Self::ALL.into_iter().find(|field| field.symbol() == Some(symbol)),
        }
    }

    pub(super) fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.key() == key)
    }

    /// Whether `value` is valid for this field. A date need not exist in the calendar.
    #[must_use]
    pub fn accepts(self, value: &str) -> bool {
        match self {
            Self::Id => is_id(value),
            Self::DependsOn => value.split(',').all(|id| is_id(id.trim_matches(' '))),
            Self::Priority => Priority::read(value).is_some(),
            Self::Recurrence => !value.is_empty() && value.bytes().all(is_of_rule),
            Self::OnCompletion => !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphabetic()),
            Self::Created | Self::Start | Self::Scheduled | Self::Due | Self::Cancelled | Self::Done => is_date(value),
        }
    }
}

/// Whether `byte` can be part of a value that follows a symbol.
pub(super) const fn is_of_value(byte: u8) -> bool {
    is_of_rule(byte) || matches!(byte, b'-' | b'_')
}

const fn is_of_rule(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b',' | b' ' | b'!')
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

pub(super) fn is_date(text: &str) -> bool {
    let shape = |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(shape)
}
