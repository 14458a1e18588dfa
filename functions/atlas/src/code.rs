//! Symbols of source code. Grammars are C and code may be hostile, so other processes of this program parse it: an error in a parser costs
//! what is known of one file, never the sync or the server. One such process parses many files; it has little time and memory and no
//! environment.

use std::env;
use std::error::Error;
use std::io::{self, ErrorKind, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use atlas_segment::code::Code;
use atlas_symbols::{Language, MAX_BYTES};
use atlas_sync::CodeReader;
use rustix::process::{Resource, Rlimit, setrlimit};

/// The command of the other processes.
pub(crate) const COMMAND: &str = "read-code";
/// How long a file may be parsed, …
const PARSE: Duration = Duration::from_secs(2);
/// … and until when there must be an answer.
const TIME: Duration = Duration::from_secs(20);
/// How much one process may work and hold, …
const CPU_SECONDS: u64 = 120;
const DATA_BYTES: u64 = 1 << 30;
const ADDRESS_BYTES: u64 = 8 << 30;
/// … and after how many bytes of text another takes its place.
const MOST_BYTES: usize = 16 << 20;
/// Most bytes of an answer.
const ANSWER_BYTES: usize = 32 << 20;

/// The reader that finds symbols.
pub(crate) fn reader() -> Arc<dyn CodeReader> {
    Arc::new(Readers::default())
}

/// Processes that parse.
#[derive(Debug, Default)]
struct Readers {
    idle: Mutex<Vec<Reader>>,
    /// No process can be started.
    is_broken: AtomicBool,
}

impl CodeReader for Readers {
    fn reads(&self, file_name: &str) -> bool {
        Language::of(file_name).is_some()
    }

    fn read(&self, file_name: &str, text: &str) -> Option<Code> {
        let language = Language::of(file_name)?;
        if text.len() > MAX_BYTES || self.is_broken.load(Ordering::Relaxed) {
            return None;
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reader = match idle.map_or_else(Reader::start, Ok) {
            Ok(reader) => reader,
            Err(error) => {
                tracing::warn!(%error, "source code cannot be parsed");
                self.is_broken.store(true, Ordering::Relaxed);
                return None;
            }
        };
        let Some(answer) = reader.ask(language, text) else {
            tracing::warn!(path = file_name, "its parser failed: of its symbols only names and lines are known");
            return None;
        };
        if reader.bytes < MOST_BYTES {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        }
        if answer.is_empty() { None } else { Code::from_bytes(&answer).ok() }
    }
}

/// A process that parses.
#[derive(Debug)]
struct Reader {
    child: Child,
    input: ChildStdin,
    answers: Receiver<Vec<u8>>,
    /// How much it was given.
    bytes: usize,
}

impl Reader {
    fn start() -> io::Result<Self> {
        let mut child = Command::new(env::current_exe()?)
            .arg(COMMAND)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let none = || io::Error::from(ErrorKind::BrokenPipe);
        let input = child.stdin.take().ok_or_else(none)?;
        let mut output = child.stdout.take().ok_or_else(none)?;
        let (sender, answers) = channel();
        thread::Builder::new().spawn(move || {
            while let Ok(answer) = framed(&mut output, ANSWER_BYTES) {
                if sender.send(answer).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { child, input, answers, bytes: 0 })
    }

    fn ask(&mut self, language: Language, text: &str) -> Option<Vec<u8>> {
        self.bytes += text.len();
        let length = u32::try_from(text.len() + 1).ok()?;
        self.input.write_all(&length.to_le_bytes()).ok()?;
        self.input.write_all(&[language.number()]).ok()?;
        self.input.write_all(text.as_bytes()).ok()?;
        self.input.flush().ok()?;
        self.answers.recv_timeout(TIME).ok()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The next message, after its length.
fn framed(input: &mut impl io::Read, most: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Is the other process: for each text on standard input, the number of its language before it, writes what it says; nothing if it says
/// nothing.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let limits = [
        (Resource::Core, 0),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Data, DATA_BYTES),
        (Resource::As, ADDRESS_BYTES),
    ];
    for (resource, limit) in limits {
        // Where the system knows no such limit the others hold.
        let _ = setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) });
    }
    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    while let Ok(text) = framed(&mut stdin, MAX_BYTES + 1) {
        let code = text.split_first().and_then(|(language, text)| {
            atlas_symbols::read(Language::numbered(*language)?, str::from_utf8(text).ok()?, PARSE)
        });
        let answer = code.and_then(|code| code.to_bytes().ok()).filter(|answer| answer.len() <= ANSWER_BYTES);
        let answer = answer.unwrap_or_default();
        stdout.write_all(&u32::try_from(answer.len())?.to_le_bytes())?;
        stdout.write_all(&answer)?;
        stdout.flush()?;
    }
    Ok(())
}
