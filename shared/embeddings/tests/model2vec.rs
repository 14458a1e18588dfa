//! Vectors are those of Model2Vec. `make_fixtures.py` made the models and what that program says of them.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::path::Path;

use atlas_embeddings::StaticModel;
use atlas_embeddings::tokenizer::Tokenizer;
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
fn byte_pairs_are_those_of_model2vec() {
    compare("byte_pairs", 1e-5);
}

#[test]
fn merges_that_do_not_follow_from_the_tokens_are_refused() {
    let refused = |model: serde_json::Value| {
        let json = serde_json::json!({ "model": model }).to_string();
        Tokenizer::from_json(json.as_bytes()).unwrap_err().to_string()
    };
    let vocabulary = serde_json::json!({ "a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5 });
    let with = |merges: &[&str]| serde_json::json!({ "type": "BPE", "vocab": vocabulary, "merges": merges });
    assert!(
        Tokenizer::from_json(
            serde_json::json!({ "model": with(&["a b", "b c", "ab c", "a bc"]) }).to_string().as_bytes()
        )
        .is_ok()
    );
    for merges in [&["a b", "b c", "ab c"][..], &["a b", "ab c", "b c", "a bc"]] {
        assert!(refused(with(merges)).contains("merges that are not SentencePiece's"));
    }
    assert!(refused(with(&["a b", "b a"])).contains("a merge makes what is no token"));
    let mut marked = with(&["a b"]);
    marked["end_of_word_suffix"] = "</w>".into();
    assert!(refused(marked).contains("marks"));
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
