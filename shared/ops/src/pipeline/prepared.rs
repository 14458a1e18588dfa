//! The part of a call that depends on the operation's types. It is compiled for each operation; everything else is
//! compiled once.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use crate::arguments;
use crate::error::{Code, Error, Reason};
use crate::operation::{Answer, Context, Operation, PathAccess};
use crate::sorted;

/// A call whose arguments were decoded. The methods are those of [`Operation`].
pub(crate) trait Prepared: Send + Sync {
    fn accesses(&self) -> Result<Vec<PathAccess>, Error>;

    fn needs_confirmation(&self) -> bool;

    fn is_dry_run(&self) -> bool;

    /// Runs it; the result is JSON as doors send it.
    fn run<'a>(self: Box<Self>, context: &'a Context<'_>) -> BoxFuture<'a, Result<Answer<Value>, Error>>;
}

/// A call of `O` with these arguments.
///
/// # Errors
/// When they are not the operation's arguments.
pub(crate) fn of<O: Operation + 'static>(arguments: Value) -> Result<Box<dyn Prepared>, Error> {
    Ok(Box::new(Arguments::<O>(arguments::decode(arguments)?)))
}

struct Arguments<O: Operation>(O::Arguments);

impl<O: Operation + 'static> Prepared for Arguments<O> {
    fn accesses(&self) -> Result<Vec<PathAccess>, Error> {
        O::accesses(&self.0)
    }

    fn needs_confirmation(&self) -> bool {
        O::needs_confirmation(&self.0)
    }

    fn is_dry_run(&self) -> bool {
        O::is_dry_run(&self.0)
    }

    fn run<'a>(self: Box<Self>, context: &'a Context<'_>) -> BoxFuture<'a, Result<Answer<Value>, Error>> {
        O::run(context, self.0).map(sent).boxed()
    }
}

fn sent<T: Serialize>(result: Result<Answer<T>, Error>) -> Result<Answer<Value>, Error> {
    let Answer { value, generation } = result?;
    let value = serde_json::to_value(value).map_err(|error| unwritten(&error))?;
    // Properties are in the order of the note. An answer is sorted, so that equal answers have equal bytes.
    Ok(Answer { value: sorted(value), generation })
}

#[cold]
fn unwritten(error: &serde_json::Error) -> Error {
    let internal = Some(error.to_string());
    Error { internal, ..Error::new(Code::Internal, Reason::Internal, "the result could not be written") }
}
