//! A call of an operation, as a door understood it.

use std::fmt;

use atlas_access::Caller;
use jiff::Timestamp;
use serde_json::Value;

use crate::error::Error;
use crate::operation::{Info, Operation};
use crate::pipeline::prepared::{self, Prepared};
use crate::pipeline::response_limit::Sent;

/// A call, as a door understood it.
#[derive(Clone, Debug)]
pub struct Call {
    /// The operation.
    pub operation: &'static Entry,
    /// The vault's id; the default vault if [`None`].
    pub vault: Option<String>,
    /// The arguments, unchecked.
    pub arguments: Value,
    /// The caller.
    pub caller: Caller,
    /// The idempotency key: a call that changes the vault is executed once, however often it is made with the key.
    /// Other calls ignore it.
    pub key: Option<String>,
    /// The token of a person's confirmation.
    pub confirmation: Option<String>,
    /// The caller's name for the work that the call belongs to.
    pub session: Option<String>,
    /// How the door sends the answer, for the response limit.
    pub sent: Sent,
    /// Returns the current time.
    pub clock: fn() -> Timestamp,
}

impl Call {
    /// A call of `operation` in the default vault, without a key, a confirmation or a session.
    pub const fn new(operation: &'static Entry, arguments: Value, caller: Caller, clock: fn() -> Timestamp) -> Self {
        Self {
            operation,
            vault: None,
            arguments,
            caller,
            key: None,
            confirmation: None,
            session: None,
            sent: Sent::Plain,
            clock,
        }
    }
}

/// The JSON Schemas (2020-12) of an operation's arguments and result, each complete in itself.
#[derive(Clone, Copy)]
pub struct Schemas {
    /// Of the arguments, as JSON.
    pub arguments: &'static str,
    /// Of the result, as JSON.
    pub output: &'static str,
}

impl fmt::Debug for Schemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schemas")
    }
}

/// An operation as doors see it.
#[derive(Debug)]
pub struct Entry {
    /// Its description.
    pub info: Info,
    schemas: Schemas,
    prepare: fn(Value) -> Result<Box<dyn Prepared>, Error>,
}

impl Entry {
    /// The operation `O`, with its schemas.
    pub const fn of<O: Operation + 'static>(schemas: Schemas) -> Self {
        Self { info: O::INFO, schemas, prepare: prepared::of::<O> }
    }

    /// The JSON Schema of its arguments, complete in itself.
    pub fn arguments_schema(&self) -> Value {
        read(self.schemas.arguments)
    }

    /// The JSON Schema of its result, complete in itself.
    pub fn output_schema(&self) -> Value {
        read(self.schemas.output)
    }

    /// A call with `arguments`, without a key, a confirmation or the name of a vault.
    ///
    /// # Errors
    /// When they are not the operation's arguments.
    pub(crate) fn prepare(&self, arguments: Value) -> Result<Box<dyn Prepared>, Error> {
        (self.prepare)(arguments)
    }
}

fn read(schema: &str) -> Value {
    serde_json::from_str(schema).unwrap_or_default()
}
