//! A request for authorization (RFC 6749, section 4.1.1), as the browser brings it.

use atlas_access::Scope;
use atlas_access::scope::{EXECUTE, GRANTABLE};
use serde_json::{Map, Value};

use crate::client::Client;
use crate::error::{Code, OAuthError};
use crate::pkce;
use crate::redirect;

/// Longest state of a client, in bytes.
const MAX_STATE: usize = 2048;

/// A request for authorization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationRequest {
    /// The client.
    pub client: Client,
    /// Where the code is sent to: one of the client's addresses.
    pub redirect_uri: String,
    /// The client's own text, which it gets back.
    pub state: Option<String>,
    /// The challenge of PKCE: only the client that made it can redeem the code.
    pub challenge: String,
    /// The scopes that are asked for and can be granted, at least one.
    pub scopes: Vec<Scope>,
    /// The resource that tokens are for.
    pub resource: String,
}

/// Why a request is not shown to the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing is sent anywhere: the client or its address is not known.
    Here(String),
    /// The client is told at its address.
    There(String),
}

/// The value of a parameter that is there once and not empty.
pub(crate) fn text<'a>(parameters: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    parameters.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

impl AuthorizationRequest {
    /// The request with these parameters of `client`, for the server `issuer`, which gives tokens for `resources`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn read(
        parameters: &Map<String, Value>,
        client: Client,
        issuer: &str,
        resources: &[String],
    ) -> Result<Self, Refusal> {
        let asked = text(parameters, "redirect_uri").unwrap_or_default();
        let is_known = |registered: &String| redirect::is_match(registered, asked);
        if !redirect::is_allowed(asked) || !client.redirect_uris.iter().any(is_known) {
            return Err(Refusal::Here(
                "The address that the code would be sent to is not one that this client registered.".to_owned(),
            ));
        }
        let state = text(parameters, "state");
        let told = |error: OAuthError| Refusal::There(Self::error_address(asked, state, issuer, &error));
        if state.is_some_and(|state| state.len() > MAX_STATE) {
            return Err(Refusal::Here(format!("The request's `state` has more than {MAX_STATE} bytes.")));
        }
        if text(parameters, "response_type") != Some("code") {
            return Err(told(OAuthError::new(Code::UnsupportedResponseType, "response_type: write code")));
        }
        if text(parameters, "response_mode").is_some_and(|mode| mode != "query") {
            return Err(told(OAuthError::request("response_mode: only query is supported")));
        }
        if text(parameters, "request").is_some() || text(parameters, "request_uri").is_some() {
            return Err(told(OAuthError::request(
                "write the parameters into the address, not into request or request_uri",
            )));
        }
        let challenge = text(parameters, "code_challenge").unwrap_or_default();
        if text(parameters, "code_challenge_method") != Some(pkce::METHOD) || !pkce::is_challenge(challenge) {
            return Err(told(OAuthError::request("write a code_challenge with code_challenge_method=S256 (RFC 7636)")));
        }
        let resource = resource_of(text(parameters, "resource"), resources).map_err(told)?;
        Ok(Self {
            redirect_uri: asked.to_owned(),
            state: state.map(str::to_owned),
            challenge: challenge.to_owned(),
            scopes: scopes_of(text(parameters, "scope")),
            resource,
            client,
        })
    }

    /// The address that takes `code` to the client, and says who gave it (RFC 9207).
    #[must_use]
    pub fn code_address(&self, code: &str, issuer: &str) -> String {
        let state = self.state.as_deref().map(|state| ("state", state));
        let parameters: Vec<_> = [("code", code)].into_iter().chain(state).chain([("iss", issuer)]).collect();
        redirect::with_parameters(&self.redirect_uri, &parameters)
    }

    /// The address that tells the client that the person said no.
    #[must_use]
    pub fn denied_address(&self, issuer: &str) -> String {
        let error = OAuthError::new(Code::AccessDenied, "the person did not allow it");
        Self::error_address(&self.redirect_uri, self.state.as_deref(), issuer, &error)
    }

    fn error_address(redirect_uri: &str, state: Option<&str>, issuer: &str, error: &OAuthError) -> String {
        let state = state.map(|state| ("state", state));
        let said = [("error", error.code.as_str()), ("error_description", error.description.as_str())];
        let parameters: Vec<_> = said.into_iter().chain(state).chain([("iss", issuer)]).collect();
        redirect::with_parameters(redirect_uri, &parameters)
    }
}

/// The scopes of a request that can be granted: those of a vault's files, if it names none; reading, if it names none of them.
#[must_use]
pub fn scopes_of(asked: Option<&str>) -> Vec<Scope> {
    let Some(asked) = asked else { return GRANTABLE.to_vec() };
    let names: Vec<&str> = asked.split(' ').collect();
    let is_asked =
        |scope: &Scope| names.contains(&scope.as_str()) || scope.is_execute() && names.contains(&"execute:*");
    let known: Vec<Scope> = GRANTABLE.into_iter().chain(EXECUTE).filter(is_asked).collect();
    if known.is_empty() { vec![Scope::ReadVault] } else { known }
}

/// The resource that a request names, if it is one of this deployment; the deployment as a whole, if it names none (RFC 8707).
pub(crate) fn resource_of(asked: Option<&str>, resources: &[String]) -> Result<String, OAuthError> {
    let Some(asked) = asked else { return Ok(resources.first().cloned().unwrap_or_default()) };
    match resources.iter().any(|resource| resource == asked) {
        true => Ok(asked.to_owned()),
        false => {
            Err(OAuthError::new(Code::InvalidTarget, "resource: this server gives tokens for this deployment only"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://notes.example";
    const CALLBACK: &str = "https://claude.ai/cb";

    fn read(change: Value) -> Result<AuthorizationRequest, Refusal> {
        let mut parameters = json!({
            "client_id": "c", "redirect_uri": CALLBACK, "response_type": "code", "state": "s&t",
            "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256",
            "scope": "read:vault write:vault openid admin approve:vault", "resource": "https://notes.example/mcp",
        });
        for (name, value) in change.as_object().unwrap() {
            parameters[name] = value.clone();
        }
        let client =
            Client { id: "c".to_owned(), name: String::new(), redirect_uris: vec![CALLBACK.to_owned()], host: None };
        let resources = [ISSUER.to_owned(), format!("{ISSUER}/mcp")];
        AuthorizationRequest::read(parameters.as_object().unwrap(), client, ISSUER, &resources)
    }

    #[test]
    fn a_request_asks_for_what_people_may_grant() {
        let request = read(json!({})).unwrap();
        assert_eq!(request.scopes, [Scope::ReadVault, Scope::WriteVault]);
        assert_eq!(
            request.code_address("x", ISSUER),
            "https://claude.ai/cb?code=x&state=s%26t&iss=https%3A%2F%2Fnotes.example"
        );
        assert!(request.denied_address(ISSUER).contains("error=access_denied"));
    }

    #[test]
    fn nothing_is_sent_where_the_client_did_not_say() {
        for address in [
            "",
            "https://evil.example/cb",
            "https://claude.ai/cb/",
            "https://claude.ai/cb?x",
            "javascript:alert(1)",
            "//evil.example",
        ] {
            assert!(matches!(read(json!({ "redirect_uri": address })), Err(Refusal::Here(_))), "{address}");
        }
    }

    #[test]
    fn a_client_is_told_at_its_own_address() {
        for (change, error) in [
            (json!({ "response_type": "token" }), "unsupported_response_type"),
            (json!({ "response_type": null }), "unsupported_response_type"),
            (json!({ "code_challenge": null }), "invalid_request"),
            (json!({ "code_challenge_method": null }), "invalid_request"),
            (json!({ "code_challenge_method": "plain" }), "invalid_request"),
            (json!({ "code_challenge": "short" }), "invalid_request"),
            (json!({ "resource": "https://other.example/mcp" }), "invalid_target"),
            (json!({ "response_mode": "fragment" }), "invalid_request"),
            (json!({ "request_uri": "https://evil.example/x" }), "invalid_request"),
        ] {
            let Err(Refusal::There(address)) = read(change.clone()) else { panic!("{change}") };
            assert!(address.starts_with("https://claude.ai/cb?error="), "{address}");
            assert!(
                address.contains(error) && address.contains("state=s%26t") && address.contains("iss="),
                "{address}"
            );
        }
    }
}
