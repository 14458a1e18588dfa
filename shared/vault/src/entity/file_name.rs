//! Names of files that every system can store.

use unicode_normalization::UnicodeNormalization as _;

/// Longest name, in bytes: with a mark and an extension it is no longer than a file system takes.
const MAX_BYTES: usize = 180;
/// The file name for a name without any usable character.
const UNNAMED: &str = "unnamed";
/// Names that Windows keeps for devices, also with an extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
/// The same with a digit after them.
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// A name for a file or folder, without an extension, that says `name` as far as all systems, links and percent-decoding allow. Others' names may
/// become the same.
#[must_use]
pub fn file_name(name: &str) -> String {
    let mut written = String::new();
    for c in name.chars().filter(|c| !is_invisible(*c)).nfc() {
        let c = if is_plain(c) { c } else { '-' };
        // White space at the beginning, and more than one.
        if c == ' ' && (written.is_empty() || written.ends_with(' ')) {
            continue;
        }
        if written.len() + c.len_utf8() > MAX_BYTES {
            break;
        }
        written.push(c);
    }
    let trimmed = written.trim_start_matches(['.', ' ']).trim_end_matches(['.', ' ']);
    match trimmed {
        "" => UNNAMED.to_owned(),
        device if is_device(device) => format!("_{device}"),
        name => name.to_owned(),
    }
}

fn is_plain(c: char) -> bool {
    !c.is_control() && (c == ' ' || !c.is_whitespace()) && !r#"\/:*?"<>|#^[]%~"#.contains(c)
}

/// Marks that turn or hide text. Joiners stay: emoji and some scripts are made with them.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|rest| {
            let mut rest = rest.chars();
            matches!((rest.next(), rest.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
        })
    };
    DEVICES.contains(&stem.as_str()) || NUMBERED_DEVICES.iter().any(|device| numbered(device))
}
