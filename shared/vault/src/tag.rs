//! Rules for tags.

/// `text` as a tag's name without slashes at its end; `None` if it is only a number.
pub(crate) fn name(text: &str) -> Option<&str> {
    let name = text.trim_end_matches('/');
    name.contains(|c: char| !c.is_numeric()).then_some(name)
}

/// The name of the tag in `text`, with or without its `#`. `None` if `text` would not be read as one tag.
#[must_use]
pub fn tag_name(text: &str) -> Option<&str> {
    let name = text.trim().trim_start_matches('#');
    let marked = format!("#{name}");
    (read(&marked, 0) == Some(marked.len())).then_some(name)
}

/// The end of the tag whose `#` is at `at`, or `None`. A tag starts a line or follows white space, and consists of
/// letters, digits, `_`, `-`, `/` and emoji.
pub(crate) fn read(text: &str, at: usize) -> Option<usize> {
    let before = text.get(..at)?.chars().next_back();
    if before.is_some_and(|c| !c.is_whitespace()) {
        return None;
    }
    let rest = text.get(at + 1..)?;
    let end = rest.find(|c: char| !belongs(c)).unwrap_or(rest.len());
    name(rest.get(..end)?).map(|name| at + 1 + name.len())
}

/// Whether `c` can be part of a tag. Beyond ASCII, all characters can except white space and punctuation: combining marks, joiners and
/// symbols belong to words and emoji.
fn belongs(c: char) -> bool {
    match c {
        '_' | '-' | '/' | '\u{200C}' | '\u{200D}' => true,
        '\0'..='\u{7F}' => c.is_ascii_alphanumeric(),
        _ if c.is_alphanumeric() => true,
        // Latin-1, General, Supplemental and CJK Punctuation, and full-width forms.
        '\u{80}'..='\u{BF}' | '\u{2000}'..='\u{206F}' | '\u{2E00}'..='\u{2E7F}' => false,
        '\u{3000}'..='\u{303F}' | '\u{FE10}'..='\u{FE1F}' | '\u{FE30}'..='\u{FE6F}' => false,
        '\u{FF00}'..='\u{FFEF}' => false,
        _ => !c.is_whitespace(),
    }
}
