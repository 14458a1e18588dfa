//! Passages that say most about a question, where a deployment lets `query` answer with them.

use atlas_embeddings::passages::cut;
use atlas_ops::arguments::{Bounded, Exact};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Operation as _};
use atlas_ops::read::cursor;
use atlas_ops::read::excerpt::TextLines;
use atlas_ops::read::index::{Index, Want};

use crate::search::{self, Note, Search, SearchResult};

/// Passages of an answer.
const MOST: u32 = 3;
/// Most bytes of a question that are searched for.
const QUESTION_BYTES: usize = 1_000;

/// A passage.
pub(super) struct Passage {
    pub(super) path: String,
    /// The heading nearest above, as `#anchor`; `#` if there is none.
    pub(super) anchor: String,
    /// Its best line, and the lines beside it.
    pub(super) quote: String,
}

/// The best passages for a question, the best first: by words, and by meaning where there is a model.
pub(super) async fn of(context: &Context<'_>, question: &str) -> Result<Answer<Vec<Passage>>, Error> {
    let Ok(query) = Exact::new(cut(question, QUESTION_BYTES)) else {
        return Ok(Answer { value: Vec::new(), generation: None });
    };
    let found = Search::run(context, search::Arguments::of(query, None, None, Some(Bounded::nearest(MOST)))).await;
    let Answer { value, generation } = match found {
        // A question without words.
        Err(error) if error.reason() == Reason::QueryInvalid.as_str() => {
            return Ok(Answer { value: Vec::new(), generation: None });
        }
        found => found?,
    };
    let note = |found| match found {
        SearchResult::Note(note) => Some(note),
        SearchResult::Line(_) => None,
    };
    let notes: Vec<Note> = value.results.into_iter().filter_map(note).collect();
    let notes = &notes;
    cursor::read(context, generation, |view| async move {
        let index = Index::fetch(view, Want::default()).await?;
        let mut documents = Vec::with_capacity(notes.len());
        for note in notes {
            documents.extend(index.find(&note.path)?);
        }
        let texts = index.texts(&documents).await?;
        let passage = |(note, text): (&Note, &bytes::Bytes)| Passage {
            path: note.path.clone(),
            anchor: note.anchor.clone().unwrap_or_else(|| "#".to_owned()),
            quote: TextLines::new(text).around(usize::try_from(note.line - 1).unwrap_or(0), &[]),
        };
        Ok(notes.iter().zip(&texts).map(passage).filter(|passage| !passage.quote.is_empty()).collect())
    })
    .await
}
