//! The lines of a file that are worth most.

use crate::guardrails::atlas_pack::LEFT_OUT;
use crate::guardrails::atlas_pack::room::Room;

/// Most lines above a definition that say what it is.
const MAX_ABOVE: usize = 40;
/// They have at most this share of the room, so that the definition has the rest.
const ABOVE_SHARE: usize = 3;
/// Most lines that have a name, and the lines before and after each.
const MAX_NAMING: usize = 8;
const AROUND: u32 = 3;
/// Most characters of a line that is too long to be taken whole.
const LONG_LINE: usize = 1_500;

/// The wanted `lines` of `text` (the first and the last of each, counted from 0, and what they are worth), as many as there is `room` for, in
/// the order of the text, and what stands right above a definition and is about it.
pub(super) fn excerpt(text: &str, lines: &[((u32, u32), f32)], room: Room) -> String {
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let mut wanted: Vec<((usize, usize), f32)> = lines
        .iter()
        .map(|((first, last), worth)| {
            let last = (*last as usize).min(all.len().saturating_sub(1));
            ((*first as usize, last), *worth)
        })
        .collect();
    wanted.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    let mut taken = vec![false; all.len()];
    let mut left = room;
    let mut too_long = None;
    for ((first, last), _) in wanted {
        // A mark may stand before each part.
        let Some(after) = left.with(LEFT_OUT) else { break };
        left = after;
        // Takes a line, unless it leaves less than that.
        let mut take = |line: usize, least: usize| {
            let (Some(text), Some(taken)) = (all.get(line), taken.get_mut(line)) else { return None };
            if !*taken {
                left = left.with(text).filter(|after| after.chars >= least)?;
                *taken = true;
            }
            Some(left.chars)
        };
        let Some(chars) = take(first, 0) else {
            too_long = all.get(first);
            break;
        };
        let least = chars - chars / ABOVE_SHARE;
        let _ = (above(&all, first)..first).rev().all(|line| take(line, least).is_some());
        if !(first + 1..=last).all(|line| take(line, 0).is_some()) {
            break;
        }
    }
    if let Some(line) = too_long.filter(|_| !taken.contains(&true)) {
        return room.at_most(LONG_LINE).cut(line);
    }
    let mut excerpt = String::new();
    let mut before = true;
    for (line, taken) in all.iter().zip(taken) {
        if taken && !before {
            excerpt.push_str(if excerpt.is_empty() {
                LEFT_OUT.trim_start()
            } else {
                LEFT_OUT.trim_start_matches('\n')
            });
        }
        if taken {
            excerpt.push_str(line);
        }
        before = taken;
    }
    excerpt
}

/// The lines that have `name` as a word, the first few, each with what stands around it, from 0.
pub(super) fn naming(text: &str, name: &str) -> Vec<(u32, u32)> {
    let is_part = |one: char| one.is_alphanumeric() || one == '_';
    let has_name = |line: &str| {
        line.match_indices(name).any(|(at, _)| {
            let (before, after) = (line.get(..at).unwrap_or_default(), line.get(at + name.len()..).unwrap_or_default());
            !before.ends_with(is_part) && !after.starts_with(is_part)
        })
    };
    let lines = (0_u32..).zip(text.lines()).filter(|(_, line)| has_name(line)).take(MAX_NAMING);
    lines.map(|(line, _)| (line.saturating_sub(AROUND), line + AROUND)).collect()
}

/// The first of the lines above `line` that are comments or attributes of what stands there.
fn above(all: &[&str], line: usize) -> usize {
    let is_about = |line: &&str| {
        let line = line.trim_start();
        ["//", "/*", "*", "#", "@", "--", "\"\"\""].iter().any(|sign| line.starts_with(sign))
    };
    let before = all.get(..line).unwrap_or_default();
    let count = before.iter().rev().take(MAX_ABOVE).take_while(|line| is_about(line)).count();
    line - count.min(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of(chars: usize) -> Room {
        Room { chars, bytes: chars * 4 }
    }

    const TEXT: &str = "use a;\n\n/// One.\n#[inline]\nfn one() {\n}\n\nfn two() {\n}\nfn three() {\n}\n";

    #[test]
    fn the_lines_worth_most_come_in_order_with_what_is_about_them() {
        let lines = [((7, 8), 1.0), ((4, 5), 0.5)];
        assert_eq!(excerpt(TEXT, &lines, of(1_000)), "…\n/// One.\n#[inline]\nfn one() {\n}\n…\nfn two() {\n}\n");
        assert_eq!(excerpt(TEXT, &lines, of(20)), "…\nfn two() {\n}\n");
        assert_eq!(excerpt(TEXT, &[((9, 99), 1.0)], of(1_000)), "…\nfn three() {\n}\n");
        assert_eq!(excerpt(TEXT, &[((99, 100), 1.0)], of(1_000)), "");
        assert_eq!(excerpt(TEXT, &[((0, 99), 1.0)], of(1_000)), TEXT);
        assert_eq!(excerpt("", &[((0, 0), 1.0)], of(10)), "");
    }

    #[test]
    fn a_definition_is_there_however_much_is_said_above_it_and_however_long_it_is() {
        let told = format!("use a;\n\n{}fn one() {{\n    two();\n}}\n", "/// It is one.\n".repeat(20));
        let shown = excerpt(&told, &[((22, 24), 1.0)], of(100));
        assert_eq!(shown, "…\n/// It is one.\nfn one() {\n    two();\n}\n");
        let line = format!("fn one() {{ {}}}\n", "two(); ".repeat(1_000));
        let shown = excerpt(&line, &[((0, 0), 1.0)], of(100));
        assert!(shown.starts_with("fn one() {") && shown.ends_with('…') && shown.chars().count() == 100, "{shown}");
    }
}
