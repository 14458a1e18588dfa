//! The real programs: `atlas`, and each function under `cargo lambda watch`.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use atlas_testkit::project::{project, skip};
use atlas_testkit::real_store::localstack;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::deployment::demo;
use crate::support::programs::{
    Place, Running, atlas, building, curl, free_port, json_of, refusal_of, serve, target, until,
};

#[test]
fn a_folder_is_published_once_and_exported_as_it_was() {
    let place = Place::new();
    let first = json_of(place.sync(&demo()).arg("--json"));
    assert_eq!(
        (first["generation"].as_u64(), first["pushed"]["changed"].as_u64(), first["pushed"]["removed"].as_u64()),
        (Some(1), Some(0), Some(0))
    );
    assert!(first["notes"].as_u64().unwrap() > 50 && first["uploaded_bytes"].as_u64().unwrap() > 0);
    let second = json_of(place.sync(&demo()).arg("--json"));
    assert_eq!(
        (second["generation"].as_u64(), second["uploaded_bytes"].as_u64(), second["pushed"]["added"].as_u64()),
        (Some(1), Some(0), Some(0))
    );
    assert_eq!(second["unchanged"], first["pushed"]["added"]);

    assert_eq!(place.exports(&demo()), 1);

    let output = place.atlas("log").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() >= 1 && text.contains("sync"), "{text}");
}

#[test]
fn the_server_prints_command_lines_that_work_as_printed() {
    let place = Place::new();
    assert!(place.sync(&demo()).status().unwrap().success());
    let (_running, lines) = serve(&place, []);
    let printed: Vec<String> = lines.filter(|line| line.contains("curl ")).take(6).collect();
    assert_eq!(printed.len(), 6);
    // A page whose name was made to resolve here is refused.
    let line = printed[0].replace("curl -s", "curl -sS --max-time 20 -w '%{http_code}' -H 'Host: notes.example.org'");
    let refused = Command::new("bash").arg("-c").arg(line).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stdout).ends_with("403"), "{refused:?}");
    for line in printed {
        let output = Command::new("bash")
            .arg("-c")
            .arg(line.replace("curl -s", "curl -sS --fail --max-time 20"))
            .output()
            .unwrap();
        assert!(
            output.status.success() && !output.stdout.is_empty(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn today_is_the_day_where_the_program_runs() {
    let place = Place::new();
    assert!(place.sync(&demo()).status().unwrap().success());
    let query = "LIST WITHOUT ID date(today) LIMIT 1";
    // The days of the two are never the same.
    for zone in ["Pacific/Kiritimati", "Pacific/Pago_Pago"] {
        let today = || Timestamp::now().in_tz(zone).unwrap().date().to_string();
        let before = today();
        let (_server, mut lines) = serve(&place, [("TZ", zone.to_owned())]);
        let url = lines.find_map(|line| line.split(' ').find(|word| word.starts_with("http://")).map(str::to_owned));
        let tables = format!("{}/tables", url.unwrap());
        let (_, served) = curl(&["--get", &tables, "--data-urlencode", &format!("query={query}")]).unwrap();
        let local = place.atlas("table").arg(query).env("TZ", zone).output().unwrap();
        for told in [served, String::from_utf8(local.stdout).unwrap()] {
            assert!(told.contains(&before) || told.contains(&today()), "{zone}: {told}");
        }
        let rows = json_of(atlas().args(["config", "show", "--json", "--store", &place.store]).env("TZ", zone));
        let row = rows.as_array().unwrap().iter().find(|row| row["setting"] == "context.timeZone").unwrap();
        assert_eq!((&row["value"], &row["source"]), (&json!(zone), &json!("default")));
    }
}

/// The first lines that `atlas serve` prints.
fn told_by(mut command: Command) -> (String, String) {
    let mut running = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let printed: Vec<String> = lines.take(3).collect();
    running.0.kill().unwrap();
    let mut logged = String::new();
    std::io::Read::read_to_string(running.0.stderr.as_mut().unwrap(), &mut logged).unwrap();
    (printed.join("\n"), logged)
}

#[test]
fn the_folder_of_a_vault_may_stand_in_the_environment() {
    let (place, vault) = (Place::new(), demo());
    let root = vault.to_str().unwrap();
    let (printed, _) = told_by({
        let mut command = place.atlas("serve");
        command.args(["--addr", "127.0.0.1:0"]).env("ATLAS_VAULT_ROOT", root);
        command
    });
    assert!(printed.contains(&format!("run `atlas sync`, which takes {root} (ATLAS_VAULT_ROOT)")), "{printed}");
    for name in ["sync", "status"] {
        let mut command = place.atlas(name);
        let summary =
            json_of(command.arg("--json").arg("--state").arg(place.path("state")).env("ATLAS_VAULT_ROOT", root));
        assert!(summary.is_object(), "{name}: {summary}");
    }
    assert_eq!(place.exports(&vault), 1);
}

#[test]
fn a_server_tells_a_store_that_does_not_answer_from_a_vault_that_is_not_published() {
    let place = Place::new();
    let mut command = place.atlas("serve");
    let (printed, _) = told_by({
        command.args(["--addr", "127.0.0.1:0"]);
        command
    });
    assert!(printed.contains("is not published yet"), "{printed}");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = atlas();
    command.args(["serve", "--addr", "127.0.0.1:0", "--vault", "main", "--store", "s3://bucket"]);
    command.env("AWS_ENDPOINT_URL", format!("http://{closed}")).env("AWS_ALLOW_HTTP", "true");
    command.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b").env("AWS_REGION", "us-east-1");
    let (printed, _) = told_by(command);
    assert!(printed.contains("the store does not answer") && !printed.contains("not published"), "{printed}");
}

#[test]
fn what_cannot_start_says_why_in_one_line() {
    let place = Place::new();
    let serve = |addr: &str| {
        let mut command = place.atlas("serve");
        command.args(["--addr", addr]);
        command
    };
    for (mut command, says) in [
        (serve("0.0.0.0:0"), "listen on a loopback address"),
        (place.sync(&place.path("nowhere")), "nowhere"),
        (
            {
                let mut command = serve("127.0.0.1:0");
                command.env("ATLAS_MAX_RESULTS", "many");
                command
            },
            "write a number from 1 to 50",
        ),
        (
            {
                let mut command = serve("127.0.0.1:0");
                command.env("ATLAS_STORRE", "x");
                command
            },
            "is not a setting",
        ),
        (
            {
                let mut command = serve("127.0.0.1:0");
                command.env("ATLAS_AUTH", "jwt");
                command
            },
            "set ATLAS_JWT_SECRET, ATLAS_JWKS, or both",
        ),
    ] {
        let message = refusal_of(&mut command);
        assert!(message.contains(says) && message.trim_end().lines().count() == 1, "{message}");
    }
}

/// The functions' process and `atlas serve` give the same answers from one bucket.
#[test]
fn the_functions_answer_under_cargo_lambda_watch_as_the_server_does() {
    if Command::new("cargo-lambda").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "cargo-lambda is not installed");
        return skip("the functions under cargo-lambda, which is not installed; run: make setup-tools");
    }
    let place = localstack().map_or_else(Place::new, Place::on);
    assert!(place.sync(&demo()).status().unwrap().success());
    let port = free_port();
    let mut watch = place.reached_by(building(Command::new("cargo-lambda")));
    watch
        .args(["lambda", "watch", "--ignore-changes", "--invoke-address", "127.0.0.1"])
        .args(["--invoke-port", &port.to_string()])
        .env("ATLAS_STORE", &place.store)
        .env("ATLAS_VAULT", "main")
        .env("CARGO_TARGET_DIR", target())
        .current_dir(project())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _functions = Running(watch.spawn().unwrap());
    let functions = format!("http://127.0.0.1:{port}");
    let (_server, mut lines) = serve(&place, []);
    let server = lines.find_map(|line| line.split(' ').find(|word| word.starts_with("http://")).map(str::to_owned));
    let server = server.expect("the server says where it is");

    let ask = |url: &str, route: &str, body: Option<&str>| {
        let url = format!("{url}{route}");
        let posted = body.map(|body| ["--header", "content-type: application/json", "--data", body]);
        curl(&[posted.as_ref().map_or(&[][..], |posted| posted), &[url.as_str()]].concat())
    };
    // Except the time of the answer.
    let same = |body: &str| {
        let mut body: Value = serde_json::from_str(body).unwrap();
        body.as_object_mut().unwrap().remove("generated_at");
        body
    };
    let answered = |route: &str, body: Option<&str>| {
        // The first request to a function builds it.
        let answer = until(Duration::from_secs(600), route, || match ask(&functions, route, body) {
            Some((200, body)) => Ok(body),
            other => Err(other),
        });
        let (status, other) = ask(&server, route, body).unwrap();
        assert!(status == 200 && same(&answer) == same(&other), "{route}\n{answer}\n{status} {other}");
        same(&answer)
    };
    assert_eq!(answered("/health", None)["generation"], 1);
    assert_eq!(answered("/notes/vault/Home.md", None)["path"], "vault/Home.md");
    assert_eq!(answered("/notes?path=vault/Home.md", None)["path"], "vault/Home.md");
    assert!(answered("/notes?limit=2", None)["cursor"].is_string());
    let found = answered("/find", Some("{\"term\": \"surge checklist\"}"));
    assert_eq!(found["results"][0]["path"], "vault/reference/🌊 Storm surge checklist.md");
    let context = answered("/context/current", Some("{}"));
    assert_eq!(context["sources"][0]["path"], "vault/planning/now.md");
    let answer = answered("/query", Some("{\"question\": \"components\"}"));
    assert_eq!(answer["citations"][0]["anchor"], "#components");
    assert_eq!(answered("/bridge/v1/health", None)["status"], "ok");
    let read = answered("/bridge/v1/tools/note_read/call", Some("{\"arguments\": {\"path\": \"vault/Home.md\"}}"));
    assert_eq!(read["success"], true);
    for url in [&functions, &server] {
        let (status, body) = ask(url, "/notes/%252e%252e/secret.md", None).unwrap();
        assert!(status == 400 && body.contains("path_invalid"), "{status} {body}");
    }
}
