//! Asks a model for many texts. Where it fails at some, these are looked for and left out, unless it fails at all.

use atlas_embeddings::{EmbedError, EmbeddingModel, Purpose, Vector};

use super::{EmbedProgress, Known, stored};

/// Texts that a model may refuse, or fail at.
const MAX_REFUSED: usize = 64;
/// A text at which no sound model fails.
const PROBE: &str = "note";

/// The vectors that a model gave, by key, and its error if it gives no more.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) vectors: Known,
    pub(super) failure: Option<EmbedError>,
}

/// How much is asked for at once.
struct Pace {
    /// Most texts of a call.
    most: usize,
    /// The end of the texts among which one is looked for that the model refuses.
    suspects: usize,
    /// Whether the model is known to answer, since it did so last.
    works: bool,
    /// Texts that were left out.
    refused: usize,
}

/// Asks a model for all of these texts, each with its key. One that it refuses by itself is left out.
pub(super) async fn ask(
    model: &dyn EmbeddingModel,
    dimensions: u32,
    missing: &[(u64, &str)],
    progress: &dyn EmbedProgress,
) -> Asked {
    let texts: Vec<&str> = missing.iter().map(|(_, text)| *text).collect();
    let mut asked = Asked::default();
    let mut pace = Pace { most: usize::MAX, suspects: 0, works: false, refused: 0 };
    let mut at = 0;
    while let (Some(rest), Some(keys)) = (texts.get(at..).filter(|rest| !rest.is_empty()), missing.get(at..)) {
        let count = match model.takes(rest) {
            Ok(count) => count.min(pace.at_once(at)).clamp(1, rest.len()),
            Err(error) => {
                asked.failure = Some(error);
                break;
            }
        };
        match embedded(model, rest.get(..count).unwrap_or(rest), dimensions).await {
            Ok(vectors) => {
                let kept = keys.iter().zip(vectors).map(|((key, _), vector)| {
                    let (code, row) = stored(&vector);
                    (*key, code, row)
                });
                let kept: Vec<_> = kept.collect();
                progress.keep(&kept);
                asked.vectors.extend(kept.into_iter().map(|(key, code, row)| (key, (code, row))));
                at += count;
                pace.succeeded(at);
            }
            Err(error @ (EmbedError::TooLong(_) | EmbedError::Failed(_))) => {
                let is_asked = !pace.works;
                if pace.refused >= MAX_REFUSED || (is_asked && !answers(model, dimensions).await) {
                    asked.failure = Some(error);
                    break;
                }
                pace.failed(at, count, is_asked);
                if count == 1 {
                    tracing::warn!(%error, "a passage is not embedded: its note waits");
                    at += 1;
                }
            }
            Err(error) => {
                asked.failure = Some(error);
                break;
            }
        }
    }
    asked
}

impl Pace {
    /// Most texts of the call that begins with the one at this place.
    const fn at_once(&self, at: usize) -> usize {
        // A search ends with the texts in which something is to be found.
        let suspects = self.suspects.saturating_sub(at);
        if suspects > 0 && suspects < self.most { suspects } else { self.most }
    }

    /// The texts before `at` have their vectors.
    const fn succeeded(&mut self, at: usize) {
        self.works = true;
        if at >= self.suspects {
            self.most = self.most.saturating_mul(2);
        }
    }

    /// The model failed at `count` texts from `at` on, but answers if it `was_asked` for another one since. Else it may answer nothing any more.
    const fn failed(&mut self, at: usize, count: usize, was_asked: bool) {
        self.works = was_asked;
        self.suspects = at + count;
        self.most = if count > 1 { count / 2 } else { 1 };
        if count == 1 {
            self.refused += 1;
        }
    }
}

/// Whether a model answers at all.
async fn answers(model: &dyn EmbeddingModel, dimensions: u32) -> bool {
    embedded(model, &[PROBE], dimensions).await.is_ok()
}

/// Asks a model, and checks its answer.
async fn embedded(model: &dyn EmbeddingModel, texts: &[&str], dimensions: u32) -> Result<Vec<Vector>, EmbedError> {
    let vectors = model.embed(texts, Purpose::Passage).await?;
    if vectors.len() != texts.len() {
        let (sent, got) = (texts.len(), vectors.len());
        return Err(EmbedError::Refused(format!("it gave {got} vectors for {sent} texts")));
    }
    match vectors.iter().map(|vector| vector.values().len()).find(|size| *size != dimensions as usize) {
        Some(size) => Err(EmbedError::Refused(format!("its vectors have {size} dimensions instead of {dimensions}"))),
        None => Ok(vectors),
    }
}

#[cfg(test)]
mod tests;
