//! Confirmations: a call that may destroy a person's text runs once, and only if a person approved its changes
//! ([`approvals`](crate::pipeline::approvals)), or gave a token for this call in advance.
//!
//! A token is an object in the store, which all instances see. To use it, an instance creates a second object if it is
//! absent: only one can, so a token works once however many try at once. The second object names the call that used the
//! token. So a keyed call whose answer was lost may be repeated while the token is valid; its commit happens once.

use std::time::Duration;

use atlas_access::Caller;
use atlas_mirror::{Hash, Id, Mirror};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::error::{Code, Error, Reason};
use crate::pipeline::approvals::{self, PendingCall, PlannedFile, Standing, Use};

/// The longest time for which a token is valid.
pub const LONGEST_TIME: Duration = Duration::from_secs(24 * 3600);
/// The detail of an error that says why the token is refused.
const TOKEN: &str = "elicit_token";

/// An approval in advance.
#[derive(Clone, Copy, Debug)]
pub struct Approval<'a> {
    /// The vault's id.
    pub vault: &'a str,
    /// The operation's name.
    pub operation: &'a str,
    /// Its [`arguments_hash`](crate::pipeline::idempotency::arguments_hash).
    pub args_hash: &'a str,
    /// The person who approves.
    pub by: &'a str,
    /// A caller who may not use the token, since they may not approve for themselves.
    pub not_for: Option<&'a Caller>,
    /// How long it is valid; [`LONGEST_TIME`] at most.
    pub time: Duration,
}

/// A token for one call.
#[derive(Clone, Debug)]
pub struct Approved {
    /// 32 hexadecimal digits. The store keeps only its hash.
    pub token: String,
    /// The time at which it expires.
    pub expires: Timestamp,
}

/// A token, as stored under its hash.
#[derive(Debug, Serialize, Deserialize)]
struct StoredToken {
    vault: String,
    operation: String,
    args_hash: String,
    expires: Timestamp,
    approved_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_for: Option<Approver>,
}

/// The person who gave a token, for comparison with the caller.
#[derive(Debug, Serialize, Deserialize)]
struct Approver {
    caller_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<String>,
}

/// Creates a token for one call in the vault of `mirror`.
///
/// # Errors
/// When the store cannot keep it.
pub async fn approve(mirror: &Mirror, approval: &Approval<'_>, now: Timestamp) -> Result<Approved, Error> {
    mirror.check_writes_once().await?;
    let token = Id::random()?.to_string();
    let expires = now.checked_add(approval.time.min(LONGEST_TIME)).unwrap_or(Timestamp::MAX);
    let given = StoredToken {
        vault: approval.vault.to_owned(),
        operation: approval.operation.to_owned(),
        args_hash: approval.args_hash.to_owned(),
        expires,
        approved_by: approval.by.to_owned(),
        not_for: approval
            .not_for
            .map(|caller| Approver { caller_id: caller.pseudonym(), client: caller.client().map(str::to_owned) }),
    };
    mirror.create_state_if_absent(&name(&token), &given).await?;
    Ok(Approved { token, expires })
}

/// The confirmation of a call that may need one.
pub(crate) struct Confirmation<'a> {
    pub(crate) mirror: &'a Mirror,
    /// The vault's id.
    pub(crate) vault: &'a str,
    pub(crate) caller: &'a Caller,
    pub(crate) operation: &'a str,
    pub(crate) args_hash: &'a str,
    /// The arguments, shortened for display.
    pub(crate) arguments: &'a Value,
    pub(crate) session: Option<&'a str>,
    /// The address of the page where people decide.
    pub(crate) page: Option<&'a str>,
    /// Whether the call always needs one.
    pub(crate) is_required: bool,
    /// The token sent with the call.
    pub(crate) token: Option<&'a str>,
    /// The hash of its idempotency key.
    pub(crate) key: Option<Hash>,
    pub(crate) now: Timestamp,
    /// Set when the token was used.
    pub(crate) used: OnceCell<()>,
    /// A random identity of the call, if it has no key.
    pub(crate) by: OnceCell<Id>,
}

impl Confirmation<'_> {
    /// Uses the call's token, or the approval of this very plan. If this succeeds, the call may run once.
    pub(crate) async fn confirm(&self, files: &[PlannedFile]) -> Result<(), Error> {
        match self.token {
            Some(token) => self.used.get_or_try_init(|| self.use_token(token)).await.copied(),
            // For each attempt to commit, since its changes may differ.
            None => self.use_approval(files).await,
        }
    }

    async fn use_token(&self, token: &str) -> Result<(), Error> {
        match self.refused(token).await? {
            None => Ok(()),
            Some(why) => Err(self.bad_token(why)),
        }
    }

    /// Why the token is invalid, if it is.
    async fn refused(&self, token: &str) -> Result<Option<&'static str>, Error> {
        if token.parse::<Id>().is_err() {
            return Ok(Some("unknown"));
        }
        let mirror = self.mirror;
        mirror.check_writes_once().await?;
        let name = name(token);
        let Some(given) = mirror.get_state::<StoredToken>(&name).await? else { return Ok(Some("unknown")) };
        let is_for_it =
            given.vault == self.vault && given.operation == self.operation && given.args_hash == self.args_hash;
        if !is_for_it {
            return Ok(Some("of another call"));
        }
        if given.not_for.is_some_and(|other| approvals::is_same(&other.caller_id, other.client.as_deref(), self.caller))
        {
            return Ok(Some("the caller's own"));
        }
        if self.now >= given.expires {
            return Ok(Some("expired"));
        }
        let own = self.own_use().await?;
        let other = mirror.get_or_create_state(&format!("{name}.used"), &own).await?;
        Ok(other.filter(|other| *other != own).map(|_| "used"))
    }

    /// The identity that uses a token or an approval. It is the same for all attempts of the call, since one that timed
    /// out may have used it.
    async fn own_use(&self) -> Result<Use, Error> {
        let by = match self.key {
            Some(key) => key.to_string(),
            None => self.by.get_or_try_init(|| async { Id::random() }).await?.to_string(),
        };
        Ok(Use::by_call(by))
    }

    async fn use_approval(&self, files: &[PlannedFile]) -> Result<(), Error> {
        let &Self { vault, operation, args_hash, arguments, caller, session, now, .. } = self;
        let asked = PendingCall { vault, operation, args_hash, arguments, caller, session, files, now };
        let own = self.own_use().await?;
        Err(match approvals::standing(self.mirror, &asked, &own).await? {
            Standing::Passes => return Ok(()),
            Standing::Waits(id, expires) => {
                let url = self.page.map(|page| format!("{page}/approvals/{id}?vault={vault}"));
                let seen =
                    url.as_ref().map_or_else(String::new, |url| format!("they see what it would change at {url}; or "));
                let message = format!(
                    "a person has to approve this call: {seen}`atlas approvals --vault {vault}` shows them what it would change, and \
                     `atlas approve {id} --vault {vault}` approves it; then repeat the same call unchanged"
                );
                let mut approval = json!({ "id": id, "expires_at": expires });
                if let Some(url) = url {
                    approval["url"] = url.into();
                }
                self.required(message).with("approval", approval)
            }
            Standing::Refused(id, refusal) => {
                let why = refusal.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
                let message = format!("{} refused this call{why}", refusal.by);
                let error = Error::new(Code::Forbidden, Reason::ApprovalRefused, message);
                error.with("approval", json!({ "id": id, "by": refusal.by, "why": refusal.reason }))
            }
        })
    }

    fn bad_token(&self, why: &'static str) -> Error {
        let Self { vault, operation, args_hash, .. } = self;
        let message = format!(
            "the token that was shown is {why}: make the call without it, so that a person is asked; or let them run \
             `atlas approve --vault {vault} --operation {operation} --args-hash {args_hash}`, and show what they get, as {TOKEN} or, over HTTP, \
             in the header X-Atlas-Confirmation"
        );
        self.required(message).with(TOKEN, why)
    }

    fn required(&self, message: String) -> Error {
        Error::new(Code::Forbidden, Reason::ElicitRequired, message)
            .with("args_hash", self.args_hash)
            .with("operation", self.operation)
            .with("vault", self.vault)
    }
}

fn name(token: &str) -> String {
    format!("confirmations/{}", Hash::of(token.as_bytes()))
}
