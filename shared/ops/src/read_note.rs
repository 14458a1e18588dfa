//! `read_note`: one note's text and properties.

use atlas_access::Access;
use atlas_segment::{Kind, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::arguments;
use crate::error::Error;
use crate::governor::AROUND_TEXT;
use crate::notes;
use crate::operation::{Answer, Context, Info, Operation, Scope, Touch};
use crate::view::View;

/// The operation.
pub struct ReadNote;

/// Which note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ReadNoteRequest")]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: String,
    /// The byte to begin at: 0, or the `next_offset` of the page before.
    #[serde(default)]
    offset: u64,
    /// Read the note as it was at this generation.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "u64")]
    generation: Option<u64>,
}

/// The note.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReadNoteResponse")]
pub struct Output {
    /// Its path.
    pub(crate) path: String,
    /// Its text, or the page of it that was asked for.
    pub(crate) content: String,
    /// Its properties; null if it has none or they cannot be read.
    pub(crate) frontmatter: Option<Map<String, Value>>,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// SHA-256 of its bytes, in hex.
    pub(crate) sha256: String,
    /// The generation that wrote this version.
    generation: u64,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
    /// True if the note is not UTF-8: what could not be decoded is shown as U+FFFD.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
}

impl Arguments {
    /// The beginning of the newest version of the note at `path`.
    pub(crate) const fn of(path: String) -> Self {
        Self { path, offset: 0, generation: None }
    }
}

impl Operation for ReadNote {
    const INFO: Info = Info {
        name: "read_note",
        title: "Read a note",
        description: "Returns the text and properties of the note at a path. A long note comes in pages: call again with next_offset.",
        scopes: &[Scope::ReadVault],
        destructive: false,
        tags: &["notes"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn touches(arguments: &Self::Arguments) -> Result<Vec<Touch>, Error> {
        Ok(vec![(Access::Read, arguments::path("path", &arguments.path)?)])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = arguments::path("path", &arguments.path)?;
        let path = path.as_str();
        let find = |view: View| async move {
            let found = notes::find(view.snapshot(), path, has_text).await?;
            found.filter(|found| has_text(&found.record)).ok_or_else(|| notes::missing(path))
        };
        let answer = match arguments.generation {
            None => context.read(find).await?,
            Some(generation) => {
                let view = View::whole(notes::at(context, generation).await?);
                Answer { value: find(view).await?, generation: Some(generation) }
            }
        };
        let found = answer.value;
        let frontmatter = atlas_vault::parse(&String::from_utf8_lossy(&found.text))
            .frontmatter
            .and_then(|frontmatter| frontmatter.properties.ok());
        let around = AROUND_TEXT + frontmatter.as_ref().map_or(0, |properties| json!(properties).to_string().len());
        let json_bytes = context.limits.max_response_bytes.saturating_sub(around);
        let page = page(&found.text, arguments.offset, context.limits.max_bytes, json_bytes)?;
        let output = Output {
            sha256: found.sha256(),
            path: found.record.path,
            content: page.content,
            frontmatter,
            bytes: found.record.bytes,
            generation: found.generation,
            next_offset: page.next,
            lossy: page.lossy,
        };
        Ok(Answer { value: output, generation: answer.generation })
    }
}

/// Whether it is a note or another file of text.
pub(crate) const fn has_text(record: &Record) -> bool {
    matches!(record.kind, Kind::Note | Kind::Text)
}

struct Page {
    content: String,
    next: Option<u64>,
    lossy: bool,
}

/// The page of at most `limit` bytes, and about `json_bytes` as JSON, that begins at `offset`; it does not cut a character in two.
fn page(text: &[u8], offset: u64, limit: usize, json_bytes: usize) -> Result<Page, Error> {
    let beyond = || {
        Error::bad_request("offset_invalid", format!("offset: the note has {} bytes", text.len()))
            .with("bytes", text.len())
    };
    let rest = usize::try_from(offset).ok().and_then(|offset| text.get(offset..)).ok_or_else(beyond)?;
    let limit = within(rest, limit, json_bytes);
    let is_boundary = |at: usize| rest.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = if rest.len() <= limit {
        rest.len()
    } else {
        (limit.saturating_sub(3)..=limit).rev().find(|at| is_boundary(*at)).unwrap_or(limit)
    };
    let bytes = rest.get(..end.max(1).min(rest.len())).unwrap_or_default();
    let content = String::from_utf8_lossy(bytes);
    Ok(Page {
        next: (bytes.len() < rest.len()).then_some(offset + bytes.len() as u64),
        lossy: matches!(content, std::borrow::Cow::Owned(_)),
        content: content.into_owned(),
    })
}

/// The bytes of `text`, at most `limit`, that take at most `json_bytes` within JSON, and a few at least.
fn within(text: &[u8], limit: usize, json_bytes: usize) -> usize {
    let bytes = text.get(..limit).unwrap_or(text);
    let mut json = 0;
    for (index, byte) in bytes.iter().enumerate() {
        json += match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
            0..0x20 => 6,
            // Perhaps no UTF-8, and shown as U+FFFD.
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
    use crate::governor;
    use proptest::prelude::*;

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
                prop_assert!(governor::json_bytes(&page.content) <= 60);
                offset = page.next;
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
