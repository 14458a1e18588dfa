//! The text of PDFs, which `atlas sync` reads and searches find.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};

use crate::support::deployment::Client;
use crate::support::programs::{Place, atlas, json_of, until};
use crate::support::tools::Tools;

/// A PDF with these pages, of one line each.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let contents = pages.iter().map(|page| format!("BT /F1 12 Tf 72 720 Td ({page}) Tj ET").into_bytes());
    pdf_of(&contents.map(|content| (content, "")).collect::<Vec<_>>())
}

/// A PDF with pages of these contents, each in a stream with such properties.
fn pdf_of(contents: &[(Vec<u8>, &str)]) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len()).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
    let mut objects: Vec<Vec<u8>> = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), contents.len()).into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
    ];
    for (page, (content, properties)) in contents.iter().enumerate() {
        let of = 5 + 2 * page;
        let (resources, area) = ("<< /Font << /F1 3 0 R >> >>", "[0 0 612 792]");
        objects.push(
            format!("<< /Type /Page /Parent 2 0 R /MediaBox {area} /Resources {resources} /Contents {of} 0 R >>")
                .into_bytes(),
        );
        let head = format!("<< /Length {} {properties} >>\nstream\n", content.len());
        objects.push([head.as_bytes(), content, b"\nendstream"].concat());
    }
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", file.len());
        writeln!(file, "{} 0 obj", number + 1).unwrap();
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    let at = file.len();
    let trailer = format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n", objects.len() + 1);
    file.extend_from_slice((table + &trailer).as_bytes());
    file
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// A synced folder with PDFs.
struct Folder {
    place: Place,
    notes: PathBuf,
}

impl Folder {
    fn with(files: &[(&str, Vec<u8>)]) -> Self {
        let place = Place::new();
        let notes = place.path("notes");
        for (path, bytes) in files {
            let path = notes.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Self { place, notes }
    }

    fn sync(&self) -> Value {
        json_of(self.place.sync(&self.notes).arg("--json"))
    }

    fn found(&self, arguments: &[&str]) -> Vec<(String, u64)> {
        let output = self.place.atlas("search").args(arguments).arg("--json").output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let results = answer["results"].as_array().unwrap().iter();
        results.map(|found| (found["path"].as_str().unwrap().to_owned(), found["page"].as_u64().unwrap_or(0))).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_the_text_of_pdfs_with_its_page() {
    let folder = Folder::with(&[
        ("scans/Lease.PDF", pdf(&["The lighthouse keeper", "", "rents the lantern room"])),
        ("a.md", b"The lantern is lit.\n".to_vec()),
    ]);
    let summary = folder.sync();
    assert_eq!((&summary["texts"], &summary["generation"]), (&json!(1), &json!(2)), "{summary}");
    assert_eq!(folder.sync()["generation"], 2);
    let lease = |page| ("scans/Lease.PDF".to_owned(), page);
    let note = || ("a.md".to_owned(), 0);
    assert_eq!(folder.found(&["lighthouse"]), [lease(1)]);
    assert_eq!(folder.found(&["lantern room"]), [lease(3), note()]);
    assert_eq!(folder.found(&["-F", "lantern"]), [note(), lease(3)]);
    assert_eq!(folder.found(&["-e", "^The"]), [note(), lease(1)]);
    let output = folder.place.atlas("search").arg("keeper").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains(":Page 1: The lighthouse keeper"));
    // An agent reads the page.
    let client = Client::over(&folder.place.open());
    let page = |number: u64| json!({ "path": "scans/Lease.PDF", "page": number });
    let tools = Tools::of(&client);
    let read = tools.good("get_attachment", page(3)).await;
    assert_eq!(
        (&read["text"], &read["pages"], &read["truncated"]),
        (&json!("rents the lantern room"), &json!(3), &json!(false))
    );
    assert_eq!(tools.good("get_attachment", page(2)).await["text"], "");
    let refused = tools.bad("get_attachment", page(4), "invalid_input").await;
    assert!(refused["message"].as_str().unwrap().contains("3 pages"), "{refused}");
    tools.bad("get_attachment", json!({ "path": "a.md", "page": 1 }), "invalid_input").await;
    let refused = tools.bad("read_note", json!({ "path": "scans/Lease.PDF" }), "note_not_found").await;
    assert!(refused["message"].as_str().unwrap().contains("its text with page"), "{refused}");
    // A moved one keeps its text, and one from another host gets its text with the next sync.
    tools.good("move_attachment", json!({ "from": "scans/Lease.PDF", "to": "Lease.pdf" })).await;
    assert_eq!(tools.good("get_attachment", json!({ "path": "Lease.pdf", "page": 1 })).await["pages"], 3);
    let again = folder.sync();
    assert_eq!((&again["pulled"]["added"], again.get("texts")), (&json!(1), None), "{again}");
    assert_eq!(folder.found(&["lighthouse"]), [("Lease.pdf".to_owned(), 1)]);
}

#[test]
fn what_is_no_sound_pdf_costs_little_and_stops_nothing() {
    // Blanks that shrink a thousandfold when packed, packed twice.
    let bomb = packed(&packed(&vec![b' '; 1 << 30]));
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000)).into_bytes();
    let whole = pdf(&["whole"]);
    let folder = Folder::with(&[
        ("bomb.pdf", pdf_of(&[(bomb, "/Filter [/FlateDecode /FlateDecode]")])),
        ("cut.pdf", whole[..whole.len() / 2].to_vec()),
        ("deep.pdf", pdf_of(&[(deep, "")])),
        ("empty.pdf", Vec::new()),
        ("good.pdf", pdf(&["soundness"])),
        (
            "noise.pdf",
            [
                b"%PDF-1.7\n".to_vec(),
                (0..50_000u32).flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_le_bytes()).collect(),
            ]
            .concat(),
        ),
    ]);
    let summary = folder.sync();
    assert_eq!((&summary["attachments"], &summary["skipped"]), (&json!(6), &Value::Null), "{summary}");
    assert!(summary.get("texts_waiting").is_none(), "{summary}");
    assert_eq!(folder.found(&["soundness"]), [("good.pdf".to_owned(), 1)]);
    // None is tried again.
    let begun = Instant::now();
    assert_eq!(folder.sync()["generation"], summary["generation"]);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn the_program_that_reads_them_has_limits() {
    let mut child = atlas().arg("read-pdf").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    until(Duration::from_secs(20), "all limits", || {
        let limits = fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
        let has = |(name, most): (&str, &str)| {
            let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().any(|word| word == most)
        };
        let wanted = [("Max cpu time", "20"), ("Max data size", "536870912"), ("Max core file size", "0")];
        if wanted.into_iter().all(has) { Ok(()) } else { Err(limits) }
    });
    drop(child.stdin.take());
    assert!(!child.wait().unwrap().success());
}
