//! `atlas serve` over HTTPS, and its shutdown.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::support::deployment::demo;
use crate::support::programs::{Place, Running, atlas, curl, refusal_of};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
const JSON: &str = "content-type: application/json";

/// A certificate for `localhost`, and the authority that signed it, as PEM.
struct Identity {
    authority: String,
    certificate: String,
    key: String,
}

impl Identity {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        // A different name: otherwise the certificate would look self-signed.
        params.distinguished_name.push(DnType::CommonName, "An authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap().pem();
        Self { authority: authority.pem(), certificate, key: key.serialize_pem() }
    }
}

/// A server of the demo vault.
struct Served {
    place: Place,
    running: Running,
    port: u16,
    log: Receiver<String>,
}

impl Served {
    fn plain() -> Self {
        Self::start(Place::new(), &[])
    }

    fn with(identity: &Identity) -> Self {
        let place = Place::new();
        place_identity(&place, identity);
        let (certificate, key) = (place.path("cert.pem"), place.path("key.pem"));
        Self::start(place, &[Path::new("--tls-cert"), &certificate, Path::new("--tls-key"), &key])
    }

    fn start(place: Place, arguments: &[&Path]) -> Self {
        assert!(place.sync(&demo()).stdout(Stdio::null()).status().unwrap().success());
        let mut serve = atlas();
        serve.args(["serve", "--addr", "127.0.0.1:0", "--vault", "main", "--store", &place.store]).args(arguments);
        let mut running = Running(serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let log = lines_of(running.0.stderr.take().unwrap());
        let said = lines_of(running.0.stdout.take().unwrap()).recv_timeout(PATIENCE).unwrap();
        let address = said.split("://127.0.0.1:").nth(1).unwrap();
        let port = address.split(' ').next().unwrap().parse().unwrap();
        Self { place, running, port, log }
    }

    /// Requests `localhost` with more arguments for `curl`.
    fn ask(&self, scheme: &str, arguments: &[&str]) -> Option<(u16, String)> {
        let resolve = format!("localhost:{}:127.0.0.1", self.port);
        let mut all = vec!["--resolve", &resolve];
        all.extend(arguments);
        let url = format!("{scheme}://localhost:{}/health", self.port);
        all.push(&url);
        curl(&all)
    }

    /// Whether a client that trusts the authority is answered.
    fn answers(&self, trusting: &Identity) -> bool {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, &trusting.authority).unwrap();
        let answer = self.ask("https", &["--cacert", file.path().to_str().unwrap()]);
        answer.is_some_and(|(status, body)| status == 200 && body.contains("\"generation\":1"))
    }

    /// Waits for a line of the log.
    fn logs(&self, text: &str) {
        until(text, || self.log.try_iter().any(|line| line.contains(text)));
    }
}

fn place_identity(place: &Place, identity: &Identity) {
    std::fs::write(place.path("cert.pem"), &identity.certificate).unwrap();
    std::fs::write(place.path("key.pem"), &identity.key).unwrap();
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn lines_of(output: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        // Read to the end, so that the program never blocks on writing.
        BufReader::new(output).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
    });
    receiver
}

#[test]
fn https_answers_those_who_trust_its_certificate_and_takes_a_new_one_without_a_restart() {
    let (first, second) = (Identity::new(), Identity::new());
    let served = Served::with(&first);
    let silent = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    assert!(served.answers(&first) && !served.answers(&second));
    assert_eq!(served.ask("http", &[]), None, "HTTP where TLS is spoken");
    assert!(served.answers(&first));

    std::fs::write(served.place.path("cert.pem"), "garbage").unwrap();
    served.logs("the certificate from before stays in use: ");
    assert!(served.answers(&first));

    place_identity(&served.place, &second);
    until("the new certificate", || served.answers(&second));
    assert!(!served.answers(&first));

    std::fs::remove_file(served.place.path("key.pem")).unwrap();
    served.logs("key.pem");
    assert!(served.answers(&second));

    // A client that sends nothing is disconnected.
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!((&silent).read(&mut [0; 100]).unwrap(), 0);
}

#[test]
fn a_server_that_is_told_to_end_finishes_the_request_under_way() {
    let identity = Identity::new();
    for (mut served, scheme) in [(Served::plain(), "http"), (Served::with(&identity), "https")] {
        let mut asking = Asking::start(&served, scheme);
        asking.stdin.as_mut().unwrap().write_all(b"{\"term\": \"surge ").unwrap();
        // Connected, with the head of the request sent.
        asking.says("> POST /find");

        let id = served.running.0.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        until("no new connections", || TcpStream::connect(("127.0.0.1", served.port)).is_err());
        asking.stdin.take().unwrap().write_all(b"checklist\"}").unwrap();
        let answer = asking.answer();
        assert!(answer.contains("Storm surge checklist.md"), "{scheme}: {answer}");
        assert!(served.running.0.wait().unwrap().success());
    }
}

/// A `curl` that posts its standard input to `/find`.
struct Asking {
    child: Running,
    stdin: Option<std::process::ChildStdin>,
    said: Receiver<String>,
}

impl Asking {
    fn start(served: &Served, scheme: &str) -> Self {
        let mut command = Command::new("curl");
        command.args(["--silent", "--verbose", "--insecure", "--fail", "--max-time", "60", "--request", "POST"]);
        command.args(["--upload-file", "-", "--header", JSON, "--header", "expect:"]);
        command.arg(format!("{scheme}://127.0.0.1:{}/find", served.port));
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Running(piped.spawn().unwrap());
        let Child { stdin, stderr, .. } = &mut child.0;
        let (stdin, said) = (stdin.take(), lines_of(stderr.take().unwrap()));
        Self { child, stdin, said }
    }

    fn says(&self, text: &str) {
        until(text, || self.said.try_iter().any(|line| line.contains(text)));
    }

    fn answer(&mut self) -> String {
        let mut text = String::new();
        self.child.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

#[test]
fn a_certificate_that_cannot_be_used_stops_the_start_with_one_line() {
    let (place, identity, other) = (Place::new(), Identity::new(), Identity::new());
    let file = |name: &str, text: &str| {
        std::fs::write(place.path(name), text).unwrap();
        place.path(name)
    };
    let (certificate, key) = (file("cert", &identity.certificate), file("key", &identity.key));
    let cases: [(PathBuf, PathBuf, &str); 5] = [
        (place.path("missing"), key.clone(), "cannot read "),
        (file("garbage", "garbage"), key.clone(), "garbage is not a certificate: give a PEM file"),
        (certificate.clone(), certificate.clone(), "cert is not a private key: give a PEM file"),
        (certificate, file("other", &other.key), "cannot be used with the key "),
        (file("odd", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), key, "odd cannot be used"),
    ];
    for (certificate, key, says) in cases {
        let mut serve = atlas();
        serve.args(["serve", "--addr", "127.0.0.1:0", "--store", &place.store, "--tls-cert"]);
        let message = refusal_of(serve.arg(certificate).arg("--tls-key").arg(key));
        assert!(message.contains(says) && message.trim_end().lines().count() == 1, "{message}");
    }
}
