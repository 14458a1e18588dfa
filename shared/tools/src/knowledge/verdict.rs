//! A language model's verdict on a proposal, parsed as hostile input: notes may hold instructions.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest text of it, in characters.
const MAX_TEXT: usize = 2_000;
/// Most categories, items of one, and notes of an item.
const MAX_CATEGORIES: usize = 4;
const MAX_ITEMS: usize = 20;
const MAX_PATHS: usize = 20;

/// The verdict on a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Verdict {
    /// The advice.
    verdict: Advice,
    /// Why, in a sentence.
    summary: String,
    /// The objections, by kind.
    categories: Vec<Category>,
}

/// The advice on a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Advice {
    /// Nothing speaks against it.
    Proceed,
    /// Something does.
    Reconsider,
    /// Much does.
    DoNotProceed,
}

/// The objections of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
struct Category {
    /// In which way.
    kind: Kind,
    /// Each objection.
    items: Vec<Objection>,
}

/// How something speaks against a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Kind {
    /// Notes say the opposite.
    DirectContradiction,
    /// The same went wrong before.
    PatternRepeat,
    /// A decision like it was taken back.
    Reversal,
    /// It takes for granted what nothing shows.
    HiddenDependency,
}

/// One objection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
struct Objection {
    /// The notes that it rests on, of those that were shown.
    evidence_paths: Vec<String>,
    /// Its consequence for the proposal.
    why_it_matters: String,
    /// How much.
    severity: Severity,
}

/// How much an objection weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Severity {
    /// Much.
    High,
    /// Somewhat.
    Medium,
    /// A little.
    Low,
}

impl Verdict {
    /// The verdict that a model's `text` is, of notes at these paths; none if it is none. What is too long is cut, and other paths are left out.
    pub(crate) fn parse(text: &str, shown: &BTreeSet<&str>) -> Option<Self> {
        let mut verdict: Self = serde_json::from_str(bare(text)).ok()?;
        cut(&mut verdict.summary);
        verdict.categories.truncate(MAX_CATEGORIES);
        for category in &mut verdict.categories {
            category.items.truncate(MAX_ITEMS);
            for item in &mut category.items {
                cut(&mut item.why_it_matters);
                item.evidence_paths.retain(|path| shown.contains(path.as_str()));
                item.evidence_paths.truncate(MAX_PATHS);
            }
        }
        Some(verdict)
    }
}

/// `text` without the fence of a code block, which models put around JSON.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let Some(fenced) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else { return text };
    fenced.strip_prefix("json").or_else(|| fenced.strip_prefix("JSON")).unwrap_or(fenced).trim()
}

fn cut(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn said(path: &str, why: &str) -> String {
        let item = json!({ "evidence_paths": [path, "secret.md"], "why_it_matters": why, "severity": "high" });
        let category = json!({ "kind": "REVERSAL", "items": [item] });
        json!({ "verdict": "reconsider", "summary": "It was undone.", "categories": [category] }).to_string()
    }

    #[test]
    fn a_verdict_is_read_with_and_without_a_fence() {
        let shown = BTreeSet::from(["a.md"]);
        let plain = Verdict::parse(&said("a.md", "why"), &shown).unwrap();
        assert_eq!(plain.categories[0].items[0].evidence_paths, ["a.md"], "a path that was not shown is none");
        for fence in ["```json\n{}\n```", "```\n{}```", "  {}\n"] {
            assert_eq!(
                Verdict::parse(&fence.replace("{}", &said("a.md", "why")), &shown),
                Some(plain.clone()),
                "{fence}"
            );
        }
    }

    #[test]
    fn what_is_no_verdict_is_none() {
        for text in ["", "null", "[]", "{}", "Proceed.", r#"{"verdict": "maybe", "summary": "", "categories": []}"#] {
            assert_eq!(Verdict::parse(text, &BTreeSet::new()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_model_says_stays_within_its_limits(why in "\\PC{0,3000}", items in 0..40_usize) {
            let item = json!({ "evidence_paths": vec!["x"; 40], "why_it_matters": why, "severity": "low" });
            let category = json!({ "kind": "PATTERN_REPEAT", "items": vec![item; items] });
            let text = json!({ "verdict": "proceed", "summary": why, "categories": vec![category; 9] }).to_string();
            let verdict = Verdict::parse(&text, &BTreeSet::from(["x"])).unwrap();
            prop_assert!(verdict.categories.len() <= MAX_CATEGORIES && verdict.summary.chars().count() <= MAX_TEXT);
            for category in &verdict.categories {
                prop_assert!(category.items.len() <= MAX_ITEMS);
                prop_assert!(category.items.iter().all(|item| item.evidence_paths.len() <= MAX_PATHS));
            }
        }
    }
}
