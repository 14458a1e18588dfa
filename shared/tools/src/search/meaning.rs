//! The vector of a query, by the model that made the vectors of the vault.

use atlas_embeddings::{Purpose, Vector};
use atlas_mirror::Embeddings;
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::view::View;

use crate::search::properties;

/// A question by its meaning.
pub(crate) struct Asked<'a> {
    context: &'a Context<'a>,
    text: String,
    /// Whether only its meaning counts; else its words count too.
    pub(crate) is_alone: bool,
}

/// The vector of a question, or why there is none.
pub(crate) enum Meaning {
    /// The vector, of length 0 if the model knows no word of the question.
    Vector(Vector),
    /// Why there is none.
    None {
        /// The reason.
        why: String,
        /// Whether also a caller is told who did not ask for meaning: the vault has a model, and it fails.
        is_failure: bool,
    },
}

impl Meaning {
    /// There is none, as can be expected.
    fn none(why: &str) -> Self {
        Self::None { why: why.to_owned(), is_failure: false }
    }

    /// There is none, though there should be.
    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self::None { why: why.into(), is_failure: true }
    }
}

const NO_WORDS: &str =
    "the query has no words whose meaning could be compared, so notes were found by its conditions only";

/// Why nothing is near a question.
pub(crate) const UNKNOWN: &str = "the embedding model knows no word of the query, so its meaning cannot be compared";

const NO_MODEL: &str = "the vault has no embedding model, so notes were found by words only";

const NOT_MEANT: &str = "the first page has notes that were found by words only, and so has this one";

impl<'a> Asked<'a> {
    /// The question that a query for words asks.
    pub(crate) fn new(context: &'a Context<'a>, query: &str, is_alone: bool) -> Self {
        Self { context, text: plain(query), is_alone }
    }

    /// Its vector. Of a later page is known whether meaning counted on the first: both are of one list.
    ///
    /// # Errors
    /// `embedding_provider_error` when meaning has to count and there is no model, or it fails.
    pub(crate) async fn vector(&self, view: &View, was_meant: Option<bool>) -> Result<Meaning, Error> {
        let has_to = self.is_alone || was_meant == Some(true);
        if view.snapshot().manifest().embeddings.is_none() && !has_to {
            return Ok(Meaning::none(NO_MODEL));
        }
        if !self.has_words() {
            return if self.is_alone { Err(no_words()) } else { Ok(Meaning::none(NO_WORDS)) };
        }
        if was_meant == Some(false) && !has_to {
            return Ok(Meaning::none(NOT_MEANT));
        }
        let embeddings = match model(view) {
            Ok(embeddings) => embeddings,
            Err(error) if has_to => return Err(error),
            Err(error) => return Ok(Meaning::none(&by_words(&error))),
        };
        match embed(self.context, embeddings, &self.text).await {
            Ok(vector) if vector.is_zero() && !self.is_alone => Ok(Meaning::none(UNKNOWN)),
            Ok(vector) => Ok(Meaning::Vector(vector)),
            Err(error) if has_to => Err(error),
            Err(error) => Ok(Meaning::failed(by_words(&error))),
        }
    }

    /// Whether there is something whose meaning can be compared.
    pub(crate) fn has_words(&self) -> bool {
        !self.text.is_empty()
    }
}

/// A query without what only a search for words understands.
fn plain(query: &str) -> String {
    let mut rest = query;
    let mut query = String::new();
    while let Some(at) = rest.find('[') {
        let (before, bracket) = rest.split_at(at);
        query.push_str(before);
        rest = match properties::begun(bracket) {
            Some((_, after)) => after,
            None => {
                query.push('[');
                bracket.get(1..).unwrap_or_default()
            }
        };
    }
    query.push_str(rest);
    let is_plain =
        |word: &&str| !word.starts_with(['-', '#']) && !["tag:", "path:"].iter().any(|sign| word.starts_with(sign));
    let words = query.split_whitespace().filter(is_plain);
    let words = words.map(|word| word.trim_matches('"').trim_end_matches('*'));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The vector of `text` by the model of the vault.
///
/// # Errors
/// `embedding_provider_error` when the model gives none.
pub(crate) async fn embed(context: &Context<'_>, embeddings: &Embeddings, text: &str) -> Result<Vector, Error> {
    let Embeddings { provider, model, dimensions, stored, .. } = embeddings;
    if stored.is_none() {
        let Some(service) = &context.atlas.services.embeddings else {
            let why = "is of a service that the configuration does not name (`embeddings`)";
            return Err(refused(format!("the embedding model {model} {why}"), None));
        };
        let vector = service.vector(provider, model, *dimensions, text).await;
        return vector.map_err(|error| refused(error.to_string(), None));
    }
    if let Err(remedy) = context.vault.mirror.runs(embeddings) {
        return Err(refused(format!("the embedding model {model} has a network, and {remedy}"), None));
    }
    let vectors = context.vault.mirror.embed(embeddings, &[text], Purpose::Query).await;
    let vectors = vectors.map_err(|error| {
        refused(format!("the embedding model {} cannot be used", embeddings.model), Some(error.to_string()))
    })?;
    vectors.into_iter().next().ok_or_else(|| refused("the embedding model gives no vector".to_owned(), None))
}

/// The model by whose vectors notes are compared for the caller.
///
/// # Errors
/// `embedding_provider_error` when there is none, or too many vectors to compare them all for a caller who does not see everything.
pub(crate) fn model(view: &View) -> Result<&Embeddings, Error> {
    let refused = |message| Error::bad_request(Reason::EmbeddingProviderError, message);
    match &view.snapshot().manifest().embeddings {
        None => Err(refused(
            "there is no embedding model for this vault: search by words (search, mode text), or add a model with `atlas model add`",
        )),
        Some(_) if !view.compares_vectors() => Err(refused(
            "this vault is too large to be searched by meaning with a token that does not see all of it: search by words (search, mode text)",
        )),
        Some(embeddings) => Ok(embeddings),
    }
}

fn by_words(error: &Error) -> String {
    format!("{}; notes were found by words only", error.message)
}

fn no_words() -> Error {
    let message = "query: it has no words whose meaning could be compared: add some, or say mode text";
    Error::bad_request(Reason::QueryInvalid, message).with("field", "query")
}

fn refused(message: String, internal: Option<String>) -> Error {
    Error { internal, ..Error::new(Code::Unavailable, Reason::EmbeddingProviderError, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_without_signs() {
        assert_eq!(plain("why \"high tides\" harb* -storm tag:sea path:log #x"), "why high tides harb");
        assert_eq!(plain("tag:sea"), "");
        assert_eq!(plain("boats [status: in port] -[week:7] at sea"), "boats at sea");
    }
}
