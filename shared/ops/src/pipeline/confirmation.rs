//! Confirmations: a call that may destroy a person's text runs once, and only if a person approved its changes
//! ([`approvals`](crate::pipeline::approvals)), or gave a token for this call in advance.
//!
//! A token is an object in the store, which all instances see. To use it, an instance creates a second object if it is
//! absent: only one can, so a token works once however many try at once. The second object names the call that used the
//! token. So a keyed call whose answer was lost may be repeated while the token is valid; its commit happens once.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use atlas_access::{Acl, Caller};
use atlas_mirror::{Hash, Id, Mirror};
use atlas_vault::VaultPath;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::error::{Code, Error, Reason};
use crate::pipeline::approvals::{self, PendingCall, PlannedFile, Sight, Standing, Use};

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
    /// The caller who approves, if not a person at the host. They may not use the token, since they may not approve for themselves, and it is for
    /// calls alone of which they may read all that is read and changed.
    pub caller: Option<&'a Caller>,
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

/// The caller who gave a token, for comparison with the one who uses it.
#[derive(Debug, Serialize, Deserialize)]
struct Approver {
    caller_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// What they may read; [`None`] for a trusted process, and in tokens of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sees: Option<Sight>,
}

impl Approver {
    fn of(caller: &Caller) -> Self {
        let sees = (!caller.is_trusted()).then(|| Sight::of(caller.scopes()));
        Self { caller_id: caller.pseudonym(), client: caller.client().map(str::to_owned), sees }
    }
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
        not_for: approval.caller.map(Approver::of),
    };
    mirror.create_state_if_absent(&name(&token), &given).await?;
    Ok(Approved { token, expires })
}

/// The confirmation of a call that may need one.
pub(crate) struct Confirmation<'a> {
    pub(crate) mirror: &'a Mirror,
    /// The vault's id.
    pub(crate) vault: &'a str,
    pub(crate) acl: &'a Acl,
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
    /// The paths that the call names or reads.
    pub(crate) read: Mutex<BTreeSet<String>>,
    pub(crate) progress: Progress,
}

/// How far a call is with its confirmation.
#[derive(Default)]
pub(crate) struct Progress {
    /// Set when the token was found to be for the call: what its giver may read.
    given: OnceCell<Option<Sight>>,
    /// Set when the token was used.
    used: OnceCell<()>,
    /// A random identity of the call, if it has no key.
    by: OnceCell<Id>,
}

impl Confirmation<'_> {
    /// Tells that the call reads `path`.
    pub(crate) fn reads(&self, path: &VaultPath) {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(path.as_str().to_owned());
    }

    fn all_read(&self) -> Vec<String> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Uses the call's token, or the approval of this very plan. If this succeeds, the call may run once.
    pub(crate) async fn confirm(&self, files: &[PlannedFile]) -> Result<(), Error> {
        match self.token {
            Some(token) => self.use_token(token, files).await,
            // For each attempt to commit, since its changes may differ.
            None => self.use_approval(files).await,
        }
    }

    async fn use_token(&self, token: &str, files: &[PlannedFile]) -> Result<(), Error> {
        let given = self.progress.given.get_or_try_init(|| self.given(token)).await?;
        // For each attempt too, and before the token is used up.
        if given.as_ref().is_some_and(|sees| !sees.has(self.acl, files, &self.all_read())) {
            return Err(self.bad_token("of somebody who may not read all that the call reads and changes"));
        }
        self.progress.used.get_or_try_init(|| self.use_up(token)).await.copied()
    }

    /// What the giver of the token may read, if that is known. Fails if the token is not for this call.
    async fn given(&self, token: &str) -> Result<Option<Sight>, Error> {
        if token.parse::<Id>().is_err() {
            return Err(self.bad_token("unknown"));
        }
        self.mirror.check_writes_once().await?;
        let Some(given) = self.mirror.get_state::<StoredToken>(&name(token)).await? else {
            return Err(self.bad_token("unknown"));
        };
        let is_for_it =
            given.vault == self.vault && given.operation == self.operation && given.args_hash == self.args_hash;
        if !is_for_it {
            return Err(self.bad_token("of another call"));
        }
        let is_own = |giver: &Approver| approvals::is_same(&giver.caller_id, giver.client.as_deref(), self.caller);
        if given.not_for.as_ref().is_some_and(is_own) {
            return Err(self.bad_token("the caller's own"));
        }
        if self.now >= given.expires {
            return Err(self.bad_token("expired"));
        }
        Ok(given.not_for.and_then(|giver| giver.sees))
    }

    async fn use_up(&self, token: &str) -> Result<(), Error> {
        let own = self.own_use().await?;
        match self.mirror.get_or_create_state(&format!("{}.used", name(token)), &own).await? {
            Some(other) if other != own => Err(self.bad_token("used")),
            _ => Ok(()),
        }
    }

    /// The identity that uses a token or an approval. It is the same for all attempts of the call, since one that timed
    /// out may have used it.
    async fn own_use(&self) -> Result<Use, Error> {
        let by = match self.key {
            Some(key) => key.to_string(),
            None => self.progress.by.get_or_try_init(|| async { Id::random() }).await?.to_string(),
        };
        Ok(Use::by_call(by))
    }

    async fn use_approval(&self, files: &[PlannedFile]) -> Result<(), Error> {
        let &Self { vault, operation, args_hash, arguments, caller, session, now, .. } = self;
        let reads = self.all_read();
        let asked = PendingCall { vault, operation, args_hash, arguments, caller, session, files, reads: &reads, now };
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
