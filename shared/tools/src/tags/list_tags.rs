//! `list_tags`: all tags, with their numbers of notes.

use std::collections::BTreeMap;

use atlas_ops::arguments::{self, Given, Root, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::facts::Facts;
use atlas_ops::read::nearest;
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_segment::SectionName;
use atlas_segment::facts::TagPlaces;
use atlas_vault::fold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TagSource, add};

/// Lists the tags of the vault or a folder, the most used first, with the number of notes with each and whether they
/// are in properties or in the text.
pub struct ListTags;

/// Which tags to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only of notes in this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    root: String,
    /// Also count tags in texts; true if not given.
    #[serde(default = "arguments::yes")]
    include_inline: bool,
    /// Also count tags in properties; true if not given.
    #[serde(default = "arguments::yes")]
    include_frontmatter: bool,
    /// Most tags to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A tag.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TagCount {
    /// The tag, without `#`, as most notes write it.
    tag: String,
    /// The number of notes with it. Those with a tag below it (`#a/b` for `#a`) do not count.
    count: usize,
    /// Its places.
    source: TagSource,
}

/// A tag while notes are counted.
#[derive(Default)]
struct TagTally {
    /// The number of notes with each spelling, and with any.
    spellings: BTreeMap<String, usize>,
    count: usize,
    /// The notes of one segment with any spelling, as often as they have one.
    documents: Vec<u32>,
    places: TagPlaces,
}

impl Operation for ListTags {
    const INFO: Info = Info {
        name: "list_tags",
        title: "List tags",
        description: "Lists the tags of the vault or a folder, the most used first, with how many notes have each and whether they are in properties or in the text. For the notes with one of them take find_notes_by_tag. Example: {\"limit\": 50}",
        scopes: &[Scope::ReadVault],
        tags: &["tags"],
        aliases: &[Alias::Name("folder", "root"), Alias::Ignored("max_notes")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<TagCount>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { root, include_inline, include_frontmatter, limit, cursor } = arguments;
        let listing = (Self::INFO.name, &root, include_inline, include_frontmatter);
        let paging = Paging::new(limit, cursor.as_ref(), &listing)?;
        let root = Root::of("root", &root)?;
        let wanted = |places: TagPlaces| TagPlaces {
            inline: places.inline && include_inline,
            in_properties: places.in_properties && include_frontmatter,
        };
        let page = |view: atlas_ops::read::view::View| {
            let (root, paging) = (&root, &paging);
            async move {
                let generation = view.generation();
                let facts = Facts::fetch(context, view.clone(), &[SectionName::Tags]).await?;
                let all = counted(&facts, root, wanted)?;
                let total = all.len();
                nearest::check_found(context, view, root, total).await?;
                let items = paging.of(&all).iter().map(|(tag, count, source)| TagCount {
                    tag: tag.clone(),
                    count: *count,
                    source: *source,
                });
                paging.page(context, generation, total, items.collect())
            }
        };
        paging.read(context, page).await
    }
}

/// The tags below `root` at wanted places, the most used first.
fn counted(
    facts: &Facts,
    root: &Root,
    wanted: impl Fn(TagPlaces) -> TagPlaces,
) -> Result<Vec<(String, usize, TagSource)>, Error> {
    let mut tags: BTreeMap<String, TagTally> = BTreeMap::new();
    for segment in facts.index().segments() {
        let below = facts.below(segment, root)?;
        for column in facts.tags(segment)?.iter() {
            let (mut documents, mut all) = (Vec::new(), TagPlaces::default());
            for (document, places) in column.iter() {
                let places = wanted(*places);
                if places != TagPlaces::default() && below.contains(&document) && facts.shows(segment, document) {
                    documents.push(document);
                    add(&mut all, places);
                }
            }
            if !documents.is_empty() {
                let tag = tags.entry(fold(column.key())).or_default();
                *tag.spellings.entry(column.key().to_owned()).or_default() += documents.len();
                tag.documents.append(&mut documents);
                add(&mut tag.places, all);
            }
        }
        for tag in tags.values_mut() {
            tag.documents.sort_unstable();
            tag.documents.dedup();
            tag.count += tag.documents.len();
            tag.documents.clear();
        }
    }
    let tag = |counted: TagTally| {
        // Of equally frequent spellings, the first.
        let most = counted.spellings.iter().rev().max_by_key(|(_, count)| **count)?.0.clone();
        Some((most, counted.count, TagSource::of(counted.places)?))
    };
    let mut all: Vec<(String, usize, TagSource)> = tags.into_values().filter_map(tag).collect();
    all.sort_by(|(one, one_count, _), (other, other_count, _)| other_count.cmp(one_count).then_with(|| one.cmp(other)));
    Ok(all)
}
