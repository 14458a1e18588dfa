//! The instructions of a query, usually one per line.

use super::filter::word;

/// An instruction.
pub(super) enum Instruction<'a> {
    /// How tasks are shown.
    Layout,
    Limit(usize),
    Sort(&'a str),
    Group(&'a str),
    Filter(&'a str),
}

/// The instructions, with the lines that they begin on, counted from 1. Comments are left out, and continued lines are joined.
pub(super) fn instructions(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut lines = text.lines().enumerate();
    let logical = std::iter::from_fn(move || {
        let (first, line) = lines.next()?;
        let mut whole = line.to_owned();
        while let Some(begun) = whole.strip_suffix('\\') {
            // Two backslashes at the end of a line are an escaped one.
            if begun.ends_with('\\') {
                whole.pop();
                break;
            }
            whole.truncate(begun.trim_end_matches([' ', '\t']).len());
            let Some((_, line)) = lines.next() else { break };
            whole.push(' ');
            whole.push_str(line.trim_start_matches([' ', '\t']));
        }
        Some((first + 1, whole.trim().to_owned()))
    });
    logical.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Parses an instruction. It is a filter if it is nothing else.
pub(super) fn read(text: &str) -> Result<Instruction<'_>, String> {
    if text.contains("{{") {
        return Err("placeholders are not supported: write their text".to_owned());
    }
    let lower = text.to_ascii_lowercase();
    let rest = |words: &str| word(&lower, words).and_then(|rest| text.get(text.len() - rest.len()..));
    for action in ["filter by function", "sort by function", "group by function"] {
        if rest(action).is_some() {
            return Err(format!("{action} is not supported, since it would run a script"));
        }
    }
    if rest("preset").is_some() || rest("tasks_query").is_some() {
        return Err("presets are not supported: write their text".to_owned());
    }
    if let Some(words) = rest("sort by") {
        return Ok(Instruction::Sort(words));
    }
    if let Some(words) = rest("group by") {
        return Ok(Instruction::Group(words));
    }
    if rest("limit groups").is_some() {
        return Err("limit groups is not supported: use limit, or pages".to_owned());
    }
    if let Some(count) = word(&lower, "limit") {
        return limit(count).map(Instruction::Limit).ok_or_else(|| format!("{text:?}: write limit 10"));
    }
    let modes = ["short", "short mode", "full", "full mode", "explain", "ignore global query"];
    if modes.contains(&lower.as_str()) || rest("hide").is_some() || rest("show").is_some() {
        return Ok(Instruction::Layout);
    }
    Ok(Instruction::Filter(text))
}

fn limit(words: &str) -> Option<usize> {
    let words: Vec<&str> = words.split_whitespace().collect();
    match words.as_slice() {
        [count] | ["to", count] | [count, "task" | "tasks"] | ["to", count, "task" | "tasks"] => count.parse().ok(),
        _ => None,
    }
}
