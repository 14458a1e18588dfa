//! Lists of objects with ids in a JSON text, such as the nodes of a canvas, and changes to them.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value};

use crate::json_text::{JsonError, JsonText, Layout, Member, Span};

/// The fields of an object.
pub type Fields = Map<String, Value>;

/// Longest id, in characters.
const MAX_ID_CHARS: usize = 200;

/// The name of such objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noun {
    /// One of them.
    pub one: &'static str,
    /// The name of their list.
    pub of: &'static str,
    /// The member that lists them.
    pub list: &'static str,
}

/// Why a list cannot be read, or not be changed so.
#[derive(Debug)]
pub(crate) enum ItemsError {
    /// The text is no such file.
    File(JsonError),
    /// The change is not allowed.
    Change(String),
}

impl From<JsonError> for ItemsError {
    fn from(error: JsonError) -> Self {
        Self::File(error)
    }
}

/// The objects of a list.
#[derive(Debug)]
pub(crate) struct Items {
    noun: Noun,
    /// Where the list stands, if there is one.
    array: Option<Span>,
    spans: Vec<Span>,
    fields: Vec<Fields>,
    by_id: HashMap<String, usize>,
}

impl Items {
    /// Reads the list among the members of an object; an empty one if there is none.
    ///
    /// # Errors
    /// When it is none, or an object has no id, or another's: with the place.
    pub(crate) fn read(json: &JsonText<'_>, members: &[Member], noun: Noun) -> Result<Self, ItemsError> {
        let mut items = Self { noun, array: None, spans: Vec::new(), fields: Vec::new(), by_id: HashMap::new() };
        let Some(member) = members.iter().rfind(|member| member.name == noun.list) else { return Ok(items) };
        items.array = Some(member.value.clone());
        items.spans = json.elements(&member.value)?;
        for (at, span) in items.spans.iter().enumerate() {
            let fields: Fields = json.value(span)?;
            let wrong = |message: String| ItemsError::File(JsonError::at(json.text(), span.start, message));
            let Some(id) = id(&fields) else { return Err(wrong(format!("this {} has no id", noun.one))) };
            if items.by_id.insert(id.to_owned(), at).is_some() {
                return Err(wrong(format!("two {}s have the id {id:?}", noun.one)));
            }
            items.fields.push(fields);
        }
        Ok(items)
    }

    /// The objects, in order.
    pub(crate) fn fields(&self) -> &[Fields] {
        &self.fields
    }

    /// Their ids.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.by_id.keys().map(String::as_str)
    }

    /// Whether there is one with this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// The one with this id.
    pub(crate) fn get(&self, id: &str) -> Option<&Fields> {
        self.fields.get(*self.by_id.get(id)?)
    }

    /// Where those with these ids stand, ascending.
    pub(crate) fn places(&self, ids: &[String]) -> Result<Vec<usize>, ItemsError> {
        let mut places = Vec::with_capacity(ids.len());
        for id in ids {
            places.push(*self.by_id.get(id).ok_or_else(|| self.missing(id))?);
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    /// The fields of those that are updated, as they are then: those of `updates` are set, and those that are null removed.
    pub(crate) fn updated(
        &self,
        updates: &BTreeMap<String, Fields>,
        gone: &[usize],
    ) -> Result<Vec<Fields>, ItemsError> {
        let mut all = Vec::with_capacity(updates.len());
        for (id, updates) in updates {
            let at = self.by_id.get(id).filter(|at| gone.binary_search(at).is_err());
            let at = *at.ok_or_else(|| self.missing(id))?;
            let mut fields = self.fields.get(at).cloned().unwrap_or_default();
            if updates.get("id").is_some_and(|new| new.as_str() != Some(id)) {
                return Err(ItemsError::Change(format!("{} {id:?}: its id cannot be changed", self.noun.one)));
            }
            for (name, value) in updates {
                match value {
                    Value::Null => drop(fields.shift_remove(name)),
                    value => drop(fields.insert(name.clone(), value.clone())),
                }
            }
            all.push(fields);
        }
        Ok(all)
    }

    /// Writes the updated fields of those with these ids.
    pub(crate) fn write(
        &self,
        json: &mut JsonText<'_>,
        updates: &BTreeMap<String, Fields>,
        layout: Layout,
    ) -> Result<(), JsonError> {
        for (id, updates) in updates {
            if let Some(span) = self.by_id.get(id).and_then(|at| self.spans.get(*at)) {
                set_fields(json, span, updates, layout)?;
            }
        }
        Ok(())
    }

    /// Removes those in these places, ascending, and adds new ones. Where there is no list, it is a member to add.
    #[must_use]
    pub(crate) fn change(
        &self,
        json: &mut JsonText<'_>,
        gone: &[usize],
        new: &[Fields],
        layout: Layout,
    ) -> Option<(&'static str, Value)> {
        let new: Vec<Value> = new.iter().cloned().map(Value::Object).collect();
        match &self.array {
            Some(array) => {
                json.change_elements(array, &self.spans, gone, &new, layout);
                None
            }
            None => (!new.is_empty()).then(|| (self.noun.list, Value::from(new))),
        }
    }

    fn missing(&self, id: &str) -> ItemsError {
        ItemsError::Change(format!("the {} has no {} with the id {id:?}", self.noun.of, self.noun.one))
    }
}

/// Sets members of the object at `span`; null removes one.
pub(crate) fn set_fields(
    json: &mut JsonText<'_>,
    span: &Span,
    updates: &Fields,
    layout: Layout,
) -> Result<(), JsonError> {
    let members = json.members(span)?;
    let mut gone = Vec::new();
    let mut new: Vec<(&str, &Value)> = Vec::new();
    for (name, value) in updates {
        // Of several of one name, the last counts.
        match members.iter().rposition(|member| member.name == *name) {
            Some(_) if value.is_null() => {
                gone.extend((0..).zip(&members).filter(|(_, member)| member.name == *name).map(|(at, _)| at));
            }
            Some(at) => {
                if let Some(member) = members.get(at) {
                    json.replace(&member.value, value);
                }
            }
            None if value.is_null() => {}
            None => new.push((name, value)),
        }
    }
    gone.sort_unstable();
    json.change_members(span, &members, &gone, &new, layout);
    Ok(())
}

/// The id of an object.
pub(crate) fn id(fields: &Fields) -> Option<&str> {
    fields.get("id")?.as_str().filter(|id| !id.is_empty())
}

/// Gives ids.
pub(crate) struct Ids {
    seed: u64,
    digits: usize,
    known: HashSet<String>,
}

impl Ids {
    /// Ids of so many hexadecimal digits, at most 16, made from `seed`, that are none of the `known`.
    pub(crate) fn new<'a>(seed: u64, digits: usize, known: impl Iterator<Item = &'a str>) -> Self {
        Self { seed, digits, known: known.map(str::to_owned).collect() }
    }

    /// `items`, each with an id that nothing else has.
    pub(crate) fn named(&mut self, items: &[Fields], noun: Noun) -> Result<Vec<Fields>, ItemsError> {
        let Noun { one, of, .. } = noun;
        let mut named = Vec::with_capacity(items.len());
        for item in items {
            let mut fields = Fields::new();
            let id = match item.get("id") {
                None | Some(Value::Null) => self.fresh(),
                Some(Value::String(id)) if !id.is_empty() && id.chars().count() <= MAX_ID_CHARS => id.clone(),
                Some(_) => {
                    let message = format!("the id of a {one} is a string of at most {MAX_ID_CHARS} characters");
                    return Err(ItemsError::Change(message));
                }
            };
            if !self.known.insert(id.clone()) {
                return Err(ItemsError::Change(format!("the {of} has the id {id:?} already: give the {one} another")));
            }
            fields.insert("id".to_owned(), id.into());
            fields.extend(
                item.iter()
                    .filter(|(name, value)| *name != "id" && !value.is_null())
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            named.push(fields);
        }
        Ok(named)
    }

    /// The next number.
    pub(crate) const fn number(&mut self) -> u64 {
        // SplitMix64, whose steps visit every number.
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn fresh(&mut self) -> String {
        loop {
            let mut id = format!("{:016x}", self.number());
            id.truncate(self.digits);
            if !self.known.contains(&id) {
                return id;
            }
        }
    }
}
