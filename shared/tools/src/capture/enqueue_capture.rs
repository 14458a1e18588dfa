//! `enqueue_capture`: notes something down, to be made a note later.

use atlas_access::Access;
use atlas_ops::arguments::{Given, ReadPath, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queue::{self, Capture, CaptureId, MAX_CONTENT};

/// Notes something down, to be made a note later.
pub struct EnqueueCapture;

/// The text to note down.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The text, in markdown; at most 128 KiB.
    #[schemars(length(min = 1, max = 131_072))]
    content: String,
    /// A title; none if not given.
    #[serde(default)]
    title: Given<Text<500>>,
    /// Tags for the note, with or without `#`; at most 50.
    #[serde(default)]
    #[schemars(length(max = 50))]
    tags: Vec<Text<200>>,
    /// Where it comes from, as the name of a program; unknown if not given.
    #[serde(default)]
    source: Given<Text<200>>,
    /// The path that the note may get, from the root of the vault; none if not given. Whoever may not read there does not see the capture.
    #[serde(default)]
    target_path_hint: Given<ReadPath>,
}

/// Where it waits.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The id that `commit_capture` takes.
    capture_id: String,
    /// When it was noted down.
    #[schemars(with = "String", extend("format" = "date-time"))]
    captured_at: Timestamp,
    /// The vault's id.
    vault: String,
}

const MAX_TAGS: usize = 50;

impl Operation for EnqueueCapture {
    const INFO: Info = Info {
        name: "enqueue_capture",
        title: "Capture something for later",
        description: "Notes a text down without deciding yet where it belongs: nothing of the vault changes until commit_capture makes a note of it, within 30 days. Only you and administrators see it, with list_capture_queue. At most 200 wait at once. To add to the vault now take write_note or append_to_periodic_note. Example: {\"content\": \"Ask Ada about the crane\", \"title\": \"Crane\", \"tags\": [\"port\"]}",
        scopes: &[Scope::WriteVault],
        tags: &["capture"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(arguments.target_path_hint.iter().map(|hint| (Access::Read, hint.clone().into())).collect())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { content, title, tags, source, target_path_hint } = arguments;
        if content.trim().is_empty() || content.len() > MAX_CONTENT {
            return Err(invalid_input(
                "content",
                &format!("write 1 to {MAX_CONTENT} bytes that are not all white space"),
            ));
        }
        if tags.len() > MAX_TAGS {
            return Err(invalid_input("tags", &format!("write at most {MAX_TAGS}")));
        }
        let owned = |text: &Text<200>| text.as_str().to_owned();
        let capture = Capture {
            by: context.caller.name().to_owned(),
            at: context.now,
            content,
            title: title.as_ref().map(|title| title.as_str().to_owned()),
            tags: tags.iter().map(|tag| tag.as_str().trim_start_matches('#').to_owned()).collect(),
            source: source.as_ref().map(owned),
            hint: target_path_hint.0.map(Into::into),
        };
        let id = CaptureId::new(context)?;
        let captured_at = queue::add(context, &id, &capture).await?;
        let value = Output { capture_id: id.written(), captured_at, vault: context.vault.id.clone() };
        Ok(Answer { value, generation: None })
    }
}
