//! Plans a run of a build, and builds its shards: on Lambda, or as a process.

use std::process::ExitCode;

use atlas_build::events::Settings;
use atlas_build::program;
use jiff::Timestamp;

#[tokio::main]
async fn main() -> ExitCode {
    let answer = async |settings: Settings, event| settings.build(event, Timestamp::now()).await;
    program::run(std::env::args().skip(1), std::env::vars(), answer).await
}
