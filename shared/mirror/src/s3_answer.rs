//! The meaning of an S3 store's answer for the caller: whether to try again, and if not, what to do.

use std::fmt;

use async_trait::async_trait;
use http_body_util::{BodyExt as _, Limited};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService};

use crate::error::FULL;
use crate::s3_client::S3Client;

/// Longest body of an error that is read, in bytes.
const MAX_BODY: usize = 64 << 10;
/// Longest message that is passed on, in characters.
const MAX_MESSAGE: usize = 300;
/// The address from which a machine of EC2 gets its credentials, if they have no other source.
const METADATA_HOST: &str = "169.254.169.254";

/// Passes requests on, and turns answers into errors unless callers of the store's interface handle them.
#[derive(Debug)]
pub(crate) struct Explaining(pub(crate) S3Client);

/// A store's error answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Whether trying again may help.
    pub(crate) passing: bool,
    text: String,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Answer {}

#[async_trait]
impl HttpService for Explaining {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let for_credentials = request.uri().host() == Some(METADATA_HOST);
        let listing = request.uri().query().is_some_and(|query| query.contains("list-type="));
        let of_object = !listing && matches!(request.method().as_str(), "GET" | "HEAD" | "DELETE");
        let answered = self.0.call(request).await;
        if for_credentials && !answered.as_ref().is_ok_and(|response| response.status().is_success()) {
            return Err(Answer::no_credentials().into());
        }
        let response = answered?;
        let status = response.status().as_u16();
        // Statuses that the interface handles: not modified, not found, conflict, exists already, range not
        // satisfiable.
        if response.status().is_success() || matches!(status, 304 | 409 | 412 | 416) {
            return Ok(response);
        }
        let header = response.headers().get("x-amz-bucket-region");
        let region = header.and_then(|region| region.to_str().ok()).map(str::to_owned);
        let (head, body) = response.into_parts();
        let body = Limited::new(body, MAX_BODY).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let error = S3Error::read(&String::from_utf8_lossy(&body));
        // If anything but an object is missing, it is the bucket.
        if status == 404 && of_object && error.code != "NoSuchBucket" {
            return Ok(HttpResponse::from_parts(head, body.into()));
        }
        Err(error.explained(status, region.as_deref()).into())
    }
}

impl From<Answer> for HttpError {
    fn from(answer: Answer) -> Self {
        let kind = if answer.passing { HttpErrorKind::Interrupted } else { HttpErrorKind::Unknown };
        Self::new(kind, answer)
    }
}

impl Answer {
    fn no_credentials() -> Self {
        let text = "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (for a profile: \
                    `aws configure export-credentials --format env`), or run where a role gives them";
        // The machine may have a role and be slow to provide it.
        Self { passing: true, text: text.to_owned() }
    }
}

/// The body of an S3 error.
#[derive(Debug, Default, PartialEq, Eq)]
struct S3Error {
    code: String,
    message: String,
    region: Option<String>,
}

impl S3Error {
    fn read(body: &str) -> Self {
        let field = |name: &str| {
            let (_, rest) = body.split_once(&format!("<{name}>"))?;
            let (value, _) = rest.split_once("</")?;
            Some(value.chars().filter(|c| !c.is_control()).take(MAX_MESSAGE).collect::<String>())
        };
        Self {
            code: field("Code").unwrap_or_default(),
            message: field("Message").unwrap_or_default(),
            region: field("Region"),
        }
    }

    fn explained(&self, status: u16, region: Option<&str>) -> Answer {
        let code = self.code.as_str();
        let is_full = status == 507
            || matches!(code, "QuotaExceeded" | "XMinioStorageFull" | "XMinioAdminBucketQuotaExceeded" | "StorageFull");
        let passing = match status {
            _ if is_full => false,
            400 => matches!(code, "RequestTimeout" | "IncompleteBody" | "BadDigest"),
            408 | 429 => true,
            501 => false,
            _ => status >= 500,
        };
        let is_region =
            matches!(code, "AuthorizationHeaderMalformed" | "PermanentRedirect" | "IllegalLocationConstraintException");
        let remedy = match (code, region.or(self.region.as_deref())) {
            _ if passing => String::new(),
            _ if is_full => FULL.to_owned(),
            (_, Some(region)) if is_region || matches!(status, 301 | 307 | 400) => {
                format!("the bucket is in another region: set AWS_REGION={region}")
            }
            _ if is_region || matches!(status, 300..400) => "check AWS_REGION and AWS_ENDPOINT_URL".to_owned(),
            _ if status == 404 => "check the bucket's name and the endpoint, or make it with `atlas init`".to_owned(),
            ("RequestTimeTooSkewed", _) => "set this machine's clock".to_owned(),
            ("ExpiredToken", _) => "get new credentials".to_owned(),
            ("InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken" | "InvalidClientTokenId", _) => {
                "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN".to_owned()
            }
            _ if matches!(status, 401 | 403) => {
                "check the credentials, and that they may list, read and, for a writer, write here".to_owned()
            }
            _ => String::new(),
        };
        let mut text = format!("it answered {status}");
        for (separator, part) in [(" ", code), (": ", self.message.trim_end_matches('.')), ("; ", &remedy)] {
            if !part.is_empty() {
                text = format!("{text}{separator}{part}");
            }
        }
        Answer { passing, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(status: u16, body: &str, region: Option<&str>) -> (bool, String) {
        let answer = S3Error::read(body).explained(status, region);
        (answer.passing, answer.to_string())
    }

    fn body(code: &str, message: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message><RequestId>1</RequestId></Error>"
        )
    }

    #[test]
    fn a_refusal_is_one_sentence_that_says_what_to_do() {
        for (status, code, region, says) in [
            (403, "InvalidAccessKeyId", None, "check AWS_ACCESS_KEY_ID"),
            (403, "SignatureDoesNotMatch", None, "check AWS_ACCESS_KEY_ID"),
            (403, "RequestTimeTooSkewed", None, "set this machine's clock"),
            (403, "AccessDenied", None, "may list, read"),
            (400, "ExpiredToken", None, "get new credentials"),
            (404, "NoSuchBucket", None, "check the bucket's name"),
            (404, "", None, "and the endpoint"),
            (301, "PermanentRedirect", Some("eu-west-1"), "set AWS_REGION=eu-west-1"),
            (301, "", Some("eu-west-1"), "set AWS_REGION=eu-west-1"),
            (301, "", None, "check AWS_REGION"),
            (507, "XMinioStorageFull", None, "the store is full: free space"),
            (507, "", None, "the store is full: free space"),
            (403, "QuotaExceeded", None, "the store is full: free space"),
            (501, "NotImplemented", None, "it answered 501 NotImplemented"),
        ] {
            let (passing, text) = explained(status, &body(code, "Because."), region);
            assert!(!passing && text.contains(says) && !text.contains('\n'), "{status} {code}: {text}");
        }
        let malformed = "<Error><Code>AuthorizationHeaderMalformed</Code><Message>wrong</Message><Region>eu-west-1</Region></Error>";
        let text = "it answered 400 AuthorizationHeaderMalformed: wrong; the bucket is in another region: set AWS_REGION=eu-west-1";
        assert_eq!(explained(400, malformed, None), (false, text.to_owned()));
    }

    #[test]
    fn what_may_pass_is_told_from_what_will_not() {
        for (status, code) in [(503, "SlowDown"), (500, ""), (429, ""), (400, "RequestTimeout"), (408, "")] {
            assert!(explained(status, &body(code, ""), None).0, "{status}");
        }
        for (status, code) in [(400, "InvalidArgument"), (405, ""), (403, "")] {
            assert!(!explained(status, &body(code, ""), None).0, "{status}");
        }
    }

    #[test]
    fn what_is_no_s3_error_has_its_status() {
        for other in ["", "<html>nginx</html>", "<Code>", "<Code></Code>", "{\"Code\": 1}"] {
            assert_eq!(explained(503, other, None), (true, "it answered 503".to_owned()), "{other}");
        }
        let long = body("X", &"é\n".repeat(10_000));
        assert!(explained(500, &long, None).1.chars().count() < 400);
    }
}
