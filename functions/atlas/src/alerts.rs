//! Tells a person when syncs fail or conflicts wait for some time, and when it is well again: by a program or a webhook.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use atlas_outbound::{Client, HeaderMap, HeaderValue, Method, Origin, Policy, Reach, Request, Trust, Url, header};
use atlas_sync::{GitSummary, Summary, SyncError, runs};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::output;

/// How long a program or a webhook may take.
const MAX_TIME: Duration = Duration::from_secs(10);
/// How long after a failure somebody is told again.
const AGAIN: SignedDuration = SignedDuration::from_mins(10);
/// Most bytes of a webhook's answer.
const MAX_ANSWER: usize = 64 << 10;
/// How often a program is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Whom to tell, and when.
#[derive(Debug, Args)]
pub(crate) struct AlertRules {
    /// Tell when syncs have failed or conflicts have waited for a while, and when it is well again: a program, which gets the event as JSON, or the http(s) address of a webhook
    #[arg(long, value_name = "PROGRAM|URL", env = "ATLAS_ALERT", hide_env_values = true)]
    alert: Option<String>,
    /// Minutes of trouble before an alert
    #[arg(long, value_name = "MINUTES", default_value_t = 60, value_parser = clap::value_parser!(u32).range(0..=525_600))]
    alert_after: u32,
}

/// A trouble that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Trouble {
    since: Timestamp,
    told: bool,
}

/// The record of the troubles that last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Troubles {
    failing: Option<Trouble>,
    conflicts: Option<Trouble>,
    /// The beginning of the first trouble that was told, until its end is told too.
    told_since: Option<Timestamp>,
    /// The last failure to tell.
    untold: Option<Timestamp>,
}

/// How a sync ended, for alerts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ending {
    /// With so many conflicts that wait.
    Done(usize),
    Failed(String),
}

impl Ending {
    /// [`None`] if another process syncs, which tells itself.
    fn of(result: Result<&Summary, &(dyn Error + 'static)>) -> Option<Self> {
        Some(match result {
            Ok(Summary { git: Some(GitSummary { error: Some(error), .. }), .. }) => {
                Self::Failed(format!("git: {error}"))
            }
            Ok(summary) => Self::Done(summary.copies.len() + summary.conflicts.len()),
            Err(error) if matches!(error.downcast_ref(), Some(SyncError::Locked { .. })) => return None,
            Err(error) => Self::Failed(error.to_string()),
        })
    }
}

/// An event to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Event {
    name: &'static str,
    since: Timestamp,
    message: String,
}

/// A trouble after a sync at `now`, and whether it is to be told, if it is there and lasts for `after`.
fn lasting(before: Option<Trouble>, is_there: bool, now: Timestamp, after: SignedDuration) -> (Option<Trouble>, bool) {
    if !is_there {
        return (None, false);
    }
    let trouble = before.unwrap_or(Trouble { since: now, told: false });
    // A clock that was set back does not tell earlier.
    let is_due = !trouble.told && now.duration_since(trouble.since) >= after;
    (Some(Trouble { told: trouble.told || is_due, ..trouble }), is_due)
}

/// The troubles after a sync at `now`, and the event to tell. Conflicts are unknown while syncs fail.
fn next(before: &Troubles, ending: &Ending, now: Timestamp, after: SignedDuration) -> (Troubles, Option<Event>) {
    let (failing, name, message) = match ending {
        Ending::Failed(reason) => (true, "failing", format!("syncs fail: {reason}")),
        Ending::Done(0) => {
            let message = "the vault is in sync again".to_owned();
            let event = before.told_since.map(|since| Event { name: "well", since, message });
            return (Troubles::default(), event);
        }
        Ending::Done(1) => (false, "conflicts", "a conflict waits for you: `atlas resolve` goes through it".to_owned()),
        Ending::Done(count) => {
            let message = format!("{count} conflicts wait for you: `atlas resolve` goes through them");
            (false, "conflicts", message)
        }
    };
    let (failing, is_failing_due) = lasting(before.failing, failing, now, after);
    // While syncs fail, conflicts neither come nor go.
    let (conflicts, is_conflict_due) = match failing {
        Some(_) => (before.conflicts, false),
        None => lasting(before.conflicts, true, now, after),
    };
    let due = if is_failing_due { failing } else { conflicts.filter(|_| is_conflict_due) };
    let told_since = before.told_since.or(due.map(|trouble| trouble.since));
    let event = due.map(|trouble| Event { name, since: trouble.since, message });
    (Troubles { failing, conflicts, told_since, untold: None }, event)
}

impl AlertRules {
    /// Whether somebody is to be told.
    pub(crate) const fn are_on(&self) -> bool {
        self.alert.is_some()
    }

    /// Looks at how a sync of `vault` ended, and tells what is to be told. The record is kept in the folder `state`.
    pub(crate) async fn look(
        &self,
        result: Result<&Summary, &(dyn Error + 'static)>,
        vault: &str,
        folder: &Path,
        state: &Path,
        now: Timestamp,
    ) {
        let (Some(to), Some(ending)) = (&self.alert, Ending::of(result)) else { return };
        let record = state.join("alert.json");
        let before: Troubles = runs::read(&record).unwrap_or_default();
        let after = SignedDuration::from_mins(i64::from(self.alert_after));
        let (mut troubles, event) = next(&before, &ending, now, after);
        if let Some(Event { name, since, message }) = event {
            if before.untold.is_some_and(|untold| now.duration_since(untold).abs() < AGAIN) {
                return;
            }
            let event = json!({
                "event": name, "vault": vault, "folder": folder.display().to_string(), "since": since, "time": now, "message": message,
            });
            if let Err(error) = tell(to, &event).await {
                output::note(format_args!("nobody could be told that {message}: {error}"));
                // Each trouble counts from its beginning, and is told when somebody can be.
                let untold = |trouble: Option<Trouble>, before: Option<Trouble>| {
                    trouble.map(|trouble| Trouble { told: before.is_some_and(|before| before.told), ..trouble })
                };
                troubles = match name {
                    "well" => before.clone(),
                    _ => Troubles {
                        failing: untold(troubles.failing, before.failing),
                        conflicts: untold(troubles.conflicts, before.conflicts),
                        told_since: before.told_since,
                        untold: None,
                    },
                };
                troubles.untold = Some(now);
            }
        }
        if troubles != before {
            runs::keep(&record, &troubles);
        }
    }
}

async fn tell(to: &str, event: &Value) -> Result<(), Box<dyn Error>> {
    if to.starts_with("http://") || to.starts_with("https://") {
        return post(to, event).await;
    }
    let (program, event) = (PathBuf::from(to), event.clone());
    tokio::task::spawn_blocking(move || run(&program, &event).map_err(|error| error.to_string())).await??;
    Ok(())
}

async fn post(to: &str, event: &Value) -> Result<(), Box<dyn Error>> {
    let url: Url = to.parse().map_err(|_| "write --alert as an address such as https://host/path")?;
    let origin = Origin::of(&url).ok_or("write --alert as an address such as https://host/path")?;
    let policy = Policy {
        reach: Reach::Origins(vec![origin]),
        trust: Trust::Machine,
        max_time: MAX_TIME,
        max_bytes: MAX_ANSWER,
    };
    let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let body = event.to_string().into();
    let answer = Client::new(policy).send(Request { method: Method::POST, url, headers, body, max_time: None }).await?;
    if answer.status.is_success() { Ok(()) } else { Err(format!("the webhook answered {}", answer.status).into()) }
}

/// Runs `program` with the event on its standard input, and in `ATLAS_ALERT_EVENT` and `ATLAS_ALERT_MESSAGE`.
fn run(program: &Path, event: &Value) -> Result<(), Box<dyn Error + Send + Sync>> {
    let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let mut child = Command::new(program)
        .env("ATLAS_ALERT_EVENT", text("event"))
        .env("ATLAS_ALERT_MESSAGE", text("message"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A program need not read it. An event fits into the pipe.
        let _ = input.write_all(event.to_string().as_bytes());
    }
    let status = wait(&mut child)?;
    if status { Ok(()) } else { Err(format!("{} failed", program.display()).into()) }
}

/// Whether it ended well; after [`MAX_TIME`] it is killed.
fn wait(child: &mut Child) -> Result<bool, Box<dyn Error + Send + Sync>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if begun.elapsed() > MAX_TIME {
            child.kill()?;
            child.wait()?;
            return Err(format!("it took more than {} s", MAX_TIME.as_secs()).into());
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + minute * 60).unwrap()
    }

    /// The names of the events that are told after syncs that end so, one a minute, if trouble is told after three.
    fn told(endings: &[Ending]) -> Vec<Option<&'static str>> {
        let mut troubles = Troubles::default();
        let step = |(minute, ending): (usize, &Ending)| {
            let (after, event) = next(&troubles, ending, at(minute as i64), SignedDuration::from_mins(3));
            troubles = after;
            event.map(|event| event.name)
        };
        endings.iter().enumerate().map(step).collect()
    }

    #[test]
    fn trouble_is_told_once_when_it_lasts_and_its_end_too() {
        let failed = || Ending::Failed("the store is gone".to_owned());
        let all = [failed(), failed(), failed(), failed(), failed(), Ending::Done(0), Ending::Done(0)];
        assert_eq!(told(&all), [None, None, None, Some("failing"), None, Some("well"), None]);
        // A trouble that ends in time is not told at all.
        assert_eq!(told(&[failed(), failed(), Ending::Done(0), failed(), failed()]), [None; 5]);
        // A conflict that waits hides no failure.
        let waits = || Ending::Done(1);
        let both =
            [waits(), waits(), waits(), waits(), failed(), failed(), failed(), failed(), waits(), Ending::Done(0)];
        let expected = [None, None, None, Some("conflicts"), None, None, None, Some("failing"), None, Some("well")];
        assert_eq!(told(&both), expected);
        // The end of a failure is told when the conflicts that followed are gone too.
        let after = [failed(), failed(), failed(), failed(), waits(), Ending::Done(0)];
        assert_eq!(told(&after), [None, None, None, Some("failing"), None, Some("well")]);
    }

    #[tokio::test]
    async fn a_program_gets_the_event_and_a_failing_one_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tell");
        let script = |text: &str| {
            fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        };
        let rules = AlertRules { alert: Some(program.display().to_string()), alert_after: 0 };
        let locked = SyncError::Locked { lock: "x".into() };
        rules.look(Err(&locked), "main", folder.path(), folder.path(), at(0)).await;
        let record = || runs::read::<Troubles>(&folder.path().join("alert.json")).unwrap_or_default();
        assert_eq!(record(), Troubles::default(), "another process syncs");
        let conflict = Summary { copies: vec!["a (conflict).md".to_owned()], ..Summary::default() };
        script("exit 1");
        rules.look(Ok(&conflict), "main", folder.path(), folder.path(), at(1)).await;
        assert!(record().conflicts.is_some_and(|trouble| !trouble.told), "nobody was told");
        script(&format!("cat > {0}/event; echo \"$ATLAS_ALERT_EVENT\" > {0}/name", folder.path().display()));
        rules.look(Ok(&conflict), "main", folder.path(), folder.path(), at(2)).await;
        assert!(!folder.path().join("event").exists(), "not at once again");
        rules.look(Ok(&conflict), "main", folder.path(), folder.path(), at(12)).await;
        let event: Value = serde_json::from_slice(&fs::read(folder.path().join("event")).unwrap()).unwrap();
        assert_eq!((&event["event"], &event["vault"]), (&json!("conflicts"), &json!("main")));
        assert_eq!(fs::read_to_string(folder.path().join("name")).unwrap(), "conflicts\n");
        rules.look(Ok(&Summary::default()), "main", folder.path(), folder.path(), at(13)).await;
        assert_eq!(fs::read_to_string(folder.path().join("name")).unwrap(), "well\n");
        assert_eq!(record(), Troubles::default());
    }
}
