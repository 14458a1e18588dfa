//! Passages as results: what they say, and how they are named.

use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_segment::text::decoded;

use crate::search::near::Near;

/// Most bytes of a passage that is shown.
const MAX_BYTES: usize = 4_096;

/// The name of a passage: its note's path, and its first line, counted from 1.
pub(crate) fn chunk_id(path: &str, (first, _): (u32, u32)) -> String {
    format!("{path}:{}", u64::from(first) + 1)
}

/// The texts of passages, in their order, in one wave.
pub(crate) async fn contents(index: &Index, passages: &[Near]) -> Result<Vec<String>, Error> {
    let mut documents: Vec<DocumentRef> = passages.iter().map(|near| near.document).collect();
    documents.sort_unstable();
    documents.dedup();
    let texts = index.texts(&documents).await?;
    let content = |near: &Near| {
        let at = documents.binary_search(&near.document).ok();
        let text = at.and_then(|at| texts.get(at)).map(|text| decoded(text));
        lines_of(text.as_deref().unwrap_or_default(), near.lines)
    };
    Ok(passages.iter().map(content).collect())
}

/// These lines of a text: the first, counted from 0, and how many.
fn lines_of(text: &str, (first, count): (u32, u32)) -> String {
    let mut content = String::new();
    for line in text.lines().skip(first as usize).take(count as usize) {
        content.push_str(line);
        content.push('\n');
        if content.len() > MAX_BYTES {
            break;
        }
    }
    content.truncate(content.floor_char_boundary(MAX_BYTES));
    content.truncate(content.trim_end().len());
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_is_its_lines() {
        assert_eq!(lines_of("a\nb\nc\n\nd", (1, 3)), "b\nc");
        assert_eq!(lines_of("a", (7, 2)), "");
        assert!(lines_of(&"é".repeat(9_000), (0, 1)).len() <= MAX_BYTES);
        assert_eq!(chunk_id("a b.md", (0, 3)), "a b.md:1");
    }
}
