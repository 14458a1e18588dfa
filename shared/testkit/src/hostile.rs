//! Notes that are expensive to read: each has as many as possible of one kind of item.
//!
//! Readers of notes must take linear time over all of them; tests and benchmarks use them.

/// By kind of item: a note of about `bytes` bytes with many of them.
#[must_use]
pub fn notes(bytes: usize) -> Vec<(&'static str, String)> {
    let properties = bytes.min(60_000);
    vec![
        ("tags", counted(bytes, "", |n| format!("#t{n} "))),
        ("tags of the frontmatter", fenced(&counted(properties, "tags:\n", |n| format!("- t{n}\n")))),
        ("aliases", fenced(&counted(properties, "aliases:\n", |n| format!("- a{n}\n")))),
        ("properties", fenced(&counted(properties, "", |n| format!("p{n}: {n}\n")))),
        ("links", counted(bytes, "", |n| format!("[[n{n}]] "))),
        ("links in items", counted(bytes, "", |n| format!("- [[n{n}]]\n"))),
        ("links by reference", counted(bytes, "[r]: x.md\n\n", |_| "[a][r] ".to_owned())),
        ("headings", counted(bytes, "", |n| format!("# H{n}\n"))),
        ("underlined lines", counted(bytes, "", |n| format!("H{n}\n-\n"))),
        ("tasks", counted(bytes, "", |n| format!("- [ ] t{n} 📅 2026-01-02 #x{n} ^i{n}\n"))),
        ("block ids", counted(bytes, "", |n| format!("p ^b{n}\n\n"))),
        ("deep quotes", counted(bytes, "", |n| format!("{}q\n", ">".repeat(n % 60)))),
        ("deep items", counted(bytes, "", |n| format!("{}- i\n", "\t".repeat(n % 40)))),
        ("one chain of items", counted(bytes, "", |n| format!("{}- x\n", "  ".repeat(n)))),
        ("open brackets", "[[".repeat(bytes / 2)),
        ("open images", "![".repeat(bytes / 2)),
        ("emphasis", "*a_".repeat(bytes / 3)),
        ("back quotes", counted(bytes, "", |n| format!("{} ", "`".repeat(n % 300)))),
        ("dollars", "$a ".repeat(bytes / 3)),
        ("comments", "%% a\n".repeat(bytes / 5)),
        ("angles", "<a ".repeat(bytes / 3)),
        ("one line", "a".repeat(bytes)),
        ("blank lines", "\n".repeat(bytes)),
    ]
}

/// `start`, and the results of `each` for 0, 1, 2, … up to `bytes`.
fn counted(bytes: usize, start: &str, each: impl Fn(usize) -> String) -> String {
    let mut text = start.to_owned();
    for n in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&each(n));
    }
    text
}

fn fenced(yaml: &str) -> String {
    format!("---\n{yaml}---\n")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use atlas_segment::{Body, Builder, Document, Kind};
    use atlas_vault::VaultPath;
    use atlas_vault::edit::{Edit, Target, apply};

    use super::*;

    const BYTES: usize = 10_000;
    const TIMES: u32 = 4;
    /// Linear work has the factor [`TIMES`], quadratic work four times that.
    const MOST: u32 = 10;

    /// The shortest of several measured times of `work`.
    fn time(work: impl Fn()) -> Duration {
        let once = || {
            let start = Instant::now();
            work();
            start.elapsed()
        };
        std::iter::repeat_with(once).take(5).min().unwrap()
    }

    fn is_linear(what: &str, work: impl Fn(&str)) {
        let (small, large) = (notes(BYTES), notes(BYTES * TIMES as usize));
        for ((name, small), (_, large)) in small.iter().zip(&large) {
            // Another process may disturb one of the measurements.
            let holds = (0..4).any(|_| time(|| work(large)) <= time(|| work(small)) * MOST + Duration::from_millis(5));
            assert!(holds, "{what}: {name}");
        }
    }

    #[test]
    fn a_note_is_indexed_in_time_proportional_to_its_length() {
        let path = VaultPath::parse("note.md").unwrap();
        is_linear("index", |text| {
            let body = Body::Text(text.as_bytes());
            let mut builder = Builder::new().unwrap();
            let (sha256, modified_ms, generation, replaces) = ([0; 32], 0, 0, 0);
            let kind = Kind::Note;
            let document =
                Document { path: &path, path_on_disk: None, kind, sha256, modified_ms, generation, replaces, body };
            builder.push(&document).unwrap();
            builder.finish().unwrap();
        });
    }

    #[test]
    fn a_note_is_edited_in_time_proportional_to_its_length() {
        let heading = |text: &str| Target::Heading(vec![text.to_owned()]);
        is_linear("edit", |text| {
            for edit in [
                Edit::Append { text: "x".to_owned() },
                Edit::InsertBefore { target: Target::Lines([1, 1]), text: "x".to_owned() },
                Edit::AppendToSection { target: heading("H1"), text: "x".to_owned() },
                Edit::ReplaceSection { target: Target::Block("b1".to_owned()), text: "x".to_owned() },
                Edit::SetProperty { name: "new".to_owned(), value: 1.into() },
            ] {
                // Most notes do not have this edit's target.
                drop(apply(text, &[edit], 1 << 30));
            }
        });
    }
}
