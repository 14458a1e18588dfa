//! The note parser: every part is at its reported range. The input is the number of repetitions of the text's second
//! half (libFuzzer's `-timeout` then limits the time), then the text.

use std::ops::Range;

use atlas_vault::{VaultPath, fold};

/// Longest text, in bytes.
const MAX_BYTES: usize = 1 << 16;

/// Parses a text.
pub fn check(data: &[u8]) {
    let Some((repeats, text)) = data.split_first() else { return };
    let repeats = 1usize << (repeats % 16);
    let (head, tail) = text.split_at(text.len() / 2);
    let mut bytes = head.to_vec();
    for _ in 0..repeats {
        if bytes.len() + tail.len() > MAX_BYTES {
            break;
        }
        bytes.extend(tail);
    }
    let text = String::from_utf8_lossy(&bytes);
    note(&text);

    let folded = fold(&text);
    assert_eq!(fold(&folded), folded);
    let mut from_bytes = Vec::new();
    atlas_vault::fold_bytes_into(text.as_bytes(), &mut from_bytes);
    assert_eq!(from_bytes, folded.as_bytes());
    from_bytes.clear();
    atlas_vault::fold_bytes_into(&bytes, &mut from_bytes);
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines(&from_bytes), lines(&bytes));
}

fn note(text: &str) {
    let note = atlas_vault::parse(text);
    let line_of = |offset: usize| text[..offset].bytes().filter(|byte| *byte == b'\n').count() as u32;
    let lines = line_of(text.len()) + 1;
    let cut = |range: &Range<usize>| -> &str {
        text.get(range.clone()).unwrap_or_else(|| panic!("{range:?} is not a range of the text"))
    };

    if let Some(frontmatter) = &note.frontmatter {
        cut(&frontmatter.range);
        assert!(frontmatter.range.end <= frontmatter.body_start);
        cut(&(frontmatter.body_start..text.len()));
        if let Err(error) = &frontmatter.properties {
            assert!(error.line < lines && !error.message.contains('\n'), "{error}");
        }
    }
    // Counting the lines before each of many items would take too long.
    for heading in &note.headings {
        cut(&(heading.offset..heading.end));
        assert!((1..=6).contains(&heading.level) && heading.line < lines);
        assert!(heading.anchor().starts_with('#'));
    }
    for heading in note.headings.iter().take(50) {
        assert_eq!(heading.line, line_of(heading.offset));
    }
    assert!(note.headings.is_sorted_by(|a, b| a.end <= b.offset));
    for link in &note.links {
        assert!(!cut(&link.range).is_empty() && link.line < lines);
        let _ = (link.is_external(), link.is_embed());
    }
    for link in note.links.iter().take(50) {
        assert_eq!(link.line, line_of(link.range.start));
    }
    for tag in &note.tags {
        assert!(!tag.name.is_empty());
        if let Some(range) = &tag.range {
            assert_eq!(cut(range), format!("#{}", tag.name));
        }
    }
    for task in &note.tasks {
        assert_eq!(text[task.status_offset..].chars().next(), Some(task.status));
        assert!(task.line < lines && !task.text.contains('\n'));
    }
    for task in note.tasks.iter().take(50) {
        assert_eq!(task.line, line_of(task.status_offset));
    }
    for block in &note.block_ids {
        assert_eq!(cut(&block.range), format!("^{}", block.name));
        assert!(block.line < lines);
    }
    let path = VaultPath::parse("a note.md").unwrap();
    assert!(!note.title(&path).is_empty());
}
