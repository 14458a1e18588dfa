//! `atlas model`

use std::error::Error;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use atlas_embeddings::contextual::{self, ContextualModel, Files};
use atlas_embeddings::storable::Storable;
use atlas_embeddings::{ModelError, Purpose, StaticModel};
use atlas_mirror::embedding::StoreModel;
use atlas_mirror::models::MAX_MODEL_BYTES;
use atlas_mirror::{CLUSTERED_FROM, Mirror, StoredModelInfo};
use atlas_provider::beginning;
use atlas_sync::{Embedder, Progress};
use clap::{Args, Subcommand};
use indicatif::{DecimalBytes, HumanCount};
use jiff::Timestamp;
use serde_json::json;

use crate::bar::{self, Phases};
use crate::commands::Outcome;
use crate::output;
use crate::vault::author;
use crate::vault_location::LocationArguments;

/// Arguments of `atlas model`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: ModelCommand,
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    /// Put a model of Model2Vec or sentence-transformers into the store, embed all notes with it, and find notes by it from then on
    Add {
        /// The model's folder, with tokenizer.json, model.safetensors and config.json; of sentence-transformers also modules.json
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Its name [default: the folder's]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// The beginning of questions, where the folder names none [default: what models of this name were trained with]
        #[arg(long, value_name = "TEXT")]
        query_prefix: Option<String>,
        /// The beginning of notes, likewise
        #[arg(long, value_name = "TEXT")]
        passage_prefix: Option<String>,
        #[command(flatten)]
        place: LocationArguments,
    },
    /// List the models in the store
    List {
        #[command(flatten)]
        place: LocationArguments,
        /// Print them as a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Delete a model from the store; if notes are found by it, they are found by words only from then on
    Remove {
        /// Its name, or the beginning of its hash
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: LocationArguments,
    },
}

/// Runs `atlas model`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    match arguments.what {
        ModelCommand::Add { folder, name, query_prefix, passage_prefix, place } => {
            let name = match name {
                Some(name) => name,
                None => name_of(&folder)?,
            };
            let given = |given: Option<String>, purpose: Purpose| {
                given.unwrap_or_else(|| beginning(&name.to_lowercase(), purpose).to_owned())
            };
            let prefixes = [given(query_prefix, Purpose::Query), given(passage_prefix, Purpose::Passage)];
            let place = place.find(None, None)?;
            let embedder = Embedder {
                author: author(),
                time: Timestamp::now(),
                state: place.recorded_state().filter(|state| state.is_dir()),
                clustered_from: CLUSTERED_FROM,
            };
            let model = read(&folder, &prefixes)?;
            let phases = Phases::over(bar::start(false));
            let mirror = place.published().await?;
            tokio::select! {
                added = add(&mirror, &*model, &name, &embedder, &*phases) => added,
                _ = tokio::signal::ctrl_c() => Err(phases.interrupted().into()),
            }
        }
        ModelCommand::List { place, json } => list(&place.find(None, None)?.published().await?, json).await,
        ModelCommand::Remove { name, place } => remove(&place.find(None, None)?.published().await?, &name).await,
    }
}

/// The name of a folder.
fn name_of(folder: &Path) -> Result<String, Box<dyn Error>> {
    let unread = |error| format!("{} cannot be read: {error}: name the folder that the model is in", folder.display());
    let name = folder.canonicalize().map_err(unread)?.file_name().map(|name| name.to_string_lossy().into_owned());
    name.ok_or_else(|| "the folder has no name: give the model one with --name".into())
}

async fn add(
    mirror: &Mirror,
    model: &dyn Storable,
    name: &str,
    embedder: &Embedder,
    progress: &dyn Progress,
) -> Outcome {
    let info = mirror.add_model(name, model, embedder.time).await?;
    let StoredModelInfo { id, shape, .. } = &info;
    output::note(format_args!(
        "{name} is in the store: {} dimensions, {} tokens, {} ({id})",
        shape.dimensions,
        HumanCount(u64::from(info.tokens())),
        DecimalBytes(shape.bytes),
    ));
    let embeddings = info.embeddings();
    let stored = StoreModel::new(mirror.clone(), embeddings.clone());
    let (embedded, failure) = embedder.embed(mirror, &embeddings, &stored, progress).await?;
    if let Some(error) = failure {
        return Err(format!("the notes are found as before, since {error}").into());
    }
    output::line(format_args!("{} notes are found by meaning, with {name}", HumanCount(embedded.notes)));
    Ok(())
}

/// Reads the files of a model, with what questions and notes begin with where its folder does not say it.
fn read(folder: &Path, prefixes: &[String; 2]) -> Result<Box<dyn Storable>, Box<dyn Error>> {
    let wrong = |error: ModelError| format!("{}: {error}", folder.display());
    let modules = optional(folder, "modules.json")?;
    let Some(modules) = modules.filter(|modules| Files::are_contextual(modules)) else {
        let tokenizer = required(folder, &["tokenizer.json", "0_StaticEmbedding/tokenizer.json"])?;
        let tensors = required(folder, &["model.safetensors", "0_StaticEmbedding/model.safetensors"])?;
        let config = required(folder, &["config.json", "config_sentence_transformers.json"])?;
        return Ok(Box::new(StaticModel::from_files(&tokenizer, &tensors, &config).map_err(wrong)?));
    };
    if !contextual::RUNS {
        return Err(format!("{}: it is a model with a network, and {}", folder.display(), contextual::REMEDY).into());
    }
    // The network's folder was 0_Transformer once.
    let of_network =
        |name: &str| -> Result<Vec<u8>, Box<dyn Error>> { required(folder, &[name, &format!("0_Transformer/{name}")]) };
    let sentences = match optional(folder, "sentence_bert_config.json")? {
        None => optional(folder, "0_Transformer/sentence_bert_config.json")?,
        found => found,
    };
    let [query_prefix, passage_prefix] = prefixes;
    let model = ContextualModel::from_files(&Files {
        config: &of_network("config.json")?,
        tokenizer: &of_network("tokenizer.json")?,
        tensors: &of_network("model.safetensors")?,
        modules: &modules,
        pooling: &required(folder, &["1_Pooling/config.json"])?,
        sentences: sentences.as_deref(),
        prompts: optional(folder, "config_sentence_transformers.json")?.as_deref(),
        query_prefix,
        passage_prefix,
    });
    Ok(Box::new(model.map_err(wrong)?))
}

/// A file of a folder that may be at several places.
fn required(folder: &Path, names: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    for name in names {
        if let Some(bytes) = optional(folder, name)? {
            return Ok(bytes);
        }
    }
    let name = names.first().copied().unwrap_or_default();
    Err(format!(
        "{}: it has no {name}: name the folder of a model of Model2Vec or sentence-transformers",
        folder.display()
    )
    .into())
}

fn optional(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, Box<dyn Error>> {
    let path = folder.join(name);
    if !path.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    fs::File::open(&path)?.take(MAX_MODEL_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_MODEL_BYTES {
        return Err(format!("{}: it is over {}", path.display(), DecimalBytes(MAX_MODEL_BYTES)).into());
    }
    Ok(Some(bytes))
}

async fn list(mirror: &Mirror, as_json: bool) -> Outcome {
    let models = mirror.models().await?;
    let head = mirror.head().await.ok();
    let used = head.as_ref().and_then(|head| head.manifest().embeddings.as_ref());
    let is_used = |info: &StoredModelInfo| used.is_some_and(|used| used.id == info.id);
    if as_json {
        let row = |info: &StoredModelInfo| {
            json!({
                "name": info.name, "id": info.id, "dimensions": info.shape.dimensions, "tokens": info.tokens(),
                "bytes": info.shape.bytes, "added": info.added, "used": is_used(info),
            })
        };
        return output::json(&models.iter().map(row).collect::<Vec<_>>());
    }
    if models.is_empty() {
        output::note("there is no model in the store: `atlas model add FOLDER` adds one");
    }
    for info in &models {
        let (mark, bytes) = (if is_used(info) { "*" } else { " " }, DecimalBytes(info.shape.bytes));
        let StoredModelInfo { name, id, shape, .. } = info;
        output::line(format_args!("{mark} {name}  {} dimensions  {bytes}  {id}", shape.dimensions));
    }
    Ok(())
}

async fn remove(mirror: &Mirror, name: &str) -> Outcome {
    let models = mirror.models().await?;
    let found: Vec<&StoredModelInfo> =
        models.iter().filter(|info| info.name == name || info.id.to_string().starts_with(name)).collect();
    let info = match found.as_slice() {
        [info] => *info,
        [] => return Err(format!("there is no model {name}: `atlas model list` names them").into()),
        _ => return Err(format!("several models are called {name}: give the beginning of a hash").into()),
    };
    let head = mirror.head().await?;
    if head.manifest().embeddings.as_ref().is_some_and(|used| used.id == info.id) {
        let embedder =
            Embedder { author: author(), time: Timestamp::now(), state: None, clustered_from: CLUSTERED_FROM };
        embedder.drop_vectors(mirror).await?;
    }
    mirror.remove_model(&info.id).await?;
    output::line(format_args!("{} was removed", info.name));
    Ok(())
}
