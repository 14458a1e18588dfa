//! A model that fails at some texts, or from some call on.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;

use super::*;

#[derive(Debug)]
struct Picky {
    /// Fails at texts with this in them.
    at: &'static str,
    /// Calls after which it fails at all.
    calls: usize,
    asked: AtomicUsize,
}

impl Picky {
    fn at(at: &'static str, calls: usize) -> Self {
        Self { at, calls, asked: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl EmbeddingModel for Picky {
    fn takes(&self, texts: &[&str]) -> Result<usize, EmbedError> {
        Ok(texts.len().min(32))
    }

    async fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vector>, EmbedError> {
        let is_over = self.asked.fetch_add(1, Ordering::Relaxed) >= self.calls;
        if is_over || texts.iter().any(|text| text.contains(self.at)) {
            return Err(EmbedError::Failed("status 500".to_owned()));
        }
        Ok(texts.iter().map(|_| Vector::normalised(vec![1.0, 0.0]).unwrap()).collect())
    }
}

/// The texts that got no vector, and whether that is a failure of the model.
async fn left(model: &Picky, texts: &[String]) -> (Vec<usize>, bool) {
    let missing: Vec<(u64, &str)> = (0..).zip(texts.iter().map(String::as_str)).collect();
    let asked = ask(model, 2, &missing, &()).await;
    let left = (0..texts.len()).filter(|at| !asked.vectors.contains_key(&(*at as u64)));
    (left.collect(), asked.failure.is_some())
}

fn texts(count: usize, bad: &[usize]) -> Vec<String> {
    (0..count).map(|at| format!("{at}{}", if bad.contains(&at) { " bad" } else { "" })).collect()
}

#[tokio::test]
async fn a_text_at_which_the_model_fails_holds_up_no_other() {
    for bad in [&[0][..], &[17], &[99], &[3, 4, 5, 70], &[31, 32]] {
        let model = Picky::at("bad", usize::MAX);
        assert_eq!(left(&model, &texts(100, bad)).await, (bad.to_vec(), false));
        let asked = model.asked.into_inner();
        assert!(asked <= 12 + bad.len() * 16, "{asked} calls for {bad:?}");
    }
    let model = Picky::at("bad", usize::MAX);
    assert_eq!(left(&model, &texts(1, &[0])).await, (vec![0], false), "also if it is the only one");
    let many: Vec<usize> = (10..40).collect();
    assert_eq!(left(&model, &texts(60, &many)).await, (many, false), "and if a whole note is of such texts");
}

#[tokio::test]
async fn a_model_that_fails_at_all_is_asked_for_little_more() {
    for (calls, most) in [(0, 2), (2, 5)] {
        let model = Picky::at("bad", calls);
        let (left, is_failure) = left(&model, &texts(100, &[])).await;
        assert!(is_failure && left.len() == 100 - 32 * calls, "{left:?}");
        assert!(model.asked.into_inner() <= most, "after {calls} calls");
    }
}
