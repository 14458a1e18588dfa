use super::*;
use crate::static_model::StaticModel;
use proptest::prelude::*;

/// A word-piece model of two dimensions a letter, with numbers of a formula.
fn model() -> StaticModel {
    let tokens = ["[PAD]", "[UNK]", "tide", "harb", "##our", "##s", "the", "a", ".", "boat"];
    let vocabulary: serde_json::Map<_, _> =
        (0..).zip(tokens).map(|(id, token): (u32, _)| (token.to_owned(), id.into())).collect();
    let tokenizer = serde_json::json!({
        "added_tokens": [{ "id": 1, "content": "[UNK]" }],
        "normalizer": { "type": "BertNormalizer", "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "model": { "type": "WordPiece", "vocab": vocabulary, "unk_token": "[UNK]" },
    });
    let numbers: Vec<u8> = (0..tokens.len() * 3).flat_map(|at| ((at as f32).sin()).to_le_bytes()).collect();
    let tensor = TensorView::new(Dtype::F32, vec![tokens.len(), 3], &numbers).unwrap();
    let tensors = safetensors::serialize([("embeddings", tensor)], None).unwrap();
    StaticModel::from_files(tokenizer.to_string().as_bytes(), &tensors, b"{\"normalize\": true}").unwrap()
}

use safetensors::tensor::{Dtype, TensorView};

/// The vector of a text, of which only the needed pages are read.
fn read(object: &[u8], shape: Shape, text: &str) -> Vector {
    let range = |range: Range<u64>| &object[range.start as usize..range.end as usize];
    let stored = StoredModel::open(range(shape.head_range()), shape).unwrap();
    let tokens = stored.tokens(text, Purpose::Passage);
    let mut rows = Rows::default();
    for (page, place) in stored.missing([&tokens], &rows) {
        stored.add(&mut rows, page, range(place)).unwrap();
    }
    stored.vector(&tokens, &rows, None).unwrap()
}

#[test]
fn a_model_is_read_by_range_as_it_was_written() {
    let model = model();
    let (object, shape) = encode(&model).unwrap();
    assert_eq!(encode(&model).unwrap().0, object, "equal models are equal bytes");
    for text in ["the tide", "Harbours.", "", "nothing known: ü", "[UNK] boat"] {
        let mean = Vector::normalised(model.mean(text)).unwrap();
        let stored = read(&object, shape, text);
        for (one, other) in mean.values().iter().zip(stored.values()) {
            assert!((one - other).abs() < 2e-3, "{text}: {mean:?} {stored:?}");
        }
    }
    assert!(read(&object, shape, "ü").is_zero());
}

#[test]
fn a_model_that_does_not_fit_is_refused() {
    let tokenizer = br#"{"model": {"type": "WordLevel", "vocab": {}}}"#;
    assert!(matches!(StaticModel::from_files(tokenizer, &[], b"{}"), Err(ModelError::Unsupported { .. })));
    let tokenizer = br#"{"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 5}}}"#;
    assert!(matches!(StaticModel::from_files(tokenizer, &[], b"{}"), Err(ModelError::Damaged { .. })));
    let tokenizer = br#"{"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 1}}}"#;
    let numbers = f32::NAN.to_le_bytes().repeat(2);
    let tensor = TensorView::new(Dtype::F32, vec![2, 1], &numbers).unwrap();
    let tensors = safetensors::serialize([("embeddings", tensor)], None).unwrap();
    assert!(matches!(StaticModel::from_files(tokenizer, &tensors, b"{}"), Err(ModelError::Damaged { .. })));
    assert!(matches!(StaticModel::from_files(tokenizer, b"xyz", b"{}"), Err(ModelError::Damaged { .. })));
}

proptest! {
    #[test]
    fn damage_is_noticed(at in any::<prop::sample::Index>(), bit in 0..8) {
        let (mut object, shape) = encode(&model()).unwrap();
        let at = FRAME as usize + at.index(object.len() - FRAME as usize);
        object[at] ^= 1u8 << bit;
        let range = |range: Range<u64>| &object[range.start as usize..range.end as usize];
        match StoredModel::open(range(shape.head_range()), shape) {
            Err(_) => {}
            Ok(stored) => {
                prop_assert!(stored.add(&mut Rows::default(), 0, range(shape.page_range(0))).is_err());
            }
        }
    }

    #[test]
    fn no_text_is_too_much(text in "\\PC{0,200}|[a-z. ]{0,200}") {
        let model = model();
        prop_assert!(model.mean(&text).iter().all(|number| number.is_finite()));
    }
}
