//! Vectors are those of Model2Vec. `make_fixtures.py` made the models and what that program says of them.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::path::Path;

use atlas_embeddings::StaticModel;
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    text: String,
    mean: Vec<f32>,
}

fn compare(name: &str, tolerance: f32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let read = |file: &str| std::fs::read(folder.join(file)).unwrap();
    let model =
        StaticModel::from_files(&read("tokenizer.json"), &read("model.safetensors"), &read("config.json")).unwrap();
    let expected: Vec<Expected> = serde_json::from_slice(&read("expected.json")).unwrap();
    assert!(expected.len() > 10);
    for Expected { text, mean } in expected {
        let found = model.mean(&text);
        let differs = found.iter().zip(&mean).any(|(one, other)| (one - other).abs() > tolerance);
        assert!(found.len() == mean.len() && !differs, "{name}: {text:?}: {found:?} instead of {mean:?}");
    }
}

#[test]
fn word_pieces_are_those_of_model2vec() {
    compare("word_piece", 1e-5);
}

#[test]
fn unigram_tokens_are_those_of_model2vec() {
    compare("unigram", 1e-5);
}

#[test]
fn weights_and_shared_rows_count_as_in_model2vec() {
    compare("quantised", 1e-5);
}

#[test]
fn numbers_of_two_bytes_are_read() {
    // Model2Vec adds them in two bytes too.
    compare("half", 2e-2);
}
