//! The clients of a vault that `atlas up` serves on this machine. Each has its own token, so that commits show who made
//! them, and one client can be revoked. They are stored in one file beside the sync state, which only its owner may
//! read.

use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use atlas_access::{Caller, Scope, scope};
use atlas_mirror::{Hash, Id};
use atlas_web::Clients;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::remembered;

/// The prefix of a token, by which people and secret scanners recognise it.
pub(crate) const PREFIX: &str = "atlas_";
/// The scopes of a client, besides those for the Obsidian app where it is configured. A person confirms calls that destroy a note, and commands
/// that the configuration does not call safe.
const SCOPES: [Scope; 4] = [Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault, Scope::BulkVault];
const MAX_CLIENTS: usize = 1000;
const MAX_NAME: usize = 64;
/// Most bytes of the file.
const MAX_BYTES: u64 = 1 << 20;

/// A client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Client {
    /// Its name, as shown in commits.
    pub(crate) name: String,
    /// Its token.
    pub(crate) token: String,
    /// When it was added.
    pub(crate) added: Timestamp,
}

/// Callers by the hashes of their tokens.
type Callers = HashMap<Hash, Caller>;

/// The clients of one vault.
#[derive(Clone, Debug)]
pub(crate) struct ClientList {
    path: PathBuf,
}

impl ClientList {
    /// The clients stored in the folder `state`.
    pub(crate) fn of(state: &Path) -> Self {
        Self { path: state.join("clients.json") }
    }

    /// All clients, by name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn read(&self) -> Result<Vec<Client>, Box<dyn Error>> {
        let unusable =
            |why: &dyn Error| format!("{} cannot be used: {why}; delete it to begin anew", self.path.display());
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unusable(&error).into()),
            Ok(found) if found.len() > MAX_BYTES => {
                return Err(unusable(&*Box::<dyn Error>::from("it is too large")).into());
            }
            Ok(_) => {}
        }
        let bytes = fs::read(&self.path).map_err(|error| unusable(&error))?;
        Ok(serde_json::from_slice(&bytes).map_err(|error| unusable(&error))?)
    }

    /// The client with this name, which is added if it does not exist.
    ///
    /// # Errors
    /// When the name is invalid, or the file cannot be written.
    pub(crate) fn add(&self, name: &str, now: Timestamp) -> Result<Client, Box<dyn Error>> {
        let is_plain = |one: u8| one.is_ascii_alphanumeric() || b"._-".contains(&one);
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_plain) {
            return Err(format!(
                "{name:?} is not a valid name of a client: write letters, digits, `.`, `_`, `-`, at most {MAX_NAME}"
            )
            .into());
        }
        let _lock = self.lock()?;
        let mut clients = self.read()?;
        if let Some(client) = clients.iter().find(|client| client.name == name) {
            return Ok(client.clone());
        }
        if clients.len() >= MAX_CLIENTS {
            return Err(format!("there are {MAX_CLIENTS} clients: revoke one first").into());
        }
        let client = Client { name: name.to_owned(), token: format!("{PREFIX}{}", Id::random()?), added: now };
        clients.push(client.clone());
        clients.sort_by(|one, other| one.name.cmp(&other.name));
        remembered::write(&self.path, &serde_json::to_vec_pretty(&clients)?)?;
        Ok(client)
    }

    /// Revokes the token of the client with this name. A running server refuses it from its next request on.
    ///
    /// # Errors
    /// When there is no such client, or the file cannot be written.
    pub(crate) fn revoke(&self, name: &str) -> Result<(), Box<dyn Error>> {
        let _lock = self.lock()?;
        let mut clients = self.read()?;
        let before = clients.len();
        clients.retain(|client| client.name != name);
        if clients.len() == before {
            return Err(format!("there is no client {name}: `atlas clients list` lists the clients").into());
        }
        Ok(remembered::write(&self.path, &serde_json::to_vec_pretty(&clients)?)?)
    }

    /// Finds the client of a token, in the file as it is at the time of each request.
    pub(crate) fn by_token(&self) -> Clients {
        let list = self.clone();
        let known: Mutex<Option<(Stamp, Arc<Callers>)>> = Mutex::default();
        let named = self.clone();
        let names = move || {
            let clients = named.read().unwrap_or_default();
            clients.into_iter().map(|client| (client.name, client.added)).collect()
        };
        let client_of = move |token: &str| {
            let stamp = Stamp::of(&fs::metadata(&list.path).ok()?);
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let callers = match &*known {
                Some((seen, callers)) if *seen == stamp => callers.clone(),
                _ => known.insert((stamp, Arc::new(list.callers()?))).1.clone(),
            };
            callers.get(&Hash::of(token.as_bytes())).cloned()
        };
        Clients::new(client_of, names)
    }

    fn callers(&self) -> Option<Callers> {
        let clients = self.read().inspect_err(|error| tracing::warn!(%error, "no client is known")).ok()?;
        let caller =
            |client: &Client| Caller::of_scopes(&client.name, SCOPES.into_iter().chain(scope::EXECUTE).collect());
        Some(clients.iter().map(|client| (Hash::of(client.token.as_bytes()), caller(client))).collect())
    }

    /// Keeps other processes from changing the file until the returned value is dropped.
    fn lock(&self) -> std::io::Result<File> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let lock = File::options().create(true).append(true).open(self.path.with_extension("lock"))?;
        lock.lock()?;
        Ok(lock)
    }
}

/// The identity of a version of the file: it is replaced as a whole, so that each has another inode.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self { inode: found.ino(), bytes: found.len(), modified: (found.mtime(), found.mtime_nsec()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_known_by_its_token_until_that_is_revoked() {
        let state = tempfile::tempdir().unwrap();
        let list = ClientList::of(state.path());
        let clients = list.by_token();
        assert!(clients.client_of("atlas_x").is_none());
        let claude = list.add("claude", Timestamp::UNIX_EPOCH).unwrap();
        let other = list.add("other", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(list.add("claude", Timestamp::now()).unwrap().token, claude.token);
        assert_eq!(clients.client_of(&claude.token).unwrap().name(), "claude");
        assert!(!clients.client_of(&claude.token).unwrap().is_trusted());
        list.revoke("claude").unwrap();
        assert!(clients.client_of(&claude.token).is_none() && clients.client_of(&other.token).is_some());
        assert!(list.revoke("claude").is_err());
    }

    #[test]
    fn names_are_plain_and_a_damaged_file_lets_nobody_in() {
        let state = tempfile::tempdir().unwrap();
        let list = ClientList::of(state.path());
        for name in ["", "a b", "a\n", "ä", &"x".repeat(65)] {
            assert!(list.add(name, Timestamp::UNIX_EPOCH).is_err(), "{name:?}");
        }
        let client = list.add("a", Timestamp::UNIX_EPOCH).unwrap();
        fs::write(state.path().join("clients.json"), "[").unwrap();
        assert!(list.by_token().client_of(&client.token).is_none() && list.add("b", Timestamp::UNIX_EPOCH).is_err());
    }
}
