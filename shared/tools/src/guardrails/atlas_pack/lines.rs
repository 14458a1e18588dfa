//! The lines of a file that are worth most.

use crate::guardrails::atlas_pack::LEFT_OUT;

/// Most lines above a definition that say what it is.
const MAX_ABOVE: usize = 40;

/// The wanted `lines` of `text` (the first and the last of each, counted from 0, and what they are worth), as many as `most` characters have
/// room for, in the order of the text, and what stands right above a definition and is about it.
pub(super) fn excerpt(text: &str, lines: &[((u32, u32), f32)], most: usize) -> String {
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let mut wanted: Vec<((usize, usize), f32)> = lines
        .iter()
        .map(|((first, last), worth)| {
            let last = (*last as usize).min(all.len().saturating_sub(1));
            ((above(&all, *first as usize), last), *worth)
        })
        .collect();
    wanted.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    let mut taken = vec![false; all.len()];
    let mut left = most;
    for ((first, last), _) in wanted {
        for (line, taken) in all.iter().zip(&mut taken).take(last + 1).skip(first) {
            let chars = line.chars().count();
            if *taken {
                continue;
            }
            if chars > left {
                left = 0;
                break;
            }
            *taken = true;
            left -= chars;
        }
        if left == 0 {
            break;
        }
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

    const TEXT: &str = "use a;\n\n/// One.\n#[inline]\nfn one() {\n}\n\nfn two() {\n}\nfn three() {\n}\n";

    #[test]
    fn the_lines_worth_most_come_in_order_with_what_is_about_them() {
        let lines = [((7, 8), 1.0), ((4, 5), 0.5)];
        assert_eq!(excerpt(TEXT, &lines, 1_000), "…\n/// One.\n#[inline]\nfn one() {\n}\n…\nfn two() {\n}\n");
        assert_eq!(excerpt(TEXT, &lines, 15), "…\nfn two() {\n}\n");
        assert_eq!(excerpt(TEXT, &[((9, 99), 1.0)], 1_000), "…\nfn three() {\n}\n");
        assert_eq!(excerpt(TEXT, &[((99, 100), 1.0)], 1_000), "");
        assert_eq!(excerpt(TEXT, &[((0, 99), 1.0)], 1_000), TEXT);
        assert_eq!(excerpt("", &[((0, 0), 1.0)], 10), "");
    }
}
