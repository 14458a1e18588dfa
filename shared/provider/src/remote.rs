//! A model of a service, and one request to it.

use std::time::{Duration, SystemTime};

use atlas_embeddings::Purpose;
use atlas_outbound::{Answer, Method, Service};

use crate::fault::Fault;
use crate::protocol::{Answered, Protocol, beginning};
use crate::retry_after;

/// Most bytes of a number in an answer, with what stands around it, and of all else.
const NUMBER_BYTES: usize = 32;
const OTHER_BYTES: usize = 256 << 10;

/// What is asked of a service, and how much at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The model's name there.
    pub model: String,
    /// Dimensions of its vectors.
    pub dimensions: u32,
    /// Whether the service is asked for that many: only models that can shorten their vectors take that.
    pub asks_dimensions: bool,
    /// Most tokens of a text, of which a longer one is shortened.
    pub max_input_tokens: usize,
    /// Most texts of a request.
    pub batch: usize,
}

impl Shape {
    /// Most bytes that are read of an answer.
    #[must_use]
    pub const fn answer_bytes(&self) -> usize {
        self.batch * self.dimensions as usize * NUMBER_BYTES + OTHER_BYTES
    }
}

/// A model of a service.
#[derive(Clone, Debug)]
pub struct Remote {
    service: Service,
    protocol: Protocol,
    shape: Shape,
}

impl Remote {
    /// The model of this shape at `service`, which speaks `protocol`.
    #[must_use]
    pub const fn new(service: Service, protocol: Protocol, shape: Shape) -> Self {
        Self { service, protocol, shape }
    }

    /// The interface of its service.
    #[must_use]
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// What is asked of it.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The same with the model that is called so, which the service has too, and whether that is asked for its dimensions.
    pub(crate) fn with_model(&self, model: &str, dimensions: u32, asks_dimensions: bool) -> Self {
        let shape = Shape { model: model.to_owned(), dimensions, asks_dimensions, ..self.shape.clone() };
        Self { shape, ..self.clone() }
    }

    /// The vectors of texts, by one request that takes at most `max_time`.
    pub(crate) async fn ask(&self, texts: &[&str], purpose: Purpose, max_time: Duration) -> Result<Answered, Fault> {
        let Shape { model, dimensions, asks_dimensions, .. } = &self.shape;
        let begins = beginning(model, purpose);
        let texts: Vec<String> = texts.iter().map(|text| format!("{begins}{text}")).collect();
        let body = self.protocol.body(model, &texts, asks_dimensions.then_some(*dimensions));
        let mut request = self.service.json_request(Method::POST, self.protocol.path(), body);
        request.max_time = Some(max_time);
        let answer = self.service.send(request).await.map_err(unanswered)?;
        if answer.status.as_u16() != 200 {
            return Err(self.refused(&answer));
        }
        self.protocol.read(&answer.body, texts.len(), *dimensions)
    }

    /// The meaning of an answer that has no vectors.
    fn refused(&self, answer: &Answer) -> Fault {
        let status = answer.status.as_u16();
        let model = &self.shape.model;
        match status {
            300..=399 => Fault::Refused(
                "it answers with a redirect, which is not followed: write the address that it leads to".to_owned(),
            ),
            400 | 413 | 422 => Fault::TooLong(format!("it does not take the texts (status {status})")),
            401 | 403 => Fault::Refused(format!("it does not take the deployment's key (status {status})")),
            404 => {
                Fault::Refused(format!("it does not have the model {model}, or is not at this address (status 404)"))
            }
            408 | 429 | 500..=599 => {
                let after = retry_after::of(&answer.headers, SystemTime::now());
                let why = format!("it answers with status {status}");
                Fault::Busy { why, after, is_paid: false, by_texts: status >= 500, is_late: false }
            }
            _ => Fault::Refused(format!("it answers with status {status}")),
        }
    }
}

/// The meaning of no answer.
pub(crate) fn unanswered(error: atlas_outbound::Error) -> Fault {
    use atlas_outbound::Error::{Broken, Certificate, Refused, TimedOut, Tls, TooLarge, Unreachable};
    let why = error.to_string();
    match error {
        Unreachable | TimedOut | Broken => Fault::Busy {
            why,
            after: None,
            is_paid: error.may_have_happened(),
            by_texts: error != Unreachable,
            is_late: error == TimedOut,
        },
        Refused(_) | Certificate(_) | Tls | TooLarge(_) => Fault::Refused(why),
    }
}
