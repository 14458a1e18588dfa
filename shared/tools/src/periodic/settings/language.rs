//! The language of the names of notes where nobody says it: what the names that are there are in.

use atlas_ops::error::{Error, Reason};
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_vault::date_format::Locale;
use jiff::civil::Date;

use super::Settings;

/// Most names that are looked at, and their most bytes.
const MAX_NAMES: usize = 500;
const MAX_NAME_BYTES: usize = 500;

/// The names in other languages than English.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OtherNames {
    /// The language of most names, if that is not English.
    most: Option<&'static str>,
    /// The first days of notes with a name that is not English, and a language that it is in.
    days: Vec<(Date, &'static str)>,
}

impl Settings {
    /// Takes the language of most names there are; English if it has as many.
    pub(super) fn guess(&mut self, index: &Index) -> Result<(), Error> {
        let mut names = Vec::new();
        for (path, document) in paths(index, &self.folder)? {
            // Every date has a digit.
            if path.len() <= MAX_NAME_BYTES && path.contains(char::is_numeric) && index.shows(document) {
                names.push(path);
            }
        }
        names.sort_unstable_by(|one, other| other.cmp(one));
        names.truncate(MAX_NAMES);
        self.guess_of(&names);
        Ok(())
    }

    pub(super) fn guess_of(&mut self, names: &[String]) {
        let english = names.iter().filter(|name| self.first_day(name).is_some()).count();
        let mut most = (english, self.locale);
        let mut others = OtherNames::default();
        for locale in Locale::all() {
            let theirs = Self { locale, ..self.clone() };
            let days: Vec<_> = names
                .iter()
                .filter(|name| self.first_day(name).is_none())
                .filter_map(|name| theirs.first_day(name))
                .collect();
            others.days.extend(days.iter().map(|day| (*day, locale.id())));
            let count = names.iter().filter(|name| theirs.first_day(name).is_some()).count();
            if !days.is_empty() && count > most.0 {
                most = (count, locale);
                others.most = Some(locale.id());
            }
        }
        self.locale = most.1;
        self.others = others;
    }

    /// Fails if a new note could be a second one of its period, under a name in another language.
    pub(super) fn check_language(&self, day: Date) -> Result<(), Error> {
        let same = || self.others.days.iter().find(|(other, _)| *other == day).map(|(_, id)| *id);
        let Some(id) = self.others.most.or_else(same) else { return Ok(()) };
        let message = format!(
            "names of these notes are in another language than English, such as {id}: set context.locale in the configuration to Obsidian's language, so that no period gets two notes"
        );
        Err(Error::bad_request(Reason::SettingsInvalid, message).with("field", "context.locale"))
    }
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
