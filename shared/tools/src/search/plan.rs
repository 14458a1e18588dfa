//! Plans: the conditions of a pattern on chunks, as probes for the index.

use std::collections::BTreeSet;

use atlas_ops::error::Error;
use atlas_ops::read::index::Index;
use atlas_segment::Probe;
use atlas_vault::fold;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Most alternative strings of one part of a pattern; a part with more is not looked up.
const MAX_STRINGS: usize = 32;
/// Most bytes of one string.
const MAX_BYTES: usize = 256;
/// A shorter string is the beginning of many grams.
const GRAM_BYTES: usize = 3;
/// Most alternative short strings.
const MAX_SHORT: usize = 4;
/// Most strings of a plan. Nested repetitions would otherwise give thousands.
const MAX_ASKED: usize = 128;
/// Grams looked up for a whole plan, and most for one string.
const MAX_GRAMS: usize = 12;
const MAX_GRAMS_EACH: usize = 7;

/// The condition that a folded line must meet to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// No known condition.
    Anything,
    /// It contains this string.
    String(Vec<u8>),
    /// It meets all of these.
    Every(Vec<Plan>),
    /// It meets one of these.
    Any(Vec<Plan>),
}

impl Plan {
    /// The plan of a literal.
    pub(crate) fn of_literal(literal: &str) -> Self {
        Self::string(fold::fold(literal).into_bytes())
    }

    /// The plan of a regular expression.
    pub(crate) fn of_regex(hir: &Hir) -> Self {
        let part = Part::of(hir);
        let strings = part.strings.map_or(Self::Anything, |strings| Self::any_of(&strings));
        Self::every(vec![part.plan, strings])
    }

    fn string(mut bytes: Vec<u8>) -> Self {
        bytes.truncate(MAX_BYTES);
        match bytes.as_slice() {
            // A single letter is nearly everywhere.
            [] | [b'a'..=b'z' | b'0'..=b'9' | b' '] => Self::Anything,
            _ => Self::String(bytes),
        }
    }

    fn any_of(strings: &Strings) -> Self {
        // A string that contains another alternative adds nothing.
        let holds_another = |string: &[u8]| {
            strings.iter().any(|other| other != string && memchr::memmem::find(string, other).is_some())
        };
        let least: Vec<&Vec<u8>> = strings.iter().filter(|string| !holds_another(string)).collect();
        // Each of many strings gets few grams; their common parts get more.
        if least.len() > MAX_SHORT {
            let (first, last) = in_common(&least);
            let known = [first, last].into_iter().filter(|part| part.len() >= GRAM_BYTES);
            let known: Vec<Self> = known.map(Self::string).collect();
            if !known.is_empty() {
                return Self::every(known);
            }
        }
        Self::any(least.into_iter().map(|string| Self::string(string.clone())).collect())
    }

    fn any(mut plans: Vec<Self>) -> Self {
        if plans.contains(&Self::Anything) {
            return Self::Anything;
        }
        plans.dedup();
        if plans.iter().map(Self::asked).sum::<usize>() > MAX_ASKED {
            return Self::Anything;
        }
        if plans.len() > MAX_SHORT && plans.iter().any(Self::is_short) {
            return Self::Anything;
        }
        match plans.as_slice() {
            [plan] => plan.clone(),
            _ => Self::Any(plans),
        }
    }

    fn every(plans: Vec<Self>) -> Self {
        let mut known: Vec<Self> = Vec::new();
        let mut asked = 0;
        let mut add = |plan: Self| {
            let more = plan.asked();
            if asked + more <= MAX_ASKED && !known.contains(&plan) {
                asked += more;
                known.push(plan);
            }
        };
        for plan in plans {
            match plan {
                Self::Anything => {}
                Self::Every(plans) => plans.into_iter().for_each(&mut add),
                plan => add(plan),
            }
        }
        // Short strings are expensive to look up and add little to others.
        if known.iter().any(|plan| !plan.is_short()) {
            known.retain(|plan| !plan.is_short());
        }
        match known.as_slice() {
            [] => Self::Anything,
            [plan] => plan.clone(),
            _ => Self::Every(known),
        }
    }

    /// Whether it contains a short string.
    fn is_short(&self) -> bool {
        let mut strings = Vec::new();
        self.strings(&mut strings);
        strings.iter().any(|string| string.len() < GRAM_BYTES)
    }

    /// The number of its strings.
    fn asked(&self) -> usize {
        let mut strings = Vec::new();
        self.strings(&mut strings);
        strings.len()
    }

    fn strings<'a>(&'a self, found: &mut Vec<&'a [u8]>) {
        match self {
            Self::Anything => {}
            Self::String(bytes) => found.push(bytes),
            Self::Every(plans) | Self::Any(plans) => plans.iter().for_each(|plan| plan.strings(found)),
        }
    }

    /// The probes for an index of `segments` segments.
    pub(crate) fn probes(&self, segments: usize) -> Vec<Probe> {
        let mut strings = Vec::new();
        self.strings(&mut strings);
        let each = MAX_GRAMS / (strings.len() * segments).max(1);
        strings.into_iter().map(|string| Probe::new(string, each.clamp(1, MAX_GRAMS_EACH))).collect()
    }

    /// The chunks of `segment` that can contain a match, ascending; [`None`] for all. `probes` are the probes of the
    /// plan, in order.
    pub(crate) fn chunks(
        &self,
        index: &Index,
        segment: usize,
        probes: &mut impl Iterator<Item = Probe>,
    ) -> Result<Option<Vec<u32>>, Error> {
        match self {
            Self::Anything => Ok(None),
            Self::String(_) => match probes.next() {
                Some(probe) => Ok(Some(index.candidates(segment, &probe)?)),
                None => Ok(None),
            },
            Self::Every(plans) => {
                let mut all: Option<Vec<u32>> = None;
                for plan in plans {
                    let chunks = plan.chunks(index, segment, probes)?;
                    all = match (all, chunks) {
                        (Some(all), Some(chunks)) => Some(both(all, &chunks)),
                        (all, chunks) => all.or(chunks),
                    };
                }
                Ok(all)
            }
            Self::Any(plans) => {
                let mut all = Some(BTreeSet::new());
                for plan in plans {
                    all = match (all, plan.chunks(index, segment, probes)?) {
                        (Some(mut all), Some(chunks)) => {
                            all.extend(chunks);
                            Some(all)
                        }
                        _ => None,
                    };
                }
                Ok(all.map(|all| all.into_iter().collect()))
            }
        }
    }
}

/// The common prefix of all `strings`, and the common suffix of the rest.
fn in_common(strings: &[&Vec<u8>]) -> (Vec<u8>, Vec<u8>) {
    let Some((one, others)) = strings.split_first() else { return Default::default() };
    let shortest = strings.iter().map(|string| string.len()).min().unwrap_or(0);
    let same = |at: &usize| others.iter().all(|other| other.get(*at) == one.get(*at));
    let first = (0..shortest).take_while(same).count();
    let from_end =
        |string: &Vec<u8>, at: usize| string.len().checked_sub(at + 1).and_then(|at| string.get(at).copied());
    let same = |at: &usize| others.iter().all(|other| from_end(other, *at) == from_end(one, *at));
    let last = (0..shortest - first).take_while(same).count();
    let part = |range: std::ops::Range<usize>| one.get(range).unwrap_or_default().to_vec();
    (part(0..first), part(one.len() - last..one.len()))
}

/// The intersection of two ascending lists.
fn both(mut one: Vec<u32>, other: &[u32]) -> Vec<u32> {
    one.retain(|id| other.binary_search(id).is_ok());
    one
}

type Strings = BTreeSet<Vec<u8>>;

/// The conditions on the match of a part of a pattern.
#[derive(Clone)]
struct Part {
    /// All strings that it can match, folded, if they are few.
    strings: Option<Strings>,
    /// A further condition on the line.
    plan: Plan,
}

impl Part {
    fn unknown() -> Self {
        Self { strings: None, plan: Plan::Anything }
    }

    fn exactly(strings: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self { strings: Some(strings.into_iter().collect()), plan: Plan::Anything }
    }

    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Self::exactly([Vec::new()]),
            // A part of a character folds differently from the whole.
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => Self::exactly([fold::fold(text).into_bytes()]),
                Err(_) => Self::unknown(),
            },
            HirKind::Class(class) => class_strings(class).map_or_else(Self::unknown, Self::exactly),
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Repetition(repetition) => {
                let part = Self::of(&repetition.sub);
                match (repetition.min, repetition.max) {
                    (0, Some(1)) => {
                        let or_nothing = part.strings.map(|mut strings| {
                            strings.insert(Vec::new());
                            strings
                        });
                        Self { strings: or_nothing, plan: Plan::Anything }
                    }
                    (0, _) => Self::unknown(),
                    (1, Some(1)) => part,
                    (min, max) => {
                        let mut all = Self::of_sequence(std::iter::repeat_n(part, min.min(8) as usize));
                        if max != Some(min) || min > 8 {
                            all = Self { strings: None, plan: all.known() };
                        }
                        all
                    }
                }
            }
            HirKind::Concat(parts) => Self::of_sequence(parts.iter().map(Self::of)),
            HirKind::Alternation(parts) => Self::of_choice(parts.iter().map(Self::of)),
        }
    }

    /// A sequence of parts.
    fn of_sequence(parts: impl Iterator<Item = Self>) -> Self {
        let mut plans = Vec::new();
        let mut whole = true;
        let mut run: Strings = [Vec::new()].into();
        for part in parts {
            plans.push(part.plan);
            match part.strings.map(|strings| (joined(&run, &strings), strings)) {
                Some((Some(longer), _)) => run = longer,
                Some((None, strings)) => {
                    whole = false;
                    plans.push(Plan::any_of(&run));
                    run = strings;
                }
                None => {
                    whole = false;
                    plans.push(Plan::any_of(&run));
                    run = [Vec::new()].into();
                }
            }
        }
        if whole {
            return Self { strings: Some(run), plan: Plan::every(plans) };
        }
        plans.push(Plan::any_of(&run));
        Self { strings: None, plan: Plan::every(plans) }
    }

    fn of_choice(parts: impl Iterator<Item = Self>) -> Self {
        let parts: Vec<Self> = parts.collect();
        let count: Option<usize> = parts.iter().map(|part| part.strings.as_ref().map(BTreeSet::len)).sum();
        if count.is_some_and(|count| count <= MAX_STRINGS) && parts.iter().all(|part| part.plan == Plan::Anything) {
            return Self::exactly(parts.into_iter().flat_map(|part| part.strings.unwrap_or_default()));
        }
        if parts.len() > MAX_STRINGS {
            return Self::unknown();
        }
        Self { strings: None, plan: Plan::any(parts.into_iter().map(Self::known).collect()) }
    }

    /// All conditions, as a plan.
    fn known(self) -> Plan {
        let strings = self.strings.map_or(Plan::Anything, |strings| Plan::any_of(&strings));
        Plan::every(vec![self.plan, strings])
    }
}

/// Every string of `first` followed by every one of `then`, if those are few.
fn joined(first: &Strings, then: &Strings) -> Option<Strings> {
    let longest = |strings: &Strings| strings.iter().map(Vec::len).max().unwrap_or(0);
    if first.len() * then.len() > MAX_STRINGS || longest(first) + longest(then) > MAX_BYTES {
        return None;
    }
    Some(first.iter().flat_map(|first| then.iter().map(move |then| [first.as_slice(), then].concat())).collect())
}

/// The characters of a class, folded, if they are few.
fn class_strings(class: &Class) -> Option<Strings> {
    let Class::Unicode(class) = class else {
        let Class::Bytes(class) = class else { return None };
        let ascii = class.to_unicode_class()?;
        return class_strings(&Class::Unicode(ascii));
    };
    let count: usize = class.ranges().iter().map(|range| range.len()).sum();
    if count > 4 * MAX_STRINGS {
        return None;
    }
    let characters = class.ranges().iter().flat_map(|range| range.start()..=range.end());
    let strings: Strings = characters.map(|c| fold::fold_char(c).to_string().into_bytes()).collect();
    (strings.len() <= MAX_STRINGS).then_some(strings)
}

#[cfg(test)]
mod tests;
