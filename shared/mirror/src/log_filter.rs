//! Filters of logs, as settings write them: `info`, or `warn,atlas_web=debug`.

/// The levels of a log.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// How to write one.
pub const FORM: &str = "write a level, off, error, warn, info, debug or trace, or some such as warn,atlas_web=debug";

/// Whether `text` is a filter. A lone word that is no level is none: it would be the name of a part, and turn off the logs of all others.
#[must_use]
pub fn is_valid(text: &str) -> bool {
    let is_level = |text: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(text));
    let is_part =
        |text: &str| !text.is_empty() && !text.contains(|letter: char| letter.is_whitespace() || letter == '=');
    text.split(',').all(|entry| match entry.split_once('=') {
        Some((part, level)) => is_part(part) && is_level(level),
        None => is_level(entry),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_level_is_no_filter() {
        for text in ["off", "info", "WARN", "warn,atlas_web=debug", "debug,rmcp=debug,atlas_mirror::store=trace"] {
            assert!(is_valid(text), "{text}");
        }
        for text in [
            "",
            "warning",
            "inf",
            "zzz",
            "info,",
            "info, atlas_web=debug",
            "atlas_web=",
            "=info",
            "a=b=info",
            "atlas_web",
        ] {
            assert!(!is_valid(text), "{text}");
        }
    }
}
