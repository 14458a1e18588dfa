//! The settings of a bucket for mirrors, through S3's own client: the common store interface only has objects.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use atlas_mirror::location::Bucket;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_s3::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_s3::types::builders::LifecycleRuleBuilder;
use aws_sdk_s3::types::{
    AbortIncompleteMultipartUpload, BucketLifecycleConfiguration, BucketLocationConstraint, BucketVersioningStatus,
    CreateBucketConfiguration, ExpirationStatus, LifecycleExpiration, LifecycleRule, LifecycleRuleFilter,
    NoncurrentVersionExpiration, PublicAccessBlockConfiguration, VersioningConfiguration,
};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use serde::Serialize;

/// Time limits for connecting, and for one call with its retries.
const CONNECT_TIME: Duration = Duration::from_secs(2);
const CALL_TIME: Duration = Duration::from_secs(8);
/// Unfinished uploads of this age, in days, are abandoned.
const UPLOAD_DAYS: i32 = 2;
/// The default region of buckets.
const FIRST_REGION: &str = "us-east-1";

/// The state of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "detail", rename_all = "snake_case")]
pub(crate) enum State {
    /// It was right before.
    Right,
    /// It is right now.
    Set,
    /// It is wrong.
    Wrong,
    /// The store does not support it, and responded with this.
    Unknown(String),
}

/// The client, and the parameters of the settings.
pub(crate) struct Admin {
    client: Client,
    bucket: Bucket,
    prefix: String,
    days: u16,
}

/// Why a call failed.
#[derive(Clone, Debug)]
struct Failed {
    status: Option<u16>,
    code: String,
    text: String,
}

impl Admin {
    /// A client of `bucket`, for mirrors below `prefix`. Overwritten and deleted objects there are kept for `days`
    /// days.
    pub(crate) async fn new(bucket: Bucket, prefix: &str, days: u16) -> Result<Self, Box<dyn Error>> {
        let credential = bucket.credential().await?;
        let (id, secret, token) = (&credential.key_id, &credential.secret_key, credential.token.clone());
        let tls = Provider::Rustls(CryptoMode::Ring);
        let mut config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(aws_smithy_http_client::Builder::new().tls_provider(tls).build_https())
            .credentials_provider(Credentials::new(id, secret, token, None, "atlas"))
            .region(Region::new(bucket.region.clone()))
            .retry_config(RetryConfig::standard().with_max_attempts(2))
            .timeout_config(
                TimeoutConfig::builder().connect_timeout(CONNECT_TIME).operation_timeout(CALL_TIME).build(),
            );
        if let Some(endpoint) = &bucket.endpoint {
            config = config.endpoint_url(endpoint).force_path_style(true);
        }
        Ok(Self { client: Client::from_conf(config.build()), bucket, prefix: prefix.to_owned(), days })
    }

    /// Creates the bucket if it does not exist.
    pub(crate) async fn make(&self) -> Result<State, String> {
        let head = self.client.head_bucket().bucket(&self.bucket.name).send().await.map_err(Failed::from);
        match head {
            Ok(_) => return Ok(State::Right),
            Err(failed) if failed.status == Some(404) => {}
            Err(failed) => return Err(failed.explained(&self.bucket)),
        }
        let mut create = self.client.create_bucket().bucket(&self.bucket.name);
        if self.bucket.region != FIRST_REGION {
            let region = BucketLocationConstraint::from(self.bucket.region.as_str());
            let place = CreateBucketConfiguration::builder().location_constraint(region).build();
            create = create.create_bucket_configuration(place);
        }
        match create.send().await.map_err(Failed::from) {
            Ok(_) => Ok(State::Set),
            // Another process was quicker.
            Err(failed) if failed.code == "BucketAlreadyOwnedByYou" => Ok(State::Right),
            Err(failed) => Err(failed.explained(&self.bucket)),
        }
    }

    /// Blocks public access to the bucket, whatever its objects or policy allow.
    pub(crate) async fn block_public_access(&self, change: bool) -> Result<State, String> {
        let get = self.client.get_public_access_block().bucket(&self.bucket.name).send().await;
        let wanted = PublicAccessBlockConfiguration::builder()
            .block_public_acls(true)
            .ignore_public_acls(true)
            .block_public_policy(true)
            .restrict_public_buckets(true)
            .build();
        let found = get.map(|found| found.public_access_block_configuration().cloned());
        let right = found.map(|found| found.as_ref() == Some(&wanted));
        let set = self.client.put_public_access_block().bucket(&self.bucket.name);
        let set = set.public_access_block_configuration(wanted).send();
        self.settle(right.map_err(Failed::from), change, async { set.await.map(drop).map_err(Failed::from) }).await
    }

    /// Enables versioning, so that overwritten and deleted objects can be restored for a while.
    pub(crate) async fn keep_versions(&self, change: bool) -> Result<State, String> {
        let get = self.client.get_bucket_versioning().bucket(&self.bucket.name).send().await;
        let right = get.map(|found| found.status() == Some(&BucketVersioningStatus::Enabled));
        let wanted = VersioningConfiguration::builder().status(BucketVersioningStatus::Enabled).build();
        let set = self.client.put_bucket_versioning().bucket(&self.bucket.name).versioning_configuration(wanted).send();
        self.settle(right.map_err(Failed::from), change, async { set.await.map(drop).map_err(Failed::from) }).await
    }

    /// Lets replaced and deleted versions expire, and objects of probes.
    pub(crate) async fn expire_versions(&self, change: bool) -> Result<State, String> {
        let versions = NoncurrentVersionExpiration::builder().noncurrent_days(self.days.into()).build();
        let probes = LifecycleExpiration::builder().days(1).build();
        let versions = self.rule("versions", "vaults/").noncurrent_version_expiration(versions).build();
        let probes = self.rule("probes", "probes/").expiration(probes).build();
        self.have_rules([versions, probes], change).await
    }

    /// Lets parts of unfinished uploads expire.
    pub(crate) async fn expire_uploads(&self, change: bool) -> Result<State, String> {
        let uploads = AbortIncompleteMultipartUpload::builder().days_after_initiation(UPLOAD_DAYS).build();
        let uploads = self.rule("uploads", "vaults/").abort_incomplete_multipart_upload(uploads).build();
        self.have_rules([uploads], change).await
    }

    fn rule(&self, name: &str, folder: &str) -> LifecycleRuleBuilder {
        let Self { prefix, .. } = self;
        let folder = if prefix.is_empty() { folder.to_owned() } else { format!("{prefix}/{folder}") };
        let id = format!("atlas {name} {prefix}").trim_end().to_owned();
        let filter = LifecycleRuleFilter::builder().prefix(folder).build();
        LifecycleRule::builder().id(id).status(ExpirationStatus::Enabled).filter(filter)
    }

    /// Ensures that the bucket has these rules, or others with the same effect. Other rules stay.
    async fn have_rules<const N: usize>(
        &self,
        rules: [Result<LifecycleRule, BuildError>; N],
        change: bool,
    ) -> Result<State, String> {
        let rules = rules.into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let get = self.client.get_bucket_lifecycle_configuration().bucket(&self.bucket.name).send().await;
        let found = match get.map_err(Failed::from) {
            Ok(found) => Ok(found.rules().to_vec()),
            Err(failed) if failed.code == "NoSuchLifecycleConfiguration" => Ok(Vec::new()),
            Err(failed) => Err(failed),
        };
        if let Some(rule) = found.iter().flatten().find(|rule| rules.iter().any(|ours| endangers(rule, ours))) {
            let id = rule.id().unwrap_or_default();
            return Err(format!("the bucket's lifecycle rule {id:?} deletes what the vaults need: remove it"));
        }
        let served = |found: &[LifecycleRule]| rules.iter().all(|wanted| found.iter().any(|rule| serves(rule, wanted)));
        let right = found.as_deref().map(served);
        let ours = |rule: &LifecycleRule| rules.iter().any(|ours| ours.id() == rule.id());
        let others = found.iter().flatten().filter(|rule| !ours(rule));
        let all = others.chain(&rules).cloned().collect();
        let set = async {
            let wanted =
                BucketLifecycleConfiguration::builder().set_rules(Some(all)).build().map_err(Failed::unsent)?;
            let set = self.client.put_bucket_lifecycle_configuration().bucket(&self.bucket.name);
            set.lifecycle_configuration(wanted).send().await.map(drop).map_err(Failed::from)
        };
        self.settle(right.map_err(|failed| failed.clone()), change, set).await
    }

    async fn settle(
        &self,
        right: Result<bool, Failed>,
        change: bool,
        set: impl Future<Output = Result<(), Failed>>,
    ) -> Result<State, String> {
        let settled = match right {
            Ok(true) => Ok(State::Right),
            Ok(false) if !change => Ok(State::Wrong),
            Ok(false) => set.await.map(|()| State::Set),
            Err(failed) if failed.code.starts_with("NoSuch") && !change => Ok(State::Wrong),
            Err(failed) if failed.code.starts_with("NoSuch") => set.await.map(|()| State::Set),
            Err(failed) => Err(failed),
        };
        match settled {
            Err(failed) if failed.is_unknown() => Ok(State::Unknown(failed.text)),
            settled => settled.map_err(|failed| failed.explained(&self.bucket)),
        }
    }
}

/// The effects of a rule: on old versions, on unfinished uploads, on objects themselves.
fn acts(rule: &LifecycleRule) -> [bool; 3] {
    let expires =
        rule.expiration().is_some_and(|expiration| expiration.days().is_some() || expiration.date().is_some());
    [rule.noncurrent_version_expiration().is_some(), rule.abort_incomplete_multipart_upload().is_some(), expires]
}

fn prefix(rule: &LifecycleRule) -> &str {
    rule.filter().and_then(LifecycleRuleFilter::prefix).unwrap_or_default()
}

/// Whether `found`, which may be a foreign rule, has the effect of `wanted`.
fn serves(found: &LifecycleRule, wanted: &LifecycleRule) -> bool {
    let plain = |filter: &LifecycleRuleFilter| filter.tag().is_none() && filter.and().is_none();
    found.status() == &ExpirationStatus::Enabled
        && found.filter().is_none_or(plain)
        && prefix(wanted).starts_with(prefix(found))
        && acts(wanted).iter().zip(acts(found)).all(|(wanted, found)| found || !wanted)
        && (found.id() != wanted.id()
            || found.noncurrent_version_expiration() == wanted.noncurrent_version_expiration())
}

/// Whether `found` deletes objects of vaults, and `ours` does not explain it.
fn endangers(found: &LifecycleRule, ours: &LifecycleRule) -> bool {
    let meet = prefix(ours).starts_with(prefix(found)) || prefix(found).starts_with(prefix(ours));
    found.status() == &ExpirationStatus::Enabled && acts(found)[2] && !acts(ours)[2] && meet
}

impl Failed {
    /// A failure before anything was sent.
    fn unsent(error: impl Error) -> Self {
        Self { status: None, code: String::new(), text: error.to_string() }
    }

    /// Whether the store does not support the request.
    fn is_unknown(&self) -> bool {
        // A store may report an unsupported request as malformed.
        let codes = ["NotImplemented", "MethodNotAllowed", "UnsupportedOperation", "MalformedXML", "InvalidArgument"];
        codes.contains(&self.code.as_str()) || matches!(self.status, Some(405 | 501))
    }

    fn explained(&self, bucket: &Bucket) -> String {
        let Bucket { name, region, endpoint, .. } = bucket;
        let place = endpoint.as_ref().map_or_else(|| format!("region {region}"), Clone::clone);
        let remedy = match (self.status, self.code.as_str()) {
            (_, "BucketAlreadyExists") => "; the name belongs to somebody else: choose another",
            (Some(301 | 307), _)
            | (
                _,
                "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException" | "InvalidLocationConstraint",
            ) => "; check AWS_REGION",
            (Some(401 | 403), _) => "; check the credentials, and that they may administer the bucket",
            _ => "",
        };
        format!("s3://{name} in {place}: {}{remedy}", self.text)
    }
}

impl<E: ProvideErrorMetadata + Error + 'static> From<SdkError<E>> for Failed {
    fn from(error: SdkError<E>) -> Self {
        let status = error.raw_response().map(|response| response.status().as_u16());
        let code = error.code().unwrap_or_default().to_owned();
        let text = match (status, error.message()) {
            (Some(status), Some(message)) => format!("it answered {status} {code}: {message}"),
            (Some(status), None) => format!("it answered {status} {code}").trim_end().to_owned(),
            (None, _) => match std::iter::successors(error.source(), |error| (*error).source()).last() {
                Some(cause) => format!("no answer: {cause}"),
                None => error.to_string(),
            },
        };
        Self { status, code, text }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Right => f.write_str("yes"),
            Self::Set => f.write_str("yes, since now"),
            Self::Wrong => f.write_str("no"),
            Self::Unknown(text) => write!(f, "no, and the store cannot: {text}"),
        }
    }
}

#[cfg(test)]
mod tests;
