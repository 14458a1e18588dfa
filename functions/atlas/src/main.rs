//! `atlas`, the host program: one file for each command in [`commands`], wired to the library crates here.

mod alerts;
mod announce;
mod app_requests;
mod authority_file;
mod bar;
#[cfg(feature = "init")]
mod bucket;
mod chosen_model;
mod client_configuration;
mod clients;
#[cfg(feature = "code")]
mod code;
mod color;
mod commands;
mod compared;
mod examples;
mod features;
mod git;
mod kept;
mod local;
mod newcomer;
mod output;
mod page;
#[cfg(feature = "pdf")]
mod pdf;
#[cfg(feature = "pictures")]
mod pictures;
mod rclone;
mod relinking;
mod remembered;
mod report;
mod repository;
mod runner;
mod serving;
mod signals;
mod store;
mod user_folders;
mod vault;
mod vault_location;
mod waiting;
mod watch;

use std::process::ExitCode;

use atlas_web::Settings;
use clap::{ArgAction, Parser};

use crate::commands::Command;
use crate::output::{Ended, Verbosity};

/// Mirrors a folder of notes in an object store, both ways, and serves it from there.
#[derive(Debug, Parser)]
#[command(name = "atlas", version, arg_required_else_help = true, max_term_width = 100, after_help = STATUSES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print results and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Name the files that changed, and log what the command does; -vv logs more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
}

/// How every command ends.
const STATUSES: &str = "Exit status: 0 done; 1 failed, or nothing found; 2 written wrong; 3 done, and something waits for a sync or for you, or is in conflict.";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    output::set_verbosity(match (arguments.quiet, arguments.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, 0) => Verbosity::Normal,
        (false, 1) => Verbosity::Verbose,
        (false, _) => Verbosity::Debug,
    });
    let names: Vec<String> = store::variables().map(|(name, _)| name).collect();
    if let Err(error) = Settings::check_names(names.iter().map(String::as_str)) {
        output::error(&error);
        return ExitCode::FAILURE;
    }
    match arguments.command.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref::<Ended>() {
            Some(ended) => ExitCode::from(ended.status()),
            None => {
                output::error(&*error);
                ExitCode::FAILURE
            }
        },
    }
}
