//! Asks for many texts: again where a service is busy, and within a limit of tokens.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use atlas_embeddings::passages::cut;
use atlas_embeddings::{EmbedError, EmbeddingModel, Purpose, Vector};

use crate::fault::Fault;
use crate::protocol::MAX_BEGINNING;
use crate::remote::Remote;

/// Most requests for the same texts, and the wait after the first, which doubles.
const TRIES: u32 = 5;
/// Most of those that come to nothing because the time of a request passes; and as many in all.
const LATE_TRIES: u32 = 2;
const ALL_LATE: u32 = 10;
const PAUSE: Duration = Duration::from_millis(500);
/// Longest wait that a service may ask for, and that all waits may take together.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const ALL_WAITS: Duration = Duration::from_secs(180);
/// How often a text that is refused is halved.
const HALVINGS: u32 = 3;
/// Bytes of the shortest text that is halved.
const SHORTEST: usize = 64;
/// Bytes that a token has at least in prose: by this texts are shortened. For money each byte counts as a token, which none has less than.
const TOKEN_BYTES: usize = 3;
/// Tokens that a service may add to a text.
const ADDED: u64 = 8;
/// The least limit of tokens: any passage of a note has less, so each sync gets on.
pub const LEAST_TOKENS: u64 = 10_000;

/// How much a model may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spending {
    /// Most tokens in all; at least [`LEAST_TOKENS`].
    pub max_tokens: u64,
    /// Most time of a request.
    pub max_time: Duration,
}

/// A model of a service for the texts of one sync.
#[derive(Debug)]
pub struct SyncModel {
    remote: Remote,
    spending: Spending,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Tokens that are left.
    left: u64,
    /// Time that may still be waited.
    patience: Duration,
    /// Requests that may still be without an answer in time.
    late: u32,
    /// The number of texts for which it failed in all tries. Until it has answered for as many, fewer are asked for once: some of them may be
    /// the cause, and are looked for.
    doubted: Option<usize>,
}

impl SyncModel {
    /// The model `remote`, within `spending`.
    #[must_use]
    pub const fn new(remote: Remote, spending: Spending) -> Self {
        let state = State { left: spending.max_tokens, patience: ALL_WAITS, late: ALL_LATE, doubted: None };
        Self { remote, spending, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of a text that is sent.
    fn shortened<'t>(&self, text: &'t str) -> &'t str {
        cut(text, self.remote.shape().max_input_tokens.saturating_mul(TOKEN_BYTES))
    }

    /// Most tokens that a text can have.
    fn most_tokens(&self, text: &str) -> u64 {
        (self.shortened(text).len() + MAX_BEGINNING) as u64 + ADDED
    }

    fn limit(&self, next: u64) -> EmbedError {
        let (all, left) = (self.spending.max_tokens, self.state().left);
        EmbedError::Limit(format!(
            "{} of the {all} tokens of this sync are used, and the next text may take {next}: the next sync goes on",
            all - left
        ))
    }

    /// Asks, and again after a while where the service is busy.
    async fn ask(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vector>, EmbedError> {
        let most: u64 = texts.iter().map(|text| self.most_tokens(text)).sum();
        let mut pause = PAUSE;
        for tried in 1.. {
            if most > self.state().left {
                return Err(self.limit(most));
            }
            let (why, after, is_paid, by_texts, is_late) =
                match self.remote.ask(texts, purpose, self.spending.max_time).await {
                    Ok(answer) => {
                        self.pay(answer.tokens.unwrap_or(most));
                        let mut state = self.state();
                        state.doubted = state.doubted.filter(|doubted| texts.len() < *doubted);
                        return Ok(answer.vectors);
                    }
                    Err(Fault::Busy { why, after, is_paid, by_texts, is_late }) => {
                        (why, after, is_paid, by_texts, is_late)
                    }
                    Err(Fault::NoVector(why)) => {
                        // It may have counted them, and the answer would not be another one.
                        self.pay(most);
                        self.doubt(texts);
                        return Err(EmbedError::Failed(why));
                    }
                    Err(fault) => return Err(fault.into()),
                };
            if is_paid {
                self.pay(most);
            }
            if is_late && !self.waits_again() {
                return Err(EmbedError::Unavailable(format!("{why}, {ALL_LATE} times in all")));
            }
            let wait = after.unwrap_or(pause);
            let is_doubted = by_texts && self.state().doubted.is_some();
            let most_tries = if is_doubted {
                1
            } else if is_late {
                LATE_TRIES
            } else {
                TRIES
            };
            if tried >= most_tries {
                let why = if tried == 1 { why } else { format!("{why}, {tried} times") };
                if by_texts {
                    self.doubt(texts);
                    return Err(EmbedError::Failed(why));
                }
                return Err(EmbedError::Unavailable(why));
            }
            if wait > LONGEST_WAIT || !self.wait(wait) {
                if by_texts && after.is_none() {
                    self.doubt(texts);
                    return Err(EmbedError::Failed(why));
                }
                let seconds = wait.as_secs_f32().ceil();
                return Err(EmbedError::Unavailable(format!("{why}, and may answer in {seconds} seconds")));
            }
            tracing::info!(why, seconds = wait.as_secs_f32(), "the embedding model is asked again after a while");
            tokio::time::sleep(wait).await;
            pause *= 2;
        }
        Err(EmbedError::Unavailable("it was asked too often".to_owned()))
    }

    /// From now on some of these texts may be why it fails.
    fn doubt(&self, texts: &[&str]) {
        let mut state = self.state();
        state.doubted = Some(state.doubted.unwrap_or_default().max(texts.len()));
    }

    /// Whether one more request may be without an answer in time.
    fn waits_again(&self) -> bool {
        let mut state = self.state();
        state.late = state.late.saturating_sub(1);
        state.late > 0
    }

    fn pay(&self, tokens: u64) {
        let mut state = self.state();
        state.left = state.left.saturating_sub(tokens);
    }

    /// Whether so much may still be waited, which then is.
    fn wait(&self, time: Duration) -> bool {
        let mut state = self.state();
        match state.patience.checked_sub(time) {
            Some(left) => {
                state.patience = left;
                true
            }
            None => false,
        }
    }
}

#[async_trait]
impl EmbeddingModel for SyncModel {
    fn takes(&self, texts: &[&str]) -> Result<usize, EmbedError> {
        let mut left = self.state().left;
        let fits = |text: &&&str| match left.checked_sub(self.most_tokens(text)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        match (texts.iter().take(self.remote.shape().batch).take_while(fits).count(), texts) {
            (0, [next, ..]) => Err(self.limit(self.most_tokens(next))),
            (count, _) => Ok(count),
        }
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vector>, EmbedError> {
        let mut texts: Vec<&str> = texts.iter().map(|text| self.shortened(text)).collect();
        for _ in 0..HALVINGS {
            match (self.ask(&texts, purpose).await, texts.as_mut_slice()) {
                // Its tokens may be shorter than those of prose.
                (Err(EmbedError::TooLong(_)), [text]) if text.len() >= SHORTEST => *text = cut(text, text.len() / 2),
                (answer, _) => return answer,
            }
        }
        self.ask(&texts, purpose).await
    }
}
