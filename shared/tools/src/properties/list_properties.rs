//! `list_properties`: the properties of notes, with their types and numbers of notes.

use std::collections::{BTreeMap, BTreeSet};

use atlas_ops::arguments::{Bounded, Given, Root, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::facts::Facts;
use atlas_ops::read::nearest;
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::PropertyType;

/// Lists the properties that notes of the vault or a folder have, the most used first.
pub struct ListProperties;

/// Which properties to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only of notes in this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    root: String,
    /// Number of distinct values to show of each; 5 if not given.
    #[serde(default)]
    sample_size: Bounded<0, 100, 5>,
    /// Most properties to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A property.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PropertyUse {
    /// Its name.
    key: String,
    /// The types of its values.
    types: Vec<PropertyType>,
    /// The number of notes with it.
    note_count: usize,
    /// The first distinct values, by path; without long ones.
    #[schemars(extend("items" = { "description": "A value of any type." }))]
    sample_values: Vec<Value>,
}

/// A property while notes are counted.
#[derive(Default)]
struct PropertyTally<'a> {
    types: BTreeSet<PropertyType>,
    notes: usize,
    samples: Vec<&'a Value>,
}

/// Most bytes of a value that is shown.
const MAX_SAMPLE_BYTES: usize = 1000;
/// Most values of a property that are compared with those already shown.
const MAX_COMPARED: usize = 1000;

impl Operation for ListProperties {
    const INFO: Info = Info {
        name: "list_properties",
        title: "List properties",
        description: "Lists the properties that notes of the vault or a folder have, the most used first: names, types of values, how many notes have each, and some values. For the notes with one of them take find_notes_by_property. Example: {\"root\": \"Projects\"}",
        scopes: &[Scope::ReadVault],
        tags: &["properties"],
        aliases: &[Alias::Name("folder", "root"), Alias::Ignored("max_notes")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<PropertyUse>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { root, sample_size, limit, cursor } = arguments;
        let samples = sample_size.get();
        let paging = Paging::new(limit, cursor.as_ref(), &(Self::INFO.name, &root, samples))?;
        let root = Root::of("root", &root)?;
        let page = |view: View| {
            let (root, paging) = (&root, &paging);
            async move {
                let generation = view.generation();
                let facts = Facts::fetch(context, view.clone(), &[SectionName::Properties]).await?;
                let all = counted(&facts, root, samples)?;
                nearest::check_found(context, view, root, all.len()).await?;
                let items = paging.of(&all).iter().map(|(key, counted)| PropertyUse {
                    key: (*key).to_owned(),
                    types: counted.types.iter().copied().collect(),
                    note_count: counted.notes,
                    sample_values: counted.samples.iter().copied().cloned().collect(),
                });
                paging.page(context, generation, all.len(), items.collect())
            }
        };
        paging.read(context, page).await
    }
}

/// The properties of notes below `root`, the most used first.
fn counted<'a>(facts: &'a Facts, root: &Root, samples: usize) -> Result<Vec<(&'a str, PropertyTally<'a>)>, Error> {
    let mut properties: BTreeMap<&str, PropertyTally<'_>> = BTreeMap::new();
    for segment in facts.index().segments() {
        let below = facts.below(segment, root)?;
        for column in facts.properties(segment)?.iter() {
            let shown = |document: &u32| below.contains(document) && facts.shows(segment, *document);
            let mut values = column.iter().filter(|(document, _)| shown(document)).map(|(_, value)| value).peekable();
            if values.peek().is_none() {
                continue;
            }
            let counted = properties.entry(column.key()).or_default();
            for value in values {
                counted.types.insert(PropertyType::of(value));
                counted.notes += 1;
                if counted.samples.len() < samples
                    && counted.notes <= MAX_COMPARED
                    && !counted.samples.contains(&value)
                    && value.to_string().len() <= MAX_SAMPLE_BYTES
                {
                    counted.samples.push(value);
                }
            }
        }
    }
    let mut all: Vec<(&str, PropertyTally<'_>)> = properties.into_iter().collect();
    all.sort_by_key(|(_, counted)| std::cmp::Reverse(counted.notes));
    Ok(all)
}
