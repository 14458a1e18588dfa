use super::*;
use proptest::prelude::*;

fn file(on_disk: &str) -> File {
    let path = VaultPath::parse(on_disk).unwrap();
    let spelt = (path.as_str() != on_disk).then(|| on_disk.into());
    let stamp = Stamp { size: 1, mtime_ns: 2 };
    File { path, on_disk: spelt, class: Class::Note, stamp, is_link: false }
}

proptest! {
    #[test]
    fn the_order_of_the_listing_does_not_matter(names in prop::collection::btree_set("[ab\u{e9}\u{301}e/]{1,3}", 1..12), seed: u64) {
        let names: Vec<String> = names.into_iter().filter(|name| VaultPath::parse(name).is_ok()).collect();
        let listed = |names: &[String]| {
            let files = names.iter().map(|name| file(name)).collect();
            let scan = Scan { files, ..Scan::default() }.settled();
            let skipped: Vec<String> = scan.skipped.iter().map(ToString::to_string).collect();
            (scan.files, skipped)
        };
        let mut shuffled = names.clone();
        shuffled.sort_by_key(|name| {
            use std::hash::{DefaultHasher, Hash as _, Hasher as _};
            let mut hasher = DefaultHasher::new();
            (seed, name).hash(&mut hasher);
            hasher.finish()
        });
        let (files, skipped) = listed(&names);
        prop_assert!(files.is_sorted_by(|a, b| a.path < b.path));
        prop_assert_eq!(files.len() + skipped.len(), names.len());
        prop_assert_eq!((files, skipped), listed(&shuffled));
    }
}

#[test]
fn nothing_follows_from_the_absence_of_what_is_below_an_unknown_folder() {
    let mut unknown = Unknown::default();
    unknown.add("a/e\u{301}");
    assert!(unknown.holds("a/\u{e9}"));
    assert!(unknown.holds("a/\u{e9}/b/c.md"));
    assert!(!unknown.holds("a/\u{e9}.md"));
    assert!(!unknown.holds("a"));
}
