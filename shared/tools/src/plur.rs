//! plur, a memory of engrams that belongs to no vault: a service that the deployment may be configured to ask. Only reads are passed on.

pub mod plur_get;
pub mod plur_recall;
pub mod plur_recall_hybrid;
pub mod plur_similarity_search;

use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Scope};
use atlas_ops::services::{ask, refused, unreachable};
use atlas_outbound::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The tag of its tools: they are listed where it is configured.
pub const TAG: &str = "plur";
/// Its name in errors.
const NAME: &str = "plur";
/// The scope that a caller needs besides: engrams are of no vault, so the right to read one says nothing about them.
const SCOPE: &str = "read:plur";
/// Codes of plur that say that the call is wrong.
const WRONG: [&str; 2] = ["invalid_input", "note_not_found"];

/// Shared by all its tools.
const INFO: Info = Info { scopes: &[Scope::ReadVault], tags: &[TAG], asks_outside: true, ..Info::HARMLESS };

/// plur's answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// As plur has it: `items` of a search, the engram's own fields of one.
    #[serde(flatten)]
    result: Map<String, Value>,
}

/// How plur puts an answer.
#[derive(Deserialize)]
struct Envelope {
    ok: bool,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    code: Option<String>,
}

/// The answer of plur at `route` to `body`.
async fn asked(context: &Context<'_>, route: &str, body: Map<String, Value>) -> Result<Answer<Output>, Error> {
    context.check_scope(SCOPE)?;
    let Some(service) = &context.atlas.services.plur else {
        let message = "this deployment is not configured to ask plur: search the vault, or ask its operator to set `plur.endpoint`";
        return Err(Error::new(Code::NotFound, Reason::PluginMissing, message).with("plugin", NAME));
    };
    let request = service.json_request(Method::POST, &[route], Value::Object(body).to_string());
    let answer = ask(service, NAME, request).await?;
    match serde_json::from_slice(&answer.body) {
        Ok(Envelope { ok: true, result, .. }) if answer.status.is_success() => {
            let value = Output { result: fields(result)? };
            Ok(Answer { value, generation: None })
        }
        // Its own words are not passed on: nobody knows who wrote them.
        Ok(Envelope { ok: false, code: Some(code), .. }) if WRONG.contains(&code.as_str()) => {
            let message = "plur does not take these arguments, or has no such engram: look for it with plur_recall";
            Err(Error::bad_request(Reason::InvalidInput, message).with("plugin", NAME))
        }
        Ok(_) if answer.status.is_success() => Err(unreachable(NAME, "it says that it cannot answer")),
        Err(_) if answer.status.is_success() => Err(unreachable(NAME, "its answer is not of its protocol")),
        _ => Err(refused(NAME, answer.status)),
    }
}

/// The fields of a result; a list is the items of a search.
fn fields(result: Value) -> Result<Map<String, Value>, Error> {
    match result {
        Value::Object(fields) => Ok(fields),
        Value::Array(items) => Ok(Map::from_iter([("items".to_owned(), Value::Array(items))])),
        _ => Err(unreachable(NAME, "its answer is not of its protocol")),
    }
}

/// A call's arguments as plur takes them: those that are left out are left out there too.
fn body<T: Serialize>(arguments: &T) -> Map<String, Value> {
    match serde_json::to_value(arguments) {
        Ok(Value::Object(fields)) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}
