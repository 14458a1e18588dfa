//! The languages of date formats.

use std::sync::{LazyLock, OnceLock};

use jiff::civil::{Date, Weekday};
use regex::Regex;
use serde::Deserialize;

/// One language a line, English first.
const LINES: &str = include_str!("locales.jsonl");

static ENGLISH: LazyLock<Table> = LazyLock::new(|| LINES.lines().next().map(Table::parse).unwrap_or_default());
static OTHERS: LazyLock<Vec<Table>> = LazyLock::new(|| LINES.lines().skip(1).map(Table::parse).collect());

/// Names that other programs have for languages, each with that of Moment.js.
const ALIASES: &[(&str, &str)] = &[
    ("cz", "cs"),
    ("fil", "tl-ph"),
    ("hy", "hy-am"),
    ("kh", "km"),
    ("no", "nb"),
    ("oc", "oc-lnc"),
    ("pa", "pa-in"),
    ("tl", "tl-ph"),
    ("ug", "ug-cn"),
    ("zh", "zh-cn"),
    ("zh-hans", "zh-cn"),
    ("zh-hant", "zh-tw"),
];

/// A language of dates, with its weeks.
#[derive(Clone, Copy, Debug)]
pub struct Locale {
    pub(super) table: &'static Table,
    /// The first day of its weeks, from Sunday, which is 0.
    first_day: i64,
}

/// A language, as a line has it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    id: String,
    /// The first day of a week, and 7 more than that less the day of January that the first week of a year contains.
    week: (i64, i64),
    pub(super) months: Names,
    pub(super) months_short: Names,
    pub(super) days: Names,
    pub(super) days_short: Names,
    pub(super) days_min: Names,
    /// In the order of the tokens.
    pub(super) formats: [String; 10],
    ordinals: Vec<Ordinals>,
    /// The minutes of the day at which they change, and the words from then on: upper case, lower case.
    pub(super) meridiems: Vec<(i64, String, String)>,
    /// Replacements of single characters in a written date: digits and commas.
    pub(super) replaced: Vec<(char, char)>,
    /// The newest first.
    pub(super) eras: Vec<Era>,
}

/// Names of months or of days of the week: the usual ones, and those for formats that a pattern matches, such as the
/// genitive behind a day.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Names(Vec<String>, Vec<(Pattern, Vec<String>)>);

/// Tokens, forms of their ordinal numbers with `{}` for the number, and the form of each number: a letter from `a`.
#[derive(Debug, Default, Deserialize)]
struct Ordinals(Vec<String>, Vec<String>, String);

/// Its first day, the number of its first year, and its names: short, long, narrow.
#[derive(Debug, Deserialize)]
pub(super) struct Era(pub(super) Date, pub(super) i16, pub(super) String, pub(super) String, pub(super) String);

/// A regular expression over a format.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "String")]
struct Pattern {
    written: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Locale {
    /// The language of this name: Moment.js's (`pt-br`), or one in BCP 47 (`pt-BR`). One of a region that is not known is
    /// the language alone.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase().replace('_', "-");
        let mut rest = name.as_str();
        loop {
            let id = ALIASES.iter().find(|(alias, _)| *alias == rest).map_or(rest, |(_, id)| id);
            if let Some(found) = Self::all().find(|locale| locale.id() == id) {
                return Some(found);
            }
            (rest, _) = rest.rsplit_once('-')?;
        }
    }

    /// All languages, English first.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(&*ENGLISH).chain(std::iter::once_with(|| OTHERS.iter()).flatten()).map(Self::of)
    }

    /// Its name in Moment.js.
    #[must_use]
    pub fn id(self) -> &'static str {
        &self.table.id
    }

    /// Its digits; none if they are those of English.
    pub fn own_digits(self) -> impl Iterator<Item = char> {
        self.table.replaced.iter().filter(|(from, _)| from.is_ascii_digit()).map(|(_, to)| *to)
    }

    /// This language, with weeks that begin on another day.
    #[must_use]
    pub fn with_first_day(self, day: Weekday) -> Self {
        Self { first_day: day.to_sunday_zero_offset().into(), ..self }
    }

    /// Another language, with this one's weeks if they begin on another day than usual.
    #[must_use]
    pub fn speaking(self, language: Self) -> Self {
        if self.first_day == self.table.week.0 { language } else { Self { first_day: self.first_day, ..language } }
    }

    fn of(table: &'static Table) -> Self {
        Self { table, first_day: table.week.0 }
    }

    /// How many days the week of `date` has before it.
    #[must_use]
    pub fn days_into_week(self, date: Date) -> i64 {
        (i64::from(date.weekday().to_sunday_zero_offset()) - self.first_day).rem_euclid(7)
    }

    /// The first day of a week.
    pub(super) fn first_of_week(self, year: i16, week: i64) -> Option<Date> {
        let january = Date::new(year, 1, 1).ok()?;
        // The first week contains this day, which may be in the year before.
        let day = 7 + self.first_day - self.table.week.1;
        let day = january.checked_add(jiff::Span::new().try_days(day - 1).ok()?).ok()?;
        let days = (week - 1) * 7 - self.days_into_week(day);
        day.checked_add(jiff::Span::new().try_days(days).ok()?).ok()
    }

    /// The week that contains `date`: its year, and its number in that year.
    pub(super) fn week(self, date: Date) -> (i16, i64) {
        let year = date.year();
        let starts = |year: i16| self.first_of_week(year, 1);
        let (year, first) = match (year.checked_sub(1).and_then(starts), starts(year), starts(year.saturating_add(1))) {
            (_, _, Some(next)) if next <= date => (year + 1, next),
            (_, Some(this), _) if this <= date => (year, this),
            (Some(last), ..) => (year - 1, last),
            _ => (year, date),
        };
        (year, (date - first).get_days().max(0) as i64 / 7 + 1)
    }

    /// The era of `date`.
    pub(super) fn era(self, date: Date) -> Option<&'static Era> {
        self.table.eras.iter().find(|era| era.0 <= date)
    }

    /// A number's ordinal, such as `1st`, for this token of a format.
    pub(super) fn ordinal(self, number: i64, token: &str) -> String {
        let written = self.ordinals(token).and_then(|Ordinals(_, forms, by)| {
            let at = usize::try_from(number).ok()?;
            // The last two digits decide, except for some small numbers.
            let at = if at < by.len() { at } else { at % by.len().min(100) + by.len() / 200 * 200 };
            forms.get(usize::from(by.as_bytes().get(at)?.checked_sub(b'a')?))
        });
        written.map_or_else(|| number.to_string(), |form| form.replace("{}", &number.to_string()))
    }

    /// The texts before and behind the number in the ordinals for a token, the longest first.
    pub(super) fn affixes(self, token: &str) -> Vec<(&'static str, &'static str)> {
        let forms = self.ordinals(token).map(|ordinals| ordinals.1.as_slice()).unwrap_or_default();
        let mut affixes: Vec<_> = forms.iter().filter_map(|form| form.split_once("{}")).collect();
        affixes.sort_by_key(|(before, behind)| std::cmp::Reverse(before.len() + behind.len()));
        affixes
    }

    fn ordinals(self, token: &str) -> Option<&'static Ordinals> {
        self.table.ordinals.iter().find(|ordinals| ordinals.0.iter().any(|one| one == token))
    }
}

/// English.
impl Default for Locale {
    fn default() -> Self {
        Self::of(&ENGLISH)
    }
}

impl PartialEq for Locale {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.table, other.table) && self.first_day == other.first_day
    }
}

impl Eq for Locale {}

impl Table {
    fn parse(line: &str) -> Self {
        serde_json::from_str(line).unwrap_or_default()
    }
}

impl Names {
    /// The name at `index` in a format, which has no localized parts any more.
    pub(super) fn name(&self, format: &str, index: usize) -> &str {
        let rule = self.1.iter().find(|(pattern, _)| pattern.matches(format));
        rule.map_or(&self.0, |(_, names)| names).get(index).map_or("", String::as_str)
    }

    /// The index of the longest name, of any form, that `text` begins with; and the rest of the text.
    pub(super) fn strip<'a>(&self, text: &'a str) -> Option<(usize, &'a str)> {
        let lists = std::iter::once(&self.0).chain(self.1.iter().map(|(_, names)| names));
        let names = lists.flat_map(|names| names.iter().enumerate());
        let (index, name) = names.filter(|(_, name)| text.starts_with(*name)).max_by_key(|(_, name)| name.len())?;
        Some((index, text.get(name.len()..)?))
    }
}

impl From<String> for Pattern {
    fn from(written: String) -> Self {
        Self { written, compiled: OnceLock::new() }
    }
}

impl Pattern {
    fn matches(&self, format: &str) -> bool {
        self.compiled.get_or_init(|| Regex::new(&self.written).ok()).as_ref().is_some_and(|one| one.is_match(format))
    }
}
