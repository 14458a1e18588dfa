//! Numbers, times and names of operations in words.

use jiff::Timestamp;
use maud::{Markup, html};

/// A number of things.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A number with a comma for each thousand.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + 4);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} bytes"),
        1000..1_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// A time. The script shows how long ago it was.
pub(crate) fn time(text: &str) -> Markup {
    let shown = text
        .parse::<Timestamp>()
        .map_or_else(|_| text.to_owned(), |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string());
    html! { time datetime=(text) title=(text) { (shown) } }
}

/// An operation in a person's words.
pub(crate) fn operation(name: &str) -> String {
    match name {
        "write_note" | "note_upsert" | "upsert_note" => "write a note".to_owned(),
        "edit_note" | "patch_note" => "edit a note".to_owned(),
        "append_note" => "add to a note".to_owned(),
        "delete_note" | "note_delete" => "delete a note".to_owned(),
        "move_note" => "move a note".to_owned(),
        "restore_note" => "restore a note".to_owned(),
        "resolve_conflict" => "resolve a conflict".to_owned(),
        "undo_changes" => "undo changes".to_owned(),
        "update_frontmatter" => "change properties".to_owned(),
        name => name.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_as_people_write_them() {
        assert_eq!(count(1, "note", "notes"), "1 note");
        assert_eq!(count(6571, "note", "notes"), "6,571 notes");
        assert_eq!(count(1_000_000, "note", "notes"), "1,000,000 notes");
        assert_eq!((bytes(999), bytes(1500), bytes(2_500_000)), ("999 bytes".into(), "1 kB".into(), "2 MB".into()));
        assert!(time("2026-01-31T12:00:00Z").into_string().contains(">2026-01-31 12:00 UTC<"));
        assert!(time("\"><script>").into_string().contains("&lt;script&gt;"));
    }
}
