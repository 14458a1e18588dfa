//! Filters of logs, as settings write them: `info`, or `warn,atlas_web=debug`.

/// The levels of a log. They are also written as numbers, from 0 for `off` to 5 for `trace`.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// How to write one.
pub const FORM: &str = "write a level, off, error, warn, info, debug or trace, or some such as warn,atlas_web=debug";

/// The filter that `text` spells, without spaces and empty entries; empty if it says nothing, and [`None`] if it is no filter. A word that is no
/// level is the name of a part. Without a level beside it, it would turn off the logs of all other parts, so it is taken for a misspelt level.
#[must_use]
pub fn parse(text: &str) -> Option<String> {
    let entries: Vec<&str> = text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
    let has_level = entries.iter().any(|entry| is_level(entry));
    let mut filter = String::with_capacity(text.len());
    for entry in entries {
        if !filter.is_empty() {
            filter.push(',');
        }
        match entry.split_once('=').map(|(part, level)| (part.trim(), level.trim())) {
            Some((part, level)) if is_part(part) && is_level(level) => {
                filter.push_str(part);
                filter.push('=');
                filter.push_str(level);
            }
            None if is_level(entry) || (has_level && is_part(entry)) => filter.push_str(entry),
            _ => return None,
        }
    }
    Some(filter)
}

fn is_level(text: &str) -> bool {
    LEVELS.iter().enumerate().any(|(number, level)| level.eq_ignore_ascii_case(text) || number.to_string() == text)
}

fn is_part(text: &str) -> bool {
    !text.is_empty() && !text.contains(|letter: char| letter.is_whitespace() || letter == '=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_level_is_no_filter() {
        for (text, expected) in [
            ("off", "off"),
            ("info", "info"),
            ("WARN", "WARN"),
            ("3", "3"),
            ("", ""),
            (" , ", ""),
            ("info,", "info"),
            (" info ", "info"),
            ("info, hyper=warn", "info,hyper=warn"),
            ("info, hyper = 2", "info,hyper=2"),
            ("warn,atlas_web=debug", "warn,atlas_web=debug"),
            ("atlas_ops=debug", "atlas_ops=debug"),
            ("atlas_web,info", "atlas_web,info"),
            ("debug,rmcp=debug,atlas_mirror::store=trace", "debug,rmcp=debug,atlas_mirror::store=trace"),
        ] {
            assert_eq!(parse(text).as_deref(), Some(expected), "{text}");
        }
        for text in
            ["warning", "inf", "6", "zzz,", "inf,hyper=warn", "atlas_web=", "=info", "a=b=info", "atlas_web", "a b"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
