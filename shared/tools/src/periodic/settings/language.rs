//! The language of the names of notes where nobody says it: what the names that are there are in.

use std::collections::HashMap;

use atlas_access::Access;
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use atlas_vault::date_format::{self, Locale, Shape};
use jiff::civil::{DateTime, datetime};

use super::Settings;

/// Most names that are read, and their most bytes.
const MAX_NAMES: usize = 500;
const MAX_NAME_BYTES: usize = 500;
/// Most names that are tried in all languages.
const MAX_SAMPLES: usize = 30;

impl Settings {
    /// The languages that names can be in where nobody says the one; those of no region first.
    fn languages(&self) -> Vec<Locale> {
        if self.is_said {
            return Vec::new();
        }
        let is_in_words = date_format::is_in_words(&self.format);
        let has_digits = |locale: &Locale| locale.own_digits().next().is_some();
        let mut languages: Vec<_> = Locale::all().filter(|locale| is_in_words || has_digits(locale)).collect();
        languages.sort_by_key(|locale| locale.id().len());
        languages
    }

    /// Takes the language of most names there are; English if it has as many.
    pub(in crate::periodic) fn guess(&mut self, index: &Index) -> Result<(), Error> {
        if self.is_said || !date_format::is_in_words(&self.format) && !self.has_own_digits(index)? {
            return Ok(());
        }
        let shape = Shape::of(self.name_format());
        let mut names = Vec::new();
        for (path, document) in paths(index, &self.folder)? {
            if self.can_be_date(&path, &shape) && index.shows(document) {
                names.push(path);
            }
        }
        names.sort_unstable_by(|one, other| other.cmp(one));
        names.truncate(MAX_NAMES);
        self.guess_of(&names);
        Ok(())
    }

    pub(super) fn can_be_date(&self, path: &str, shape: &Shape) -> bool {
        path.len() <= MAX_NAME_BYTES && self.name(path).is_some_and(|name| shape.fits(name))
    }

    /// Whether any path goes on with a digit of another language where a name has its first number.
    fn has_own_digits(&self, index: &Index) -> Result<bool, Error> {
        for locale in self.languages() {
            let name = locale.write(self.name_format(), datetime(2026, 1, 1, 0, 0, 0, 0));
            let is_digit = |letter: char| locale.own_digits().any(|digit| digit == letter);
            let Some((before, _)) = name.find(is_digit).and_then(|at| name.split_at_checked(at)) else { continue };
            for digit in locale.own_digits() {
                if index.has_prefix(&format!("{}{before}{digit}", self.folder))? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    pub(super) fn guess_of(&mut self, names: &[String]) {
        let first_day = self.first_day();
        let unread: Vec<&str> = names.iter().map(String::as_str).filter(|name| first_day(name).is_none()).collect();
        drop(first_day);
        let samples = samples(&unread);
        let mut most = names.len() - unread.len();
        let mut guessed = None;
        let languages = if samples.is_empty() { Vec::new() } else { self.languages() };
        for language in languages {
            let theirs = self.speaking(language);
            let first_day = theirs.first_day();
            if !samples.iter().any(|name| first_day(name).is_some()) {
                continue;
            }
            let count = names.iter().filter(|name| first_day(name).is_some()).count();
            if count > most {
                (most, guessed) = (count, Some(theirs.locale));
            }
        }
        if let Some(locale) = guessed {
            (self.locale, self.guessed) = (locale, Some(locale.id()));
        }
    }

    /// Whether all languages that can read a name read the same period: months and weeks are not called alike everywhere.
    pub(super) fn means_one_period(&self, name: &str) -> bool {
        let theirs = self.languages().into_iter().filter_map(|language| self.speaking(language).first_day()(name));
        let mut days = self.first_day()(name).into_iter().chain(theirs);
        days.next().is_some_and(|first| days.all(|day| day == first))
    }

    fn speaking(&self, language: Locale) -> Self {
        Self { locale: self.locale.speaking(language), is_said: true, ..self.clone() }
    }

    /// The paths of the note of the period of `at` in each language.
    pub(super) fn paths(&self, at: DateTime) -> impl Iterator<Item = (&'static str, VaultPath)> {
        let languages = self.languages().into_iter();
        languages.filter_map(move |locale| Some((locale.id(), self.speaking(locale).path(at).ok()?)))
    }

    /// The note of the period of `at`. Where nobody says the language, that of a note that is there, if its name can mean nothing else, or of most
    /// notes.
    pub(in crate::periodic) async fn place(
        &mut self,
        context: &Context<'_>,
        view: &View,
        at: DateTime,
    ) -> Result<Place, Error> {
        let path = self.path(at)?;
        if self.is_said {
            return Ok(Place { path, exists: false });
        }
        // Mostly it is there, and no other language is looked at.
        if notes::find(view.snapshot(), path.as_str(), |_| false).await?.is_some() {
            return Ok(Place { path, exists: true });
        }
        let mut others: Vec<VaultPath> = Vec::new();
        for (_, other) in self.paths(at) {
            if other != path && !others.contains(&other) && context.check(Access::Read, &other).is_ok() {
                others.push(other);
            }
        }
        let names: Vec<&str> = others.iter().map(VaultPath::as_str).collect();
        let found = notes::find_all(view.snapshot(), &names, |_| false).await?;
        let there: Vec<VaultPath> =
            others.into_iter().zip(found).filter(|(_, found)| found.is_some()).map(|(path, _)| path).collect();
        if there.is_empty() && !date_format::is_in_words(&self.format) {
            return Ok(Place { path, exists: false });
        }
        self.guess(&Index::fetch(view.clone(), Want::default()).await?)?;
        let guessed = self.path(at)?;
        let is_clear = |path: &&VaultPath| self.guessed.is_none() && self.means_one_period(path.as_str());
        let other = there.iter().find(|path| **path == guessed).or_else(|| there.iter().find(is_clear));
        Ok(Place { exists: other.is_some(), path: other.cloned().unwrap_or(guessed) })
    }

    /// The language that names are in, if that is not the one of a note at a `place` that is to be made.
    pub(in crate::periodic) async fn other_language(
        &mut self,
        view: &View,
        place: &Place,
    ) -> Result<Option<&'static str>, Error> {
        if place.exists || self.is_said {
            return Ok(None);
        }
        if !date_format::is_in_words(&self.format) {
            self.guess(&Index::fetch(view.clone(), Want::default()).await?)?;
        }
        Ok(self.guessed)
    }
}

/// The path of a note, and whether it is known to be there.
pub(in crate::periodic) struct Place {
    pub(in crate::periodic) path: VaultPath,
    exists: bool,
}

/// One name of each of the commonest that differ by more than their numbers: words of dates come again, titles hardly.
fn samples<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let mut kinds: HashMap<String, (usize, &str)> = HashMap::new();
    for name in names {
        // The digits of each language lie in one block of 16.
        let block =
            |letter: char| if letter.is_numeric() { char::from_u32(u32::from(letter) & !0xf) } else { Some(letter) };
        let words = name.chars().filter(|letter| !letter.is_ascii_digit()).filter_map(block).collect();
        kinds.entry(words).or_insert((0, *name)).0 += 1;
    }
    let mut kinds: Vec<_> = kinds.into_values().collect();
    kinds.sort_unstable_by(|one, other| other.cmp(one));
    kinds.into_iter().take(MAX_SAMPLES).map(|(_, name)| name).collect()
}

/// The paths of the documents in a folder.
pub(in crate::periodic) fn paths(index: &Index, folder: &str) -> Result<Vec<(String, DocumentRef)>, Error> {
    let mut found = Vec::new();
    for segment in index.segments() {
        for document in index.paths(segment)?.with_prefix(folder) {
            let document = DocumentRef { segment, document };
            found.push((index.path(document)?, document));
        }
    }
    Ok(found)
}
