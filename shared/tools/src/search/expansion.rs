//! The words that a query is scored by, in every spelling that counts: what another engine needs to be asked for the same.

use std::collections::BTreeMap;

use atlas_ops::error::Error;
use atlas_ops::read::index::{Index, Want};
use atlas_ops::read::view::View;

use crate::search::expression::Expression;
use crate::search::lists::Lists;
use crate::search::scores::halves;

/// The words of the index that score a note for the words of `query`, each with what an occurrence weighs, beside its rarity: the words themselves,
/// those with their stems, similar ones for those that no note has, and joined neighbours.
///
/// # Errors
/// When the query is invalid, the store fails, or the index is damaged.
pub async fn expanded(view: View, query: &str) -> Result<Vec<(String, f32)>, Error> {
    let expression = Expression::parse(query)?;
    let want = Want { terms: true, passages: true, ..Want::default() };
    let index = Index::fetch(view, want).await?;
    let lists = Lists::fetch(&index, &expression, &|| Ok(())).await?;
    let mut all: BTreeMap<String, f32> = BTreeMap::new();
    for word in &lists.words {
        let mut of_word: BTreeMap<&str, f32> = BTreeMap::new();
        for (part, terms) in halves(word) {
            // A term is in several segments, and is one word.
            let weights = terms.iter().map(|term| (&*term.word, part * word.share * term.factor));
            for (spelling, weight) in weights.collect::<BTreeMap<_, _>>() {
                *of_word.entry(spelling).or_default() += weight;
            }
        }
        for (spelling, weight) in of_word {
            *all.entry(spelling.to_owned()).or_default() += weight;
        }
    }
    Ok(all.into_iter().collect())
}
