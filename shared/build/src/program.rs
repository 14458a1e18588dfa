//! Runs a function: on Lambda, or as a process that answers one event and ends.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::error::BuildError;
use crate::events::Settings;

/// A variable that Lambda sets, and `cargo lambda watch` too.
const RUNTIME: &str = "AWS_LAMBDA_RUNTIME_API";
/// Most bytes of an event.
const MAX_EVENT: u64 = 6 << 20;

/// Answers events with `answer`. On Lambda until the runtime ends the process; elsewhere the one event in the file that the first of
/// `arguments` names, or in that argument itself if it begins with `{`; the answer goes to standard output.
///
/// It fails, and says why on standard error, when a setting is invalid, the event cannot be read, or, of a single event, when `answer` does.
pub async fn run<E, A, F>(
    arguments: impl IntoIterator<Item = String>,
    variables: impl IntoIterator<Item = (String, String)>,
    answer: impl Fn(Settings, E) -> F,
) -> ExitCode
where
    E: DeserializeOwned,
    A: Serialize,
    F: Future<Output = Result<A, BuildError>>,
{
    match try_run(arguments, variables, answer).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, nobody reads the line.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn try_run<E, A, F>(
    arguments: impl IntoIterator<Item = String>,
    variables: impl IntoIterator<Item = (String, String)>,
    answer: impl Fn(Settings, E) -> F,
) -> Result<(), Error>
where
    E: DeserializeOwned,
    A: Serialize,
    F: Future<Output = Result<A, BuildError>>,
{
    let variables: Vec<(String, String)> = variables.into_iter().collect();
    let on_lambda = variables.iter().any(|(name, _)| name == RUNTIME);
    let settings = Settings::read(variables)?;
    log(&settings.log, on_lambda);
    if on_lambda {
        let service = service_fn(|event: LambdaEvent<E>| {
            let answered = answer(settings.clone(), event.payload);
            async { Ok::<_, Error>(answered.await?) }
        });
        return lambda_runtime::run(service).await;
    }
    let event = arguments.into_iter().next().ok_or("name the file with the event, or write the event itself")?;
    let event = if event.trim_start().starts_with('{') { event } else { read(&event)? };
    let event = serde_json::from_str(&event).map_err(|error| format!("the event cannot be read: {error}"))?;
    let answer = serde_json::to_string(&answer(settings, event).await?)?;
    writeln!(io::stdout(), "{answer}")?;
    Ok(())
}

fn read(path: &str) -> Result<String, Error> {
    let failed = |reason: &dyn std::fmt::Display| format!("the event in {path} cannot be read: {reason}");
    let bytes = fs::metadata(path).map_err(|error| failed(&error))?.len();
    if bytes > MAX_EVENT {
        return Err(failed(&format!("it has {bytes} bytes, and {MAX_EVENT} at most are read")).into());
    }
    Ok(fs::read_to_string(path).map_err(|error| failed(&error))?)
}

/// Logs to standard error: as JSON for machines, as text for people.
fn log(filter: &str, json: bool) {
    let filter: Targets = filter.parse().unwrap_or_else(|_| Targets::new().with_default(tracing::Level::INFO));
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    let layer = if json { layer.json().without_time().boxed() } else { layer.boxed() };
    // A second start, in tests, changes nothing.
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
}
