//! Operations as doors see them, the one way to call them, and which there are.

use atlas_access::Caller;
use atlas_access::visibility::Offer;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::Value;

use crate::atlas::Atlas;
use crate::catalogue::every_operation;
use crate::error::Error;
use crate::gates;
use crate::governor::Sent;
use crate::operation::{Answer, Info, Operation};
use crate::prepared::{self, Prepared};
use crate::schemas::{self, Schemas};

/// A call, as a door understood it.
#[derive(Clone, Debug)]
pub struct Call {
    /// The operation.
    pub operation: &'static Entry,
    /// The vault's id; none for the default vault.
    pub vault: Option<String>,
    /// The arguments, not yet checked.
    pub arguments: Value,
    /// Who calls.
    pub caller: Caller,
    /// The idempotency key: a call that changes the vault and is made again with the same key changes it once. Other calls take no notice of it.
    pub key: Option<String>,
    /// The token that says that a person has confirmed the call.
    pub confirmation: Option<String>,
    /// How the answer is sent, all of which the limit of answers is for.
    pub sent: Sent,
    /// Says what time it is.
    pub clock: fn() -> Timestamp,
}

impl Call {
    /// A call of `operation` in the default vault, without a key or confirmation.
    pub const fn new(operation: &'static Entry, arguments: Value, caller: Caller, clock: fn() -> Timestamp) -> Self {
        Self { operation, vault: None, arguments, caller, key: None, confirmation: None, sent: Sent::Plain, clock }
    }
}

/// An operation as doors see it.
#[derive(Debug)]
pub struct Entry {
    /// What is known of it.
    pub info: Info,
    schemas: Schemas,
    prepare: fn(Value) -> Result<Box<dyn Prepared>, Error>,
}

impl Entry {
    /// The operation `O`. A program holds only the operations that it names so.
    pub const fn of<O: Operation + 'static>() -> &'static Self {
        const { &Self { info: O::INFO, schemas: Schemas::of(O::INFO.name), prepare: prepared::of::<O> } }
    }

    /// The JSON Schema of its arguments, complete in itself.
    pub fn arguments_schema(&self) -> Value {
        schemas::read(self.schemas.arguments)
    }

    /// The JSON Schema of its result, complete in itself.
    pub fn output_schema(&self) -> Value {
        schemas::read(self.schemas.output)
    }

    /// A call with `arguments`, as far as it is the operation's own.
    ///
    /// # Errors
    /// When they are not its arguments.
    pub(crate) fn prepare(&self, arguments: Value) -> Result<Box<dyn Prepared>, Error> {
        (self.prepare)(arguments)
    }
}

macro_rules! entries {
    ($($operation:path,)*) => { const { &[$(Entry::of::<$operation>()),*] } };
}

/// All operations, for a door that offers every one of them.
pub const fn operations() -> &'static [&'static Entry] {
    every_operation!(entries)
}

/// Runs a call through all gates. A disabled operation is answered as one that does not exist.
pub fn dispatch(atlas: &Atlas, call: Call) -> BoxFuture<'_, Result<Answer<Value>, Error>> {
    // Boxed here, the gates are compiled here, and not again in every crate with a door.
    let answer = async move {
        if atlas.visibility.of(call.operation.info.name) == Offer::Disabled {
            return Err(Error::not_found("operation_not_found", "there is no such operation"));
        }
        gates::run(atlas, call).await
    };
    answer.boxed()
}
