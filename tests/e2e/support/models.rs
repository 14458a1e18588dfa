//! A small embedding model for tests: words of one line of [`MEANINGS`] mean nearly the same.

use std::collections::BTreeMap;

use atlas_embeddings::StaticModel;
use atlas_mirror::embedding::{Embedded, StoreModel};
use atlas_mirror::{CLUSTERED_FROM, Mirror, StoredModelInfo};
use atlas_sync::Embedder;
use jiff::Timestamp;
use safetensors::tensor::{Dtype, TensorView};

const MEANINGS: [&str; 7] = [
    "harbour haven port harbor quay berth mooring moor",
    "tide tides ebb flood waters tidal",
    "backup restore copy ledger",
    "storm gale wind weather",
    "pilot piloten captain helmsman",
    "zebra zebras horse animal",
    "bread bakery flour oven",
];
const DIMENSIONS: usize = 16;

/// The model. With another `seed` the words have other vectors.
pub fn model(seed: u32) -> StaticModel {
    let mut words: Vec<(String, Vec<f32>)> = Vec::new();
    let noise =
        |at: usize| (((at as u32 + 1).wrapping_mul(2_654_435_761).wrapping_add(seed * 977)) >> 8) as f32 / 8e6 - 1.0;
    for (meaning, of) in MEANINGS.iter().enumerate() {
        for word in of.split(' ') {
            let token = (words.len() + 2) * 1000;
            let row = (0..DIMENSIONS).map(|at| noise(meaning * DIMENSIONS + at) + 0.1 * noise(token + at));
            words.push((word.to_owned(), row.collect()));
        }
    }
    of_words(words)
}

/// A model of these words and their vectors.
pub fn of_words(words: Vec<(String, Vec<f32>)>) -> StaticModel {
    let dimensions = words[0].1.len();
    let tokens: Vec<&str> = ["[PAD]", "[UNK]"].into_iter().chain(words.iter().map(|(word, _)| word.as_str())).collect();
    let vocabulary: BTreeMap<&str, usize> = tokens.iter().copied().zip(0..).collect();
    let tokenizer = serde_json::json!({
        "normalizer": { "type": "BertNormalizer", "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "model": { "type": "WordPiece", "vocab": vocabulary, "unk_token": "[UNK]" },
    });
    let unknown = vec![0.0; 2 * dimensions];
    let numbers: Vec<u8> =
        unknown.iter().chain(words.iter().flat_map(|(_, row)| row)).flat_map(|number| number.to_le_bytes()).collect();
    let tensor = TensorView::new(Dtype::F32, vec![tokens.len(), dimensions], &numbers).unwrap();
    let tensors = safetensors::serialize([("embeddings", tensor)], None).unwrap();
    StaticModel::from_files(tokenizer.to_string().as_bytes(), &tensors, br#"{"normalize": true}"#).unwrap()
}

/// The embedder of tests.
pub fn embedder() -> Embedder {
    Embedder { author: "test".to_owned(), time: Timestamp::UNIX_EPOCH, state: None, clustered_from: CLUSTERED_FROM }
}

/// Adds the model of `seed` to a mirror, as `atlas model add` does.
pub async fn add(mirror: &Mirror, seed: u32) -> (StoredModelInfo, Embedded) {
    add_model(mirror, &format!("words-{seed}"), &model(seed), CLUSTERED_FROM).await
}

/// Adds a model, and clusters its vectors if there are so many.
pub async fn add_model(
    mirror: &Mirror,
    name: &str,
    model: &StaticModel,
    clustered_from: u64,
) -> (StoredModelInfo, Embedded) {
    let info = mirror.add_model(name, model, Timestamp::UNIX_EPOCH).await.unwrap();
    let embeddings = info.embeddings();
    let runs = StoreModel::new(mirror.clone(), embeddings.clone());
    let embedder = Embedder { clustered_from, ..embedder() };
    let (embedded, failure) = embedder.embed(mirror, &embeddings, &runs, &()).await.unwrap();
    assert_eq!(failure, None);
    (info, embedded)
}
