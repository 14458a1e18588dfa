//! The commands of the host program.

mod export;
mod log;
mod serve;
mod sync;

use std::error::Error;

use clap::Subcommand;

/// What a command ends with. An error is one sentence for the one who typed the command.
pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Publish what changed in a vault folder
    Sync(sync::Arguments),
    /// Serve all functions over HTTP from this process
    Serve(serve::Arguments),
    /// Write a published vault into a folder, byte for byte
    Export(export::Arguments),
    /// List the generations of a vault, the newest first
    Log(log::Arguments),
}

impl Command {
    /// Runs it.
    pub(crate) async fn run(self) -> Outcome {
        match self {
            Self::Sync(arguments) => sync::run(arguments).await,
            Self::Serve(arguments) => serve::run(arguments).await,
            Self::Export(arguments) => export::run(arguments).await,
            Self::Log(arguments) => log::run(arguments).await,
        }
    }
}
