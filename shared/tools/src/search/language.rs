//! The language of a query, as its words tell: which words are common in it, and which have the same stem (Porter's algorithms,
//! <https://snowballstem.org>). It depends on the query alone.

use atlas_vault::words::is_unspaced;
use rust_stemmers::{Algorithm, Stemmer};

use crate::search::common_words::{AMBIGUOUS, COMMON, DUTCH, FRENCH, GERMAN, ITALIAN, PORTUGUESE, SPANISH};

/// A language of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// Also every other language whose words are none of the languages below.
    English,
    German,
    French,
    Spanish,
    Portuguese,
    Italian,
    Dutch,
    Russian,
}

/// Those told apart by their common words.
const TOLD: [Language; 6] =
    [Language::Spanish, Language::German, Language::French, Language::Portuguese, Language::Italian, Language::Dutch];
/// The points of a common word, and of one that other languages have too; `CLEAR` points tell a language.
const CLEAR: usize = 2;
const UNCLEAR: usize = 1;

impl Language {
    /// The language of these folded words: the one that most of them are common in, English if none is.
    pub(crate) fn of<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Self {
        if words.clone().any(|word| word.chars().any(|c| matches!(c, '\u{400}'..='\u{4ff}'))) {
            return Self::Russian;
        }
        let telling = |language: Self| -> usize {
            let common = words.clone().filter(|word| language.is_common(word));
            common.map(|word| if AMBIGUOUS.binary_search(&word).is_ok() { UNCLEAR } else { CLEAR }).sum()
        };
        let mut best = (Self::English, telling(Self::English).max(CLEAR - 1));
        for language in TOLD {
            let told = telling(language);
            if told > best.1 {
                best = (language, told);
            }
        }
        let is_german = |word: &str| word.contains(['ä', 'ö', 'ü', 'ß']);
        if best.1 < CLEAR && words.clone().any(is_german) { Self::German } else { best.0 }
    }

    /// Whether a folded word says next to nothing in it.
    pub(crate) fn is_common(self, word: &str) -> bool {
        let words = match self {
            Self::English => COMMON,
            Self::German => GERMAN,
            Self::French => FRENCH,
            Self::Spanish => SPANISH,
            Self::Portuguese => PORTUGUESE,
            Self::Italian => ITALIAN,
            Self::Dutch => DUTCH,
            Self::Russian => &[],
        };
        words.binary_search(&word).is_ok()
    }

    /// The stems of this language.
    pub(crate) fn stems(self) -> Stems {
        let stemmer = Stemmer::create(match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Italian => Algorithm::Italian,
            Self::Dutch => Algorithm::Dutch,
            Self::Russian => Algorithm::Russian,
        });
        Stems { stemmer, has_umlauts: self == Self::German }
    }
}

/// The stems of a language.
pub(crate) struct Stems {
    stemmer: Stemmer,
    /// Whether a stem stands for words with its last vowel as an umlaut too.
    has_umlauts: bool,
}

/// A stem, and where words with it stand among others.
pub(crate) struct Stem {
    stem: String,
    /// The beginnings of words with the stem, in order; none begins another.
    pub(crate) prefixes: Vec<String>,
}

/// Most bytes by which a word is longer than its stem.
const MAX_ENDING: usize = 16;
/// Fewer characters that a word shares with its stem do not tell where others with the stem stand: `haus` is that of `häuser`.
const MIN_SHARED: usize = 3;

impl Stems {
    /// The stem of a folded word; [`None`] for one that has none, such as a number or one of a script without spaces.
    pub(crate) fn of(&self, word: &str) -> Option<Stem> {
        let has_stem = word.chars().count() > 2 && word.chars().any(char::is_alphabetic) && !word.contains(is_unspaced);
        has_stem.then(|| {
            let stem = self.stemmer.stem(word).into_owned();
            let shared = stem.char_indices().zip(word.char_indices()).take_while(|(one, other)| one == other);
            let shared: Vec<usize> = shared.map(|((at, c), _)| at + c.len_utf8()).collect();
            if shared.len() < MIN_SHARED {
                let of_word: String = word.chars().take(stem.chars().count()).collect();
                let mut prefixes = vec![of_word, stem.clone()];
                prefixes.sort();
                prefixes.dedup_by(|other, one| other.starts_with(&*one));
                return Stem { prefixes, stem };
            }
            let shared = shared.last().copied().unwrap_or_default();
            // The last letter of a stem may stand for others: `happi` for happy, `hope` for hoping.
            let kept = if shared > 3 && stem.ends_with(['i', 'e']) {
                stem.floor_char_boundary(shared.min(stem.len() - 1))
            } else {
                shared
            };
            let prefix = stem.get(..kept).unwrap_or_default().to_owned();
            let umlaut = if self.has_umlauts { with_umlaut(&prefix) } else { None };
            Stem { prefixes: [Some(prefix), umlaut].into_iter().flatten().collect(), stem }
        })
    }

    /// Whether a folded word that begins with one of the stem's prefixes has the stem.
    pub(crate) fn has(&self, stem: &Stem, word: &str) -> bool {
        word.len() <= stem.stem.len() + MAX_ENDING && self.stemmer.stem(word) == stem.stem
    }
}

/// A German stem as its plural or another form may have it: `häus` of `haus`, `tön` of `ton`.
fn with_umlaut(stem: &str) -> Option<String> {
    let (before, rest) = stem.split_at(stem.rfind(['a', 'o', 'u'])?);
    if let (Some(before), Some(rest)) = (before.strip_suffix('a'), rest.strip_prefix('u')) {
        return Some(format!("{before}äu{rest}"));
    }
    let umlaut = |vowel, umlaut| rest.strip_prefix(vowel).map(|rest| format!("{before}{umlaut}{rest}"));
    umlaut('a', 'ä').or_else(|| umlaut('o', 'ö')).or_else(|| umlaut('u', 'ü'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn language(text: &str) -> Language {
        Language::of(text.split(' '))
    }

    #[test]
    fn common_words_tell_the_language() {
        for (text, expected) in [
            ("how do i hide finished tasks", Language::English),
            ("kanban", Language::English),
            ("para starter vault", Language::English),
            ("die hard", Language::English),
            ("contraseña para mi sitio publicado", Language::Spanish),
            ("importar notas desde notion", Language::Spanish),
            ("obsidian unter linux installieren", Language::German),
            ("tastenkürzel ändern", Language::German),
            ("comment changer la langue dans les réglages", Language::French),
            ("как изменить язык", Language::Russian),
            ("暗号化", Language::English),
        ] {
            assert_eq!(language(text), expected, "{text}");
        }
    }

    #[test]
    fn words_of_one_stem_are_found_below_its_prefixes() {
        let begins = |word: &str, stem: &Stem| stem.prefixes.iter().any(|prefix| word.starts_with(prefix));
        for (language, words) in [
            (Language::English, &["publish", "published", "publishing", "publishes"][..]),
            (Language::English, &["happy", "happiness"]),
            (Language::English, &["hope", "hoping", "hoped", "hopes"]),
            (Language::English, &["librarian", "librarian's", "librarians"]),
            (Language::English, &["stop", "stopping", "stopped"]),
            (Language::Spanish, &["nota", "notas"]),
            (Language::German, &["einstellung", "einstellungen"]),
            (Language::German, &["krankenhaus", "krankenhäuser"]),
            (Language::German, &["buch", "bücher", "büchern"]),
            (Language::German, &["ton", "töne"]),
        ] {
            let stems = language.stems();
            for word in words {
                let stem = stems.of(word).unwrap();
                for other in words {
                    assert!(begins(other, &stem) && stems.has(&stem, other), "{word} {other}");
                }
            }
        }
        // Below the beginning of the word, and below that of the stem.
        for (language, word, others) in [
            (Language::English, "dying", ["die", "dies"]),
            (Language::German, "äpfel", ["apfel", "äpfel"]),
            (Language::German, "häuser", ["haus", "häusern"]),
            (Language::Dutch, "boot", ["boten", "boot"]),
        ] {
            let (stems, stem) = (language.stems(), language.stems().of(word).unwrap());
            assert!(others.iter().all(|other| begins(other, &stem) && stems.has(&stem, other)), "{word}");
        }
        for word in ["日本", "42", "to"] {
            assert!(Language::English.stems().of(word).is_none(), "{word}");
        }
    }

    proptest! {
        #[test]
        fn any_word_has_its_own_stem(word in "([a-zäöüßéñçа-я']{1,20}|\\PC{1,12})", which in 0usize..8) {
            let language = [Language::English, Language::German, Language::French, Language::Spanish, Language::Portuguese, Language::Italian, Language::Dutch, Language::Russian][which];
            let stems = language.stems();
            if let Some(stem) = stems.of(&word) {
                let begins = stem.prefixes.iter().filter(|prefix| word.starts_with(*prefix)).count();
                prop_assert!(begins == 1 && stems.has(&stem, &word), "{:?}", stem.prefixes);
                prop_assert!(stem.prefixes.is_sorted() && stem.prefixes.iter().all(|prefix| !prefix.is_empty()));
            }
        }
    }
}
