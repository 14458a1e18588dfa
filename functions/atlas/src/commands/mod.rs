//! The commands of the host program.

mod approvals;
mod approve;
mod auth;
mod clients;
mod completions;
mod config;
mod connect;
mod diff;
mod doctor;
mod export;
#[cfg(feature = "init")]
mod init;
mod log;
mod mcp;
mod model;
mod pack;
mod purge;
mod read;
mod refuse;
mod resolve;
mod restore;
mod search;
mod serve;
mod status;
mod sync;
mod table;
mod token;
mod ui;
mod undo;
mod up;
mod where_is;

use std::error::Error;

use clap::Subcommand;

/// The outcome of a command. An error is one sentence for the person who typed the command.
pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Sync a folder of notes and serve it on this machine, until Ctrl-C
    Up(up::Arguments),
    /// Sync a vault folder with its mirror, both ways
    Sync(sync::Arguments),
    /// Show the changes that wait to be synced, and the result of the last sync
    Status(status::Arguments),
    /// Serve all functions over HTTP from this process
    Serve(serve::Arguments),
    /// Speak MCP on standard input and output, for the agent that starts this process
    Mcp(mcp::Arguments),
    /// Write the code that a task needs into pack.json, in a folder of code
    Pack(pack::Arguments),
    /// Write a configuration of Ralphy, in a folder of code
    RalphyInit(pack::Folder),
    /// Print the configuration of an MCP client for your notes, or write it into the client's file
    Connect(connect::Arguments),
    /// Search the vault: by words, by a regular expression, or for a literal text
    Search(search::Arguments),
    /// Print the rows of a query over notes, as a table, CSV or JSON Lines
    Table(table::Arguments),
    /// Print a note
    Read(read::Arguments),
    /// Show what the next sync would change on either side, as a unified diff
    Diff(diff::Arguments),
    /// Go through the conflict copies in the folder: keep yours, the other, or both
    Resolve(resolve::Arguments),
    /// Write a published vault into a folder, byte for byte
    Export(export::Arguments),
    /// Restore an earlier text of a note in the mirror, or take it out of the trash
    Restore(restore::Arguments),
    /// Undo one commit, or all commits of a caller
    Undo(undo::Arguments),
    /// Erase every version of a file from the mirror, for example of a secret that was synced
    Purge(purge::Arguments),
    /// List the generations of a vault, the newest first
    Log(log::Arguments),
    /// Show where a vault's folder, store and sync state are, and why
    Where(where_is::Arguments),
    /// List the clients that may write through `atlas up`, add one, or revoke one's token
    Clients(clients::Arguments),
    /// Set up signing in by OAuth, and list or revoke what clients were allowed
    Auth(auth::Arguments),
    /// Add, list or remove the model by which notes are found by meaning
    Model(model::Arguments),
    /// Make a token for trials
    Token(token::Arguments),
    /// Show the agents' calls that wait for you, with the changes of each, and decide on them
    Approvals(approvals::Arguments),
    /// Print a link to the page where you see what agents do, and decide on their calls
    Ui(ui::Arguments),
    /// Approve a call that may destroy a person's text
    Approve(approve::Arguments),
    /// Refuse a call that waits for you, or take its approval back
    Refuse(refuse::Arguments),
    /// Show the settings, or check them
    Config(config::Arguments),
    /// Create a bucket for mirrors, or check an existing one
    #[cfg(feature = "init")]
    Init(init::Arguments),
    /// Look for problems with the settings, the store and the mirror
    Doctor(doctor::Arguments),
    /// Print a script that completes commands in your shell
    Completions(completions::Arguments),
    /// Read a PDF on standard input, and write its text
    #[cfg(feature = "pdf")]
    #[command(name = crate::pdf::COMMAND, hide = true)]
    ReadPdf,
    /// Read source code on standard input, and write its symbols
    #[cfg(feature = "code")]
    #[command(name = crate::code::COMMAND, hide = true)]
    ReadCode,
    /// Write pages for `man` into a folder
    Manual(completions::ManualArguments),
}

impl Command {
    /// Runs the command.
    pub(crate) async fn run(self) -> Outcome {
        match self {
            Self::Up(arguments) => up::run(arguments).await,
            Self::Where(arguments) => where_is::run(arguments),
            Self::Clients(arguments) => clients::run(arguments).await,
            Self::Sync(arguments) => sync::run(arguments).await,
            Self::Status(arguments) => status::run(arguments).await,
            Self::Serve(arguments) => serve::run(arguments).await,
            Self::Model(arguments) => model::run(arguments).await,
            Self::Mcp(arguments) => mcp::run(arguments).await,
            Self::Pack(arguments) => pack::run(arguments).await,
            Self::RalphyInit(folder) => pack::init_ralphy(folder),
            Self::Connect(arguments) => connect::run(arguments).await,
            Self::Search(arguments) => search::run(arguments).await,
            Self::Table(arguments) => table::run(arguments).await,
            Self::Read(arguments) => read::run(arguments).await,
            Self::Diff(arguments) => diff::run(arguments).await,
            Self::Completions(arguments) => completions::run(&arguments),
            Self::Manual(arguments) => completions::write_manual(&arguments),
            #[cfg(feature = "pdf")]
            Self::ReadPdf => crate::pdf::run(),
            #[cfg(feature = "code")]
            Self::ReadCode => crate::code::run(),
            Self::Undo(arguments) => undo::run(arguments).await,
            Self::Resolve(arguments) => resolve::run(arguments).await,
            Self::Purge(arguments) => purge::run(arguments).await,
            Self::Export(arguments) => export::run(arguments).await,
            Self::Restore(arguments) => restore::run(arguments).await,
            Self::Log(arguments) => log::run(arguments).await,
            Self::Auth(arguments) => auth::run(arguments).await,
            Self::Token(arguments) => token::run(arguments),
            Self::Ui(arguments) => ui::run(arguments).await,
            Self::Approvals(arguments) => approvals::run(arguments).await,
            Self::Approve(arguments) => approve::run(arguments).await,
            Self::Refuse(arguments) => refuse::run(arguments).await,
            Self::Config(arguments) => config::run(arguments).await,
            #[cfg(feature = "init")]
            Self::Init(arguments) => init::run(arguments).await,
            Self::Doctor(arguments) => doctor::run(arguments).await,
        }
    }
}
