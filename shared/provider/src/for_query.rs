//! Asks for one text, within a deadline.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atlas_embeddings::{EmbedError, Purpose, Vector};

use crate::fault::Fault;
use crate::protocol::Answered;
use crate::remote::{Remote, unanswered};

/// Questions whose vectors are kept. The next page of one needs the same vector, and services do not always give it twice.
const KEPT: usize = 256;

/// A question, with the model that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Question {
    model: String,
    dimensions: u32,
    text: String,
}

/// The vectors of questions. Copies share what they keep.
#[derive(Clone, Debug)]
pub struct QueryModel {
    remote: Remote,
    max_time: Duration,
    kept: Arc<Mutex<VecDeque<(Question, Vector)>>>,
}

impl QueryModel {
    /// Those of `remote`, which has so much time for each.
    #[must_use]
    pub fn new(remote: Remote, max_time: Duration) -> Self {
        Self { remote, max_time, kept: Arc::default() }
    }

    /// The vector of a question by a model of `provider`, which may be another one of the service than a configuration names now.
    ///
    /// # Errors
    /// When the service is of another provider, or gives no vector in time.
    pub async fn vector(&self, provider: &str, model: &str, dimensions: u32, text: &str) -> Result<Vector, EmbedError> {
        if provider != self.remote.protocol().name() {
            let now = self.remote.protocol().name();
            let why = format!("the notes are embedded by a model of {provider}, and the configuration names {now}");
            return Err(EmbedError::Refused(why));
        }
        let question = Question { model: model.to_owned(), dimensions, text: text.to_owned() };
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, vector)) = kept().iter().find(|(known, _)| *known == question) {
            return Ok(vector.clone());
        }
        let answer = self.ask(model, dimensions, text).await?;
        let vector = answer.vectors.into_iter().next();
        let vector = vector.ok_or_else(|| Fault::Refused("it gave no vector".to_owned()))?;
        let mut kept = kept();
        kept.push_front((question, vector.clone()));
        kept.truncate(KEPT);
        Ok(vector)
    }

    /// Asks, in all within the deadline. The configuration says of its own model only whether that is asked for its dimensions: another one is
    /// asked otherwise if they are not those of the notes.
    async fn ask(&self, model: &str, dimensions: u32, text: &str) -> Result<Answered, Fault> {
        let shape = self.remote.shape();
        let is_own = shape.model == model;
        let asks_dimensions = shape.asks_dimensions && is_own;
        let asked = async {
            let remote = self.remote.with_model(model, dimensions, asks_dimensions);
            match remote.ask(&[text], Purpose::Query, self.max_time).await {
                Err(Fault::Dimensions(_)) if !is_own || shape.dimensions != dimensions => {
                    let remote = self.remote.with_model(model, dimensions, !asks_dimensions);
                    remote.ask(&[text], Purpose::Query, self.max_time).await
                }
                answer => answer,
            }
        };
        let asked = tokio::time::timeout(self.max_time, asked).await;
        asked.unwrap_or_else(|_| Err(unanswered(atlas_outbound::Error::TimedOut)))
    }
}
