//! The file with the secrets of the authorization server, which only its owner can read, and the passphrases that are typed in.

use std::error::Error;
use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use atlas_access::Authority;
use atlas_access::authority::AuthorityDocument;
use atlas_mirror::Id;
use atlas_oauth::passphrase::hash_passphrase;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::output;

/// Reads the file.
pub(crate) fn read(path: &Path) -> Result<AuthorityDocument, Box<dyn Error>> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read: {error}: `atlas auth init` makes it", path.display()))?;
    Ok(AuthorityDocument::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?)
}

/// Writes the file as a whole, or leaves it as it was.
pub(crate) fn write(path: &Path, document: &AuthorityDocument) -> Result<(), Box<dyn Error>> {
    Authority::of(document)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Made for its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(document.write()?.as_bytes())?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// The hash of a passphrase: one that is made and printed, or one that is typed in, twice at a terminal.
pub(crate) fn passphrase(generate: bool) -> Result<String, Box<dyn Error>> {
    if generate {
        let digits = Id::random()?.to_string();
        let made: Vec<&str> = (0..6).filter_map(|at| digits.get(at * 4..at * 4 + 4)).collect();
        let made = made.join("-");
        output::line(format_args!("Your passphrase: {made}"));
        return Ok(hash_passphrase(&made)?);
    }
    let typed = ask("A passphrase to sign in with: ")?;
    if io::stdin().is_terminal() && ask("The same again: ")? != typed {
        return Err("the two differ: nothing was changed".into());
    }
    Ok(hash_passphrase(&typed)?)
}

/// A line of the standard input; at a terminal it is not shown.
fn ask(question: &str) -> Result<String, Box<dyn Error>> {
    let stdin = io::stdin();
    let shown = if stdin.is_terminal() { Some(tcgetattr(&stdin)?) } else { None };
    if let Some(shown) = &shown {
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
        let mut terminal = io::stderr();
        write!(terminal, "{question}")?;
        terminal.flush()?;
    }
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    if let Some(shown) = &shown {
        tcsetattr(&stdin, OptionalActions::Flush, shown)?;
        writeln!(io::stderr())?;
    }
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
