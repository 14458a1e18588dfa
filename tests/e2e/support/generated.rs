//! Parts of pages that are generated.

use std::fs;

use atlas_testkit::project::project;

/// Asserts that the part `name` of a page is `made`; writes it where `make generated` asks for that.
#[track_caller]
pub fn generated_part(path: &str, name: &str, made: &str) {
    let (begin, end) = (format!("<!-- {name}: made by `make generated` -->\n"), format!("<!-- end of {name} -->\n"));
    let path = project().join(path);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&begin).expect("the mark where the part begins");
    let (written, after) = rest.split_once(&end).expect("the mark where it ends");
    if written != made && std::env::var_os("ATLAS_WRITE_README").is_some() {
        fs::write(path, format!("{before}{begin}{made}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(written, made, "run: make generated");
}
