//! The tokens around a text, as `post_processor` of `tokenizer.json` says.

use std::collections::HashMap;

use serde::Deserialize;

use crate::ModelError;

const FILE: &str = "tokenizer.json";

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Processor {
    TemplateProcessing {
        single: Vec<Piece>,
        special_tokens: HashMap<String, Special>,
    },
    #[serde(alias = "RobertaProcessing")]
    BertProcessing {
        sep: (String, u32),
        cls: (String, u32),
    },
}

#[derive(Deserialize)]
enum Piece {
    SpecialToken { id: String },
    Sequence {},
}

#[derive(Deserialize)]
struct Special {
    ids: Vec<u32>,
}

/// The tokens before and after each text.
pub(super) fn read(json: &[u8]) -> Result<(Vec<u32>, Vec<u32>), ModelError> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        post_processor: Option<serde_json::Value>,
    }

    let file: File = serde_json::from_slice(json).map_err(|error| ModelError::damaged(FILE, error))?;
    let Some(value) = file.post_processor else { return Ok(Default::default()) };
    let name = value.get("type").and_then(serde_json::Value::as_str).unwrap_or("without a name").to_owned();
    let processor = serde_json::from_value(value)
        .map_err(|_| ModelError::Unsupported { what: format!("the post-processor {name}") })?;
    match processor {
        Processor::BertProcessing { sep, cls } => Ok((vec![cls.1], vec![sep.1])),
        Processor::TemplateProcessing { single, special_tokens } => {
            let (mut begin, mut end) = (Vec::new(), None);
            for piece in single {
                match piece {
                    Piece::Sequence {} => end = Some(Vec::new()),
                    Piece::SpecialToken { id } => {
                        let special = special_tokens.get(&id);
                        let special = special.ok_or_else(|| {
                            ModelError::damaged(FILE, format!("its post-processor does not know its token {id}"))
                        })?;
                        end.as_mut().unwrap_or(&mut begin).extend(&special.ids);
                    }
                }
            }
            let end = end.ok_or_else(|| ModelError::damaged(FILE, "its post-processor leaves the text out"))?;
            Ok((begin, end))
        }
    }
}
