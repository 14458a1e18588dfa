//! `atlas clients`

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;

use crate::clients::{Client, ClientList};
use crate::commands::Outcome;
use crate::output;
use crate::vault::FolderArguments;
use crate::vault_location::{VaultLocation, is_missing};

/// Arguments of `atlas clients`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: ClientsCommand,
}

#[derive(Debug, Subcommand)]
enum ClientsCommand {
    /// List the clients that have a token for this vault
    List {
        #[command(flatten)]
        folder: FolderArguments,
        /// Print them as a JSON array, without their tokens
        #[arg(long)]
        json: bool,
    },
    /// Print a client's token; a new one if there is no such client
    Add {
        /// The client's name, as shown in the vault's log
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        folder: FolderArguments,
    },
    /// Revoke a client's token
    Revoke {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        folder: FolderArguments,
    },
}

/// Runs `atlas clients`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let (ClientsCommand::List { folder, .. }
    | ClientsCommand::Add { folder, .. }
    | ClientsCommand::Revoke { folder, .. }) = &arguments.what;
    let location = folder.find(None, None)?;
    let list = ClientList::of(&location.state()?);
    match &arguments.what {
        ClientsCommand::List { json, .. } => {
            let clients = list.read()?;
            print(&clients, *json)?;
            // A vault that has some was there.
            if clients.is_empty() {
                tell_whether_published(&location, "").await;
            }
            Ok(())
        }
        ClientsCommand::Add { name, .. } => {
            let is_first = list.read()?.is_empty();
            output::line(list.add(name, Timestamp::now())?.token);
            // A client may be added before the first sync.
            if is_first {
                tell_whether_published(&location, "; until then the token opens nothing").await;
            }
            Ok(())
        }
        ClientsCommand::Revoke { name, .. } => {
            list.revoke(name)?;
            output::line(format_args!("{name}: its token is refused from now on"));
            Ok(())
        }
    }
}

/// Reports on standard error that the store does not have the vault, or does not say so.
async fn tell_whether_published(location: &VaultLocation, until: &str) {
    match location.looked_for().await {
        Ok(()) => {}
        Err(error) if is_missing(&*error) => output::note(format_args!("{error}{until}")),
        Err(error) => output::note(format_args!("it is unknown whether the store has this vault: {error}")),
    }
}

fn print(clients: &[Client], as_json: bool) -> Outcome {
    if as_json {
        let rows: Vec<_> = clients.iter().map(|client| json!({ "added": client.added, "name": client.name })).collect();
        return output::json(&rows);
    }
    if clients.is_empty() {
        output::note("no client has a token: `atlas clients add NAME` gives one");
    }
    clients.iter().for_each(|client| output::line(format_args!("{:.0}  {}", client.added, client.name)));
    Ok(())
}
