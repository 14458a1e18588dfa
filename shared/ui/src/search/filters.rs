//! What narrows a search: a folder, tags and properties, each as a chip that a click or a key takes away. Tags and properties stand in the query itself,
//! as who writes them by hand does.

use atlas_tools::entry;
use atlas_tools::properties::list_properties::ListProperties;
use atlas_tools::tags::list_tags::ListTags;
use atlas_vault::visible::visible;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::answer::Answered as _;
use crate::visit::Visit;

/// Most tags, properties, and values of one, to choose from.
const MOST_TAGS: u64 = 10;
const MOST_PROPERTIES: u64 = 8;
const MOST_VALUES: usize = 3;
/// Longest value to choose, in bytes.
const MAX_VALUE: usize = 40;
/// Properties that say something else than what kind of note it is.
const OTHERS: [&str; 7] = ["tags", "tag", "aliases", "alias", "title", "cssclasses", "cssclass"];

/// The query and the folder of a visit, with the filters that its form adds and drops.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) query: String,
    pub(super) folder: String,
}

impl Asked {
    pub(super) fn of(visit: &Visit) -> Self {
        let of = |name| visit.parameter(name).trim();
        let mut asked = Self { query: of("q").to_owned(), folder: of("folder").trim_matches('/').to_owned() };
        asked.drop(of("drop"));
        asked.add(of("add"));
        asked.add(&written(of("filter")));
        asked
    }

    fn add(&mut self, filter: &str) {
        if let Some(folder) = filter.strip_prefix(FOLDER) {
            self.folder = folder.trim_matches('/').to_owned();
        } else if !filter.is_empty() && !parts(&self.query).contains(&filter) {
            // In front, so that the last word stays the one that is being typed.
            self.query = format!("{filter} {}", self.query).trim_end().to_owned();
        }
    }

    fn drop(&mut self, filter: &str) {
        if filter.starts_with(FOLDER) {
            self.folder.clear();
        } else if !filter.is_empty() {
            self.query = parts(&self.query).into_iter().filter(|part| *part != filter).collect::<Vec<_>>().join(" ");
        }
    }

    /// The query without filters.
    pub(super) fn words(&self) -> String {
        parts(&self.query).into_iter().filter(|part| !is_filter(part)).collect::<Vec<_>>().join(" ")
    }
}

/// The mark of a folder among filters.
const FOLDER: &str = "folder:";

/// What a person wrote as a filter, as one: `#tag`, `property: value`, or a folder.
fn written(text: &str) -> String {
    match (text.strip_prefix('#'), text.split_once(':')) {
        (Some(tag), _) => format!("tag:{}", tag.trim()),
        (None, Some(("tag", tag))) => format!("tag:{}", tag.trim().trim_start_matches('#')),
        (None, Some((name, value))) => property(name.trim(), value.trim()),
        (None, None) if text.is_empty() => String::new(),
        (None, None) => format!("{FOLDER}{text}"),
    }
}

/// The filter of a property; a value with brackets has none.
fn property(name: &str, value: &str) -> String {
    let is_plain = |text: &str| !text.contains(['[', ']']);
    if is_plain(name) && is_plain(value) && !name.contains(':') { format!("[{name}:{value}]") } else { String::new() }
}

/// The words, phrases and filters of a query.
fn parts(query: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut in_quotes, mut in_brackets) = (0, false, false);
    for (at, letter) in query.char_indices() {
        match letter {
            '"' => in_quotes = !in_quotes,
            '[' if !in_quotes => in_brackets = true,
            ']' if !in_quotes => in_brackets = false,
            letter if letter.is_whitespace() && !in_quotes && !in_brackets => {
                parts.push(query.get(start..at).unwrap_or_default());
                start = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(query.get(start..).unwrap_or_default());
    parts.retain(|part| !part.is_empty());
    parts
}

fn is_filter(part: &str) -> bool {
    part.starts_with("tag:") || part.starts_with('[') && !part.starts_with("[[") && part.contains(':')
}

/// A filter in a person's words.
fn told(filter: &str) -> Markup {
    let property = filter.strip_prefix('[').and_then(|inside| inside.strip_suffix(']')?.split_once(':'));
    match (filter.strip_prefix(FOLDER), filter.strip_prefix("tag:"), property) {
        (Some(folder), ..) => html! { span.kind { "in " } (visible(folder)) },
        (None, Some(tag), _) => html! { "#" (visible(tag.trim_start_matches('#'))) },
        (None, None, Some((name, ""))) => html! { span.kind { "has " } (visible(name)) },
        (None, None, Some((name, value))) => html! { span.kind { (visible(name)) ": " } (visible(value)) },
        _ => html! { (visible(filter)) },
    }
}

/// The chips of the form with the identifier `form`: those that are on, and some to choose from.
pub(super) async fn chips(visit: &Visit, asked: &Asked, is_by_words: bool, form: &str) -> Markup {
    let folder = Some(format!("{FOLDER}{}", asked.folder)).filter(|_| !asked.folder.is_empty());
    let mut on: Vec<&str> = folder.as_deref().into_iter().collect();
    if is_by_words {
        on.extend(parts(&asked.query).into_iter().filter(|part| is_filter(part)));
    }
    let offered = if is_by_words { offered(visit, &asked.folder).await } else { Vec::new() };
    let others: Vec<&String> = offered.iter().filter(|filter| !on.contains(&filter.as_str())).collect();
    html! {
        @if !on.is_empty() {
            ul.chips aria-label="Filters that are on" {
                @for filter in on {
                    li { button.chip.on type="submit" form=(form) name="drop" value=(filter) {
                        span.hidden { "Remove the filter " } (told(filter)) span aria-hidden="true" { " ✕" }
                    } }
                }
            }
        }
        div.more-filters {
            label.hidden for="filter" { "Add a filter: a folder, a #tag or a property: value" }
            input #filter name="filter" form=(form) maxlength="400" autocomplete="off" placeholder="folder, #tag or property: value";
            button type="submit" form=(form) { "Add filter" }
        }
        @if !others.is_empty() {
            ul.chips aria-label="Filters to add" {
                @for filter in others {
                    li { button.chip type="submit" form=(form) name="add" value=(filter) { span.hidden { "Add the filter " } (told(filter)) } }
                }
            }
        }
        @if !is_by_words { p.hint { "Tags and properties narrow searches by words." } }
    }
}

/// The most used tags of a folder, and some values of its properties.
async fn offered(visit: &Visit, folder: &str) -> Vec<String> {
    let tags = json!({ "limit": MOST_TAGS, "root": folder });
    let properties = json!({ "limit": MOST_PROPERTIES, "sample_size": MOST_VALUES, "root": folder });
    let (tags, properties) =
        futures::future::join(visit.call(entry::<ListTags>(), tags), visit.call(entry::<ListProperties>(), properties))
            .await;
    let [tags, properties] = [tags, properties].map(Result::unwrap_or_default);
    let mut offered: Vec<String> = tags.list("items").iter().map(|tag| format!("tag:{}", tag.text("tag"))).collect();
    for listed in properties.list("items").iter().filter(|listed| !OTHERS.contains(&listed.text("key"))) {
        let values = listed.list("sample_values").iter().filter_map(|value| match value {
            Value::String(text) if text.len() <= MAX_VALUE && !text.contains("[[") && !is_date(text) => {
                Some(text.clone())
            }
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            _ => None,
        });
        let filters = values.map(|value| property(listed.text("key"), &value));
        offered.extend(filters.filter(|filter| !filter.is_empty()));
    }
    offered
}

/// Whether a value is of one day only.
fn is_date(text: &str) -> bool {
    text.get(..10).is_some_and(|day| day.parse::<jiff::civil::Date>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> Asked {
        Asked { query: query.to_owned(), folder: String::new() }
    }

    #[test]
    fn filters_are_added_and_dropped_and_words_stay() {
        let mut one = asked("berth \"high tide\" win");
        for filter in ["#port", "status: in port", "sea/deep", "due:"] {
            one.add(&written(filter));
        }
        assert_eq!(one.query, "[due:] [status:in port] tag:port berth \"high tide\" win");
        assert_eq!((one.folder.as_str(), one.words().as_str()), ("sea/deep", "berth \"high tide\" win"));
        one.add("tag:port");
        for filter in ["tag:port", "[status:in port]", "folder:sea/deep", "[due:]"] {
            one.drop(filter);
        }
        assert_eq!(one, asked("berth \"high tide\" win"));
    }

    #[test]
    fn what_cannot_be_written_in_brackets_is_no_filter() {
        assert_eq!(written("a]: b"), "");
        assert_eq!(written(""), "");
        assert_eq!(parts("a  [b: c d] \"e f"), ["a", "[b: c d]", "\"e f"]);
        assert!(told("[a:<b>]").into_string().ends_with("</span>&lt;b&gt;"));
    }
}
