//! `find_notes_by_property`: the notes whose properties meet conditions.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use atlas_ops::arguments::{Exact, Given, Root, Text, invalid_input};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::facts::Facts;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::nearest;
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use atlas_segment::facts::{Column, Columns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::within;

/// Lists the notes whose properties meet all of some conditions, by path.
pub struct FindNotesByProperty;

/// The conditions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The conditions, all of which must hold; if not given, key is needed.
    #[serde(default)]
    #[schemars(length(max = 20))]
    filter: Vec<Condition>,
    /// Only notes with this property; the same as a condition with `is`, or with `exists` if value is not given.
    #[serde(default)]
    key: Given<Exact<1024>>,
    /// Only with key: the property's value.
    #[serde(default)]
    value: Given<Value>,
    /// Whether keys such as `author.name` may mean `name` in the property `author`, if no property has the whole name.
    #[serde(default)]
    nested: bool,
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

/// A condition on a property.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The property's name, as notes write it.
    key: Exact<1024>,
    /// The comparison.
    op: Comparator,
    /// The compared value; of `in` and `nin` a list of at most 1,000. `exists` and `absent` take none.
    #[serde(default)]
    value: Given<Value>,
}

/// How a property is compared with a value. Values of different types are neither equal nor greater or less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Comparator {
    /// It is the value.
    Eq,
    /// It is the value, or a list that contains it.
    Is,
    /// It is another value, or missing.
    Neq,
    /// It is a greater number or a later text, so also a later date.
    Gt,
    /// The same, or equal.
    Gte,
    /// It is a smaller number or an earlier text.
    Lt,
    /// The same, or equal.
    Lte,
    /// It is one of the values.
    In,
    /// It is none of the values, or missing.
    Nin,
    /// It is a list that contains the value, or a text that contains the text.
    Contains,
    /// It exists, even with the value null.
    Exists,
    /// It is missing.
    Absent,
}

impl Comparator {
    /// Whether it holds for notes without the property.
    const fn holds_of_none(self) -> bool {
        matches!(self, Self::Neq | Self::Nin | Self::Absent)
    }
}

/// A note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MatchedNote {
    /// Its path.
    path: String,
    /// Its properties in the conditions.
    matched_values: Map<String, Value>,
}

/// Most conditions, and most values of one.
const MAX_CONDITIONS: usize = 20;
const MAX_VALUES: usize = 1000;

impl Operation for FindNotesByProperty {
    const INFO: Info = Info {
        name: "find_notes_by_property",
        title: "Find notes by property",
        description: "Lists the notes whose properties (frontmatter) meet all conditions of filter: is (the value, or a list that contains it), eq, neq, gt, gte, lt, lte (numbers, and texts such as dates), in, nin, contains (a list's item or a text's part), exists, absent; or with key and value alone. Example: {\"key\": \"status\", \"value\": \"active\"}",
        scopes: &[Scope::ReadVault],
        tags: &["properties"],
        aliases: &[Alias::Name("folder", "root"), Alias::Ignored("verbosity")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<MatchedNote>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { mut filter, key, value, nested, root, limit, cursor } = arguments;
        match (key.0, &*value) {
            (Some(key), None) => filter.push(Condition { key, op: Comparator::Exists, value }),
            (Some(key), Some(_)) => filter.push(Condition { key, op: Comparator::Is, value }),
            (None, None) => {}
            (None, Some(_)) => return Err(invalid_input("key", "name the property that is to have the value")),
        }
        check(&filter)?;
        let paging = Paging::new(limit, cursor.as_ref(), &(Self::INFO.name, &filter, nested, &root))?;
        let root = Root::of("root", &root)?;
        let page = |view: View| {
            let (root, paging, filter) = (&root, &paging, &filter);
            async move {
                let generation = view.generation();
                let facts = Facts::fetch(context, view.clone(), &[SectionName::Properties]).await?;
                let found = matching(&facts, root, filter, nested)?;
                nearest::check_found(context, view, root, found.len()).await?;
                let mut items = Vec::new();
                for document in paging.of(&found) {
                    items.push(MatchedNote {
                        path: facts.index().path(*document)?,
                        matched_values: values(&facts, *document, filter, nested)?,
                    });
                }
                paging.page(context, generation, found.len(), items)
            }
        };
        paging.read(context, page).await
    }
}

/// Fails if a condition is invalid.
fn check(filter: &[Condition]) -> Result<(), Error> {
    let refused = |message: String| Err(Error::bad_request(Reason::InvalidInput, message).with("field", "filter"));
    if filter.is_empty() || filter.len() > MAX_CONDITIONS {
        return refused(format!("filter: give 1 to {MAX_CONDITIONS} conditions, or key and value"));
    }
    for (index, Condition { op, value, .. }) in filter.iter().enumerate() {
        let problem = match (op, value.as_ref()) {
            (Comparator::Exists | Comparator::Absent, Some(_)) => "takes no value",
            (Comparator::Exists | Comparator::Absent, None) => continue,
            (_, None) => "needs a value",
            (Comparator::In | Comparator::Nin, Some(Value::Array(values))) if values.len() <= MAX_VALUES => continue,
            (Comparator::In | Comparator::Nin, Some(Value::Array(_))) => "takes at most 1000 values",
            (Comparator::In | Comparator::Nin, Some(_)) => "needs a list of values",
            _ => continue,
        };
        return refused(format!("filter[{index}]: this comparison {problem}"));
    }
    Ok(())
}

impl Condition {
    /// Whether it holds for a property; [`None`] if it is missing.
    fn holds(&self, property: Option<&Value>) -> bool {
        let Some(property) = property else { return self.op.holds_of_none() };
        let value = self.value.as_ref().unwrap_or(&Value::Null);
        let among = || value.as_array().is_some_and(|values| values.iter().any(|value| equal(property, value)));
        let order = |wanted: &[Ordering]| compare(property, value).is_some_and(|order| wanted.contains(&order));
        match self.op {
            Comparator::Eq => equal(property, value),
            Comparator::Is => {
                let has = |items: &Vec<Value>| items.iter().any(|item| equal(item, value));
                equal(property, value) || property.as_array().is_some_and(has)
            }
            Comparator::Neq => !equal(property, value),
            Comparator::Gt => order(&[Ordering::Greater]),
            Comparator::Gte => order(&[Ordering::Greater, Ordering::Equal]),
            Comparator::Lt => order(&[Ordering::Less]),
            Comparator::Lte => order(&[Ordering::Less, Ordering::Equal]),
            Comparator::In => among(),
            Comparator::Nin => !among(),
            Comparator::Contains => match (property, value) {
                (Value::Array(items), value) => items.iter().any(|item| equal(item, value)),
                (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
                _ => false,
            },
            Comparator::Exists => true,
            Comparator::Absent => false,
        }
    }
}

/// Whether values are equal; `1` and `1.0` are.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) => compare(one, other) == Some(Ordering::Equal),
        _ => one == other,
    }
}

/// The order of two values of one type.
fn compare(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => Some(one.cmp(&other)),
            _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
        },
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

/// The properties with a key in a segment: a column, and names within its values.
struct Named<'a> {
    column: &'a Column<Value>,
    names: Option<&'a str>,
}

impl<'a> Named<'a> {
    fn of(properties: &'a Columns<Value>, key: &'a str, nested: bool) -> Vec<Self> {
        let whole = properties.get(key).map(|column| Self { column, names: None });
        let parts = key.split_once('.').filter(|_| nested);
        let part = parts.and_then(|(name, names)| Some(Self { column: properties.get(name)?, names: Some(names) }));
        whole.into_iter().chain(part).collect()
    }

    fn value(&self, document: u32) -> Option<&'a Value> {
        let value = self.column.of(document)?;
        self.names.map_or(Some(value), |names| within(value, names))
    }
}

/// The value of the first that the document has.
fn value<'a>(named: &[Named<'a>], document: u32) -> Option<&'a Value> {
    named.iter().find_map(|named| named.value(document))
}

/// The notes below `root` that meet `filter`, by path.
fn matching(facts: &Facts, root: &Root, filter: &[Condition], nested: bool) -> Result<Vec<DocumentRef>, Error> {
    let mut found = Vec::new();
    for segment in facts.index().segments() {
        let below = facts.below(segment, root)?;
        let properties = facts.properties(segment)?;
        let columns: Vec<(&Condition, Vec<Named<'_>>)> =
            filter.iter().map(|condition| (condition, Named::of(properties, condition.key.as_str(), nested))).collect();
        let holds = |document: u32| columns.iter().all(|(condition, named)| condition.holds(value(named, document)));
        let documents: Vec<u32> = match columns.iter().find(|(condition, _)| !condition.op.holds_of_none()) {
            // Only notes with this property can match.
            Some((_, named)) => {
                let all = named.iter().flat_map(|named| named.column.iter()).map(|(document, _)| document);
                all.collect::<BTreeSet<u32>>().into_iter().collect()
            }
            None => facts.notes(segment, root)?,
        };
        let is_found = |document: &u32| below.contains(document) && holds(*document) && facts.shows(segment, *document);
        found.extend(documents.into_iter().filter(is_found).map(|document| DocumentRef { segment, document }));
    }
    facts.index().sort_by_path(&mut found, |document| *document);
    Ok(found)
}

/// The properties of a note in the conditions.
fn values(
    facts: &Facts,
    document: DocumentRef,
    filter: &[Condition],
    nested: bool,
) -> Result<Map<String, Value>, Error> {
    let DocumentRef { segment, document } = document;
    let properties = facts.properties(segment)?;
    let value = |condition: &Condition| {
        let key = condition.key.as_str();
        Some((key.to_owned(), value(&Named::of(properties, key, nested), document)?.clone()))
    };
    Ok(filter.iter().filter_map(value).collect())
}
