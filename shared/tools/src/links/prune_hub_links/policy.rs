//! The policies of `prune_hub_links`.

use std::collections::{BTreeSet, HashMap, HashSet};

use atlas_ops::arguments::{Bounded, Given, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Deadline;
use atlas_vault::remove_links::LinkOccurrence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::jsonlogic::{Datum, Logic, MAX_OPERATIONS, Record};

/// Which links of a note to remove.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    /// The kind of policy.
    pub(super) kind: Kind,
    /// For `drop_below_score` and `keep_top_n`: the score.
    #[serde(default)]
    score_field: Given<Score>,
    /// For `drop_below_score`: the least score of kept links.
    #[serde(default)]
    threshold: Given<f64>,
    /// For `keep_top_n`: the number of kept links.
    #[serde(default)]
    n: Given<Bounded<0, 100_000>>,
    /// For `drop_unannotated_list_items`: least characters besides the links of a list item; 1 if not given.
    #[serde(default)]
    min_annotation_chars: Given<Bounded<0, 100_000>>,
    /// For `drop_no_prose_context`: least characters besides the links of a paragraph; 1 if not given.
    #[serde(default)]
    min_prose_chars: Given<Bounded<0, 100_000>>,
    /// For `jsonlogic`: a condition, as JSONLogic; links that do not meet it are removed. Its data is the link:
    /// `target` as written, `line` and `col` (counted from 1), `in_codeblock` (always false: code contains no links),
    /// `in_list_item`, `list_item_text` and `prose_context` (the list item, and the paragraph or list item, without
    /// links), and of the file that it means `target_path`, `target_backlink_count` and `target_outgoing_count`.
    /// Missing values are null.
    #[serde(default)]
    logic: Given<Map<String, Value>>,
}

impl Policy {
    /// A policy that needs nothing but its kind.
    pub(super) fn of(kind: Kind) -> Self {
        Self {
            kind,
            score_field: Given::default(),
            threshold: Given::default(),
            n: Given::default(),
            min_annotation_chars: Given::default(),
            min_prose_chars: Given::default(),
            logic: Given::default(),
        }
    }
}

/// A kind of policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Remove links to files with a low score.
    DropBelowScore,
    /// Keep only links to the files with the highest scores.
    KeepTopN,
    /// Remove links in list items with little other text.
    DropUnannotatedListItems,
    /// Remove links in paragraphs, or list items, with little other text.
    DropNoProseContext,
    /// Remove links that do not meet a condition.
    Jsonlogic,
    /// Remove links that lead to no file.
    DropUnresolved,
    /// Remove links to a file that an earlier link leads to.
    DropDuplicates,
    /// Remove links that lead to no file, or to one that an earlier link leads to.
    DropUnresolvedAndDuplicates,
}

impl Kind {
    /// The kind that obsidian-tc's program has by two flags.
    pub(super) const fn of_flags(unresolved: bool, duplicates: bool) -> Option<Self> {
        match (unresolved, duplicates) {
            (true, true) => Some(Self::DropUnresolvedAndDuplicates),
            (true, false) => Some(Self::DropUnresolved),
            (false, true) => Some(Self::DropDuplicates),
            (false, false) => None,
        }
    }
}

/// The score of the file that a link means; 0 if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Score {
    /// The number of other notes that link to it.
    TargetBacklinkCount,
    /// The number of distinct targets of its links.
    TargetOutgoingCount,
}

impl Score {
    const fn as_str(self) -> &'static str {
        match self {
            Self::TargetBacklinkCount => "target_backlink_count",
            Self::TargetOutgoingCount => "target_outgoing_count",
        }
    }

    fn of(self, meant: Option<&Meant>) -> usize {
        meant.map_or(0, |meant| match self {
            Self::TargetBacklinkCount => meant.backlinks,
            Self::TargetOutgoingCount => meant.outgoing,
        })
    }
}

/// The file that a link means.
#[derive(Default)]
pub(super) struct Meant {
    /// Its path, if there is one.
    pub(super) path: Option<String>,
    /// The number of other notes that link to it.
    pub(super) backlinks: usize,
    /// The number of distinct targets of its links.
    pub(super) outgoing: usize,
}

/// A complete policy.
pub(super) enum Rule {
    Below(Score, f64),
    Top(Score, usize),
    Annotation(usize),
    Prose(usize),
    Holds(Logic),
    /// Whether links that lead to no file go, and whether those that repeat an earlier one do.
    Useless {
        unresolved: bool,
        duplicates: bool,
    },
}

impl Rule {
    pub(super) fn of(policy: Policy) -> Result<Self, Error> {
        let missing = |name: &str| invalid_input(&format!("policy.{name}"), "this kind needs it");
        let score = || policy.score_field.ok_or_else(|| missing("score_field"));
        Ok(match policy.kind {
            Kind::DropBelowScore => Self::Below(score()?, policy.threshold.ok_or_else(|| missing("threshold"))?),
            Kind::KeepTopN => Self::Top(score()?, policy.n.ok_or_else(|| missing("n"))?.get()),
            Kind::DropUnannotatedListItems => Self::Annotation(policy.min_annotation_chars.map_or(1, Bounded::get)),
            Kind::DropNoProseContext => Self::Prose(policy.min_prose_chars.map_or(1, Bounded::get)),
            Kind::Jsonlogic => {
                let logic = policy.logic.0.ok_or_else(|| missing("logic"))?;
                let malformed = |message: String| invalid_input("policy.logic", &message);
                Self::Holds(Logic::new(Value::Object(logic)).map_err(malformed)?)
            }
            Kind::DropUnresolved => Self::Useless { unresolved: true, duplicates: false },
            Kind::DropDuplicates => Self::Useless { unresolved: false, duplicates: true },
            Kind::DropUnresolvedAndDuplicates => Self::Useless { unresolved: true, duplicates: true },
        })
    }

    /// Whether it needs the files that links mean.
    pub(super) const fn is_of_targets(&self) -> bool {
        matches!(self, Self::Below(..) | Self::Top(..) | Self::Holds(_) | Self::Useless { .. })
    }

    /// For each link the reason to remove it, if there is one. `meant` has the files of their targets, if the rule
    /// needs them.
    pub(super) fn reasons(
        &self,
        links: &[LinkOccurrence],
        meant: &HashMap<String, Meant>,
        deadline: &Deadline,
    ) -> Result<Vec<Option<String>>, Error> {
        let score = |field: Score, link: &LinkOccurrence| field.of(meant.get(&link.target));
        let best: BTreeSet<usize> = match self {
            Self::Top(field, n) => {
                let mut order: Vec<(usize, &LinkOccurrence)> = links.iter().enumerate().collect();
                order.sort_by_cached_key(|(_, link)| std::cmp::Reverse(score(*field, link)));
                order.into_iter().take(*n).map(|(at, _)| at).collect()
            }
            _ => BTreeSet::new(),
        };
        let mut seen = HashSet::new();
        let reason = |(at, link): (usize, &LinkOccurrence)| {
            Ok(match self {
                Self::Below(field, least) => {
                    let score = score(*field, link);
                    ((score as f64) < *least).then(|| format!("{} is {score}, below {least}", field.as_str()))
                }
                Self::Top(field, n) => (!best.contains(&at))
                    .then(|| format!("{} is {}, not among the {n} highest", field.as_str(), score(*field, link))),
                Self::Annotation(least) => few(&link.annotation, *least)
                    .filter(|_| link.is_in_list_item)
                    .map(|count| format!("its list item has {count} characters besides, fewer than {least}")),
                Self::Prose(least) => few(&link.prose, *least)
                    .map(|count| format!("its paragraph has {count} characters besides, fewer than {least}")),
                Self::Holds(logic) => {
                    let data = LinkData { link, meant: meant.get(&link.target) };
                    (!holds(logic, &data, deadline)?).then(|| "policy.logic is not met".to_owned())
                }
                Self::Useless { unresolved, duplicates } => {
                    match meant.get(&link.target).and_then(|meant| meant.path.as_deref()) {
                        None => unresolved.then(|| "it leads to no file".to_owned()),
                        Some(path) => {
                            (!seen.insert(path) && *duplicates).then(|| format!("an earlier link leads to {path}"))
                        }
                    }
                }
            })
        };
        links.iter().enumerate().map(reason).collect()
    }
}

/// The number of characters of a text without line breaks, if it is fewer than `least`.
fn few(text: &str, least: usize) -> Option<usize> {
    Some(text.chars().filter(|character| *character != '\n').take(least).count()).filter(|count| *count < least)
}

fn holds(logic: &Logic, data: &LinkData<'_>, deadline: &Deadline) -> Result<bool, Error> {
    if deadline.has_passed() {
        let message = "the time of one call is up: write simpler logic";
        return Err(Error::new(Code::Unavailable, Reason::OperationTimeout, message));
    }
    let held = logic.evaluate(&Datum::Record(data)).map_err(|_| {
        let message =
            format!("policy.logic: it took more than {MAX_OPERATIONS} operations for one link: write simpler logic");
        Error::bad_request(Reason::ComputeBudgetExceeded, message).with("field", "policy.logic")
    });
    Ok(held?.is_truthy())
}

/// A link as data of logic.
struct LinkData<'a> {
    link: &'a LinkOccurrence,
    meant: Option<&'a Meant>,
}

impl Record for LinkData<'_> {
    fn get<'r>(&'r self, name: &str) -> Option<Datum<'r>> {
        let number = |count: usize| Datum::Number(count as f64);
        match name {
            "target" => Some(Datum::Text(&self.link.target)),
            "line" => Some(Datum::Number(f64::from(self.link.line) + 1.0)),
            "col" => Some(number(self.link.column + 1)),
            "in_codeblock" => Some(Datum::Bool(false)),
            "in_list_item" => Some(Datum::Bool(self.link.is_in_list_item)),
            "list_item_text" if self.link.is_in_list_item => Some(Datum::Text(&self.link.annotation)),
            "prose_context" => Some(Datum::Text(&self.link.prose)),
            "target_path" => self.meant?.path.as_deref().map(Datum::Text),
            "target_backlink_count" => Some(number(self.meant?.backlinks)),
            "target_outgoing_count" => Some(number(self.meant?.outgoing)),
            _ => None,
        }
    }
}
