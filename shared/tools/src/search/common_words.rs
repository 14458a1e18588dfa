//! Words without meaning for a search, since every text of a language contains them.

/// Those of English. All lists are sorted.
pub(crate) const COMMON: &[&str] = &[
    "a", "about", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "do", "does", "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "into", "is", "it",
    "its", "may", "me", "more", "my", "no", "not", "of", "on", "or", "our", "out", "she", "should", "so", "some",
    "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "up",
    "us", "was", "we", "were", "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "you",
    "your",
];

/// Those of German.
pub(crate) const GERMAN: &[&str] = &[
    "aber", "als", "am", "an", "auch", "auf", "aus", "bei", "bin", "bis", "da", "das", "dass", "dem", "den", "der",
    "des", "die", "dies", "diese", "dieser", "doch", "du", "ein", "eine", "einem", "einen", "einer", "er", "es", "für",
    "hat", "ich", "ihr", "im", "in", "ist", "ja", "kann", "man", "mein", "mich", "mir", "mit", "nach", "nicht", "noch",
    "nur", "ob", "oder", "sich", "sie", "sind", "so", "um", "und", "uns", "unter", "vom", "von", "vor", "was", "wenn",
    "wer", "wie", "wir", "wird", "wo", "zu", "zum", "zur", "über",
];

/// Those of Spanish.
pub(crate) const SPANISH: &[&str] = &[
    "a", "al", "algo", "como", "con", "cuando", "cuál", "cuándo", "cómo", "de", "del", "desde", "donde", "dónde", "e",
    "el", "ella", "en", "entre", "era", "es", "esa", "ese", "eso", "esta", "este", "esto", "está", "hay", "la", "las",
    "le", "lo", "los", "me", "mi", "mis", "muy", "más", "no", "nos", "o", "para", "pero", "por", "porque", "puedo",
    "que", "quien", "qué", "se", "ser", "si", "sin", "sobre", "son", "su", "sus", "sí", "te", "tengo", "tu", "un",
    "una", "uno", "y", "ya", "yo",
];

/// Those of French.
pub(crate) const FRENCH: &[&str] = &[
    "au", "aux", "avec", "ce", "ces", "cette", "comme", "comment", "dans", "de", "des", "du", "elle", "en", "est",
    "et", "il", "ils", "je", "la", "le", "les", "leur", "lui", "ma", "mais", "me", "mes", "moi", "mon", "ne", "nos",
    "notre", "nous", "on", "ou", "où", "par", "pas", "peut", "plus", "pour", "puis", "qu", "que", "quel", "quelle",
    "qui", "quoi", "sa", "sans", "se", "ses", "son", "sont", "sur", "ta", "te", "tu", "un", "une", "vos", "votre",
    "vous", "y", "à",
];

/// Those of Portuguese.
pub(crate) const PORTUGUESE: &[&str] = &[
    "a", "ao", "aos", "as", "com", "como", "da", "das", "de", "do", "dos", "e", "ela", "ele", "em", "entre", "era",
    "essa", "esse", "esta", "este", "eu", "foi", "isso", "já", "mais", "mas", "me", "meu", "minha", "muito", "na",
    "nas", "no", "nos", "não", "o", "os", "ou", "para", "pela", "pelo", "por", "qual", "quando", "que", "quem", "se",
    "sem", "ser", "seu", "sua", "são", "também", "tem", "um", "uma", "você", "à", "é",
];

/// Those of Italian.
pub(crate) const ITALIAN: &[&str] = &[
    "a", "al", "alla", "anche", "che", "chi", "come", "con", "cosa", "da", "dal", "dei", "del", "della", "di", "dove",
    "e", "gli", "ho", "i", "il", "in", "io", "la", "le", "lo", "ma", "mi", "mia", "mio", "nel", "nella", "non", "o",
    "per", "perché", "più", "quale", "quando", "quello", "questa", "questo", "se", "si", "sono", "su", "sul", "tra",
    "un", "una", "uno", "è",
];

/// Those of Dutch.
pub(crate) const DUTCH: &[&str] = &[
    "aan", "als", "bij", "dan", "dat", "de", "deze", "die", "dit", "door", "een", "en", "er", "haar", "heb", "hebben",
    "heeft", "het", "hij", "hoe", "ik", "in", "is", "je", "kan", "maar", "met", "mijn", "naar", "niet", "nog", "of",
    "om", "onder", "ook", "op", "over", "te", "tot", "uit", "van", "voor", "waar", "wat", "we", "worden", "ze", "zijn",
    "zo",
];

/// Those of the other lists that several languages have, be it with other meanings.
pub(crate) const AMBIGUOUS: &[&str] = &[
    "a", "al", "alla", "also", "am", "an", "as", "au", "aux", "com", "come", "comment", "con", "cosa", "da", "dal",
    "dan", "das", "dat", "de", "dei", "del", "den", "der", "des", "di", "die", "do", "dos", "du", "e", "el", "en",
    "er", "era", "es", "est", "et", "ha", "han", "hat", "he", "i", "il", "in", "is", "it", "je", "la", "las", "le",
    "les", "lo", "los", "ma", "man", "mas", "me", "mi", "mia", "mis", "mit", "my", "no", "nos", "o", "of", "on", "op",
    "or", "os", "ou", "over", "par", "para", "pas", "per", "plus", "por", "pour", "qui", "sa", "se", "si", "sin", "so",
    "son", "sono", "su", "sub", "sui", "sur", "ta", "te", "the", "to", "tot", "tu", "un", "una", "uno", "us", "van",
    "von", "vos", "was", "wat", "we", "wo", "y", "ze", "zo", "zu",
];

/// Whether a folded word is one of English.
pub(crate) fn is_common(word: &str) -> bool {
    COMMON.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_are_in_order() {
        for words in [COMMON, GERMAN, SPANISH, FRENCH, PORTUGUESE, ITALIAN, DUTCH, AMBIGUOUS] {
            assert!(words.is_sorted());
        }
        assert!(is_common("the") && !is_common("tide"));
    }
}
