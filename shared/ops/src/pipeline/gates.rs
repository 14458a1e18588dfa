//! The gates that a call passes, in the order of obsidian-tc's dispatch pipeline. Each can stop the call. Doors check
//! the token and look up the operation before, since each door has its own answer where one is missing.
//!
//!
//! 1. the arguments, the idempotency key and the confirmation
//! 2. scopes
//! 3. the vault, which the token may be bound to
//! 4. the vault's read-only switch, and its access list for the paths in the arguments
//! 5. the idempotency key: a call that was executed before skips the next two, since it only gets its answer again
//! 6. the throttle
//! 7. the handler, up to the commit; an operation that only reads ends here
//! 8. the confirmation of the changes, which is used up; then the handler commits them
//! 9. the response limit: the size of the answer
//!
//! The audit log gets every outcome, and so does the session that a call names.

use std::collections::BTreeSet;

use atlas_access::Caller;
use atlas_access::throttle::Class;
use atlas_access::visibility::Offer;
use atlas_mirror::CommitKey;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::arguments::VAULT;
use crate::atlas::{Atlas, Limits, Vault};
use crate::call::Call;
use crate::error::{Code, Error, Reason};
use crate::operation::{self, Answer, Context, Info, Scope};
use crate::pipeline::aliases::{self, Alias};
use crate::pipeline::approvals;
use crate::pipeline::audit::Event;
use crate::pipeline::confirmation::{Confirmation, Progress};
use crate::pipeline::idempotency::{self, Keyed};
use crate::pipeline::redact::redact_for;
use crate::pipeline::response_limit::check;
use crate::pipeline::teaching;
use crate::pipeline::traces::{self, Trace};
use crate::pipeline::work::Work;

/// Arguments of all operations beside [`VAULT`], for doors without headers.
const KEY: &str = "idempotency_key";
const CONFIRMATION: &str = "elicit_token";
const SESSION: &str = "session";
/// The key of a call for many things.
const BULK_KEY: &str = "bulk_idempotency_key";
/// Longest name of a session, in bytes.
const MAX_SESSION: usize = 200;

/// Those of these arguments that `operation` takes, each with its description.
pub fn arguments_of_calls(operation: &Info) -> impl Iterator<Item = (&'static str, &'static str)> {
    let vault = (VAULT, "The vault's id; the default vault if not given.");
    let key = (KEY, "Your name for this call: repeated with it, the call changes the vault once.");
    let confirmation = (CONFIRMATION, "The token of a person's confirmation, if the call requires one.");
    let session = (SESSION, "Your name for the work that this call belongs to: the person can undo it as one.");
    let bulk_key = (BULK_KEY, "The same as idempotency_key.");
    let (writes, is_bulk) = (operation.writes(), operation.scopes.contains(&Scope::BulkVault));
    let of_writes = [key, confirmation, session].into_iter().filter(move |_| writes);
    [vault].into_iter().chain(of_writes).chain(is_bulk.then_some(bulk_key))
}

/// Runs a call through all gates. A disabled operation is reported as unknown.
pub fn dispatch(atlas: &Atlas, call: Call) -> BoxFuture<'_, Result<Answer<Value>, Error>> {
    // Boxed here, so that the gates are compiled once, and not in every crate with a door.
    let answer = async move {
        if atlas.visibility.of(call.operation.info.name) == Offer::Disabled {
            return Err(Error::not_found(Reason::OperationNotFound, "there is no such operation"));
        }
        run(atlas, call).await
    };
    answer.boxed()
}

async fn run(atlas: &Atlas, mut call: Call) -> Result<Answer<Value>, Error> {
    let operation = &call.operation.info;
    let taken = take_own(&mut call, operation).and_then(|()| call.session.as_deref().map_or(Ok(()), check_session));
    let traced = Traced::of(&call);
    // Only the audit log, confirmations and traces use it.
    let is_wanted = atlas.audit.is_on() || !operation.only_reads() || traced.is_some();
    let args_hash = is_wanted.then(|| idempotency::arguments_hash(operation.name, &call.arguments));
    let mut event = atlas.audit.is_on().then(|| begin_event(&call, args_hash.clone().unwrap_or_default()));
    let work = Work::within(atlas.limits.max_cpu_time, atlas.about.cpu);
    let mut vault = None;
    let result = match taken {
        Ok(()) => work.count(pass(atlas, call, args_hash.as_deref(), &mut vault, &work)).await,
        Err(error) => Err(error),
    };
    if let Some(event) = &mut event {
        event.vault = vault.map(|vault| vault.id.clone());
        atlas.audit.tell(event, result.as_ref().map(|answer| answer.generation));
    }
    if let Some((traced, vault)) = traced.zip(vault) {
        // Before the answer, since nothing runs after it.
        traced.leave(atlas, vault, args_hash.as_deref().unwrap_or_default(), &result).await;
    }
    result
}

fn begin_event(call: &Call, args_hash: String) -> Event<'static> {
    Event {
        operation: call.operation.info.name,
        vault: None,
        caller: call.caller.pseudonym(),
        args_hash,
        began: (call.clock)(),
        session: call.session.clone().filter(|session| session.len() <= MAX_SESSION),
        is_keyed: call.key.is_some(),
        is_confirmed: call.confirmation.is_some(),
        clock: call.clock,
    }
}

/// `seen` is the vault, once it is known.
async fn pass<'a>(
    atlas: &'a Atlas,
    call: Call,
    args_hash: Option<&str>,
    seen: &mut Option<&'a Vault>,
    work: &Work,
) -> Result<Answer<Value>, Error> {
    let Call { operation, vault, arguments, caller, key, confirmation: token, session, sent, clock } = call;
    let info = &operation.info;
    let key = key.filter(|_| info.writes()).map(|key| (Keyed::hash_of(&arguments), key));
    let kept = teaching::kept(&arguments);
    // A trusted caller could confirm the call itself. A read needs no confirmation.
    let shown = (info.writes() && !caller.is_trusted()).then(|| approvals::shortened(&arguments));
    let prepared = match operation.prepare(arguments) {
        Ok(prepared) => prepared,
        Err(error) => return Err(teaching::with_form(error, operation, kept.as_ref())),
    };
    let key = key.filter(|_| !prepared.is_dry_run());
    let touches = prepared.accesses()?;
    may_run(&caller, info)?;
    let vault = the_vault(atlas, &caller, vault.as_deref())?;
    *seen = Some(vault);
    if info.writes() && vault.acl().is_read_only() {
        return Err(operation::read_only());
    }
    let keyed = |(arguments, key): (_, String)| Keyed::of(&vault.id, caller.identity(), info.name, &key, arguments);
    let limits = Limits { max_response_bytes: sent.room(atlas.limits.max_response_bytes), ..atlas.limits };
    let now = clock();
    let mut context = Context {
        atlas,
        vault,
        limits: &limits,
        caller: &caller,
        session: session.as_deref(),
        key: None,
        now,
        first_made: now,
        clock,
        work,
        confirmation: None,
    };
    for (access, path) in &touches {
        context.check(*access, path)?;
    }
    let claimed = match key.map(keyed).transpose()? {
        Some(keyed) => Some(keyed.claim(&vault.mirror, context.now, atlas.limits.key_time).await?),
        None => None,
    };
    let is_done = match claimed.filter(|claimed| !claimed.is_new) {
        Some(claimed) => vault.mirror.committed(claimed.key).await?.is_some(),
        None => false,
    };
    context.first_made = claimed.and_then(|claimed| claimed.made).unwrap_or(now);
    context.key = claimed.map(|claimed| CommitKey { is_executed: is_done, ..claimed.key });
    let answer = if is_done {
        prepared.run(&context).await?
    } else {
        let class = Class::of(info.scopes);
        atlas.throttle.admit(&vault.mirror, &vault.id, &caller, class, context.now).await?;
        let ticket = if info.writes() { atlas.throttle.begin_write(&vault.mirror, context.now).await? } else { None };
        let answer = async {
            let confirmation = args_hash.zip(shown.as_ref()).map(|(args_hash, arguments)| Confirmation {
                mirror: &vault.mirror,
                vault: &vault.id,
                acl: vault.acl(),
                caller: &caller,
                operation: info.name,
                args_hash,
                arguments,
                session: context.session,
                page: atlas.about.page.as_deref(),
                is_required: prepared.needs_confirmation(),
                token: token.as_deref(),
                key: context.key.map(|key| key.hash),
                now: context.now,
                read: touches.iter().map(|(_, path)| path.as_str().to_owned()).collect::<BTreeSet<_>>().into(),
                progress: Progress::default(),
            });
            let context = Context { confirmation: confirmation.as_ref(), ..context };
            match prepared.run(&context).await {
                Err(error) => teaching::or_nearest(&context, operation, kept, error).await,
                answer => answer,
            }
        };
        let answer = answer.await;
        if let Some(ticket) = ticket {
            ticket.end().await;
        }
        answer.map_err(|error| redact_for(error, &caller))?
    };
    check(&answer.value, sent, atlas.limits.max_response_bytes)?;
    Ok(answer)
}

/// Moves the vault from the arguments to the call, at a door that offers it with [`arguments_of_calls`].
///
/// # Errors
/// When it is not a text, is given by two names, or the header names another.
pub fn take_vault(call: &mut Call) -> Result<(), Error> {
    let Value::Object(arguments) = &mut call.arguments else { return Ok(()) };
    for alias in call.operation.info.aliases.iter().filter(|alias| matches!(alias, Alias::Name(_, VAULT))) {
        aliases::resolve(arguments, std::slice::from_ref(alias))?;
    }
    take(arguments, VAULT, &mut call.vault)
}

/// Renames aliased arguments, and moves the arguments of all operations to the call, so that they are neither hashed
/// nor confirmed.
fn take_own(call: &mut Call, operation: &Info) -> Result<(), Error> {
    let Value::Object(arguments) = &mut call.arguments else { return Ok(()) };
    aliases::resolve(arguments, operation.aliases)?;
    if operation.scopes.contains(&Scope::BulkVault) {
        take(arguments, BULK_KEY, &mut call.key)?;
    }
    take(arguments, KEY, &mut call.key)?;
    take(arguments, CONFIRMATION, &mut call.confirmation)?;
    take(arguments, SESSION, &mut call.session)
}

/// A call that leaves a trace.
struct Traced {
    operation: &'static str,
    caller: Caller,
    session: String,
    began: Timestamp,
    clock: fn() -> Timestamp,
}

impl Traced {
    /// Those name their session whose caller is known. What is about sessions leaves none by itself.
    fn of(call: &Call) -> Option<Self> {
        let session = call.session.as_ref()?;
        let info = &call.operation.info;
        let is_traced = call.caller.is_authenticated() && !info.tags.contains(&traces::TAG);
        is_traced.then(|| Self {
            operation: info.name,
            caller: call.caller.clone(),
            session: session.clone(),
            began: (call.clock)(),
            clock: call.clock,
        })
    }

    /// Throttled calls leave no trace: writing one would cost what the throttle saves.
    async fn leave(&self, atlas: &Atlas, vault: &Vault, args_hash: &str, result: &Result<Answer<Value>, Error>) {
        if result.as_ref().is_err_and(|error| error.code == Code::TooManyRequests) {
            return;
        }
        let result = result.as_ref().map(|answer| &answer.value);
        let trace = Trace::new(self.operation, args_hash, self.began, (self.clock)(), result);
        traces::try_leave(&vault.mirror, &atlas.tally, &self.caller, &self.session, trace).await;
    }
}

fn check_session(session: &str) -> Result<(), Error> {
    let problem = match session {
        "" => "must not be empty".to_owned(),
        name if name.len() > MAX_SESSION => format!("must have at most {MAX_SESSION} bytes"),
        name if name.chars().any(char::is_control) => "must have no control characters".to_owned(),
        _ => return Ok(()),
    };
    Err(refused(SESSION, &problem))
}

fn refused(name: &str, problem: &str) -> Error {
    Error::bad_request(Reason::ValidationError, format!("{name}: {problem}")).with("field", name)
}

fn take(arguments: &mut Map<String, Value>, name: &str, place: &mut Option<String>) -> Result<(), Error> {
    match (arguments.remove(name), &place) {
        (None, _) => {}
        (Some(Value::String(text)), None) => *place = Some(text),
        (Some(Value::String(text)), Some(other)) if text == **other => {}
        (Some(Value::String(_)), Some(_)) => return Err(refused(name, "the header says another")),
        (Some(_), _) => return Err(refused(name, "must be text")),
    }
    Ok(())
}

/// Checks that the caller has the operation's scopes.
///
/// # Errors
/// When scopes are missing; names them.
pub fn may_run(caller: &Caller, operation: &Info) -> Result<(), Error> {
    let missing = caller.missing(operation.scopes);
    if missing.is_empty() {
        return Ok(());
    }
    if !caller.is_authenticated() {
        return Err(Error::unauthorized(Reason::TokenMissing, "this call needs a token"));
    }
    let names: Vec<&str> = missing.iter().map(|scope| scope.as_str()).collect();
    let message = format!("the token does not grant {}", names.join(" and "));
    Err(Error::new(Code::Forbidden, Reason::ScopeMissing, message).with("required", names))
}

/// The vault of a call. A vault that the caller may not name is refused, whether or not it exists.
fn the_vault<'a>(atlas: &'a Atlas, caller: &Caller, named: Option<&str>) -> Result<&'a Vault, Error> {
    let default = atlas.vault(None)?;
    let meant = named.or_else(|| caller.vault());
    let forbidden = || Error::new(Code::Forbidden, Reason::VaultForbidden, "the token is not for this vault");
    if meant.is_some_and(|id| !caller.may_name(id, &default.id)) {
        return Err(forbidden());
    }
    // The token's vault is not in this deployment.
    atlas.vault(meant).map_err(|error| if caller.is_trusted() { error } else { forbidden() })
}
