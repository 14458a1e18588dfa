use std::path::{Path, PathBuf};

use super::*;
use crate::model::Purpose;
use crate::stored::{Rows, Shape, StoredModel, encode};
use bytes::Bytes;
use proptest::prelude::*;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::Deserialize;

/// The files of a model that `make_contextual.py` made.
#[derive(Clone)]
struct Folder {
    config: Vec<u8>,
    tokenizer: Vec<u8>,
    tensors: Vec<u8>,
    modules: Vec<u8>,
    pooling: Vec<u8>,
    sentences: Vec<u8>,
    prompts: Option<Vec<u8>>,
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

impl Folder {
    fn read(folder: &Path) -> Self {
        let read = |file: &str| std::fs::read(folder.join(file)).unwrap();
        Self {
            config: read("config.json"),
            tokenizer: read("tokenizer.json"),
            tensors: read("model.safetensors"),
            modules: read("modules.json"),
            pooling: read("1_Pooling/config.json"),
            sentences: read("sentence_bert_config.json"),
            prompts: std::fs::read(folder.join("config_sentence_transformers.json")).ok(),
        }
    }

    fn model(&self) -> Result<ContextualModel, ModelError> {
        ContextualModel::from_files(&Files {
            config: &self.config,
            tokenizer: &self.tokenizer,
            tensors: &self.tensors,
            modules: &self.modules,
            pooling: &self.pooling,
            sentences: Some(&self.sentences),
            prompts: self.prompts.as_deref(),
            ..Files::default()
        })
    }

    /// The error of the model, with another value in one of its files.
    fn refusal(&self, change: impl FnOnce(&mut Self)) -> String {
        let mut changed = self.clone();
        change(&mut changed);
        changed.model().unwrap_err().to_string()
    }

    /// Replaces a tensor; without a replacement it is left out.
    fn replace(&mut self, name: &str, with: Option<(Vec<usize>, Vec<f32>)>) {
        let with = with.map(|(shape, numbers)| (shape, numbers.iter().flat_map(|one| one.to_le_bytes()).collect()));
        let with: Option<(Vec<usize>, Vec<u8>)> = with;
        let tensors = SafeTensors::deserialize(&self.tensors).unwrap();
        let mut kept: Vec<(String, TensorView<'_>)> =
            tensors.tensors().into_iter().filter(|(known, _)| known != name).collect();
        assert!(kept.len() < tensors.len(), "there is no {name}");
        kept.extend(
            with.as_ref()
                .map(|(shape, data)| (name.to_owned(), TensorView::new(Dtype::F32, shape.clone(), data).unwrap())),
        );
        self.tensors = safetensors::serialize(kept, None).unwrap();
    }
}

fn set(file: &mut Vec<u8>, name: &str, value: serde_json::Value) {
    let mut json: serde_json::Value = serde_json::from_slice(file).unwrap();
    json[name] = value;
    *file = serde_json::to_vec(&json).unwrap();
}

/// A model as one object, of which only what a text needs is read.
struct Read {
    object: Bytes,
    shape: Shape,
    stored: StoredModel,
    network: Network,
}

impl Read {
    fn new(model: &ContextualModel) -> Self {
        let (object, shape) = encode(model).unwrap();
        let object = Bytes::from(object);
        let head = shape.head_range();
        let stored = StoredModel::open(&object[head.start as usize..head.end as usize], shape).unwrap();
        let slice = |range: std::ops::Range<u64>| object.slice(range.start as usize..range.end as usize);
        let pages: Vec<Bytes> = stored.network_pages().into_iter().map(slice).collect();
        let network = stored.network(&pages).unwrap().unwrap();
        Self { object, shape, stored, network }
    }

    fn vector(&self, text: &str, purpose: Purpose) -> Vec<f32> {
        let tokens = self.stored.tokens(text, purpose);
        let mut rows = Rows::default();
        for (page, place) in self.stored.missing([&tokens], &rows) {
            self.stored.add(&mut rows, page, &self.object[place.start as usize..place.end as usize]).unwrap();
        }
        self.stored.vector(&tokens, &rows, Some(&self.network)).unwrap().values().to_vec()
    }
}

fn compare(folder: &Path, expected: &[u8]) {
    #[derive(Deserialize)]
    struct Expected {
        text: String,
        query: Vec<f32>,
        passage: Vec<f32>,
    }

    let read = Read::new(&Folder::read(folder).model().unwrap());
    let expected: Vec<Expected> = serde_json::from_slice(expected).unwrap();
    assert!(expected.len() > 10);
    for Expected { text, query, passage } in expected {
        for (purpose, expected) in [(Purpose::Query, query), (Purpose::Passage, passage)] {
            let found = read.vector(&text, purpose);
            let cosine: f32 = found.iter().zip(&expected).map(|(one, other)| one * other).sum();
            assert!(found.len() == expected.len() && cosine >= 0.9999, "{folder:?} {purpose:?} {text:?}: {cosine}");
        }
    }
}

#[test]
fn vectors_are_those_of_the_reference() {
    for name in ["bert_mean", "bert_cls", "roberta"] {
        compare(&fixture(name), &std::fs::read(fixture(name).join("expected.json")).unwrap());
    }
}

/// `make_contextual.py FOLDER > FILE` writes what to compare with.
#[test]
#[ignore = "it needs ATLAS_MODEL=FOLDER, a real model, and ATLAS_EXPECTED=FILE"]
fn vectors_of_a_real_model_are_those_of_the_reference() {
    let variable = |name: &str| PathBuf::from(std::env::var_os(name).unwrap());
    compare(&variable("ATLAS_MODEL"), &std::fs::read(variable("ATLAS_EXPECTED")).unwrap());
}

#[test]
fn equal_models_are_equal_bytes() {
    let folder = Folder::read(&fixture("bert_cls"));
    let (one, other) = (Read::new(&folder.model().unwrap()), Read::new(&folder.model().unwrap()));
    assert_eq!(one.object, other.object);
    assert_eq!(one.shape.bytes, one.object.len() as u64);
    let vector = one.vector("the tide", Purpose::Query);
    assert_eq!(vector, other.vector("the tide", Purpose::Query));
    assert_ne!(vector, one.vector("the tide", Purpose::Passage), "questions begin otherwise than notes");
}

#[test]
fn a_folder_that_does_not_say_its_prompts_is_given_them() {
    let folder = Folder::read(&fixture("bert_mean"));
    let files = Files {
        config: &folder.config,
        tokenizer: &folder.tokenizer,
        tensors: &folder.tensors,
        modules: &folder.modules,
        pooling: &folder.pooling,
        query_prefix: "query: ",
        ..Files::default()
    };
    let model = ContextualModel::from_files(&files).unwrap();
    assert_eq!(model.architecture().query_prefix, "query: ");
    assert_eq!(model.architecture().positions, 64, "where nothing is said, a text is as long as there are positions");
    assert!(Files::are_contextual(&folder.modules));
    assert!(!Files::are_contextual(br#"[{"type": "sentence_transformers.models.StaticEmbedding"}]"#));
}

#[test]
fn a_bad_model_is_refused_with_the_reason() {
    let folder = Folder::read(&fixture("bert_mean"));
    let says = |reason: String, part: &str| assert!(reason.contains(part), "{reason}");
    let tensor = "encoder.layer.1.output.dense.weight";
    says(folder.refusal(|folder| folder.replace(tensor, None)), "it has no tensor `encoder.layer.1.output.dense");
    says(folder.refusal(|folder| folder.replace(tensor, Some((vec![8, 2], vec![0.5; 16])))), "instead of 8 × 16");
    let nan = |number: f32| Some((vec![8, 16], vec![number; 128]));
    says(folder.refusal(|folder| folder.replace(tensor, nan(f32::NAN))), "infinite, none, or too large");
    says(folder.refusal(|folder| folder.replace(tensor, nan(1e30))), "infinite, none, or too large");
    let words = "embeddings.word_embeddings.weight";
    says(folder.refusal(|folder| folder.replace(words, Some((vec![5, 8], vec![0.5; 40])))), "need at least");
    let config = |name: &'static str, value: serde_json::Value| {
        folder.refusal(move |folder| set(&mut folder.config, name, value))
    };
    says(config("num_hidden_layers", 1_000_000.into()), "the number of layers is 1000000: 1 to 64");
    says(config("intermediate_size", u32::MAX.into()), "the size of a layer's middle");
    says(config("hidden_size", 0.into()), "the number of dimensions is 0");
    says(config("hidden_size", u64::MAX.into()), "the number of dimensions");
    says(config("num_attention_heads", 3.into()), "3 heads do not share 8 dimensions");
    let endless = folder.refusal(|folder| {
        set(&mut folder.config, "max_position_embeddings", u64::MAX.into());
        set(&mut folder.sentences, "max_seq_length", serde_json::Value::Null);
    });
    says(endless, "need at least 2048 × 8");
    says(config("max_position_embeddings", 8.into()), "its texts have up to 64 tokens, and the network has 8");
    says(config("layer_norm_eps", 0.into()), "variance");
    says(config("model_type", "t5".into()), "a network of the kind t5 is not supported: take a model of");
    says(config("hidden_act", "swish".into()), "the activation swish");
    says(config("position_embedding_type", "relative_key".into()), "positions that are relative_key");
    says(folder.refusal(|folder| set(&mut folder.sentences, "max_seq_length", 2.into())), "no room for a token");
    says(folder.refusal(|folder| set(&mut folder.pooling, "pooling_mode_max_tokens", true.into())), "pooling by");
    says(
        folder.refusal(|folder| folder.modules = br#"[{"type": "a.Transformer"}, {"type": "a.Dense"}]"#.to_vec()),
        "Dense",
    );
    says(folder.refusal(|folder| folder.tokenizer.clear()), "tokenizer.json");
    let strange = serde_json::json!({ "type": "ByteLevel" });
    says(
        folder.refusal(|folder| set(&mut folder.tokenizer, "post_processor", strange)),
        "the post-processor ByteLevel",
    );
    let unknown = serde_json::json!({ "type": "BertProcessing", "cls": ["a", 1], "sep": ["b", 9_999_999] });
    says(folder.refusal(|folder| set(&mut folder.tokenizer, "post_processor", unknown)), "not in the vocabulary");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_file_and_no_text_is_too_much(at in any::<prop::sample::Index>(), bit in 0..8, text in "\\PC{0,300}|[a-z. ]{0,300}") {
        let mut folder = Folder::read(&fixture("roberta"));
        let read = Read::new(&folder.model().unwrap());
        prop_assert!(read.vector(&text, Purpose::Query).iter().all(|number| number.is_finite()));
        let tensors = at.index(folder.tensors.len());
        folder.tensors[tensors] ^= 1u8 << bit;
        let config = at.index(folder.config.len());
        folder.config[config] ^= 1u8 << bit;
        if let Ok(model) = folder.model() {
            let read = Read::new(&model);
            let _ = read.stored.tokens(&text, Purpose::Query);
        }
    }

    #[test]
    fn damage_of_a_network_is_noticed(at in any::<prop::sample::Index>(), bit in 0..8) {
        let read = Read::new(&Folder::read(&fixture("bert_mean")).model().unwrap());
        let ranges = read.stored.network_pages();
        let mut object = read.object.to_vec();
        let (first, last) = (ranges[0].start as usize, ranges[ranges.len() - 1].end as usize);
        object[first + at.index(last - first)] ^= 1u8 << bit;
        let pages: Vec<Bytes> =
            ranges.into_iter().map(|range| Bytes::copy_from_slice(&object[range.start as usize..range.end as usize])).collect();
        prop_assert!(read.stored.network(&pages).is_err());
        prop_assert!(read.stored.network(&pages[1..]).is_err());
        prop_assert!(read.stored.network(&[]).is_err());
    }
}
