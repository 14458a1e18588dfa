//! A task's neighbourhood in the graph of symbols: the definitions that it names, their users, the definitions that they use, and the importers of their files.

use std::collections::{BTreeMap, HashMap, HashSet};

use atlas_ops::error::Error;
use atlas_ops::read::code::{SymbolRef, Symbols};
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_segment::code::SymbolKind;

use crate::guardrails::atlas_pack::lines;
use crate::guardrails::atlas_pack::named::{PLAIN, named};

/// A word that many symbols are called is no name of one.
const MAX_PLAIN: usize = 5;
/// Most definitions of one name, …
const MAX_NAMED: usize = 8;
/// … of all names, …
const MAX_ROOTS: usize = 24;
/// … users of one definition, …
const MAX_USERS: usize = 12;
/// … names that it uses, …
const MAX_USED: usize = 100;
/// … and definitions that these may have without being too many to tell which is meant.
const MAX_MEANT: usize = 3;
/// Files that import one.
const MAX_IMPORTERS: usize = 4;
/// Most files in all.
const MAX_FILES: usize = 40;
/// The weight of another place, as a share of the definition that leads to it.
const USER: f32 = 0.5;
const USED: f32 = 0.4;
const IMPORTER: f32 = 0.15;
/// The first lines of a file, with what it imports.
const HEAD_LINES: u32 = 20;

/// A file that the graph leads to.
#[derive(Debug)]
pub(super) struct RelatedFile {
    pub(super) document: DocumentRef,
    pub(super) path: String,
    worth: f32,
    /// Its lines that are wanted, from 0, each with what it is worth.
    lines: Vec<((u32, u32), f32)>,
    /// Names whose lines are wanted, likewise.
    names: Vec<(String, f32)>,
    reasons: BTreeMap<&'static str, Vec<String>>,
}

/// Names that one part of a reason tells.
const MAX_TOLD: usize = 6;

impl RelatedFile {
    /// The lines of its text that are wanted, as [`lines`](Self::lines).
    pub(super) fn wanted(&self, text: &str) -> Vec<((u32, u32), f32)> {
        let mut wanted = self.lines.clone();
        for (name, worth) in &self.names {
            wanted.extend(lines::naming(text, name).into_iter().map(|lines| (lines, *worth)));
        }
        wanted
    }

    /// Why it is taken.
    pub(super) fn reason(&self) -> String {
        let parts = self.reasons.iter().map(|(verb, names)| {
            let names: Vec<&str> = names.iter().take(MAX_TOLD).map(String::as_str).collect();
            format!("{} {}", verb.trim_start_matches(|one: char| one.is_ascii_digit()), names.join(", "))
        });
        parts.collect::<Vec<_>>().join("; ")
    }
}

/// Collects the files.
struct Files<'i> {
    index: &'i Index,
    files: HashMap<DocumentRef, RelatedFile>,
}

impl Files<'_> {
    /// Adds lines of a document, or all that have `name`; `verb` begins with a digit, by which reasons are in order.
    fn add(
        &mut self,
        document: DocumentRef,
        lines: Option<(u32, u32)>,
        worth: f32,
        verb: &'static str,
        name: &str,
    ) -> Result<(), Error> {
        if !self.files.contains_key(&document) {
            let path = self.index.path(document)?;
            let found =
                RelatedFile { document, path, worth, lines: Vec::new(), names: Vec::new(), reasons: BTreeMap::new() };
            self.files.insert(document, found);
        }
        let Some(file) = self.files.get_mut(&document) else { return Ok(()) };
        file.worth = f32::max(file.worth, worth);
        match lines {
            Some(lines) => file.lines.push((lines, worth)),
            None => file.names.push((name.to_owned(), worth)),
        }
        let names = file.reasons.entry(verb).or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        Ok(())
    }
}

/// The files that the graph leads to from what `task` names, those that are worth most first.
pub(super) fn found(index: &Index, symbols: &Symbols, task: &str) -> Result<Vec<RelatedFile>, Error> {
    if symbols.is_empty() {
        return Ok(Vec::new());
    }
    let mut files = Files { index, files: HashMap::new() };
    let roots = roots(index, symbols, task);
    let mut seen: HashSet<(usize, u32)> = roots.iter().map(|(place, _)| place.key()).collect();
    for (place, worth) in &roots {
        files.add(place.document(), Some(place.defined.lines), *worth, "0defines", place.defined.name)?;
    }
    for (root, worth) in &roots {
        let name = root.defined.name;
        if symbols.named(index, name).take(MAX_PLAIN + 1).count() <= MAX_PLAIN {
            let mut users: Vec<SymbolRef<'_>> = symbols.users(index, name).take(MAX_USED).collect();
            users.sort_by_cached_key(|user| (distance(index, root, user.document()), user.key()));
            for user in users.into_iter().filter(|user| seen.insert(user.key())).take(MAX_USERS) {
                files.add(user.document(), Some(user.defined.lines), worth * USER, "1uses", name)?;
            }
            let using = symbols.using_files(index, name).filter(|file| *file != root.document());
            let mut using: Vec<DocumentRef> = using.take(MAX_USED).collect();
            using.sort_by_cached_key(|file| (distance(index, root, *file), *file));
            for file in using.into_iter().take(MAX_USERS) {
                files.add(file, None, worth * USER, "1uses", name)?;
            }
        }
        let mut used = Vec::new();
        for name in symbols.uses(root).take(MAX_USED) {
            let meant = symbols.named(index, name).filter(is_whole).take(MAX_MEANT + 1);
            let meant: Vec<SymbolRef<'_>> = meant.collect();
            if meant.len() <= MAX_MEANT {
                used.extend(meant);
            }
        }
        used.sort_by_cached_key(|used| (distance(index, root, used.document()), used.key()));
        for used in used.into_iter().filter(|used| seen.insert(used.key())).take(MAX_USERS) {
            files.add(
                used.document(),
                Some(used.defined.lines),
                worth * USED,
                "2has what is used:",
                used.defined.name,
            )?;
        }
    }
    importers(symbols, &mut files, &roots)?;
    let mut found: Vec<RelatedFile> = files.files.into_values().collect();
    found.sort_by(|one, other| other.worth.total_cmp(&one.worth).then_with(|| one.path.cmp(&other.path)));
    found.truncate(MAX_FILES);
    Ok(found)
}

/// The definitions that the task names.
fn roots<'s>(index: &'s Index, symbols: &'s Symbols, task: &str) -> Vec<(SymbolRef<'s>, f32)> {
    let mut roots: Vec<(SymbolRef<'s>, f32)> = Vec::new();
    for (name, worth) in named(task) {
        // The names of definitions live as long as the index.
        let mut places: Vec<SymbolRef<'s>> = symbols.named_once(index, &name, MAX_USED);
        let is_plain = worth <= PLAIN;
        if is_plain {
            places.retain(is_whole);
            if places.len() > MAX_PLAIN {
                continue;
            }
        }
        places.sort_by_key(|place| (rank(place), place.key()));
        roots.extend(places.into_iter().take(MAX_NAMED).map(|place| (place, worth / f32::from(1 + rank(&place)))));
    }
    roots.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.key().cmp(&other.0.key())));
    // Where names are written as such, plain words are only words.
    if roots.first().is_some_and(|(_, worth)| *worth > PLAIN) {
        roots.retain(|(_, worth)| *worth >= PLAIN / 2.0);
    }
    roots.truncate(MAX_ROOTS);
    roots
}

/// Whether a definition says more than that there is a name.
fn is_whole(place: &SymbolRef<'_>) -> bool {
    matches!(
        place.defined.kind,
        SymbolKind::Function
            | SymbolKind::Method
            | SymbolKind::Type
            | SymbolKind::Interface
            | SymbolKind::Alias
            | SymbolKind::Macro
    )
}

fn rank(place: &SymbolRef<'_>) -> u8 {
    match place.defined.kind {
        _ if is_whole(place) => 0,
        SymbolKind::Constant | SymbolKind::Variable | SymbolKind::Member => 1,
        _ => 3,
    }
}

/// How far a place is from another: in the same file, in the same folder, or elsewhere.
fn distance(index: &Index, from: &SymbolRef<'_>, to: DocumentRef) -> u8 {
    if from.document() == to {
        return 0;
    }
    let folder = |document: DocumentRef| {
        let path = index.path(document).unwrap_or_default();
        path.rsplit_once('/').map(|(folder, _)| folder.to_owned())
    };
    if folder(from.document()) == folder(to) { 1 } else { 2 }
}

/// Adds the files that import one of those that define what is named, if they do not use it.
fn importers(symbols: &Symbols, files: &mut Files<'_>, roots: &[(SymbolRef<'_>, f32)]) -> Result<(), Error> {
    let mut wanted: Vec<(DocumentRef, Vec<String>, f32)> = Vec::new();
    for (place, worth) in roots {
        if !wanted.iter().any(|(document, ..)| *document == place.document()) {
            let path = files.index.path(place.document())?;
            wanted.push((place.document(), module(&path), *worth));
        }
    }
    let mut counts = vec![0; wanted.len()];
    for document in symbols.documents() {
        if !files.index.shows(document) || files.files.contains_key(&document) {
            continue;
        }
        let Some(file) = symbols.file(document) else { continue };
        for ((_, module, worth), count) in wanted.iter().zip(&mut counts) {
            if *count < MAX_IMPORTERS && file.imports.iter().any(|import| imports(import, module)) {
                *count += 1;
                let name = module.last().map(String::as_str).unwrap_or_default();
                files.add(document, Some((0, HEAD_LINES)), worth * IMPORTER, "3imports", name)?;
            }
        }
    }
    Ok(())
}

/// The parts of the module that a file is, from its path.
fn module(path: &str) -> Vec<String> {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let mut parts: Vec<String> = stem.split('/').map(str::to_owned).collect();
    // Of Go a folder is the module, and of others what one file in it says.
    let is_folder = path.ends_with(".go")
        || parts.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "index" | "__init__" | "main"));
    if is_folder && parts.len() > 1 {
        parts.pop();
    }
    parts
}

/// Whether an import, as it is written, names a module: its last parts are the module's, or those before what is taken of it.
fn imports(import: &str, module: &[String]) -> bool {
    let whole = import.split(['{', ' ']).next().unwrap_or(import);
    let stem =
        whole.rsplit_once('.').filter(|(_, end)| matches!(*end, "h" | "hpp" | "js" | "ts" | "php" | "rb" | "sh"));
    let whole = stem.map_or(whole, |(stem, _)| stem);
    let parts: Vec<&str> = whole
        .split(['/', '.', ':', '\\'])
        .filter(|part| !part.is_empty() && !matches!(*part, "crate" | "self" | "super" | "src"))
        .collect();
    let ends_with = |parts: &[&str]| {
        !parts.is_empty() && parts.iter().rev().zip(module.iter().rev()).take(2).all(|(part, of)| part == of)
    };
    ends_with(&parts) || parts.split_last().is_some_and(|(_, before)| ends_with(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_name_modules_as_their_languages_do() {
        for (path, import, expected) in [
            ("src/auth.ts", "./auth", true),
            ("src/auth/index.ts", "../auth", true),
            ("src/net/auth.rs", "crate::net::auth::{login, Token}", true),
            ("src/net/auth.rs", "crate::net::auth::login", true),
            ("internal/auth/login.go", "example.com/app/internal/auth", true),
            ("app/auth.py", "app.auth", true),
            ("include/auth.h", "auth.h", true),
            ("com/x/Auth.java", "com.x.Auth", true),
            ("src/auth.ts", "./other", false),
            ("a/auth.py", "b.auth", false),
        ] {
            assert_eq!(imports(import, &module(path)), expected, "{path} by {import}");
        }
    }
}
