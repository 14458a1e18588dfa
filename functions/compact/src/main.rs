//! Compacts the vaults that messages name: on Lambda, or as a process.

use std::process::ExitCode;

use atlas_build::events::Settings;
use atlas_build::program;
use jiff::Timestamp;

#[tokio::main]
async fn main() -> ExitCode {
    let answer = async |settings: Settings, event| Ok(settings.compact(event, Timestamp::now()).await);
    program::run(std::env::args().skip(1), std::env::vars(), answer).await
}
