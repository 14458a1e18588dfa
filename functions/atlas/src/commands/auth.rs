//! `atlas auth`

use std::path::{Path, PathBuf};

use atlas_access::Authority;
use atlas_access::authority::{AuthorityDocument, KeyDocument};
use atlas_mirror::Id;
use atlas_oauth::grant::{self, Listed};
use atlas_oauth::person::code_app_address;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;

use crate::authority_file;
use crate::commands::Outcome;
use crate::output;
use crate::serving;
use crate::vault_location::LocationArguments;

/// Most keys of the file: the one that signs, and the one before it.
const KEPT: usize = 2;

/// Arguments of `atlas auth`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: AuthCommand,
}

/// The file with the secrets.
#[derive(Debug, Args)]
struct FileArgument {
    /// The file with the server's secrets
    #[arg(long, env = "ATLAS_OAUTH_KEYS_FILE", value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Subcommand)]
enum AuthCommand {
    /// Make keys, and set the passphrase that you sign in with
    Init {
        #[command(flatten)]
        place: FileArgument,
        /// Your name, as shown in the vault's log
        #[arg(long, value_name = "NAME", default_value = "owner")]
        person: String,
        /// Make a passphrase and print it, instead of reading one
        #[arg(long)]
        generate: bool,
        /// Sign in by the passphrase alone, without a code of an app
        #[arg(long)]
        without_codes: bool,
        /// Sign in through the OpenID provider of the configuration alone
        #[arg(long, conflicts_with = "generate")]
        without_passphrase: bool,
        /// Do nothing if the file is there
        #[arg(long)]
        if_missing: bool,
    },
    /// Set another passphrase
    Passphrase {
        #[command(flatten)]
        place: FileArgument,
        /// Make one and print it, instead of reading one
        #[arg(long)]
        generate: bool,
    },
    /// Print the public keys, which functions without the secrets check tokens against
    Keys {
        #[command(flatten)]
        place: FileArgument,
    },
    /// Make a new key to sign with; the one before still checks tokens, until the next time
    Rotate {
        #[command(flatten)]
        place: FileArgument,
        /// Drop all keys and registrations, since somebody else may have the file
        #[arg(long)]
        stolen: bool,
    },
    /// List what clients were allowed
    Grants {
        #[command(flatten)]
        location: LocationArguments,
        /// Print them as a JSON array
        #[arg(long)]
        json: bool,
    },
    /// End what a client was allowed
    #[command(override_usage = "atlas auth revoke [OPTIONS] <ID|--all>")]
    Revoke {
        /// The grant's id, as `atlas auth grants` prints it
        #[arg(value_name = "ID", required_unless_present = "all")]
        id: Option<Id>,
        /// End all of them
        #[arg(long, conflicts_with = "id")]
        all: bool,
        #[command(flatten)]
        location: LocationArguments,
    },
}

/// Runs `atlas auth`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    match arguments.what {
        AuthCommand::Init { place, person, generate, without_codes, without_passphrase, if_missing } => {
            if place.file.exists() && if_missing {
                return Ok(());
            }
            let passphrase = || authority_file::passphrase(generate);
            let codes = !without_codes && !without_passphrase;
            init(&place.file, person, (!without_passphrase).then_some(passphrase), codes)
        }
        AuthCommand::Passphrase { place, generate } => {
            let mut document = authority_file::read(&place.file)?;
            document.passphrase = Some(authority_file::passphrase(generate)?);
            authority_file::write(&place.file, &document)?;
            output::note("the passphrase is another one from the next start of the server on");
            Ok(())
        }
        AuthCommand::Keys { place } => {
            output::line(Authority::of(&authority_file::read(&place.file)?)?.public());
            Ok(())
        }
        AuthCommand::Rotate { place, stolen } => rotate(&place.file, stolen),
        AuthCommand::Grants { location, json } => {
            let mut all = Vec::new();
            for mirror in serving::states(&location.find(None, None)?).await? {
                all.append(&mut grant::grants(&mirror, Timestamp::now()).await?);
            }
            print(&all, json)
        }
        AuthCommand::Revoke { id, location, .. } => {
            let now = Timestamp::now();
            let mut count = 0;
            for mirror in serving::states(&location.find(None, None)?).await? {
                let all = grant::grants(&mirror, now).await?;
                let is_meant = |grant: &&Listed| id.map_or(!grant.is_ended, |id| grant.id == id);
                for grant in all.iter().filter(is_meant) {
                    grant::end(&mirror, grant.id, now).await?;
                    count += 1;
                }
            }
            if let (Some(id), 0) = (id, count) {
                return Err(format!("there is no grant {id}: `atlas auth grants` lists them").into());
            }
            output::line(format_args!("ended: {count}; tokens that were given already end within ten minutes"));
            Ok(())
        }
    }
}

fn init(
    file: &Path,
    person: String,
    passphrase: Option<impl FnOnce() -> Result<String, Box<dyn std::error::Error>>>,
    codes: bool,
) -> Outcome {
    if file.exists() {
        return Err(
            format!("{} is there: `atlas auth passphrase` or `atlas auth rotate` change it", file.display()).into()
        );
    }
    let passphrase = passphrase.map(|ask| ask()).transpose()?;
    let code_secret = codes.then(random).transpose()?;
    let document = AuthorityDocument {
        passphrase,
        totp: code_secret.as_ref().map(|secret| base64(secret)),
        secret: hexadecimal(&random()?),
        keys: vec![KeyDocument::make(Timestamp::now())?],
        person,
    };
    authority_file::write(file, &document)?;
    if let Some(secret) = code_secret {
        output::line(format_args!(
            "For your app of one-time codes: {}",
            code_app_address(&secret, &document.person, "Atlas Mirror")
        ));
    }
    let shown = std::path::absolute(file)?;
    output::note(format_args!("{} has the secrets of the server: keep it as you keep passwords", shown.display()));
    output::line("Start the server with these:");
    output::line("  ATLAS_AUTH=jwt");
    output::line("  ATLAS_RESOURCE=https://the-name-that-clients-use");
    output::line(format_args!("  ATLAS_OAUTH_KEYS_FILE={}", shown.display()));
    Ok(())
}

fn rotate(file: &Path, stolen: bool) -> Outcome {
    let mut document = authority_file::read(file)?;
    if stolen {
        document.keys.clear();
        document.secret = hexadecimal(&random()?);
    }
    document.keys.insert(0, KeyDocument::make(Timestamp::now())?);
    document.keys.truncate(KEPT);
    authority_file::write(file, &document)?;
    if stolen {
        output::note("start the server again now: tokens and registrations from before are not valid any more");
        output::note(
            "then set another passphrase with `atlas auth passphrase`, and end all grants with `atlas auth revoke --all`",
        );
    } else {
        output::note("start the server again: it signs with the new key, and takes what the one before signed");
    }
    Ok(())
}

fn print(grants: &[Listed], as_json: bool) -> Outcome {
    if as_json {
        let row = |listed: &Listed| json!({ "ended": listed.is_ended, "grant": listed.grant, "id": listed.id });
        return output::json(&grants.iter().map(row).collect::<Vec<_>>());
    }
    if grants.is_empty() {
        output::note("no client was allowed anything");
    }
    for Listed { id, grant, is_ended } in grants {
        let state = if *is_ended { "ended" } else { "active" };
        let folders = grant.folders.as_ref().map(|folders| format!(" in {}", folders.join(", "))).unwrap_or_default();
        output::line(format_args!(
            "{id}  {state:<6}  {}: {}{folders}, vault {}, until {:.0}",
            grant.client_place, grant.scope, grant.vault, grant.expires
        ));
    }
    Ok(())
}

/// 32 random bytes.
fn random() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let digits = format!("{}{}", Id::random()?, Id::random()?);
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2).unwrap_or_default(), 16).ok();
    Ok((0..digits.len()).step_by(2).filter_map(byte).collect())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
