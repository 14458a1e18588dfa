//! Pages of text extracted from a file of another format, such as a PDF. A line with only a form feed separates two
//! pages.

use crate::file_kind::may_be_text;

/// Separates pages.
pub const PAGE_END: &str = "\n\u{c}\n";

/// Whether the text stored for a file of this name has pages: the file is neither a note nor another text.
#[must_use]
pub fn has_pages(file_name: &str) -> bool {
    let is_note = file_name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("md"));
    !is_note && !may_be_text(file_name)
}

/// The number of the page, counted from 1, that contains `line`, counted from 0.
#[must_use]
pub fn page_of_line(text: &[u8], line: usize) -> u64 {
    let ends = text.split(|byte| *byte == b'\n').take(line).filter(|line| *line == b"\x0c").count();
    ends as u64 + 1
}

/// The text of page `number`, counted from 1; [`None`] if there are fewer pages.
#[must_use]
pub fn page(text: &str, number: usize) -> Option<&str> {
    text.split(PAGE_END).nth(number.checked_sub(1)?)
}

/// The number of pages.
#[must_use]
pub fn count(text: &str) -> usize {
    if text.is_empty() { 0 } else { text.matches(PAGE_END).count() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_on_the_page_that_has_it() {
        let text = ["one\ntwo", "", "five", ""].join(PAGE_END);
        assert_eq!(count(&text), 4);
        for number in 1..=count(&text) {
            let of_page = page(&text, number).unwrap();
            for line in of_page.lines() {
                let at = text.lines().position(|other| other == line).unwrap();
                assert_eq!(page_of_line(text.as_bytes(), at), number as u64, "{line}");
            }
        }
        assert_eq!((page(&text, 3), page(&text, 5), page(&text, 0), count("")), (Some("five"), None, None, 0));
    }

    #[test]
    fn notes_and_other_texts_have_none() {
        for (name, expected) in [("a.pdf", true), ("a.MD", false), ("a.txt", false), ("a", true)] {
            assert_eq!(has_pages(name), expected, "{name}");
        }
    }
}
