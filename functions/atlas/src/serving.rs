//! The servers of a vault. The address of the one on this machine, for `atlas ui`, is kept in a file that the server keeps locked while it runs, so that what a killed
//! one left is no address. A server that runs as another user, or may write no file, is looked for at the default port.

use std::error::Error;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use atlas_mirror::{Mirror, VaultId};
use atlas_ops::Atlas;
use atlas_outbound::{Client, HeaderMap, Method, Origin, Policy, Reach, Request, Trust, Url};
use atlas_web::{App, Settings};

use crate::output;
use crate::vault_location::{Setting, VaultLocation, is_missing};

/// Most bytes of the file.
const MAX_BYTES: u64 = 1 << 10;
/// How long a server may take to answer, and most bytes of its answer.
const MAX_TIME: Duration = Duration::from_secs(2);
const MAX_ANSWER: usize = 1 << 20;
/// The name that each page has.
const NAME: &[u8] = b"Atlas Mirror";

/// A server on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) url: String,
    /// The vault in which it looks for links to its page.
    pub(crate) links: VaultId,
}

/// A server that is known by its address until this is dropped.
#[derive(Debug)]
pub(crate) struct Serving(File);

impl Serving {
    /// Keeps the address of the server of these vaults in the store at `location`, except of those that have another one already, and as far as
    /// files can be kept.
    pub(crate) fn of(location: &VaultLocation, vaults: &[VaultId], served: &Served) -> Vec<Self> {
        let kept = |vault: &VaultId| {
            let vault = Setting { value: vault.clone(), given_by: location.vault.given_by };
            let path = VaultLocation { vault, ..location.clone() }.server_file()?;
            Ok::<_, Box<dyn Error>>(Self::in_file(&path, served)?)
        };
        let told = |error: &_| tracing::debug!(%error, "the server's address could not be kept");
        vaults.iter().filter_map(|vault| kept(vault).inspect_err(told).ok().flatten()).collect()
    }

    fn in_file(path: &Path, served: &Served) -> io::Result<Option<Self>> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = File::options().create(true).write(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.set_len(0)?;
        write!(file, "{}\n{}", served.url, served.links)?;
        Ok(Some(Self(file)))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Another server may have opened the file, so it stays; without its lock it says nothing.
        let _ = self.0.set_len(0);
    }
}

/// The ids of the vaults that are served, the default one first.
pub(crate) fn vaults(atlas: &Atlas) -> Result<Vec<VaultId>, Box<dyn Error>> {
    atlas.vaults().iter().map(|vault| Ok(vault.id.parse()?)).collect()
}

/// The server of this vault, if one runs on this machine and has told so.
pub(crate) fn known(location: &VaultLocation) -> Option<Served> {
    served_in(&location.server_file().ok()?)
}

/// The mirrors of the vaults in which servers of this place may keep sessions and grants. Each keeps them in its default vault: the one at `location`, one
/// of the configuration's, or the one that a running server names.
///
/// # Errors
/// When the store does not answer, or none of these vaults is published.
pub(crate) async fn states(location: &VaultLocation) -> Result<Vec<Mirror>, Box<dyn Error>> {
    let own = &location.vault.value;
    let configured = match &location.config {
        None => Vec::new(),
        Some(_) => configured(location).await.unwrap_or_else(|error| {
            output::note(format_args!("the configuration cannot be used, so its other vaults are left out: {error}"));
            Vec::new()
        }),
    };
    let mut vaults = vec![own.clone()];
    for vault in configured.into_iter().chain(known(location).map(|served| served.links)) {
        if !vaults.contains(&vault) {
            vaults.push(vault);
        }
    }
    let (mut found, mut missing) = (Vec::new(), None);
    for vault in vaults {
        let vault = Setting { value: vault, given_by: location.vault.given_by };
        match (VaultLocation { vault, ..location.clone() }).published().await {
            Ok(mirror) => found.push(mirror),
            Err(error) if is_missing(&*error) => drop(missing.get_or_insert(error)),
            Err(error) => return Err(error),
        }
    }
    match missing.filter(|_| found.is_empty()) {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

/// The ids of the configuration's vaults.
async fn configured(location: &VaultLocation) -> Result<Vec<VaultId>, Box<dyn Error>> {
    let settings = match App::settings(&Settings::read(location.variables())?).await {
        Ok(settings) => settings,
        // The vault may have a document of its own.
        Err(_) => {
            let others = location.variables().filter(|(name, _)| name != "ATLAS_VAULT");
            App::settings(&Settings::read(others)?).await?
        }
    };
    Ok(settings.vaults.into_iter().map(|vault| vault.id).collect())
}

/// The address of this machine's server at `port`, if one is there. Which vaults it has, it tells no stranger.
pub(crate) async fn at_port(port: u16) -> Option<String> {
    let address = format!("http://127.0.0.1:{port}");
    let url: Url = format!("{address}/ui").parse().ok()?;
    let policy = Policy {
        reach: Reach::Origins(vec![Origin::of(&url)?]),
        trust: Trust::Machine,
        max_time: MAX_TIME,
        max_bytes: MAX_ANSWER,
    };
    let asked =
        Request { method: Method::GET, url, headers: HeaderMap::new(), body: String::new().into(), max_time: None };
    let answer = Client::new(policy).send(asked).await.ok()?;
    answer.body.windows(NAME.len()).any(|part| part == NAME).then_some(address)
}

fn served_in(path: &Path) -> Option<Served> {
    let file = File::open(path).ok()?;
    // A running server holds the lock.
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let (url, links) = text.split_once('\n')?;
    Some(Served { url: url.to_owned(), links: links.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(port: u16) -> Served {
        Served { url: format!("http://127.0.0.1:{port}"), links: "main".parse().unwrap() }
    }

    #[test]
    fn a_server_is_known_by_its_address_while_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers/one");
        assert_eq!(served_in(&path), None);
        let first = Serving::in_file(&path, &served(4142)).unwrap();
        assert_eq!(served_in(&path), Some(served(4142)));
        assert!(Serving::in_file(&path, &served(1)).unwrap().is_none(), "the vault has a server");
        assert_eq!(served_in(&path), Some(served(4142)));
        drop(first);
        assert_eq!(served_in(&path), None);
        let _second = Serving::in_file(&path, &served(1)).unwrap();
        assert_eq!(served_in(&path), Some(served(1)));
    }

    #[test]
    fn what_a_killed_server_left_is_no_address() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        fs::write(&path, "http://127.0.0.1:4142\nmain").unwrap();
        assert_eq!(served_in(&path), None);
    }

    #[tokio::test]
    async fn only_what_answers_with_a_page_is_a_server() {
        for (answer, is_one) in [("<title>Sign in · Atlas Mirror</title>", true), ("<title>Another</title>", false)] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let answering = async {
                let (mut connection, _) = listener.accept().await.unwrap();
                let answer = format!("HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
                let _asked = tokio::io::AsyncReadExt::read(&mut connection, &mut [0; 4096]).await.unwrap();
                tokio::io::AsyncWriteExt::write_all(&mut connection, answer.as_bytes()).await.unwrap();
                connection
            };
            let (found, connection) = tokio::join!(at_port(port), answering);
            assert_eq!(found, is_one.then(|| format!("http://127.0.0.1:{port}")));
            drop((connection, listener));
            assert_eq!(at_port(port).await, None, "nothing is there any more");
        }
    }
}
