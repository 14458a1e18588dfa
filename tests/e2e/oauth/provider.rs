//! An OpenID provider on loopback, which answers as it is told.

use std::sync::{Arc, Mutex, MutexGuard};

use atlas_testkit::StandIn;
use atlas_testkit::issuer::Issuer;
use atlas_testkit::stand_in::{Asked, Reply};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::site::{BASE, UPSTREAM_SECRET, encoded, parameter};
use crate::support::clock;

pub(crate) const CLIENT: &str = "atlas";
pub(crate) const SUBJECT: &str = "248289761001";
/// The only code that it gives.
pub(crate) const CODE: &str = "a code";

/// What signs the ID token, and as what.
pub(crate) type Sign = fn(&Issuer, &Value) -> String;

/// The provider.
pub(crate) struct Provider {
    stand_in: StandIn,
    script: Arc<Mutex<Script>>,
}

/// How it answers.
pub(crate) struct Script {
    pub(crate) keys: Issuer,
    /// Added to the names of its keys.
    pub(crate) suffix: &'static str,
    /// Claims that are others than usual; null leaves one out.
    pub(crate) claims: Value,
    /// Metadata that is other than usual.
    pub(crate) metadata: Value,
    pub(crate) sign: Sign,
    /// What it answers at a path, instead of what is right.
    pub(crate) instead: Vec<(&'static str, Reply)>,
    /// The parameters that the browser brought.
    asked: String,
}

pub(crate) fn by_es256(keys: &Issuer, claims: &Value) -> String {
    keys.sign("ES256", Some("ec"), claims)
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let script = Arc::new(Mutex::new(Script {
            keys: Issuer::new(),
            suffix: "",
            claims: json!({}),
            metadata: json!({}),
            sign: by_es256,
            instead: Vec::new(),
            asked: String::new(),
        }));
        let own = script.clone();
        Self { stand_in: StandIn::new(move |asked| own.lock().unwrap().reply(asked)).await, script }
    }

    pub(crate) fn issuer(&self) -> String {
        self.stand_in.address()
    }

    /// The field `auth.upstream` of a configuration.
    pub(crate) fn configuration(&self) -> Value {
        json!({ "issuer": self.issuer(), "clientId": CLIENT, "name": "Example", "subjects": [SUBJECT] })
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    /// How often it was asked for this path.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.stand_in.asked().iter().filter(|asked| asked.target == path).count()
    }

    /// The person is signed in on the page at `address`: the path that the browser is led back to, with the answer.
    #[track_caller]
    pub(crate) fn signs_in(&self, address: &str) -> String {
        let issuer = self.issuer();
        self.answer(address, &[("code", CODE), ("iss", &issuer)])
    }

    /// The same with another answer, to which the state is added.
    #[track_caller]
    pub(crate) fn answer(&self, address: &str, fields: &[(&str, &str)]) -> String {
        assert!(address.starts_with(&format!("{}/authorize?", self.issuer())), "{address}");
        let (state, back) = (parameter(address, "state"), parameter(address, "redirect_uri"));
        address.clone_into(&mut self.script().asked);
        let fields: Vec<(&str, &str)> = fields.iter().copied().chain([("state", state.as_str())]).collect();
        format!("{}?{}", back.strip_prefix(BASE).unwrap(), encoded(&fields))
    }
}

impl Script {
    fn reply(&mut self, asked: &Asked) -> Reply {
        let issuer = format!("http://{}", asked.header("host"));
        if let Some((_, reply)) = self.instead.iter().find(|(path, _)| *path == asked.target) {
            return reply.clone();
        }
        match asked.target.as_str() {
            "/.well-known/openid-configuration" => {
                let mut metadata = json!({
                    "issuer": issuer,
                    "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"),
                    "jwks_uri": format!("{issuer}/keys"),
                    "response_types_supported": ["code"],
                    "subject_types_supported": ["public"],
                    "id_token_signing_alg_values_supported": ["RS256", "ES256", "EdDSA", "HS256", "none"],
                });
                change(&mut metadata, &self.metadata);
                Reply::json(&metadata)
            }
            "/keys" => {
                let mut set = self.keys.set();
                for key in set["keys"].as_array_mut().unwrap() {
                    key["kid"] = format!("{}{}", key["kid"].as_str().unwrap(), self.suffix).into();
                }
                Reply::json(&set)
            }
            "/token" => self.tokens(&issuer, asked),
            page if page.starts_with("/authorize?") => {
                let address = format!("{issuer}{page}");
                let (back, state) = (parameter(&address, "redirect_uri"), parameter(&address, "state"));
                let answer = encoded(&[("code", CODE), ("iss", &issuer), ("state", &state)]);
                self.asked = address;
                Reply::Raw(
                    format!("HTTP/1.1 303 So\r\nlocation: {back}?{answer}\r\ncontent-length: 0\r\n\r\n").into_bytes(),
                )
            }
            other => panic!("nobody asks for {other}"),
        }
    }

    /// The tokens for the code, to who proves that it is theirs.
    fn tokens(&self, issuer: &str, asked: &Asked) -> Reply {
        let form = format!("?{}", String::from_utf8_lossy(&asked.body).replace('+', "%20"));
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(parameter(&form, "code_verifier")));
        let id = |text: &str| encoded(&[("", text)])[1..].to_owned();
        let basic = format!("Basic {}", STANDARD.encode(format!("{}:{}", id(CLIENT), id(UPSTREAM_SECRET))));
        let is_client = if self.metadata["token_endpoint_auth_methods_supported"].is_array() {
            (parameter(&form, "client_id"), parameter(&form, "client_secret"))
                == (CLIENT.into(), UPSTREAM_SECRET.into())
        } else {
            asked.header("authorization") == basic
        };
        let is_right = parameter(&form, "code") == CODE
            && parameter(&form, "grant_type") == "authorization_code"
            && parameter(&form, "redirect_uri") == parameter(&self.asked, "redirect_uri")
            && parameter(&self.asked, "code_challenge_method") == "S256"
            && challenge == parameter(&self.asked, "code_challenge");
        if !is_client || !is_right {
            return Reply::Status(400, json!({ "error": "invalid_grant" }).to_string());
        }
        let now = clock::now().as_second();
        let mut claims = json!({
            "iss": issuer, "sub": SUBJECT, "aud": CLIENT, "iat": now, "exp": now + 300,
            "nonce": parameter(&self.asked, "nonce"),
        });
        change(&mut claims, &self.claims);
        let token = (self.sign)(&self.keys, &claims);
        Reply::json(&json!({ "access_token": "x", "token_type": "Bearer", "expires_in": 300, "id_token": token }))
    }
}

fn change(value: &mut Value, by: &Value) {
    let fields = value.as_object_mut().unwrap();
    for (name, other) in by.as_object().unwrap() {
        match other {
            Value::Null => fields.remove(name),
            other => fields.insert(name.clone(), other.clone()),
        };
    }
}
