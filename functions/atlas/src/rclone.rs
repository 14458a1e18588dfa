//! The remote control of an rclone mount: refreshes the mount's cached folders, so that a scan sees remote changes.

use std::error::Error;
use std::time::Duration;

use atlas_mirror::secrets::masked;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Url};
use rustls::crypto::ring;
use serde_json::Value;

/// The call that refreshes all folders.
const REFRESH: &str = "vfs/refresh";
/// Time limits for connecting, and for refreshing the folders of a large remote.
const CONNECT_TIME: Duration = Duration::from_secs(5);
const REFRESH_TIME: Duration = Duration::from_secs(5 * 60);
/// Most bytes of an answer that are read, and most characters of an error that are shown.
const MAX_ANSWER_BYTES: usize = 64 << 10;
const MAX_REASON: usize = 300;
/// The path of the root in answers.
const ROOT: &str = "/result/";

/// An rclone with remote control.
pub(crate) struct RemoteControl {
    client: Client,
    refresh: Url,
    /// Its address without secrets.
    shown: String,
}

impl RemoteControl {
    /// The rclone at `url`, which may contain a name and a password, and parameters such as `fs` for one of several
    /// mounts.
    pub(crate) fn at(url: &str) -> Result<Self, Box<dyn Error>> {
        // Without a scheme, it is unknown which part is secret.
        let shown = if url.contains('@') && !url.contains("://") { "…".to_owned() } else { masked(url).into_owned() };
        let unusable =
            || format!("{shown:?} is not the address of rclone's remote control: write http://127.0.0.1:5572");
        let mut refresh = Url::parse(url).map_err(|_| unusable())?;
        if !matches!(refresh.scheme(), "http" | "https") || refresh.host_str().is_none_or(str::is_empty) {
            return Err(unusable().into());
        }
        let path = format!("{}/{REFRESH}", refresh.path().trim_end_matches('/'));
        refresh.set_path(&path);
        refresh.query_pairs_mut().append_pair("recursive", "true");
        // An error only means that one is installed already.
        let _: Result<(), _> = ring::default_provider().install_default();
        let client = Client::builder().connect_timeout(CONNECT_TIME).timeout(REFRESH_TIME).build()?;
        Ok(Self { client, refresh, shown })
    }

    /// Refreshes the folders. A failure is reported and stops nothing: the mount refreshes them by itself later.
    pub(crate) async fn refresh(&self) {
        if let Err(reason) = self.try_refresh().await {
            tracing::warn!(
                rclone = self.shown,
                reason,
                "rclone did not read its folders again: what changed on the far side may be seen later only"
            );
        }
    }

    async fn try_refresh(&self) -> Result<(), String> {
        let failed = |error: reqwest::Error| {
            let error = error.without_url();
            error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
        };
        let request = self.client.post(self.refresh.clone()).header(CONTENT_TYPE, "application/json").body("{}");
        let mut answer = request.send().await.map_err(failed)?;
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(failed)? {
            if bytes.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(format!("it answered with more than {MAX_ANSWER_BYTES} bytes"));
            }
            bytes.extend_from_slice(&chunk);
        }
        let told: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        outcome(answer.status().as_u16(), &told)
    }
}

/// The meaning of an answer: rclone reports success for the root.
fn outcome(status: u16, told: &Value) -> Result<(), String> {
    let cut = |reason: &str| reason.chars().take(MAX_REASON).collect::<String>();
    match (status, told.pointer(ROOT).and_then(Value::as_str)) {
        (200, Some("OK")) => Ok(()),
        (200, Some(reason)) => Err(cut(reason)),
        (401, _) => Err("it wants a name and a password: write http://NAME:PASSWORD@HOST:PORT".to_owned()),
        _ => match told.get("error").and_then(Value::as_str) {
            Some(reason) => Err(cut(reason)),
            None => Err(format!("it answered {status}, as rclone's remote control does not")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_address_keeps_its_parameters_and_what_is_secret_is_not_shown() {
        let rclone = RemoteControl::at("http://me:secret@127.0.0.1:5572/rc/?fs=drive:").unwrap();
        assert_eq!(rclone.refresh.path(), "/rc/vfs/refresh");
        assert_eq!(rclone.refresh.query(), Some("fs=drive:&recursive=true"));
        assert!(rclone.shown.contains("127.0.0.1:5572") && !rclone.shown.contains("secret"), "{}", rclone.shown);
        for url in ["", "drive:", "127.0.0.1:5572", "ftp://me:secret@host", "http://me:secret@", "me:secret@host:5572"]
        {
            let said = RemoteControl::at(url).err().unwrap().to_string();
            assert!(said.contains("write http://127.0.0.1:5572") && !said.contains("secret"), "{said}");
        }
    }

    #[test]
    fn an_answer_says_whether_the_folders_were_read() {
        assert_eq!(outcome(200, &json!({ "result": { "": "OK" } })), Ok(()));
        let failed = |status, told| outcome(status, &told).unwrap_err();
        assert_eq!(failed(200, json!({ "result": { "": "file does not exist" } })), "file does not exist");
        assert_eq!(failed(500, json!({ "error": "no VFS active" })), "no VFS active");
        assert!(failed(401, Value::Null).contains("NAME:PASSWORD"));
        assert!(failed(200, Value::Null).contains("answered 200"));
    }
}
