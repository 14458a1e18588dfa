//! Operations as doors see them, the one way to call them, and which there are.

use std::pin::Pin;

use atlas_access::Caller;
use jiff::Timestamp;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use crate::arguments;
use crate::atlas::{Atlas, Vault};
use crate::context_current::ContextCurrent;
use crate::delete_note::DeleteNote;
use crate::edit_note::EditNote;
use crate::error::{Code, Error};
use crate::find::Find;
use crate::health::Health;
use crate::idempotency::Keyed;
use crate::list_notes::ListNotes;
use crate::move_note::MoveNote;
use crate::note_history::NoteHistory;
use crate::operation::{Answer, Context, Info, Operation};
use crate::query::Query;
use crate::read_note::ReadNote;
use crate::restore_note::RestoreNote;
use crate::search::Search;
use crate::upsert_note::UpsertNote;
use crate::write_note::WriteNote;

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
    /// Says what time it is.
    pub clock: fn() -> Timestamp,
}

/// An operation as doors see it.
#[derive(Debug)]
pub struct Entry {
    /// What is known of it.
    pub info: Info,
    /// Adds the JSON Schema of its arguments to what a generator collects, and gives a reference to it.
    pub arguments: fn(&mut SchemaGenerator) -> Schema,
    /// The same of its result.
    pub output: fn(&mut SchemaGenerator) -> Schema,
    run: Run,
}

type Run = for<'a> fn(&'a Atlas, Call) -> Pin<Box<dyn Future<Output = Result<Answer<Value>, Error>> + Send + 'a>>;

impl Entry {
    /// The operation `O`. A program holds only the operations that it names so.
    pub const fn of<O: Operation + 'static>() -> &'static Self {
        const {
            &Self {
                info: O::INFO,
                arguments: SchemaGenerator::subschema_for::<O::Arguments>,
                output: SchemaGenerator::subschema_for::<O::Output>,
                run: |atlas, call| Box::pin(run::<O>(atlas, call)),
            }
        }
    }
}

/// The gates, in their order: arguments, scopes, the vault; then the handler.
async fn run<O: Operation>(atlas: &Atlas, call: Call) -> Result<Answer<Value>, Error> {
    let Call { vault, arguments, caller, key, clock, .. } = call;
    let key = key.filter(|_| O::INFO.writes()).map(|key| (Keyed::hash_of(&arguments), key));
    let arguments = arguments::decode(arguments)?;
    may_run(&caller, &O::INFO)?;
    let vault = the_vault(atlas, &caller, vault.as_deref())?;
    let keyed = |(arguments, key): (_, String)| Keyed::of(&vault.id, caller.name(), O::INFO.name, &key, arguments);
    let key = key.map(keyed).transpose()?;
    let context = Context { vault, limits: &atlas.limits, caller: &caller, key, now: clock(), clock };
    let answer = O::run(&context, arguments).await?;
    let value = serde_json::to_value(answer.value).map_err(|error| Error {
        internal: Some(error.to_string()),
        ..Error::new(Code::Internal, "internal", "the result could not be written")
    })?;
    Ok(Answer { value, generation: answer.generation })
}

/// Whether the caller holds what the operation asks for.
fn may_run(caller: &Caller, operation: &Info) -> Result<(), Error> {
    let missing = caller.missing(operation.scopes);
    if missing.is_empty() {
        return Ok(());
    }
    if !caller.is_authenticated() {
        return Err(Error::unauthorized("token_missing", "this call needs a token"));
    }
    let names: Vec<&str> = missing.iter().map(|scope| scope.as_str()).collect();
    let message = format!("the token does not grant {}", names.join(" and "));
    Err(Error::new(Code::Forbidden, "scope_missing", message).with("required", names))
}

/// The vault that a call is for. What a caller may not name is refused whether or not there is such a vault.
fn the_vault<'a>(atlas: &'a Atlas, caller: &Caller, named: Option<&str>) -> Result<&'a Vault, Error> {
    let default = atlas.vault(None)?;
    match named {
        Some(id) if !caller.may_name(id, &default.id) => {
            Err(Error::new(Code::Forbidden, "vault_forbidden", "the token is not for this vault"))
        }
        named => atlas.vault(named.or_else(|| caller.vault())),
    }
}

/// All operations, for a door that offers every one of them.
pub const fn operations() -> &'static [&'static Entry] {
    const {
        &[
            Entry::of::<Health>(),
            Entry::of::<ContextCurrent>(),
            Entry::of::<Find>(),
            Entry::of::<Query>(),
            Entry::of::<ReadNote>(),
            Entry::of::<WriteNote>(),
            Entry::of::<EditNote>(),
            Entry::of::<UpsertNote>(),
            Entry::of::<DeleteNote>(),
            Entry::of::<MoveNote>(),
            Entry::of::<RestoreNote>(),
            Entry::of::<NoteHistory>(),
            Entry::of::<ListNotes>(),
            Entry::of::<Search>(),
        ]
    }
}

/// Runs a call through all gates.
pub async fn dispatch(atlas: &Atlas, call: Call) -> Result<Answer<Value>, Error> {
    (call.operation.run)(atlas, call).await
}
