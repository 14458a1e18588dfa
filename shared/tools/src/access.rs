//! Access control, and the calls that wait for approval.

pub mod approve;
pub mod inspect_acl;
pub mod list_approvals;
pub mod refuse;
mod waiting;

use atlas_access::Scopes;
use atlas_ops::arguments::{Exact, Given};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::Context;

/// Most scopes in one call.
const MAX_SCOPES: usize = 64;

/// The scopes of a caller that a call assumes: those that it names, or its own; never in other folders than its own.
pub(crate) fn assumed(context: &Context<'_>, named: &Given<Vec<Exact<100>>>) -> Result<Scopes, Error> {
    let own = context.caller.scopes();
    let scopes = match named.as_ref() {
        None => own.clone(),
        Some(names) if names.len() <= MAX_SCOPES => Scopes::named(names.iter().map(Exact::as_str)),
        Some(_) => {
            let message = format!("scopes: write at most {MAX_SCOPES}");
            return Err(Error::bad_request(Reason::ValidationError, message).with("field", "scopes"));
        }
    };
    // Other scopes do not show other folders.
    Ok(scopes.within_those_of(own))
}
