//! The text of PDFs. They are hostile input and their parser may fail in any way. So another process of this program
//! reads them, with little time and memory, and no environment.

use std::env;
use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::panic;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use atlas_sync::{MAX_TEXT_BYTES, Reading, TextReader};
use atlas_vault::pages::PAGE_END;
use pdf_extract::{Document, PlainTextOutput, output_doc_page};
use rustix::process::{Resource, Rlimit, setrlimit};

/// The command of the other process.
pub(crate) const COMMAND: &str = "read-pdf";
/// Its time limit, and its limit of processor time.
const TIME: Duration = Duration::from_secs(30);
const CPU_SECONDS: u64 = 20;
/// Its memory limits, in bytes: data, and address space.
const DATA_BYTES: u64 = 512 << 20;
const ADDRESS_BYTES: u64 = 8 << 30;
/// Most bytes of its answer.
const ANSWER_BYTES: u64 = 2 * MAX_TEXT_BYTES as u64;
/// The interval of checks whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Reads PDFs, for at most `time` in one sync.
pub(crate) fn reading(time: Duration) -> Reading {
    Reading { reader: Arc::new(PdfReader), time }
}

/// Reads PDFs.
#[derive(Debug)]
struct PdfReader;

impl TextReader for PdfReader {
    fn reads(&self, file_name: &str) -> bool {
        file_name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("pdf"))
    }

    fn read(&self, bytes: &[u8]) -> io::Result<String> {
        let mut child = Command::new(env::current_exe()?)
            .arg(COMMAND)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let answer = answer_of(&mut child, bytes);
        // It has answered, or its time is up.
        let _ = child.kill();
        child.wait()?;
        Ok(joined(&answer))
    }
}

/// The output of `child` for `bytes` that arrives in time.
fn answer_of(child: &mut Child, bytes: &[u8]) -> Vec<u8> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let deadline = Instant::now() + TIME;
    thread::scope(|scope| {
        // A child that does not read to the end is no error.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(bytes)));
        let reader = scope.spawn(move || {
            let mut answer = Vec::new();
            // Output before the end is valid.
            let _ = stdout.map(|stdout| stdout.take(ANSWER_BYTES).read_to_end(&mut answer));
            answer
        });
        while !reader.is_finished() && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        let _ = child.kill();
        reader.join().unwrap_or_default()
    })
}

/// The pages of an answer as one text; empty if no page has text.
fn joined(mut answer: &[u8]) -> String {
    let mut pages: Vec<String> = Vec::new();
    while let Some((length, rest)) = answer.split_first_chunk() {
        let Some((page, rest)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize) else { break };
        pages.push(tidy(&String::from_utf8_lossy(page)));
        answer = rest;
    }
    let last = pages.iter().rposition(|page| !page.is_empty());
    pages.truncate(last.map_or(0, |last| last + 1));
    pages.join(PAGE_END)
}

/// A page's text without blanks at the ends of lines, and with runs of empty lines reduced to one.
fn tidy(page: &str) -> String {
    let mut tidy = String::with_capacity(page.len());
    let mut empty = 0;
    for line in page.lines().map(|line| line.trim_end_matches(|end: char| end.is_whitespace() || end.is_control())) {
        if line.is_empty() {
            empty += 1;
            continue;
        }
        let breaks = if tidy.is_empty() { 0 } else { 1 + usize::from(empty > 0) };
        tidy.extend(std::iter::repeat_n('\n', breaks));
        tidy.extend(line.chars().map(|character| if character.is_control() { ' ' } else { character }));
        empty = 0;
    }
    tidy
}

/// The other process: reads a PDF on standard input, and writes the text of each page, after its length.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let limits = [
        (Resource::Core, 0),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Data, DATA_BYTES),
        (Resource::As, ADDRESS_BYTES),
    ];
    for (resource, limit) in limits {
        // Where the system lacks one of the limits, the others apply.
        let _ = setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) });
    }
    panic::set_hook(Box::new(|_| {}));
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let mut document = Document::load_mem(&bytes)?;
    drop(bytes);
    if document.is_encrypted() {
        document.decrypt("")?;
    }
    let mut stdout = io::stdout().lock();
    for number in document.get_pages().into_keys() {
        let text = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            let mut text = String::new();
            // The text of the page before the failure is better than nothing.
            let _ = output_doc_page(&document, &mut PlainTextOutput::new(&mut text), number);
            text
        }));
        let text = text.unwrap_or_default();
        stdout.write_all(&u32::try_from(text.len())?.to_le_bytes())?;
        stdout.write_all(text.as_bytes())?;
        stdout.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(pages: &[&str]) -> Vec<u8> {
        let framed = |page: &&str| [&u32::try_from(page.len()).unwrap().to_le_bytes()[..], page.as_bytes()].concat();
        pages.iter().flat_map(framed).collect()
    }

    #[test]
    fn pages_are_parted_by_a_line_of_their_own() {
        assert_eq!(joined(&answer(&["one \n\n\n\nmore\u{c}", "", "three\t"])), "one\n\nmore\n\u{c}\n\n\u{c}\nthree");
        assert_eq!(joined(&answer(&["", " \n", ""])), "");
        assert_eq!(joined(&answer(&["one", "", ""])), "one");
        assert_eq!(joined(&[]), "");
    }

    #[test]
    fn an_answer_that_is_cut_off_counts_as_far_as_it_goes() {
        let whole = answer(&["one", "two"]);
        for end in 7..whole.len() {
            assert_eq!(joined(&whole[..end]), "one", "{end}");
        }
        assert_eq!(joined(&[255; 40]), "");
    }
}
