//! Conditions on properties in searches for words: `[status:open]`, or `[status:]` for any value.

use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::facts::Facts;
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use atlas_vault::fold;
use serde_json::Value;

use crate::search::merge::Weighted;

/// A condition on a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PropertyTerm {
    /// Its name, folded.
    name: String,
    /// Its value, or an item of it, folded; [`None`] for any.
    value: Option<String>,
    /// Whether notes must not have it.
    is_excluded: bool,
}

/// The text of the condition that `text` begins with, without its brackets, and the rest.
pub(crate) fn begun(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('[').filter(|inside| !inside.starts_with('['))?;
    let (condition, rest) = inside.split_once(']')?;
    let (name, _) = condition.split_once(':')?;
    (!name.trim().is_empty() && !condition.contains('[')).then_some((condition, rest))
}

impl PropertyTerm {
    /// The condition in brackets.
    pub(crate) fn of(condition: &str, is_excluded: bool) -> Self {
        let (name, value) = condition.split_once(':').unwrap_or((condition, ""));
        let value = Some(value.trim().trim_matches('"')).filter(|value| !value.is_empty()).map(fold::fold);
        Self { name: fold::fold(name.trim()), value, is_excluded }
    }

    /// Whether a property has the value.
    fn takes(&self, property: &Value) -> bool {
        let Some(wanted) = &self.value else { return true };
        match property {
            Value::Array(items) => items.iter().any(|item| self.takes(item)),
            Value::String(text) => fold::fold(text.trim()) == *wanted,
            Value::Number(_) | Value::Bool(_) => {
                let written = property.to_string();
                written == *wanted
            }
            Value::Null | Value::Object(_) => false,
        }
    }
}

/// Keeps the documents that meet all `terms`. `scores` has those of each segment.
pub(crate) async fn keep(
    context: &Context<'_>,
    view: View,
    terms: &[PropertyTerm],
    scores: &mut [Weighted],
) -> Result<(), Error> {
    if terms.is_empty() {
        return Ok(());
    }
    let facts = Facts::fetch(context, view, &[SectionName::Properties]).await?;
    for (segment, scores) in scores.iter_mut().enumerate() {
        let columns = facts.properties(segment)?;
        for term in terms {
            context.work.check()?;
            let most = scores.last().map_or(0, |(document, _)| *document as usize + 1);
            let mut has = vec![false; most];
            for column in columns.iter().filter(|column| fold::fold(column.key()) == term.name) {
                for (document, value) in column.iter() {
                    if let Some(has) = has.get_mut(document as usize) {
                        *has |= term.takes(value);
                    }
                }
            }
            scores.retain(|(document, _)| has.get(*document as usize) == Some(&!term.is_excluded));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_condition_is_a_name_and_a_value_in_brackets() {
        for (text, condition) in [
            ("[status:open] x", Some(("status:open", " x"))),
            ("[due:]", Some(("due:", ""))),
            ("[[Home:x]]", None),
            ("[ ] task: x", None),
            ("[x", None),
            ("[:x]", None),
        ] {
            assert_eq!(begun(text), condition, "{text}");
        }
    }

    #[test]
    fn a_value_is_compared_whatever_its_case_and_type() {
        let takes = |condition: &str, property: Value| PropertyTerm::of(condition, false).takes(&property);
        assert!(takes("status: Open", json!("open")) && takes("week:7", json!(7)) && takes("done:true", json!(true)));
        assert!(takes("tags:a", json!(["b", "A"])) && takes("any:", Value::Null));
        assert!(!takes("status:open", json!("opened")) && !takes("status:open", Value::Null));
    }
}
