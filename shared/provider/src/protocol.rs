//! How services are asked, and how they answer. Pure.

use atlas_embeddings::{Purpose, Vector};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fault::Fault;

/// The interface of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI's, which many services have: `/embeddings` below an address that ends in `/v1`.
    OpenAi,
    /// Ollama's: `/api/embed`.
    Ollama,
}

/// Beginnings of texts for models that were trained with them: two parts of the model's name, the beginning of a question and of a note. The first match counts.
const BEGINNINGS: [(&str, &str, &str, &str); 8] = [
    ("nomic-embed-text", "", "search_query: ", "search_document: "),
    (
        "e5-",
        "-instruct",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
        "",
    ),
    ("e5-", "", "query: ", "passage: "),
    ("mxbai-embed-large", "", "Represent this sentence for searching relevant passages: ", ""),
    ("snowflake-arctic-embed2", "", "query: ", ""),
    ("snowflake-arctic-embed", "-v2", "query: ", ""),
    ("snowflake-arctic-embed", "", "Represent this sentence for searching relevant passages: ", ""),
    ("embeddinggemma", "", "task: search result | query: ", "title: none | text: "),
];

/// Most bytes that a text begins with.
pub(crate) const MAX_BEGINNING: usize = 96;

/// What a text of this purpose begins with, for the model called so.
#[must_use]
pub fn beginning(model: &str, purpose: Purpose) -> &'static str {
    let found = BEGINNINGS.iter().find(|(name, kind, ..)| model.contains(name) && model.contains(kind));
    found.map_or("", |(_, _, query, passage)| if purpose == Purpose::Query { query } else { passage })
}

/// An answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Answered {
    pub(crate) vectors: Vec<Vector>,
    /// The tokens that the service counted, if it says so.
    pub(crate) tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    data: Vec<OpenAiVector>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct OpenAiVector {
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    total_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OllamaAnswer {
    embeddings: Vec<Vec<f32>>,
    #[serde(default)]
    prompt_eval_count: Option<u64>,
}

impl Protocol {
    /// Its name in configurations and manifests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }

    pub(crate) const fn path(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["embeddings"],
            Self::Ollama => &["api", "embed"],
        }
    }

    /// The body of a request; with `dimensions` if the service is asked for that many.
    pub(crate) fn body(self, model: &str, texts: &[impl Serialize], dimensions: Option<u32>) -> Vec<u8> {
        let mut body = match self {
            Self::OpenAi => json!({ "model": model, "input": texts, "encoding_format": "float" }),
            Self::Ollama => json!({ "model": model, "input": texts, "truncate": true }),
        };
        if let Some(dimensions) = dimensions {
            body["dimensions"] = dimensions.into();
        }
        body.to_string().into_bytes()
    }

    /// The vectors in the answer to a request of `count` texts, in the order of these; or why it is of no use.
    pub(crate) fn read(self, body: &[u8], count: usize, dimensions: u32) -> Result<Answered, Fault> {
        let unread = |error: serde_json::Error| {
            let what = if error.is_data() { "has not the form that was expected" } else { "is no JSON" };
            // Services write NaN, or null, for what one text made them compute.
            Fault::NoVector(format!("its answer {what}, at column {} of line {}", error.column(), error.line()))
        };
        let (numbers, tokens) = match self {
            Self::OpenAi => {
                let answer: OpenAiAnswer = serde_json::from_slice(body).map_err(unread)?;
                let usage = answer.usage.and_then(|usage| usage.total_tokens.or(usage.prompt_tokens));
                (in_order(answer.data, count).map_err(Fault::Refused)?, usage)
            }
            Self::Ollama => {
                let answer: OllamaAnswer = serde_json::from_slice(body).map_err(unread)?;
                (answer.embeddings, answer.prompt_eval_count)
            }
        };
        if numbers.len() != count {
            return Err(Fault::Refused(format!("it gave {} vectors for {count} texts", numbers.len())));
        }
        let vectors = numbers.into_iter().map(|numbers| vector(numbers, dimensions)).collect::<Result<_, _>>()?;
        Ok(Answered { vectors, tokens })
    }
}

/// The numbers of vectors, each at its index. Were an index wrong, vectors would go to the wrong texts.
fn in_order(data: Vec<OpenAiVector>, count: usize) -> Result<Vec<Vec<f32>>, String> {
    if data.len() != count {
        return Err(format!("it gave {} vectors for {count} texts", data.len()));
    }
    let mut found: Vec<Option<Vec<f32>>> = vec![None; count];
    for OpenAiVector { index, embedding } in data {
        let place = found.get_mut(index).ok_or_else(|| format!("it gave a vector for text {index} of {count}"))?;
        if place.replace(embedding).is_some() {
            return Err(format!("it gave two vectors for text {index}"));
        }
    }
    Ok(found.into_iter().flatten().collect())
}

fn vector(numbers: Vec<f32>, dimensions: u32) -> Result<Vector, Fault> {
    if numbers.len() != dimensions as usize {
        let why = format!("its vectors have {} dimensions instead of {dimensions}", numbers.len());
        return Err(Fault::Dimensions(why));
    }
    match Vector::normalised(numbers) {
        Some(vector) if !vector.is_zero() => Ok(vector),
        Some(_) => Err(Fault::NoVector("it gave a vector of zeros".to_owned())),
        None => Err(Fault::NoVector("a number in its vectors is infinite or none".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(body: &str, count: usize) -> Result<Vec<Vec<f32>>, String> {
        let read = Protocol::OpenAi.read(body.as_bytes(), count, 2);
        read.map(|answer| answer.vectors.iter().map(|vector| vector.values().to_vec()).collect()).map_err(said)
    }

    fn said(fault: Fault) -> String {
        atlas_embeddings::EmbedError::from(fault).to_string()
    }

    #[test]
    fn vectors_go_to_their_texts_or_nowhere() {
        let both = r#"{"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 0]}], "usage": {"total_tokens": 9}}"#;
        assert_eq!(read(both, 2), Ok(vec![vec![1.0, 0.0], vec![0.0, 1.0]]));
        assert_eq!(Protocol::OpenAi.read(both.as_bytes(), 2, 2).unwrap().tokens, Some(9));
        for (data, says) in [
            (r#"{"index": 0, "embedding": [1, 0]}, {"index": 0, "embedding": [1, 0]}"#, "two vectors for text 0"),
            (r#"{"index": 0, "embedding": [1, 0]}, {"index": 2, "embedding": [1, 0]}"#, "text 2 of 2"),
            (r#"{"index": 0, "embedding": [1, 0]}, {"index": -1, "embedding": [1, 0]}"#, "form"),
            (r#"{"index": 0, "embedding": [1, 0]}, {"embedding": [1, 0]}"#, "form"),
            (r#"{"index": 0, "embedding": [1, 0]}"#, "1 vectors for 2 texts"),
            (r#"{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [1]}"#, "1 dimensions instead of 2"),
            (r#"{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [1, NaN]}"#, "no JSON"),
            (r#"{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [1, 1e39]}"#, "no JSON"),
            (r#"{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [1, 1e999]}"#, "no JSON"),
            (r#"{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [1, null]}"#, "form"),
            (r#"{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [0, 0]}"#, "zeros"),
            (r#"{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": [1, 0]}"#, "form"),
        ] {
            let error = read(&format!("{{\"data\": [{data}]}}"), 2).unwrap_err();
            assert!(error.contains(says), "{data}: {error}");
        }
    }

    #[test]
    fn ollama_answers_in_order() {
        let read = |body: &str| Protocol::Ollama.read(body.as_bytes(), 2, 2);
        let answer = read(r#"{"model": "m", "embeddings": [[1, 0], [0, 1]], "prompt_eval_count": 4}"#).unwrap();
        assert_eq!((answer.vectors[1].values(), answer.tokens), (&[0.0, 1.0][..], Some(4)));
        assert!(said(read(r#"{"embeddings": [[1, 0]]}"#).unwrap_err()).contains("1 vectors for 2 texts"));
        assert!(read(r#"{"error": "no"}"#).is_err());
    }

    #[test]
    fn models_are_asked_as_they_were_trained() {
        assert_eq!(beginning("nomic-embed-text:v1.5", Purpose::Query), "search_query: ");
        assert_eq!(beginning("intfloat/multilingual-e5-small", Purpose::Passage), "passage: ");
        assert_eq!(beginning("text-embedding-3-small", Purpose::Query), "");
        for model in ["snowflake-arctic-embed2:568m", "Snowflake/snowflake-arctic-embed-l-v2.0"] {
            assert_eq!(
                (beginning(model, Purpose::Query), beginning(model, Purpose::Passage)),
                ("query: ", ""),
                "{model}"
            );
        }
        assert!(beginning("snowflake-arctic-embed-m-v1.5", Purpose::Query).starts_with("Represent"));
        for model in ["intfloat/multilingual-e5-large-instruct", "e5-mistral-7b-instruct"] {
            assert!(beginning(model, Purpose::Query).starts_with("Instruct: "), "{model}");
            assert_eq!(beginning(model, Purpose::Passage), "", "{model}");
        }
        assert!(BEGINNINGS.iter().all(|(_, _, query, passage)| query.len().max(passage.len()) <= MAX_BEGINNING));
    }

    proptest! {
        #[test]
        fn no_answer_is_too_strange(body in "\\PC{0,200}", count in 0usize..4) {
            for protocol in [Protocol::OpenAi, Protocol::Ollama] {
                let _ = protocol.read(body.as_bytes(), count, 3);
            }
        }

        /// Any order of the indices gives each text its own vector.
        #[test]
        fn the_order_of_an_answer_does_not_matter(order in Just((1usize..9).collect::<Vec<_>>()).prop_shuffle()) {
            let data: Vec<_> = order.iter().map(|at| json!({ "index": at - 1, "embedding": [*at as f32, 1.0] })).collect();
            let body = json!({ "data": data }).to_string();
            for (at, numbers) in read(&body, 8).unwrap().iter().enumerate() {
                prop_assert!((numbers[0] / numbers[1] - (at as f32 + 1.0)).abs() < 1e-3);
            }
        }
    }
}
