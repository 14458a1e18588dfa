//! Pages of a note's text.

use std::borrow::Cow;

use atlas_ops::error::{Error, Reason};

/// A part of a text.
pub(super) struct Page {
    pub(super) content: String,
    /// The start of the next one.
    pub(super) next: Option<u64>,
    /// Whether it has invalid bytes, which are shown as U+FFFD.
    pub(super) lossy: bool,
}

/// The page from `offset`, of at most `limit` bytes, and about `json_bytes` as JSON; it begins and ends between characters.
pub(super) fn page(text: &[u8], offset: u64, limit: usize, json_bytes: usize) -> Result<Page, Error> {
    let beyond = || {
        Error::bad_request(Reason::OffsetInvalid, format!("offset: the note has {} bytes", text.len()))
            .with("bytes", text.len())
    };
    let rest = usize::try_from(offset).ok().and_then(|offset| text.get(offset..)).ok_or_else(beyond)?;
    if let Some(start) = begun_before(text, text.len() - rest.len()) {
        let message =
            format!("offset: {offset} is inside a character, which begins at {start}; take a page's next_offset");
        return Err(Error::bad_request(Reason::OffsetInvalid, message).with("nearest", start));
    }
    let limit = within(rest, limit, json_bytes).max(1);
    let end = match begun_before(rest, limit) {
        _ if rest.len() <= limit => rest.len(),
        None => limit,
        // A first character that is longer than the limit is a page of its own.
        Some(0) => (limit..limit + 4).find(|at| begun_before(rest, *at).is_none()).unwrap_or(limit),
        Some(start) => start,
    };
    let bytes = rest.get(..end).unwrap_or_default();
    let content = String::from_utf8_lossy(bytes);
    Ok(Page {
        next: (bytes.len() < rest.len()).then_some(offset + bytes.len() as u64),
        lossy: matches!(content, Cow::Owned(_)),
        content: content.into_owned(),
    })
}

/// The start of the character that the byte at `at` continues. Invalid bytes are of no character.
fn begun_before(text: &[u8], at: usize) -> Option<usize> {
    (at.saturating_sub(3)..at).find(|start| {
        let bytes = text.get(*start..text.len().min(start + 4)).unwrap_or_default();
        let first = bytes.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
        first.is_some_and(|first| start + first.len_utf8() > at)
    })
}

/// The bytes of `text`, at most `limit`, that take at most `json_bytes` within JSON, and a few at least.
pub(crate) fn within(text: &[u8], limit: usize, json_bytes: usize) -> usize {
    let bytes = text.get(..limit).unwrap_or(text);
    let mut json = 0;
    for (index, byte) in bytes.iter().enumerate() {
        json += match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
            0..0x20 => 6,
            // Perhaps invalid, and shown as U+FFFD.
            0x80.. => 3,
            _ => 1,
        };
        if json > json_bytes {
            return index.max(4);
        }
    }
    limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlas_ops::pipeline::response_limit;
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn the_pages_of_a_note_are_the_note(text in "\\PC{0,60}", limit in 4usize..20) {
            let (mut whole, mut offset) = (String::new(), Some(0));
            while let Some(at) = offset {
                let page = page(text.as_bytes(), at, limit, usize::MAX).unwrap();
                prop_assert!(page.content.len() <= limit && !page.lossy);
                whole.push_str(&page.content);
                offset = page.next;
            }
            prop_assert_eq!(whole, text);
        }

        #[test]
        fn the_pages_of_any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..60), limit in 1usize..20) {
            let mut offset = Some(0);
            while let Some(at) = offset {
                let page = page(&bytes, at, limit, 60).unwrap();
                prop_assert!(page.next.is_none_or(|next| next > at));
                prop_assert!(response_limit::json_bytes(&page.content) <= 60);
                offset = page.next;
            }
        }
    }

    #[test]
    fn an_offset_inside_a_character_is_refused_with_its_start() {
        for (text, offset, start) in
            [("caf\u{e9}!", 4, 3), ("\u{1f30a}", 1, 0), ("\u{1f30a}", 3, 0), ("a\u{20ac}", 3, 1)]
        {
            let error = page(text.as_bytes(), offset, 10, 100).err().unwrap();
            assert_eq!(error.reason(), "offset_invalid", "{text} {offset}");
            assert_eq!(error.details.get("nearest"), Some(&json!(start)), "{text} {offset}");
            assert!(page(text.as_bytes(), start, 10, 100).is_ok());
            assert!(page(text.as_bytes(), text.len() as u64, 10, 100).is_ok());
        }
        // Bytes that are no character can be read from anywhere.
        for bytes in [&b"a\x80\x80"[..], b"\xe2\x82a", b"\xff\xbf"] {
            for offset in 0..3 {
                assert!(page(bytes, offset.min(bytes.len() as u64), 10, 100).is_ok(), "{bytes:?} {offset}");
            }
        }
    }

    #[test]
    fn an_offset_past_the_end_is_refused() {
        assert!(page(b"text", 4, 10, 100).is_ok());
        assert_eq!(
            page(b"text", 5, 10, 100).err().map(|error| error.reason().to_owned()).as_deref(),
            Some("offset_invalid")
        );
    }
}
