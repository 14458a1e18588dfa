//! Finds the notes and folders that an invalid path may mean.

use std::collections::HashSet;

use atlas_expressions::pages::field_name;
use atlas_segment::SectionName;
use atlas_vault::fold;

use crate::arguments::Root;
use crate::error::{Error, Reason};
use crate::operation::Context;
use crate::read::facts::Facts;
use crate::read::index::{DocumentRef, Index, Want};
use crate::read::notes;
use crate::read::view::View;

/// Most paths that are suggested.
const MAX_LIKE: usize = 5;
/// Most names that are compared in detail.
const MAX_COMPARED: usize = 20_000;
/// The least similarity of a name, from 0 to 1.
const LIKENESS: f64 = 0.75;
const NOTE: &str = ".md";

/// The possible meanings of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nearest {
    /// The path of the only file with this name, if the path lacks its folder or `.md`.
    pub(crate) one: Option<String>,
    /// The files with the most similar names, the most similar first.
    pub(crate) like: Vec<String>,
}

/// The possible meanings of `path` among the files that the caller may read.
pub(crate) async fn nearest(context: &Context<'_>, path: &str) -> Result<Nearest, Error> {
    let look = |view: View| async move {
        let index = Index::fetch(view, Want { names: true, ..Want::default() }).await?;
        find(&index, path, MAX_COMPARED, || context.work.check())
    };
    Ok(context.read(look).await?.value)
}

/// The paths of files that the caller may read whose names are similar to that of `path`, the most similar first.
///
/// # Errors
/// When the index cannot be read.
pub async fn similar_paths(context: &Context<'_>, path: &str) -> Result<Vec<String>, Error> {
    let Nearest { one, like } = nearest(context, path).await?;
    Ok(one.into_iter().chain(like).collect())
}

/// The files that short paths mean: without a folder, or without `.md`.
pub struct ShortPaths(Index);

impl ShortPaths {
    /// Those of the files in `view`.
    pub async fn of(view: View) -> Result<Self, Error> {
        Ok(Self(Index::fetch(view, Want { names: true, ..Want::default() }).await?))
    }

    /// The path of the only file that `path` means; else the error for a missing note, with the most similar ones if it `suggests`.
    pub fn meant(&self, context: &Context<'_>, path: &str, suggests: bool) -> Result<String, Error> {
        let find = |most| find(&self.0, path, most, || context.work.check());
        if let Some(meant) = find(0)?.one {
            return Ok(meant);
        }
        let like = if suggests { find(MAX_COMPARED)?.like } else { Vec::new() };
        Err(suggesting(notes::missing(path), like))
    }
}

/// `error` with the paths that may have been meant, if there are any.
pub(crate) fn suggesting(error: Error, like: Vec<String>) -> Error {
    if like.is_empty() { error } else { error.with("suggestions", like) }
}

/// Fails if `found` is 0 since `root` is a folder in which the caller sees no file of `view`: an empty answer would hide a mistyped name.
///
/// # Errors
/// When there is no such folder, or the index cannot be read.
pub async fn check_found(context: &Context<'_>, view: View, root: &Root, found: usize) -> Result<(), Error> {
    if found == 0 { check_folder(context, view, root).await } else { Ok(()) }
}

/// Fails if `root` is a folder in which the caller sees no file of `view`; the error has the most similar folders.
pub async fn check_folder(context: &Context<'_>, view: View, root: &Root) -> Result<(), Error> {
    let folder = root.prefix().trim_end_matches('/');
    if folder.is_empty() {
        return Ok(());
    }
    let index = Index::fetch(view, Want::default()).await?;
    if index.has_prefix(root.prefix())? {
        return Ok(());
    }
    let wanted = fold::fold(folder);
    let (mut known, mut like) = (HashSet::new(), Vec::new());
    for segment in index.segments() {
        for document in 0..index.paths(segment)?.len() {
            if document % 4096 == 0 {
                context.work.check()?;
            }
            let place = DocumentRef { segment, document };
            if known.len() >= MAX_COMPARED || !index.shows(place) {
                continue;
            }
            let path = index.path(place)?;
            for (end, _) in path.match_indices('/') {
                let Some(folder) = path.get(..end).filter(|folder| !known.contains(*folder)) else { continue };
                known.insert(folder.to_owned());
                let folded = fold::fold(folder);
                let likeness = strsim::jaro_winkler(&folded, &wanted);
                let of_name = strsim::jaro_winkler(last(&folded), last(&wanted));
                like.push((likeness.max(of_name), folder.to_owned()));
            }
        }
    }
    like.retain(|(likeness, _)| *likeness >= LIKENESS);
    like.sort_by(|(one, a), (other, b)| other.total_cmp(one).then_with(|| a.cmp(b)));
    let like: Vec<String> = like.into_iter().map(|(_, folder)| folder).take(MAX_LIKE).collect();
    let error = Error::not_found(Reason::NoteNotFound, format!("there is no folder {folder} with any file"));
    Err(suggesting(error, like))
}

/// Those of `names` that no note in `view` has as a property, each with the most similar property that one has. Each is a property's name,
/// or for Dataview the [name of a field](field_name) of it.
///
/// # Errors
/// When the index cannot be read.
pub async fn unknown_properties(
    context: &Context<'_>,
    view: View,
    names: &[String],
) -> Result<Vec<(String, Option<String>)>, Error> {
    let mut wanted: Vec<WantedProperty<'_>> =
        names.iter().map(|name| WantedProperty { name, folded: fold::fold(name), best: None }).collect();
    let facts = Facts::fetch(context, view, &[SectionName::Properties]).await?;
    let mut compared = 0;
    for segment in facts.index().segments() {
        for column in facts.properties(segment)?.iter() {
            context.work.check()?;
            let key = column.key();
            let field = field_name(key);
            let is_named = |wanted: &WantedProperty<'_>| wanted.name == key || wanted.name == field;
            let may_be_named = wanted.iter().any(is_named);
            if compared >= MAX_COMPARED && !may_be_named {
                continue;
            }
            if !column.iter().any(|(document, _)| facts.shows(segment, document)) {
                continue;
            }
            compared += 1;
            if may_be_named {
                wanted.retain(|wanted| !is_named(wanted));
            }
            let folded = fold::fold(key);
            wanted.iter_mut().for_each(|wanted| wanted.compare(key, &folded));
        }
    }
    Ok(wanted.into_iter().map(|wanted| (wanted.name.to_owned(), wanted.best.map(|(_, key)| key))).collect())
}

/// A property that is looked for.
struct WantedProperty<'a> {
    name: &'a str,
    folded: String,
    /// The most similar one so far, and how similar it is: 1 if only its case differs.
    best: Option<(f64, String)>,
}

impl WantedProperty<'_> {
    fn compare(&mut self, key: &str, folded: &str) {
        let likeness = strsim::jaro_winkler(folded, &self.folded);
        let is_better = self.best.as_ref().is_none_or(|(least, other)| (likeness, key) > (*least, other.as_str()));
        if likeness >= LIKENESS && is_better {
            self.best = Some((likeness, key.to_owned()));
        }
    }
}

/// The last name of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The possible meanings of `path`, of which at most this many names are compared in detail.
fn find(index: &Index, path: &str, most: usize, check: impl Fn() -> Result<(), Error>) -> Result<Nearest, Error> {
    let wanted = SearchedPath::of(path);
    let mut same = Vec::new();
    let mut like: Vec<(f64, DocumentRef)> = Vec::new();
    let mut compared = 0;
    for segment in index.segments() {
        let names = index.names(segment)?;
        for document in 0..index.paths(segment)?.len() {
            if document % 4096 == 0 {
                check()?;
            }
            let Some(name) = names.get(document).and_then(|name| std::str::from_utf8(name).ok()) else { continue };
            let place = DocumentRef { segment, document };
            if name == wanted.name {
                same.push(place);
            } else if compared < most && wanted.may_be_like(name) {
                compared += 1;
                like.push((strsim::jaro_winkler(stem(name), stem(&wanted.name)), place));
            }
        }
    }
    let mut found = Nearest::default();
    let mut meant = 0;
    for place in same {
        if !index.shows(place) {
            continue;
        }
        let there = index.path(place)?;
        if wanted.is_short_for(&there) {
            meant += 1;
            found.one = (meant == 1).then(|| there.clone());
        }
        if found.like.len() < MAX_LIKE {
            found.like.push(there);
        }
    }
    like.retain(|(likeness, _)| *likeness >= LIKENESS);
    like.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    for (_, place) in like {
        if found.like.len() == MAX_LIKE {
            break;
        }
        if index.shows(place) {
            found.like.push(index.path(place)?);
        }
    }
    Ok(found)
}

/// The path to find, folded.
struct SearchedPath {
    /// The path, with `.md` if it has no extension.
    path: String,
    /// Whether it has no folder, or lacked `.md`.
    is_short: bool,
    name: String,
    letters: u64,
}

impl SearchedPath {
    fn of(path: &str) -> Self {
        let mut folded = fold::fold(path);
        let name = folded.rsplit('/').next().unwrap_or_default();
        let has_extension = name.rsplit_once('.').is_some_and(|(before, end)| {
            !before.is_empty() && (1..=5).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        if !has_extension {
            folded.push_str(NOTE);
        }
        let name = folded.rsplit('/').next().unwrap_or_default().to_owned();
        Self { is_short: !has_extension || !path.contains('/'), letters: letters(stem(&name)), name, path: folded }
    }

    /// Whether it is a suffix of `path` without some folders.
    fn is_short_for(&self, path: &str) -> bool {
        let path = fold::fold(path);
        let above = path.strip_suffix(&*self.path);
        self.is_short && above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
    }

    /// Whether `name` is worth a detailed comparison: it has the same extension, and similar letters.
    fn may_be_like(&self, name: &str) -> bool {
        let letters = letters(stem(name));
        let (both, any) = ((letters & self.letters).count_ones(), (letters | self.letters).count_ones());
        name.ends_with(NOTE) == self.name.ends_with(NOTE) && both * 10 >= any * 6
    }
}

/// A file name without its extension.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The set of bytes in a text, as bits.
fn letters(text: &str) -> u64 {
    text.bytes().fold(0, |letters, byte| letters | 1 << (byte % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_path_means_what_ends_with_it() {
        for (wanted, path, expected) in [
            ("Home", "vault/Home.md", true),
            ("home.md", "vault/Home.md", true),
            ("Home", "Home.md", true),
            ("vault/Home", "a/vault/Home.md", true),
            ("vault/Home.md", "a/vault/Home.md", false),
            ("ome", "vault/Home.md", false),
            ("v1.2 plan", "notes/v1.2 plan.md", true),
            ("pic.png", "media/pic.png", true),
            ("pic", "media/pic.png", false),
        ] {
            assert_eq!(SearchedPath::of(wanted).is_short_for(path), expected, "{wanted} {path}");
        }
    }

    #[test]
    fn what_has_other_letters_is_not_compared() {
        let wanted = SearchedPath::of("Tide engine");
        assert!(wanted.may_be_like("tide-engine.md") && wanted.may_be_like("tide engines.md"));
        assert!(!wanted.may_be_like("berth.md") && !wanted.may_be_like("tide engine.png"));
    }
}
