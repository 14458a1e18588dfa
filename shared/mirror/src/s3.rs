//! Connects to S3 and compatible stores, as AWS's variables configure.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};
use object_store::client::{HttpClient, HttpConnector};
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, RetryConfig};
use reqwest::Url;

use crate::error::MirrorError;
use crate::failure::Failure;
use crate::s3_answer::Explaining;
use crate::s3_client::S3Client;
use crate::secrets::masked;
use crate::variables::Variables;

/// Variables that are passed on unchanged. AWS's other variables are ignored: they have no meaning here, or could
/// switch off a feature that mirrors rely on, such as conditional writes.
const PASSED_ON: [(&str, AmazonS3ConfigKey); 11] = [
    ("AWS_ACCESS_KEY_ID", AmazonS3ConfigKey::AccessKeyId),
    ("AWS_SECRET_ACCESS_KEY", AmazonS3ConfigKey::SecretAccessKey),
    ("AWS_SESSION_TOKEN", AmazonS3ConfigKey::Token),
    ("AWS_WEB_IDENTITY_TOKEN_FILE", AmazonS3ConfigKey::WebIdentityTokenFile),
    ("AWS_ROLE_ARN", AmazonS3ConfigKey::RoleArn),
    ("AWS_ROLE_SESSION_NAME", AmazonS3ConfigKey::RoleSessionName),
    ("AWS_ENDPOINT_URL_STS", AmazonS3ConfigKey::StsEndpoint),
    ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", AmazonS3ConfigKey::ContainerCredentialsRelativeUri),
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI", AmazonS3ConfigKey::ContainerCredentialsFullUri),
    ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", AmazonS3ConfigKey::ContainerAuthorizationTokenFile),
    ("AWS_SKIP_SIGNATURE", AmazonS3ConfigKey::SkipSignature),
];
const DEFAULT_REGION: &str = "us-east-1";

/// A bucket, and how to reach it.
#[derive(Debug)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// The endpoint, if it is not AWS's own. Buckets are addressed by path there.
    pub endpoint: Option<String>,
    /// The region.
    pub region: String,
    client: AmazonS3,
}

impl Bucket {
    /// The current credentials, for other clients.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`] when there are none.
    pub async fn credential(&self) -> Result<Arc<AwsCredential>, MirrorError> {
        let credential = self.client.credentials().get_credential().await;
        credential.map_err(|error| Failure::from(error).into_error("reach", &Path::default()))
    }

    pub(crate) fn into_client(self) -> AmazonS3 {
        self.client
    }
}

/// A client of the bucket `name`. It makes no request yet, not even for credentials.
///
/// # Errors What is wrong with the bucket's name or a variable, and what to write instead.
pub(crate) fn connect(name: &str, variables: &Variables) -> Result<Bucket, String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
    if !(3..=63).contains(&name.len()) || !name.bytes().all(plain) {
        return Err(format!(
            "{name:?} is not the name of a bucket: write 3 to 63 lower-case letters, digits, dots and dashes"
        ));
    }
    let endpoint = endpoint(variables)?;
    let allow_http = endpoint.as_ref().is_some_and(|endpoint| endpoint.scheme() == "http");
    let region = variables.get("AWS_REGION").or_else(|| variables.get("AWS_DEFAULT_REGION")).unwrap_or(DEFAULT_REGION);
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(name)
        .with_region(region)
        .with_client_options(ClientOptions::new().with_allow_http(allow_http))
        .with_retry(no_retries())
        .with_http_connector(Connector);
    if let Some(endpoint) = &endpoint {
        builder = builder.with_endpoint(endpoint.as_str());
    }
    for (one, other) in [("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID")]
    {
        if variables.get(one).is_some() && variables.get(other).is_none() {
            return Err(format!("{one} is set and {other} is not: set both or neither"));
        }
    }
    for (name, key) in PASSED_ON {
        if let Some(value) = variables.get(name) {
            builder = builder.with_config(key, value);
        }
    }
    let client = builder.build().map_err(|error| error.to_string())?;
    let endpoint = endpoint.map(|endpoint| endpoint.as_str().trim_end_matches('/').to_owned());
    Ok(Bucket { name: name.to_owned(), endpoint, region: region.to_owned(), client })
}

/// The custom endpoint, if there is one: its buckets are addressed by path, not by host name.
fn endpoint(variables: &Variables) -> Result<Option<Url>, String> {
    let set = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];
    let Some((name, text)) = set.iter().find_map(|name| Some((name, variables.get(name)?))) else {
        return Ok(None);
    };
    let unusable = || format!("{name}={:?} cannot be used: write a URL such as https://s3.example.com", masked(text));
    let url = Url::parse(text).map_err(|_| unusable())?;
    let bare = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    match url.scheme() {
        _ if !url.has_host() || !bare => Err(unusable()),
        "https" => Ok(Some(url)),
        "http" if is_loopback(&url) || allows_http(variables)? => Ok(Some(url)),
        "http" => Err(format!(
            "{name}={:?} would send notes unencrypted: write https://, or set AWS_ALLOW_HTTP=true if nobody can listen",
            masked(text)
        )),
        _ => Err(unusable()),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

fn allows_http(variables: &Variables) -> Result<bool, String> {
    match variables.get("AWS_ALLOW_HTTP") {
        None | Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(other) => Err(format!("AWS_ALLOW_HTTP={other:?} cannot be used: write true or false")),
    }
}

/// Disables the client's own retries. It would mistake its own success for another writer's when it repeats a
/// conditional write after a server error. Its retries would also multiply those of [`Store`](crate::Store), which
/// knows the deadline.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, retry_timeout: Duration::ZERO, backoff: BackoffConfig::default() }
}

/// Makes HTTP clients whose errors include the store's message.
#[derive(Debug)]
struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // The HTTP client uses the process's TLS provider. An installed one is kept.
        let provider = rustls::crypto::ring::default_provider();
        let _: Result<(), Arc<_>> = provider.install_default();
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|allows| allows == "true");
        let unusable = |error: reqwest::Error| object_store::Error::Generic { store: "S3", source: error.into() };
        Ok(HttpClient::new(Explaining(S3Client::new(allows_http).map_err(unusable)?)))
    }
}

#[cfg(test)]
mod tests;
