//! Access lists: which paths of a vault a call may read, write and delete.
//!
//! Only the path decides, before anything is read, so a refusal does not show whether a denied path exists. File systems may take several spellings
//! for one path. So lists that allow are matched as written; lists that forbid or require scopes are also matched in any case; and the stricter
//! answer counts.

use std::fmt;

pub use error::AclError;

pub(crate) mod error;

use crate::glob::{Glob, Matched};
use crate::policy::AclConfig;
use crate::scope::Scopes;

/// Folders that no list opens: the app's own, version control, the trash.
const CLOSED: [&str; 3] = [".obsidian", ".git", ".trash"];
/// Most rules, and globs of a list.
const MAX_GLOBS: usize = 200;

/// An access at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads it.
    Read,
    /// Changes or creates it.
    Write,
    /// Deletes it.
    Delete,
}

impl Access {
    /// The word for it in errors.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
        }
    }
}

/// An access list.
#[derive(Clone, Debug, Default)]
pub struct Acl {
    config: AclConfig,
    read_only: bool,
    strict_read_default: bool,
    read: Option<Vec<Glob>>,
    write: Option<Vec<Glob>>,
    delete: Option<Vec<Glob>>,
    rules: Vec<(Glob, Vec<String>)>,
    default_scopes: Vec<String>,
}

/// Why a path is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied<'a> {
    /// The folder is closed to everyone.
    Closed,
    /// The vault is read-only.
    ReadOnly,
    /// The list for this kind of access, such as `readPaths`, does not contain it.
    List(&'static str),
    /// `strictReadDefault`: there is no `readPaths`.
    StrictReadDefault,
    /// It is in none of the folders that the caller's token is for.
    Folders,
    /// A rule, or `defaultScopes` if none matches, requires scopes that the caller lacks.
    Scopes {
        /// The rule's glob.
        rule: Option<&'a str>,
        /// The missing scopes.
        missing: Vec<&'a str>,
    },
}

impl fmt::Display for Denied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("closed_folder"),
            Self::ReadOnly => f.write_str("readOnly"),
            Self::List(list) => f.write_str(list),
            Self::StrictReadDefault => f.write_str("strictReadDefault"),
            Self::Folders => f.write_str("token_folders"),
            Self::Scopes { rule: Some(glob), .. } => write!(f, "rules: {glob}"),
            Self::Scopes { rule: None, .. } => f.write_str("defaultScopes"),
        }
    }
}

/// The readers of a path, independent of the caller. It can be stored as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading(u16);

impl Reading {
    /// Nobody.
    const NOBODY: u16 = u16::MAX;

    /// As a number, never 0.
    #[must_use]
    pub const fn to_number(self) -> u16 {
        self.0
    }

    /// The inverse of [`to_number`](Self::to_number); [`None`] for 0.
    #[must_use]
    pub const fn from_number(number: u16) -> Option<Self> {
        if number == 0 { None } else { Some(Self(number)) }
    }
}

/// Whether a caller may read, for each of an access list's [`Reading`]s.
#[derive(Clone, Debug)]
pub struct Reader {
    /// For each rule, and for the default, whether the caller holds its scopes.
    holds: Vec<bool>,
    /// The caller's scopes, if they hold for some folders only.
    narrowed: Option<Scopes>,
}

impl Reader {
    /// Whether paths of this kind may be read.
    #[must_use]
    pub fn may_read(&self, reading: Reading) -> bool {
        let holds = |rule: u16| self.holds.get(usize::from(rule)).copied().unwrap_or(false);
        let Some(pair) = reading.0.checked_sub(1).filter(|_| reading.0 != Reading::NOBODY) else { return false };
        let rules = u16::try_from(self.holds.len()).unwrap_or(u16::MAX).max(1);
        holds(pair / rules) && holds(pair % rules)
    }

    /// Whether the caller may read in some folders only, so that [`is_within`](Self::is_within) has a say too.
    #[must_use]
    pub const fn is_narrowed(&self) -> bool {
        self.narrowed.is_some()
    }

    /// Whether `path` is in one of the folders that the caller may read in.
    #[must_use]
    pub fn is_within(&self, path: &str) -> bool {
        self.narrowed.as_ref().is_none_or(|scopes| scopes.hold_at(path))
    }
}

impl Acl {
    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &AclConfig {
        &self.config
    }

    /// The access list that `config` spells.
    ///
    /// # Errors
    /// When a glob or a scope is invalid, or there are too many.
    pub fn new(config: &AclConfig) -> Result<Self, AclError> {
        let few = |name, count: usize| {
            let remedy = "write at most 200";
            if count > MAX_GLOBS { Err(AclError { name, text: count.to_string(), remedy }) } else { Ok(()) }
        };
        let globs = |name, list: &Option<Vec<String>>| {
            let Some(list) = list else { return Ok(None) };
            few(name, list.len())?;
            list.iter().map(|glob| Glob::new(name, glob)).collect::<Result<Vec<_>, _>>().map(Some)
        };
        few("rules", config.rules.len())?;
        let mut rules = Vec::with_capacity(config.rules.len());
        for rule in &config.rules {
            rules.push((Glob::new("rules", &rule.glob)?, scopes("rules", &rule.scopes)?));
        }
        Ok(Self {
            config: config.clone(),
            read_only: config.read_only,
            strict_read_default: config.strict_read_default,
            read: globs("readPaths", &config.read_paths)?,
            write: globs("writePaths", &config.write_paths)?,
            delete: globs("deletePaths", &config.delete_paths)?,
            rules,
            default_scopes: scopes("defaultScopes", &config.default_scopes)?,
        })
    }

    /// Whether nothing may be changed.
    #[must_use]
    pub const fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether what callers see depends on their scopes.
    #[must_use]
    pub fn tells_callers_apart(&self) -> bool {
        let asks = |scopes: &[String]| !scopes.is_empty();
        asks(&self.default_scopes) || self.rules.iter().any(|(_, scopes)| asks(scopes))
    }

    /// Whether a caller with `scopes` may access `path`, which is relative to the vault's root and in NFC, in this way.
    /// A caller who may not read a path may not access it at all.
    ///
    /// # Errors
    /// When it is denied.
    pub fn check(&self, access: Access, path: &str, caller: &Scopes) -> Result<(), Denied<'_>> {
        let is_within = caller.hold_at(path);
        let path = Matched::new(path);
        if is_closed(&path) {
            return Err(Denied::Closed);
        }
        if !is_within {
            return Err(Denied::Folders);
        }
        if self.read_only && access != Access::Read {
            return Err(Denied::ReadOnly);
        }
        if self.read.is_none() && self.strict_read_default {
            return Err(Denied::StrictReadDefault);
        }
        let own = match access {
            Access::Read => None,
            Access::Write => Some(("writePaths", &self.write)),
            Access::Delete => Some(("deletePaths", &self.delete)),
        };
        for (name, list) in [("readPaths", &self.read)].into_iter().chain(own) {
            if list.as_ref().is_some_and(|globs| !globs.iter().any(|glob| glob.is_match(&path))) {
                return Err(Denied::List(name));
            }
        }
        let (exact, folded) = self.rules_for(&path);
        for rule in [exact, folded] {
            let missing: Vec<&str> =
                self.asked(rule).iter().map(String::as_str).filter(|scope| !caller.holds_named(scope)).collect();
            if !missing.is_empty() {
                return Err(Denied::Scopes { rule: self.rules.get(rule).map(|(glob, _)| glob.text()), missing });
            }
        }
        Ok(())
    }

    /// Whether the list for this kind of access, such as `writePaths`, has `path` or is left out, though the path may be in a closed folder.
    #[must_use]
    pub fn lists(&self, access: Access, path: &str) -> bool {
        let list = match access {
            Access::Read => &self.read,
            Access::Write => &self.write,
            Access::Delete => &self.delete,
        };
        let path = Matched::new(path);
        list.as_ref().is_none_or(|globs| globs.iter().any(|glob| glob.is_match(&path)))
    }

    /// The readers of `path`.
    #[must_use]
    pub fn reading(&self, path: &str) -> Reading {
        let path = Matched::new(path);
        let is_listed =
            self.read.as_ref().map_or(!self.strict_read_default, |globs| globs.iter().any(|glob| glob.is_match(&path)));
        if is_closed(&path) || !is_listed {
            return Reading(Reading::NOBODY);
        }
        let (exact, folded) = self.rules_for(&path);
        let pair = exact * (self.rules.len() + 1) + folded + 1;
        Reading(u16::try_from(pair).unwrap_or(Reading::NOBODY))
    }

    /// The paths that a caller with these scopes may read; [`None`] if that is everything that is not closed.
    #[must_use]
    pub fn reader(&self, caller: &Scopes) -> Option<Reader> {
        let is_open = match &self.read {
            Some(globs) => globs.iter().any(Glob::is_everything),
            None => !self.strict_read_default,
        };
        if is_open && self.reads_most(caller) {
            return None;
        }
        let holds = (0..=self.rules.len()).map(|rule| self.holds(caller, rule)).collect();
        Some(Reader { holds, narrowed: caller.folders().is_some().then(|| caller.clone()) })
    }

    /// Whether a caller with these scopes may read all that any caller may read. `readPaths` may hold back more, but from everybody alike.
    #[must_use]
    pub fn reads_most(&self, caller: &Scopes) -> bool {
        caller.folders().is_none() && (0..=self.rules.len()).all(|rule| self.holds(caller, rule))
    }

    /// Whether a caller holds the scopes that a rule requires.
    fn holds(&self, caller: &Scopes, rule: usize) -> bool {
        self.asked(rule).iter().all(|scope| caller.holds_named(scope))
    }

    /// The scopes that `path` requires, besides the operation's.
    #[must_use]
    pub fn required(&self, path: &str) -> Vec<&str> {
        let (exact, folded) = self.rules_for(&Matched::new(path));
        let mut required: Vec<&str> =
            [exact, folded].into_iter().flat_map(|rule| self.asked(rule)).map(String::as_str).collect();
        required.sort_unstable();
        required.dedup();
        required
    }

    /// The glob, as written, of the rule that decides which scopes `path` requires.
    #[must_use]
    pub fn rule(&self, path: &str) -> Option<&str> {
        let (exact, _) = self.rules_for(&Matched::new(path));
        self.config.rules.get(exact).map(|rule| rule.glob.as_str())
    }

    /// The last rule that matches as written, and the last that matches in any case; the number of rules where none does.
    fn rules_for(&self, path: &Matched<'_>) -> (usize, usize) {
        let last = |matches: &dyn Fn(&Glob) -> bool| {
            self.rules.iter().rposition(|(glob, _)| matches(glob)).unwrap_or(self.rules.len())
        };
        (last(&|glob| glob.is_match(path)), last(&|glob| glob.is_folded_match(path)))
    }

    /// The scopes that a rule requires.
    fn asked(&self, rule: usize) -> &[String] {
        self.rules.get(rule).map_or(&self.default_scopes, |(_, scopes)| scopes)
    }
}

/// Whether `path`, in NFC, is in a folder that no list opens.
#[must_use]
pub fn is_closed_path(path: &str) -> bool {
    is_closed(&Matched::new(path))
}

/// Whether `path` is in a folder that no list opens, in any spelling that a file system may take for its name.
fn is_closed(path: &Matched<'_>) -> bool {
    let first = path.folded().split('/').next().unwrap_or_default();
    CLOSED.contains(&first)
}

fn scopes(name: &'static str, scopes: &[String]) -> Result<Vec<String>, AclError> {
    let is_name =
        |scope: &&String| !scope.is_empty() && scope.len() <= 100 && scope.bytes().all(|byte| byte.is_ascii_graphic());
    match scopes.iter().find(|scope| !is_name(scope)) {
        Some(scope) => {
            let remedy = "write a scope as tokens have it, such as read:vault or team:a";
            Err(AclError { name, text: scope.chars().take(100).collect(), remedy })
        }
        None => Ok(scopes.to_vec()),
    }
}

#[cfg(test)]
mod tests;
