//! Which operations there are, and the one way to call them.

use std::pin::Pin;
use std::sync::LazyLock;

use jiff::Timestamp;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use crate::arguments;
use crate::atlas::Atlas;
use crate::error::Error;
use crate::operation::{Answer, Context, Info, Operation};
use crate::{context_current, find, health, list_notes, query, read_note, search};

/// A call, as a door understood it.
#[derive(Clone, Debug)]
pub struct Call {
    /// The operation's name.
    pub operation: &'static str,
    /// The vault's id; none for the default vault.
    pub vault: Option<String>,
    /// The arguments, not yet checked.
    pub arguments: Value,
    /// When the call was made.
    pub now: Timestamp,
}

/// An operation as doors see it.
pub struct Entry {
    /// What is known of it.
    pub info: Info,
    /// Adds the JSON Schema of its arguments to what a generator collects, and gives a reference to it.
    pub arguments: fn(&mut SchemaGenerator) -> Schema,
    /// The same of its result.
    pub output: fn(&mut SchemaGenerator) -> Schema,
    run: Run,
}

type Run =
    for<'a> fn(&'a Context<'a>, Value) -> Pin<Box<dyn Future<Output = Result<Answer<Value>, Error>> + Send + 'a>>;

impl Entry {
    fn of<O: Operation + 'static>() -> Self {
        Self {
            info: O::INFO,
            arguments: SchemaGenerator::subschema_for::<O::Arguments>,
            output: SchemaGenerator::subschema_for::<O::Output>,
            run: |context, arguments| Box::pin(run::<O>(context, arguments)),
        }
    }
}

async fn run<O: Operation>(context: &Context<'_>, arguments: Value) -> Result<Answer<Value>, Error> {
    let answer = O::run(context, arguments::decode(arguments)?).await?;
    let value = serde_json::to_value(answer.value).map_err(|error| Error {
        internal: Some(error.to_string()),
        ..Error::new(crate::Code::Internal, "internal", "the result could not be written")
    })?;
    Ok(Answer { value, generation: answer.generation })
}

static OPERATIONS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    vec![
        Entry::of::<health::Health>(),
        Entry::of::<context_current::ContextCurrent>(),
        Entry::of::<find::Find>(),
        Entry::of::<query::Query>(),
        Entry::of::<read_note::ReadNote>(),
        Entry::of::<list_notes::ListNotes>(),
        Entry::of::<search::Search>(),
    ]
});

/// All operations.
pub fn operations() -> &'static [Entry] {
    &OPERATIONS
}

/// The operation called `name`.
pub fn operation(name: &str) -> Option<&'static Entry> {
    operations().iter().find(|entry| entry.info.name == name)
}

/// Runs a call: finds the operation and the vault, checks the arguments, runs the handler.
pub async fn dispatch(atlas: &Atlas, call: Call) -> Result<Answer<Value>, Error> {
    let entry = operation(call.operation)
        .ok_or_else(|| Error::not_found("operation_not_found", "there is no such operation"))?;
    let vault = atlas.vault(call.vault.as_deref())?;
    let context = Context { vault, limits: &atlas.limits, now: call.now };
    (entry.run)(&context, call.arguments).await
}
