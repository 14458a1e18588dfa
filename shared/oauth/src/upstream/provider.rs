//! Asks the provider, by `openidconnect`, through the one client for requests that go out.

use std::pin::Pin;

use atlas_outbound::{Documents, Error, Method, Request, Url};
use atlas_web::config::upstream::Upstream;
use chrono::{DateTime, Utc};
use jiff::Timestamp;
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthenticationFlow, CoreClaimName, CoreClaimType, CoreClient, CoreClientAuthMethod,
    CoreGrantType, CoreIdToken, CoreJsonWebKey, CoreJsonWebKeySet, CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm, CoreJwsSigningAlgorithm, CoreResponseMode, CoreResponseType,
    CoreSubjectIdentifierType,
};
use openidconnect::{
    AdditionalProviderMetadata, AsyncHttpClient, AuthType, AuthorizationCode, ClaimsVerificationError, ClientId,
    ClientSecret, CsrfToken, DiscoveryError, HttpRequest, HttpResponse, IssuerUrl, Nonce, PkceCodeChallenge,
    PkceCodeVerifier, ProviderMetadata, RedirectUrl, RequestTokenError, Scope, SignatureVerificationError,
    TokenResponse as _, http,
};
use serde::{Deserialize, Serialize};

use super::{Denied, Handshake, Identity};

/// Greatest accepted difference between clocks, in seconds.
const SKEW: i64 = 30;
/// Longest subject, in bytes.
const MAX_SUBJECT: usize = 255;
/// How ID tokens may be signed: by a private key alone, whatever the provider offers.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 5] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// What RFC 9207 adds to the metadata.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SaysIssuer {
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for SaysIssuer {}

type Metadata = ProviderMetadata<
    SaysIssuer,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

/// How the library asks.
struct Asking<'a> {
    documents: &'a Documents,
    /// Whether what was fetched some minutes ago is not good enough.
    is_newest: bool,
}

impl<'c> AsyncHttpClient<'c> for Asking<'_> {
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, Error>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let url: Url = parts.uri.to_string().parse().map_err(|_| Error::Refused("it is no address"))?;
            if parts.method == Method::GET {
                let document = self.documents.get_as(&url, self.is_newest).await?;
                return Ok(http::Response::new(document.to_vec()));
            }
            let (method, headers) = (parts.method, parts.headers);
            let request = Request { method, url, headers, body: body.into(), max_time: None };
            let answer = self.documents.client().send(request).await?;
            let mut response = http::Response::new(answer.body.to_vec());
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok(response)
        })
    }
}

fn unproven(error: impl std::fmt::Display) -> Denied {
    Denied::Unproven(error.to_string())
}

fn undiscovered(error: DiscoveryError<Error>) -> Denied {
    match error {
        DiscoveryError::Request(error) => Denied::Unreachable(error.to_string()),
        error => Denied::Unreachable(format!("its metadata: {error}")),
    }
}

async fn metadata_of(upstream: &Upstream, asking: &Asking<'_>) -> Result<Metadata, Denied> {
    let issuer = IssuerUrl::new(upstream.document.issuer.clone()).map_err(unproven)?;
    Metadata::discover_async(issuer, asking).await.map_err(undiscovered)
}

/// The provider's page for this sign-in.
pub(super) async fn address(upstream: &Upstream, handshake: &Handshake) -> Result<String, Denied> {
    let metadata = metadata_of(upstream, &Asking { documents: &upstream.documents, is_newest: false }).await?;
    let client = CoreClient::from_provider_metadata(metadata, ClientId::new(upstream.document.client_id.clone()), None)
        .set_redirect_uri(RedirectUrl::new(handshake.redirect_uri.clone()).map_err(unproven)?);
    let (state, nonce) = (CsrfToken::new(handshake.state.clone()), Nonce::new(handshake.nonce.clone()));
    let verifier = PkceCodeVerifier::new(handshake.verifier.clone());
    let flow = CoreAuthenticationFlow::AuthorizationCode;
    let mut request = client
        .authorize_url(flow, || state, || nonce)
        .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
    if !upstream.document.emails.is_empty() {
        request = request.add_scope(Scope::new("email".to_owned()));
    }
    let (url, ..) = request.url();
    if !upstream.is_its(&url) {
        return Err(unproven("its page to sign in is at an origin that is not in auth.upstream.origins"));
    }
    Ok(url.into())
}

/// Redeems `code`: whom the provider says that it is for. `says_issuer` is whether the answer with the code said the issuer.
pub(super) async fn identity(
    upstream: &Upstream,
    handshake: &Handshake,
    code: &str,
    says_issuer: bool,
    now: Timestamp,
) -> Result<Identity, Denied> {
    let asking = Asking { documents: &upstream.documents, is_newest: false };
    let metadata = metadata_of(upstream, &asking).await?;
    if metadata.additional_metadata().authorization_response_iss_parameter_supported && !says_issuer {
        return Err(unproven("the answer does not say its issuer, which the provider does"));
    }
    let token = id_token(upstream, handshake, code, &metadata).await?;
    match checked(&token, upstream, handshake, metadata.clone(), now) {
        // The provider may have changed its keys since.
        Err(ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey)) => {
            let asking = Asking { is_newest: true, ..asking };
            let keys = CoreJsonWebKeySet::fetch_async(metadata.jwks_uri(), &asking).await.map_err(undiscovered)?;
            checked(&token, upstream, handshake, metadata.set_jwks(keys), now)
        }
        known => known,
    }
    .map_err(unproven)
}

/// The ID token that the provider gives for `code`.
async fn id_token(
    upstream: &Upstream,
    handshake: &Handshake,
    code: &str,
    metadata: &Metadata,
) -> Result<CoreIdToken, Denied> {
    let secret = upstream.secret.as_ref().map(|secret| ClientSecret::new(secret.0.clone()));
    let methods = metadata.token_endpoint_auth_methods_supported();
    let takes = |method| methods.is_some_and(|methods| methods.contains(&method));
    let in_body = takes(CoreClientAuthMethod::ClientSecretPost) && !takes(CoreClientAuthMethod::ClientSecretBasic);
    let client = ClientId::new(upstream.document.client_id.clone());
    let client = CoreClient::from_provider_metadata(metadata.clone(), client, secret)
        .set_redirect_uri(RedirectUrl::new(handshake.redirect_uri.clone()).map_err(unproven)?)
        .set_auth_type(if in_body { AuthType::RequestBody } else { AuthType::BasicAuth });
    let asking = Asking { documents: &upstream.documents, is_newest: false };
    let tokens = client
        .exchange_code(AuthorizationCode::new(code.to_owned()))
        .map_err(|_| Denied::Unreachable("its metadata has no token endpoint".to_owned()))?
        .set_pkce_verifier(PkceCodeVerifier::new(handshake.verifier.clone()))
        .request_async(&asking)
        .await;
    let tokens = tokens.map_err(|error| match error {
        RequestTokenError::Request(error) => Denied::Unreachable(error.to_string()),
        RequestTokenError::ServerResponse(said) => {
            Denied::Unproven(format!("its token endpoint said {}", said.error()))
        }
        // What it holds may be secret.
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            Denied::Unreachable("its token endpoint gives no answer that can be read".to_owned())
        }
    })?;
    tokens.id_token().cloned().ok_or_else(|| unproven("there is no ID token"))
}

/// Whom `token` is about, if it is this provider's, for this sign-in, and valid now.
fn checked(
    token: &CoreIdToken,
    upstream: &Upstream,
    handshake: &Handshake,
    metadata: Metadata,
    now: Timestamp,
) -> Result<Identity, ClaimsVerificationError> {
    let other = |text: &str| ClaimsVerificationError::Other(text.to_owned());
    let at = |seconds: i64| DateTime::<Utc>::from_timestamp(seconds, 0).ok_or_else(|| other("there is no such time"));
    let now = now.as_second();
    let (least, most) = (at(now - SKEW)?, at(now + SKEW)?);
    let client = ClientId::new(upstream.document.client_id.clone());
    let client = CoreClient::from_provider_metadata(metadata, client, None);
    let verifier = client
        .id_token_verifier()
        .set_allowed_algs(ALGORITHMS)
        .set_time_fn(move || least)
        .set_issue_time_verifier_fn(move |issued| if issued <= most { Ok(()) } else { Err("not yet".to_owned()) });
    let claims = token.claims(&verifier, &Nonce::new(handshake.nonce.clone()))?;
    // The library leaves this to the caller.
    if claims.authorized_party().is_some_and(|party| party.as_str() != upstream.document.client_id) {
        return Err(other("it was given to another client"));
    }
    let subject = claims.subject().as_str().to_owned();
    if !(1..=MAX_SUBJECT).contains(&subject.len()) || subject.chars().any(char::is_control) {
        return Err(other("its subject cannot be one"));
    }
    let is_verified = claims.email_verified() == Some(true);
    Ok(Identity { subject, email: claims.email().filter(|_| is_verified).map(|email| email.as_str().to_owned()) })
}
