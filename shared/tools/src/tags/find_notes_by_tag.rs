//! `find_notes_by_tag`: the notes that have a tag, or one below it.

use std::collections::BTreeMap;

use atlas_ops::arguments::{self, Given, Root, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::facts::Facts;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::nearest;
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use atlas_segment::facts::TagPlaces;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SearchedTag, TagSource, add};

/// Lists the notes that have a tag, or one below it, by path.
pub struct FindNotesByTag;

/// The tags, and options.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The tag, with or without `#`; upper and lower case are the same.
    tag: Text<256>,
    /// Other tags; a note that has one of them is found too, or with `require_all` only one that has all.
    #[serde(default)]
    #[schemars(length(max = 20))]
    tags: Vec<Text<256>>,
    /// Only notes that have all of the tags.
    #[serde(default)]
    require_all: bool,
    /// Also find notes with a tag below it: `#parent/child` for `#parent`; true if not given.
    #[serde(default = "arguments::yes")]
    hierarchical: bool,
    /// Only notes in this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    root: String,
    /// Most notes to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaggedNote {
    /// Its path.
    path: String,
    /// Those of the searched tags that it has, without `#`, as it writes them.
    matched_tags: Vec<String>,
    /// Their places.
    source: TagSource,
}

/// Most tags besides the first.
const MAX_TAGS: usize = 20;

impl Operation for FindNotesByTag {
    const INFO: Info = Info {
        name: "find_notes_by_tag",
        title: "Find notes by tag",
        description: "Lists the notes that have a tag, or one below it, by path. Several tags: notes that have one of them, or all with require_all. Example: {\"tag\": \"urgent\"}",
        scopes: &[Scope::ReadVault],
        tags: &["tags"],
        aliases: &[Alias::Name("folder", "root")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<TaggedNote>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { tag, tags, require_all, hierarchical, root, limit, cursor } = arguments;
        if tags.len() > MAX_TAGS {
            return Err(invalid_input("tags", &format!("name at most {MAX_TAGS}")));
        }
        let others = tags.iter().map(|tag| SearchedTag::of("tags", tag.as_str()));
        let mut asked: Vec<SearchedTag> =
            others.chain([SearchedTag::of("tag", tag.as_str())]).collect::<Result<_, Error>>()?;
        asked.sort_unstable();
        asked.dedup();
        let paging = Paging::new(limit, cursor.as_ref(), &(Self::INFO.name, &asked, require_all, hierarchical, &root))?;
        let root = Root::of("root", &root)?;
        let is_asked = |written: &str| {
            let held = asked.iter().enumerate().filter(|(_, asked)| asked.holds(written, hierarchical));
            held.fold(0_u32, |bits, (index, _)| bits | 1 << index)
        };
        let all_of_them = if require_all { asked.len() as u32 } else { 1 };
        let page = |view: View| {
            let (root, paging, is_asked) = (&root, &paging, &is_asked);
            async move {
                let generation = view.generation();
                let facts = Facts::fetch(context, view.clone(), &[SectionName::Tags]).await?;
                let mut found = tagged(&facts, root, is_asked)?;
                found.retain(|(_, tagged)| tagged.asked.count_ones() >= all_of_them);
                let total = found.len();
                nearest::check_found(context, view, root, total).await?;
                let mut items = Vec::new();
                for (document, tagged) in paging.of(&found) {
                    let path = facts.index().path(*document)?;
                    let source = TagSource::of(tagged.places);
                    items.extend(source.map(|source| TaggedNote { path, matched_tags: tagged.tags.clone(), source }));
                }
                paging.page(context, generation, total, items)
            }
        };
        paging.read(context, page).await
    }
}

/// The searched tags of a note.
#[derive(Default)]
struct Tagged {
    /// A bit for each searched tag.
    asked: u32,
    tags: Vec<String>,
    places: TagPlaces,
}

/// The notes below `root` with searched tags, by path.
fn tagged(facts: &Facts, root: &Root, asked: impl Fn(&str) -> u32) -> Result<Vec<(DocumentRef, Tagged)>, Error> {
    let mut notes: BTreeMap<DocumentRef, Tagged> = BTreeMap::new();
    for segment in facts.index().segments() {
        let below = facts.below(segment, root)?;
        for column in facts.tags(segment)?.iter() {
            let asked = asked(column.key());
            if asked == 0 {
                continue;
            }
            for (document, places) in column.iter() {
                if below.contains(&document) && facts.shows(segment, document) {
                    let note = notes.entry(DocumentRef { segment, document }).or_default();
                    note.asked |= asked;
                    note.tags.push(column.key().to_owned());
                    add(&mut note.places, *places);
                }
            }
        }
    }
    let mut notes: Vec<(DocumentRef, Tagged)> = notes.into_iter().collect();
    facts.index().sort_by_path(&mut notes, |(document, _)| *document);
    Ok(notes)
}
