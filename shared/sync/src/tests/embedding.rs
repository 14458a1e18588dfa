//! Embedding beside the syncs of a folder.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use atlas_embeddings::{EmbedError, EmbeddingModel, Purpose, Vector};
use atlas_mirror::Embeddings;
use atlas_testkit::VaultBuilder;
use tokio::sync::Notify;

use super::Host;
use crate::{Background, Chosen, Summary};

/// A model that answers nothing until it is let go, and may fail.
#[derive(Debug, Default)]
struct Slow {
    go: Notify,
    is_going: AtomicBool,
    fails: AtomicBool,
    /// It fails at texts that contain this.
    refuses: Option<&'static str>,
    asked: AtomicUsize,
    texts: Mutex<Vec<String>>,
}

impl Slow {
    fn let_go(&self) {
        self.is_going.store(true, Ordering::SeqCst);
        self.go.notify_waiters();
    }
}

#[async_trait]
impl EmbeddingModel for Slow {
    fn takes(&self, texts: &[&str]) -> Result<usize, EmbedError> {
        Ok(texts.len())
    }

    async fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vector>, EmbedError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let told = self.go.notified();
        if !self.is_going.load(Ordering::SeqCst) {
            told.await;
        }
        if self.fails.load(Ordering::SeqCst) {
            return Err(EmbedError::Unavailable("status 503".to_owned()));
        }
        if self.refuses.is_some_and(|refused| texts.iter().any(|text| text.contains(refused))) {
            return Err(EmbedError::Failed("status 500".to_owned()));
        }
        self.texts.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
        Ok(texts.iter().map(|_| Vector::normalised(vec![1.0; 8]).unwrap()).collect())
    }
}

async fn watched(host: &Host, model: &Arc<Slow>, background: &Arc<Background>) -> Summary {
    let chosen = Chosen::Service { embeddings: Embeddings::of_service("openai", "slow", 8), model: model.clone() };
    let set = |options: &mut crate::SyncOptions| {
        options.embeddings = Some(chosen);
        options.background = Some(background.clone());
    };
    host.sync_as(set).await.unwrap()
}

#[tokio::test]
async fn a_slow_model_holds_up_no_sync() {
    let host = Host::new(VaultBuilder::new().note("a.md", "Tides."));
    let (model, background) = (Arc::new(Slow::default()), Arc::default());
    let first = watched(&host, &model, &background).await;
    assert_eq!((first.pushed.sum(), first.embedded), (1, 0), "{first:?}");
    host.vault.write("b.md", b"Storms.");
    assert_eq!(watched(&host, &model, &background).await.pushed.sum(), 1, "files are synced all the same");
    assert_eq!(model.asked.load(Ordering::SeqCst), 1, "it is asked by one at a time");
    model.let_go();
    let mut embedded = 0;
    for _ in 0..3 {
        embedded += watched(&host, &model, &background).await.embedded;
    }
    let texts = model.texts.lock().unwrap().clone();
    assert_eq!((embedded, texts.len()), (2, 2), "each text is asked for once: {texts:?}");
    assert!(!host.mirror().head().await.unwrap().waits_for_vectors());
}

#[tokio::test]
async fn a_model_that_fails_is_left_alone_for_a_while() {
    let host = Host::new(VaultBuilder::new().note("a.md", "Tides."));
    let (model, background) = (Arc::new(Slow::default()), Arc::default());
    model.fails.store(true, Ordering::SeqCst);
    model.let_go();
    let first = watched(&host, &model, &background).await;
    assert!(first.embedding_failure.as_ref().is_some_and(|why| why.contains("503")), "{first:?}");
    for _ in 0..3 {
        let later = watched(&host, &model, &background).await;
        assert_eq!((later.embedding_failure, later.embedding_waiting), (first.embedding_failure.clone(), 1));
    }
    assert_eq!(model.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_passage_that_is_refused_each_time_makes_no_generations_and_is_not_asked_for_again_and_again() {
    let host = Host::new(VaultBuilder::new().note("a.md", "Tides.").note("b.md", "Kelp."));
    let model = Arc::new(Slow { refuses: Some("Kelp"), ..Slow::default() });
    model.let_go();
    let once = async || watched(&host, &model, &Arc::default()).await;
    let first = once().await;
    assert_eq!((first.embedded, first.embedding_waiting), (1, 1), "{first:?}");
    let again = once().await;
    assert_eq!((again.generation, again.embedding_waiting), (first.generation, 1), "{again:?}");
    let background = Arc::default();
    watched(&host, &model, &background).await;
    let asked = model.asked.load(Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(watched(&host, &model, &background).await.embedding_waiting, 1);
    }
    assert_eq!(model.asked.load(Ordering::SeqCst), asked);
}

#[tokio::test]
async fn one_process_at_a_time_pays_for_the_vectors_of_a_folder() {
    let host = Host::published(VaultBuilder::new().note("a.md", "Tides.")).await;
    let model = Arc::new(Slow::default());
    model.let_go();
    let other = std::fs::File::create(host.state().join("embedding.lock")).unwrap();
    other.lock().unwrap();
    let summary = watched(&host, &model, &Arc::default()).await;
    assert_eq!((summary.embedding_waiting, summary.embedding_failure), (1, None));
    assert_eq!(model.asked.load(Ordering::SeqCst), 0);
    drop(other);
    assert_eq!(watched(&host, &model, &Arc::default()).await.embedded, 1);
}
