//! `atlas model`

use std::error::Error;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use atlas_embeddings::{StaticModel, stored};
use atlas_mirror::embedding::StoreModel;
use atlas_mirror::models::MAX_MODEL_BYTES;
use atlas_mirror::{Mirror, StoredModelInfo};
use atlas_sync::Embedder;
use clap::{Args, Subcommand};
use indicatif::{DecimalBytes, HumanCount};
use jiff::Timestamp;
use serde_json::json;

use crate::bar;
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
    /// Put a model of Model2Vec into the store, embed all notes with it, and find notes by it from then on
    Add {
        /// The model's folder, with tokenizer.json, model.safetensors and config.json
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Its name [default: the folder's]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
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
        ModelCommand::Add { folder, name, place } => {
            let name = match name {
                Some(name) => name,
                None => name_of(&folder)?,
            };
            add(&place.find(None, None)?.open()?, &folder, &name).await
        }
        ModelCommand::List { place, json } => list(&place.find(None, None)?.open()?, json).await,
        ModelCommand::Remove { name, place } => remove(&place.find(None, None)?.open()?, &name).await,
    }
}

/// The name of a folder.
fn name_of(folder: &Path) -> Result<String, Box<dyn Error>> {
    let name = folder.canonicalize()?.file_name().map(|name| name.to_string_lossy().into_owned());
    name.ok_or_else(|| "the folder has no name: give the model one with --name".into())
}

async fn add(mirror: &Mirror, folder: &Path, name: &str) -> Outcome {
    // Before anything is uploaded.
    mirror.head().await?;
    let model = read(folder)?;
    let (object, shape) = stored::encode(&model)?;
    let now = Timestamp::now();
    let info = mirror.add_model(name, object.into(), shape, now).await?;
    let StoredModelInfo { id, .. } = &info;
    output::note(format_args!(
        "{name} is in the store: {} dimensions, {} tokens, {} ({id})",
        shape.dimensions,
        HumanCount(u64::from(shape.tokens)),
        DecimalBytes(shape.bytes),
    ));
    let embeddings = info.embeddings();
    let stored = StoreModel::new(mirror.clone(), embeddings.clone());
    let (embedded, failure) = embedder(now).embed(mirror, &embeddings, &stored, &*bar::start(false)).await?;
    if let Some(error) = failure {
        return Err(format!("the notes are found as before, since {error}").into());
    }
    output::line(format_args!("{} notes are found by meaning, with {name}", HumanCount(embedded.notes)));
    Ok(())
}

fn embedder(time: Timestamp) -> Embedder {
    Embedder { author: author(), time, state: None }
}

/// Reads the files of a model.
fn read(folder: &Path) -> Result<StaticModel, Box<dyn Error>> {
    let read = |names: &[&str]| -> Result<Vec<u8>, Box<dyn Error>> {
        let path = names.iter().map(|name| folder.join(name)).find(|path| path.is_file());
        let name = names.first().copied().unwrap_or_default();
        let path = path.ok_or_else(|| {
            format!("{}: it has no {name}: name the folder of a model in Model2Vec's format", folder.display())
        })?;
        let mut bytes = Vec::new();
        fs::File::open(&path)?.take(MAX_MODEL_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_MODEL_BYTES {
            return Err(format!("{}: it is over {}", path.display(), DecimalBytes(MAX_MODEL_BYTES)).into());
        }
        Ok(bytes)
    };
    let tokenizer = read(&["tokenizer.json", "0_StaticEmbedding/tokenizer.json"])?;
    let tensors = read(&["model.safetensors", "0_StaticEmbedding/model.safetensors"])?;
    let config = read(&["config.json", "config_sentence_transformers.json"])?;
    StaticModel::from_files(&tokenizer, &tensors, &config)
        .map_err(|error| format!("{}: {error}", folder.display()).into())
}

async fn list(mirror: &Mirror, as_json: bool) -> Outcome {
    let models = mirror.models().await?;
    let head = mirror.head().await.ok();
    let used = head.as_ref().and_then(|head| head.manifest().embeddings.as_ref());
    let is_used = |info: &StoredModelInfo| used.is_some_and(|used| used.id == info.id);
    if as_json {
        let row = |info: &StoredModelInfo| {
            json!({
                "name": info.name, "id": info.id, "dimensions": info.shape.dimensions, "tokens": info.shape.tokens,
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
        embedder(Timestamp::now()).drop_vectors(mirror).await?;
    }
    mirror.remove_model(&info.id).await?;
    output::line(format_args!("{} was removed", info.name));
    Ok(())
}
