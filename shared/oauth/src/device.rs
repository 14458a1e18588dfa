//! Authorization of a terminal, by a code that the person types in on a page (RFC 8628).
//!
//! `devices/<hash of the device code>` has the request, `user-codes/<seal of the user code>` leads to it, and `devices/<hash>.decided` has what the person
//! decided, once. While nobody has, `devices/<hash>.asked` has when the terminal last asked.

use std::time::Duration;

use atlas_access::Scope;
use atlas_access::seal::seal;
use atlas_mirror::{Hash, Id};
use futures::future::try_join3;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::client::Client;
use crate::error::{Code, OAuthError};
use crate::grant::{Choice, Grant};
use crate::server::{MAX_OBJECT, Server, Tokens, hash, is_secret, named, spaced};

/// How long a code can be typed in.
const TIME: Duration = Duration::from_secs(600);
/// Seconds between two questions of a terminal, and how many more for each that comes too soon.
const INTERVAL: u64 = 5;
/// Most seconds between two questions.
const LONGEST_INTERVAL: u64 = 60;
/// Letters of codes: no vowels, so that no word is made, and none that looks like another.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// Letters of a code.
const LENGTH: usize = 8;
/// Tries to find a code that nobody has.
const TRIES: u32 = 5;
const DEVICES: &str = "devices";
const USER_CODES: &str = "user-codes";
const DECIDED: &str = ".decided";
const ASKED: &str = ".asked";

/// The request of a terminal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceRequest {
    /// The client's id.
    pub client: String,
    /// The name that it gave itself.
    pub client_name: String,
    /// The scopes that it asks for, separated by spaces.
    pub scope: String,
    /// The resource that tokens are for.
    pub resource: String,
    /// Until when it can be decided.
    pub expires: Timestamp,
}

impl DeviceRequest {
    /// The scopes that it asks for.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope> {
        self.scope.split(' ').filter_map(|name| name.parse().ok()).collect()
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Place {
    device: Hash,
}

#[derive(Debug, Serialize, Deserialize)]
struct Decided {
    grant: Option<(Id, Grant)>,
}

/// The last question of a terminal.
#[derive(Debug, Serialize, Deserialize)]
struct Asked {
    at: Timestamp,
    /// Seconds to wait until the next.
    interval: u64,
}

impl Server<'_> {
    /// Begins the authorization of a terminal: the answer that it gets.
    ///
    /// # Errors
    /// When the store cannot keep it.
    pub async fn begin_device(&self, client: &Client, scopes: &[Scope], resource: &str) -> Result<Value, OAuthError> {
        self.mirror.check_writes_once().await?;
        let code = self.secret()?;
        let device = hash("device", &code);
        let request = DeviceRequest {
            client: client.id.clone(),
            client_name: client.name.clone(),
            scope: spaced(scopes),
            resource: resource.to_owned(),
            expires: self.after(TIME),
        };
        self.mirror.create_state_if_absent(&named(DEVICES, device), &request).await?;
        for _ in 0..TRIES {
            let user_code = self.user_code()?;
            if self.mirror.create_state_if_absent(&self.user_code_name(&user_code), &Place { device }).await? {
                let (first, last) = user_code.split_at(LENGTH / 2);
                let shown = format!("{first}-{last}");
                let page = format!("{}/ui/device", self.issuer.address);
                return Ok(json!({
                    "device_code": code,
                    "expires_in": TIME.as_secs(),
                    "interval": INTERVAL,
                    "user_code": shown,
                    "verification_uri": page,
                    "verification_uri_complete": format!("{page}?user_code={shown}"),
                }));
            }
        }
        Err(OAuthError::new(Code::TemporarilyUnavailable, "no code is free: try again"))
    }

    fn user_code(&self) -> Result<String, OAuthError> {
        let random = (self.random)()?.to_string();
        let number = u128::from_str_radix(&random, 16).unwrap_or_default();
        let base = LETTERS.len() as u128;
        let letters = (0..LENGTH).scan(number, |rest, _| {
            let index = usize::try_from(*rest % base).unwrap_or_default();
            *rest /= base;
            LETTERS.get(index).map(|letter| char::from(*letter))
        });
        Ok(letters.collect())
    }

    /// Sealed, since there are few enough codes to try them all against a plain hash.
    fn user_code_name(&self, code: &str) -> String {
        named(USER_CODES, seal(&self.issuer.authority.secret, &["oauth user code"], code))
    }

    /// The request that a code, as somebody typed it, leads to, and its place.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn device_of(&self, typed: &str) -> Result<Option<(Hash, DeviceRequest)>, OAuthError> {
        let typed: String = typed.chars().filter(char::is_ascii_alphanumeric).take(LENGTH + 1).collect();
        let code = typed.to_ascii_uppercase();
        if code.len() != LENGTH {
            return Ok(None);
        }
        let Some(Place { device }) = self.mirror.get_state(&self.user_code_name(&code)).await? else { return Ok(None) };
        let request: Option<DeviceRequest> = self.mirror.get_state_up_to(&named(DEVICES, device), MAX_OBJECT).await?;
        Ok(request.filter(|request| self.now < request.expires).map(|request| (device, request)))
    }

    /// Keeps what the person decided. Returns whether nobody had decided before.
    ///
    /// # Errors
    /// When the store cannot keep it.
    pub async fn decide_device(
        &self,
        device: Hash,
        request: &DeviceRequest,
        choice: Option<&Choice>,
    ) -> Result<bool, OAuthError> {
        let place = "a program in a terminal";
        let granted = |choice| self.grant_of((&request.client, &request.client_name, place), &request.resource, choice);
        let id = (self.random)()?;
        let decided = Decided { grant: choice.map(|choice| (id, granted(choice))) };
        let name = format!("{}{DECIDED}", named(DEVICES, device));
        Ok(self.mirror.create_state_if_absent(&name, &decided).await?)
    }

    /// The tokens for a device code, once the person allowed it.
    ///
    /// # Errors
    /// [`Code::AuthorizationPending`], [`Code::SlowDown`], [`Code::AccessDenied`], [`Code::ExpiredToken`], [`Code::InvalidGrant`], or when the store does not answer.
    pub async fn redeem_device(&self, code: &str, client: &str) -> Result<Tokens, OAuthError> {
        if !is_secret(code) {
            return Err(OAuthError::grant());
        }
        let name = named(DEVICES, hash("device", code));
        let (request, decided, asked) = try_join3(
            self.mirror.get_state_up_to::<DeviceRequest>(&name, MAX_OBJECT),
            self.mirror.get_state_up_to::<Decided>(&format!("{name}{DECIDED}"), MAX_OBJECT),
            self.mirror.get_state_up_to::<Asked>(&format!("{name}{ASKED}"), MAX_OBJECT),
        )
        .await?;
        let request = request.filter(|request| request.client == client).ok_or_else(OAuthError::grant)?;
        if self.now >= request.expires {
            return Err(OAuthError::new(Code::ExpiredToken, "nobody decided in time: begin again"));
        }
        match decided {
            None => Err(self.undecided(&name, asked).await?),
            Some(Decided { grant: None }) => Err(OAuthError::new(Code::AccessDenied, "the person did not allow it")),
            Some(Decided { grant: Some((id, grant)) }) => self.begin(id, grant, code).await,
        }
    }

    /// The answer to a terminal that asks before the person decided, and when it asked before (RFC 8628, section 3.5).
    async fn undecided(&self, name: &str, before: Option<Asked>) -> Result<OAuthError, OAuthError> {
        let told = before.as_ref().map_or(INTERVAL, |before| before.interval);
        let waited = before.map_or(i64::MAX, |before| self.now.as_second().saturating_sub(before.at.as_second()));
        // A second less is a matter of rounding.
        let is_too_soon = waited.saturating_add(1) < i64::try_from(told).unwrap_or(i64::MAX);
        let interval = if is_too_soon { told.saturating_add(INTERVAL).min(LONGEST_INTERVAL) } else { told };
        self.mirror.put_state(&format!("{name}{ASKED}"), &Asked { at: self.now, interval }).await?;
        Ok(if is_too_soon {
            OAuthError::new(Code::SlowDown, format!("ask again in {interval} seconds, and no more often"))
        } else {
            OAuthError::new(Code::AuthorizationPending, "the person has not decided yet")
        })
    }
}
