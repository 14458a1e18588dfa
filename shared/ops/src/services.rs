//! Services outside that operations may ask, each only where the configuration names it.

use atlas_outbound::{Answer, Request, Service, StatusCode};
use atlas_provider::QueryModel;
use serde_json::Value;

use crate::error::{Code, Error, Reason};

/// Services of the whole deployment.
#[derive(Clone, Debug, Default)]
pub struct Services {
    /// plur, a memory of engrams.
    pub plur: Option<Service>,
    /// A language model.
    pub gateway: Option<Gateway>,
    /// A service with the model by which notes are found by meaning.
    pub embeddings: Option<QueryModel>,
}

/// A language model behind an interface as OpenAI has it.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Where it is: what `/chat/completions` is below.
    pub service: Service,
    /// Which of its models answers.
    pub model: String,
}

/// The answer of the service called `name` to `request`.
///
/// # Errors
/// `plugin_unreachable` when no whole answer comes. What the service is, is told to the operator only.
pub async fn ask(service: &Service, name: &'static str, request: Request) -> Result<Answer, Error> {
    service.send(request).await.map_err(|error| {
        let text = error.to_string();
        let fault = unreachable(name, &text);
        Error { internal: Some(format!("{name}: {text}")), ..fault }
    })
}

/// The JSON that `answer` of the service called `name` is, if its status says that all is well.
///
/// # Errors
/// `plugin_unreachable` when it says something else, or is no JSON.
pub fn json(name: &'static str, answer: &Answer) -> Result<Value, Error> {
    if !answer.status.is_success() {
        return Err(refused(name, answer.status));
    }
    serde_json::from_slice(&answer.body).map_err(|_| unreachable(name, "its answer is no JSON"))
}

/// The error for a service that answers with this status.
pub fn refused(name: &'static str, status: StatusCode) -> Error {
    let why = match status.as_u16() {
        401 | 403 => "it does not take the deployment's key".to_owned(),
        429 => "it is asked too often".to_owned(),
        code => format!("it answers with status {code}"),
    };
    unreachable(name, &why).with("status", status.as_u16())
}

/// The error for a service that is configured and does not answer as it should.
pub fn unreachable(name: &'static str, why: &str) -> Error {
    let message = format!("{name} gives no answer: {why}. Try again later, or do without it");
    Error::new(Code::Unavailable, Reason::PluginUnreachable, message).with("plugin", name)
}
