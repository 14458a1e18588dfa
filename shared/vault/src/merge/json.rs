//! Merges JSON texts value by value: objects by the names of their members, lists by what identifies their elements. The layout is that
//! of the first version, or of the second where only that one changed the order of a list.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Conflict;
use crate::json_text::{JsonText, Layout, Member, Span};

/// Most values within each other that are looked into. `serde_json` reads no more.
const MAX_DEPTH: usize = 128;

/// Merges the JSON texts `ours` and `theirs`.
pub(super) fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, Conflict> {
    let merged = match merged_into(base, ours, theirs) {
        Err(Failed::Reordered) => merged_into(base, theirs, ours),
        merged => merged,
    };
    let merged = merged.map_err(|failed| match failed {
        Failed::Conflict(conflict) => conflict,
        Failed::Reordered => Conflict::Member("the order of a list".to_owned()),
    })?;
    // One side removes a node, the other adds an edge to it.
    let known: HashSet<String> = [ours, theirs].into_iter().flat_map(loose_edges).collect();
    match loose_edges(&merged).into_iter().find(|edge| !known.contains(edge)) {
        Some(edge) => Err(Conflict::Member(format!("a node of the edge {edge}"))),
        None => Ok(merged),
    }
}

/// The ids of a canvas's edges that lead from or to no node.
fn loose_edges(text: &str) -> Vec<String> {
    let canvas: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    let list = |name: &str| canvas.get(name).and_then(Value::as_array).into_iter().flatten();
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let nodes: HashSet<String> = list("nodes").filter_map(|node| text(node, "id")).collect();
    let is_loose = |edge: &&Value| {
        ["fromNode", "toNode"].iter().any(|end| text(edge, end).is_some_and(|node| !nodes.contains(&node)))
    };
    list("edges").filter(is_loose).filter_map(|edge| text(edge, "id")).collect()
}

/// Why the changes of one version cannot be made in the other.
enum Failed {
    Conflict(Conflict),
    /// The version with the changes has another order of a list than the base.
    Reordered,
}

/// `into` with what changed from `base` to `from`.
fn merged_into(base: &str, into: &str, from: &str) -> Result<String, Failed> {
    let read = |text| {
        JsonText::read(text).map_err(|_| Failed::Conflict(Conflict::Member("a text that is not JSON".to_owned())))
    };
    let (base, mut into, from) = (read(base)?, read(into)?, read(from)?);
    let roots = [base.root(), into.root(), from.root()];
    Merge { base: &base, into: &mut into, from: &from }.value("the whole text", &roots, 0)?;
    Ok(into.finish())
}

struct Merge<'m, 't> {
    base: &'m JsonText<'t>,
    into: &'m mut JsonText<'t>,
    from: &'m JsonText<'t>,
}

impl Merge<'_, '_> {
    /// Merges the value that stands at the three spans, which is called `name`.
    fn value(&mut self, name: &str, [base, into, from]: &[Span; 3], depth: usize) -> Result<(), Failed> {
        let conflict = || Failed::Conflict(Conflict::Member(name.to_owned()));
        let (before, mine, other) = (value(self.base, base)?, value(self.into, into)?, value(self.from, from)?);
        if mine == other || other == before {
            return Ok(());
        }
        if mine == before {
            self.into.put(into, self.from.written(from));
            return Ok(());
        }
        if depth == MAX_DEPTH {
            return Err(conflict());
        }
        match (&before, &mine, &other) {
            (Value::Object(_), Value::Object(_), Value::Object(_)) => self.object([base, into, from], depth),
            (Value::Array(before), Value::Array(mine), Value::Array(other)) => {
                let lists = [before, mine, other].map(|list| identified(list));
                let [Some(before), Some(mine), Some(other)] = lists else { return Err(conflict()) };
                self.list(name, [base, into, from], [&before, &mine, &other], depth)
            }
            _ => Err(conflict()),
        }
    }

    fn object(&mut self, [base, into, from]: [&Span; 3], depth: usize) -> Result<(), Failed> {
        let members = [self.base.members(base), self.into.members(into), self.from.members(from)];
        let [Ok(before), Ok(mine), Ok(other)] = members else {
            return Err(Failed::Conflict(Conflict::Member("an object with too many members".to_owned())));
        };
        let [at_before, at_mine, at_other] = [&before, &mine, &other].map(|members| by_name(members));
        let [Some(at_before), Some(at_mine), Some(at_other)] = [at_before, at_mine, at_other] else {
            return Err(Failed::Conflict(Conflict::Member("an object with a name twice".to_owned())));
        };
        let (mut gone, mut new) = (Vec::new(), Vec::new());
        for (index, member) in mine.iter().enumerate() {
            let name = member.name.as_str();
            match (at_before.get(name), at_other.get(name)) {
                (Some(base), Some(from)) => {
                    self.value(name, &[(*base).clone(), member.value.clone(), (*from).clone()], depth + 1)?
                }
                (Some(base), None) if value(self.base, base)? == value(self.into, &member.value)? => gone.push(index),
                (None, None) => {}
                (None, Some(from)) if value(self.from, from)? == value(self.into, &member.value)? => {}
                _ => return Err(Failed::Conflict(Conflict::Member(name.to_owned()))),
            }
        }
        for member in other.iter().filter(|member| !at_mine.contains_key(member.name.as_str())) {
            let written = value(self.from, &member.value)?;
            match at_before.get(member.name.as_str()) {
                Some(base) if value(self.base, base)? == written => {}
                Some(_) => return Err(Failed::Conflict(Conflict::Member(member.name.clone()))),
                None => new.push((member.name.as_str(), written)),
            }
        }
        let new: Vec<(&str, &Value)> = new.iter().map(|(name, value)| (*name, value)).collect();
        if !gone.is_empty() || !new.is_empty() {
            self.into.change_members(into, &mine, &gone, &new, Layout::Indented);
        }
        Ok(())
    }

    fn list(
        &mut self,
        name: &str,
        [base, into, from]: [&Span; 3],
        [before, mine, other]: [&Vec<String>; 3],
        depth: usize,
    ) -> Result<(), Failed> {
        let spans = [self.base.elements(base), self.into.elements(into), self.from.elements(from)];
        let [Ok(base), Ok(elements), Ok(from)] = spans else {
            return Err(Failed::Conflict(Conflict::Member(name.to_owned())));
        };
        let [at_before, at_mine, at_other] = [before, mine, other].map(|ids| by_id(ids));
        let kept = other.iter().filter(|id| at_before.contains_key(id.as_str()));
        if !kept.eq(before.iter().filter(|id| at_other.contains_key(id.as_str()))) {
            return Err(Failed::Reordered);
        }
        // New elements go to the end; elsewhere their place says something, as in the order that a canvas is painted in.
        if other
            .iter()
            .skip_while(|id| at_before.contains_key(id.as_str()))
            .any(|id| at_before.contains_key(id.as_str()))
        {
            return Err(Failed::Reordered);
        }
        let get = |spans: &[Span], at: Option<&usize>| at.and_then(|at| spans.get(*at)).cloned();
        let mut gone = Vec::new();
        for (index, (id, element)) in mine.iter().zip(&elements).enumerate() {
            let (old, new) = (get(&base, at_before.get(id.as_str())), get(&from, at_other.get(id.as_str())));
            match (old, new) {
                (Some(old), Some(new)) => self.value(id, &[old, element.clone(), new], depth + 1)?,
                (Some(old), None) if value(self.base, &old)? == value(self.into, element)? => gone.push(index),
                (None, None) => {}
                (None, Some(new)) if value(self.from, &new)? == value(self.into, element)? => {}
                _ => return Err(Failed::Conflict(Conflict::Member(id.clone()))),
            }
        }
        let mut new = Vec::new();
        let mut is_indented = false;
        for (id, element) in other.iter().zip(&from).filter(|(id, _)| !at_mine.contains_key(id.as_str())) {
            let written = value(self.from, element)?;
            match get(&base, at_before.get(id.as_str())) {
                Some(old) if value(self.base, &old)? == written => {}
                Some(_) => return Err(Failed::Conflict(Conflict::Member(id.clone()))),
                None => {
                    is_indented |= self.from.written(element).contains('\n');
                    new.push(written);
                }
            }
        }
        if !gone.is_empty() || !new.is_empty() {
            let layout = if is_indented { Layout::Indented } else { Layout::OneLine };
            self.into.change_elements(into, &elements, &gone, &new, layout);
        }
        Ok(())
    }
}

fn value(text: &JsonText<'_>, span: &Span) -> Result<Value, Failed> {
    text.value(span).map_err(|error| Failed::Conflict(Conflict::Member(error.to_string())))
}

/// The values by their names; none if a name stands twice.
fn by_name(members: &[Member]) -> Option<HashMap<&str, &Span>> {
    let found: HashMap<&str, &Span> = members.iter().map(|member| (member.name.as_str(), &member.value)).collect();
    (found.len() == members.len()).then_some(found)
}

fn by_id(ids: &[String]) -> HashMap<&str, usize> {
    ids.iter().enumerate().map(|(index, id)| (id.as_str(), index)).collect()
}

/// The identity of each element of a list; none if two are the same.
fn identified(list: &[Value]) -> Option<Vec<String>> {
    let ids: Vec<String> = list.iter().map(identity).collect();
    (ids.iter().collect::<HashSet<_>>().len() == ids.len()).then_some(ids)
}

/// The id of a canvas's node or edge, what a bookmark leads to, the title of a group of bookmarks; the whole value of anything else.
fn identity(value: &Value) -> String {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    if let Some(id) = text("id") {
        return format!("id {id}");
    }
    match text("type") {
        Some("group") => format!("group {}", text("title").unwrap_or_default()),
        Some(kind) => {
            let target = ["path", "subpath", "query", "url"].map(|name| text(name).unwrap_or_default());
            format!("{kind} {}", target.join("\n"))
        }
        None => value.to_string(),
    }
}
