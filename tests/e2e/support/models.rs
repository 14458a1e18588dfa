//! A small embedding model for tests: words of one line of [`MEANINGS`] mean nearly the same.

use std::collections::BTreeMap;

use atlas_embeddings::StaticModel;
use atlas_mirror::embedding::{Embedded, StoreModel};
use atlas_mirror::{Mirror, StoredModelInfo};
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
    let mut tokens = vec!["[PAD]".to_owned(), "[UNK]".to_owned()];
    let mut rows: Vec<[f32; DIMENSIONS]> = vec![[0.0; DIMENSIONS]; 2];
    let noise =
        |at: usize| (((at as u32 + 1).wrapping_mul(2_654_435_761).wrapping_add(seed * 977)) >> 8) as f32 / 8e6 - 1.0;
    for (meaning, words) in MEANINGS.iter().enumerate() {
        for word in words.split(' ') {
            let mut row = [0.0; DIMENSIONS];
            for (at, value) in row.iter_mut().enumerate() {
                *value = noise(meaning * DIMENSIONS + at) + 0.1 * noise(tokens.len() * 1000 + at);
            }
            tokens.push(word.to_owned());
            rows.push(row);
        }
    }
    let vocabulary: BTreeMap<&String, usize> = tokens.iter().zip(0..).collect();
    let tokenizer = serde_json::json!({
        "normalizer": { "type": "BertNormalizer", "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "model": { "type": "WordPiece", "vocab": vocabulary, "unk_token": "[UNK]" },
    });
    let numbers: Vec<u8> = rows.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    let tensor = TensorView::new(Dtype::F32, vec![tokens.len(), DIMENSIONS], &numbers).unwrap();
    let tensors = safetensors::serialize([("embeddings", tensor)], None).unwrap();
    StaticModel::from_files(tokenizer.to_string().as_bytes(), &tensors, br#"{"normalize": true}"#).unwrap()
}

/// The embedder of tests.
pub fn embedder() -> Embedder {
    Embedder { author: "test".to_owned(), time: Timestamp::UNIX_EPOCH, state: None }
}

/// Adds the model of `seed` to a mirror, as `atlas model add` does.
pub async fn add(mirror: &Mirror, seed: u32) -> (StoredModelInfo, Embedded) {
    let name = format!("words-{seed}");
    let info = mirror.add_model(&name, &model(seed), Timestamp::UNIX_EPOCH).await.unwrap();
    let embeddings = info.embeddings();
    let runs = StoreModel::new(mirror.clone(), embeddings.clone());
    let (embedded, failure) = embedder().embed(mirror, &embeddings, &runs, &()).await.unwrap();
    assert_eq!(failure, None);
    (info, embedded)
}
