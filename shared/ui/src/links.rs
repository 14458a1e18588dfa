//! Addresses of pages. Paths are parameters, since some gateways decode the path of a request.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are escaped in a parameter.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'/');

/// `text` as a parameter's value.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}

/// The page at `place` with these parameters, without empty ones.
pub(crate) fn page(place: &str, parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let pairs: Vec<String> = given.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    if pairs.is_empty() { format!("/ui/{place}") } else { format!("/ui/{place}?{}", pairs.join("&")) }
}

/// The page of a note.
pub(crate) fn note(path: &str) -> String {
    page("note", &[("path", path)])
}

/// The page of a note, at a heading or block.
pub(crate) fn note_at(path: &str, anchor: &str) -> String {
    if anchor.is_empty() { note(path) } else { format!("{}#{}", note(path), encoded(anchor)) }
}

/// The bytes of a file.
pub(crate) fn file(path: &str) -> String {
    page("file", &[("path", path)])
}

/// The address of the file at `path`: a note's page, or another file's bytes.
pub(crate) fn document(path: &str) -> String {
    if is_note(path) { note(path) } else { file(path) }
}

/// Whether the file at `path` is a note.
pub(crate) fn is_note(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("md"))
}

/// The page of a commit.
pub(crate) fn commit(generation: u64) -> String {
    format!("/ui/activity/{generation}")
}

/// The page of a call that waits.
pub(crate) fn approval(id: &str) -> String {
    format!("/ui/approvals/{}", encoded(id))
}

/// The name of a note, without its folder and extension.
pub(crate) fn name(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.strip_suffix(".md").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_path_has_cannot_leave_its_parameter() {
        assert_eq!(note("A/b c.md"), "/ui/note?path=A/b%20c.md");
        assert_eq!(note("a&x=1#y?\"'<.md"), "/ui/note?path=a%26x%3D1%23y%3F%22%27%3C.md");
        assert_eq!(note_at("a.md", "One \"two\""), "/ui/note?path=a.md#One%20%22two%22");
        assert_eq!(page("search", &[("q", ""), ("mode", "text")]), "/ui/search?mode=text");
        assert_eq!(document("p.PNG"), "/ui/file?path=p.PNG");
        assert_eq!((name("a/b/C d.md"), name("x.png")), ("C d", "x.png"));
    }
}
