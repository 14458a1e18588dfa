//! Asks the app of a call's vault.

use atlas_mirror::Mirror;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::app::client::Client;
use crate::app::letters::{self, Letters, Standing};
use crate::app::{Failure, Pending, Request, lost};
use crate::error::{Code, Error, Reason};
use crate::operation::{Context, Info};

/// The result of asking an app.
#[derive(Debug)]
pub enum Asked {
    /// The app's answer.
    Done(Value),
    /// It was asked through the bucket, and has not answered yet.
    Pending(Pending),
}

/// The result of a keyed call that an app answered directly.
#[derive(Serialize, Deserialize)]
struct Kept {
    outcome: Result<Value, Failure>,
}

impl Context<'_> {
    /// Asks the app of the call's vault for `request`, once if the call has a key and the app acts. What a person has to confirm is
    /// confirmed first.
    ///
    /// # Errors
    /// As [`Failure`]; [`Reason::ElicitRequired`] while nobody has confirmed it.
    pub async fn ask_app(&self, operation: &Info, request: &Request) -> Result<Asked, Error> {
        let reach = &self.vault.app;
        let is_risky = request.needs_person(&reach.safe_commands);
        if let Some(app) = &reach.app {
            app.detect(self.now).await?;
            return self.ask_directly(app, request, is_risky).await.map(Asked::Done);
        }
        let Some(secret) = &reach.secret else {
            return Err(Failure::Missing { plugin: request.plugin().to_owned() }.into());
        };
        let letters = Letters { mirror: &self.vault.mirror, vault: &self.vault.id, secret };
        let call = letters::Call {
            operation: operation.name,
            request,
            caller: self.caller,
            key: self.key.map(|key| key.hash),
        };
        match letters.standing(&call, self.now).await? {
            Standing::Answered(outcome) => Ok(Asked::Done(outcome?)),
            Standing::Waits(pending) => Ok(Asked::Pending(pending)),
            Standing::Lost => Err(lost()),
            Standing::New => {
                if is_risky {
                    self.confirm_act().await?;
                }
                Ok(Asked::Pending(letters.leave(&call, is_risky, self.now).await?))
            }
        }
    }

    async fn ask_directly(&self, app: &Client, request: &Request, is_risky: bool) -> Result<Value, Error> {
        let once = self.key.filter(|_| request.acts()).map(|key| key.hash.to_string());
        let mirror: &Mirror = &self.vault.mirror;
        if let Some(once) = &once
            && let Some(kept) = mirror.get_state_up_to::<Kept>(&letters::done(once), letters::MAX_ANSWER).await?
        {
            return Ok(kept.outcome?);
        }
        if is_risky {
            self.confirm_act().await?;
        }
        let Some(once) = once else { return Ok(app.call(request, self.now).await?) };
        if !mirror.create_state_if_absent(&letters::taken(&once), &json!({})).await? {
            return Err(lost());
        }
        let outcome = app.call(request, self.now).await;
        mirror.create_state_if_absent(&letters::done(&once), &Kept { outcome: outcome.clone() }).await?;
        Ok(outcome?)
    }

    /// Passes if a person confirmed the call, which is used up by that.
    ///
    /// # Errors
    /// [`Reason::ElicitRequired`]. A caller who cannot be told from others is refused: nobody could confirm their calls.
    async fn confirm_act(&self) -> Result<(), Error> {
        if let Some(confirmation) = self.confirmation {
            return confirmation.confirm(&[]).await;
        }
        let message = "a person has to confirm this command, and callers are not told apart here, so nobody can: let the person add it to \
                       vaults[].obsidian.safeCommands, or run it themselves";
        Err(Error::new(Code::Forbidden, Reason::ElicitRequired, message))
    }

    /// Fails if the vault's app is not reached at all, for an operation that looks into the vault before it asks `plugin`.
    ///
    /// # Errors
    /// [`Reason::PluginMissing`].
    pub fn check_app(&self, plugin: &str) -> Result<(), Error> {
        match self.vault.app.is_some() {
            true => Ok(()),
            false => Err(Failure::Missing { plugin: plugin.to_owned() }.into()),
        }
    }

    /// Fails if the caller may not read all of the vault: the app answers of all of it.
    ///
    /// # Errors
    /// [`Reason::AclDenied`], by the access list alone, whatever there is in the vault.
    pub fn check_sees_all(&self) -> Result<(), Error> {
        if self.vault.acl().reader(self.caller.scopes()).is_none() {
            return Ok(());
        }
        let message = "the app answers of the whole vault, of which you may read a part: use a tool that works on the vault's files";
        Err(Error::new(Code::Forbidden, Reason::AclDenied, message).with("op", "read"))
    }
}
