//! Deployment files: units, containers, and the lists of installed packages.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use atlas_access::{Scope, scope};
use atlas_testkit::project::project;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::programs::atlas;
use crate::support::tokens::{bearer, send};

fn text(path: &str) -> String {
    fs::read_to_string(project().join(path)).unwrap()
}

fn compose() -> Value {
    compose_in("172.16.37")
}

/// The services, where the network of server and proxy begins so.
fn compose_in(network: &str) -> Value {
    let compose = text("localstack/compose.yaml").replace("${FRONT_NETWORK:-172.16.37}", network);
    serde_saphyr::from_str(&compose).unwrap()
}

#[test]
fn python_packages_are_installed_by_their_hashes() {
    let makefile = text("Makefile");
    assert!(makefile.contains("PIP := pip install") && makefile.contains("--require-hashes"), "pip would take others");
    assert_eq!(makefile.matches("pip install").count(), 1, "all are installed in one way");
    let lists =
        ["localstack/requirements-infra", "localstack/requirements-localstack", "localstack/requirements-tools"];
    for list in lists.into_iter().chain(["tests/mcp/requirements", "tests/benches/requirements"]) {
        let (made, asked) = (text(&format!("{list}.txt")), text(&format!("{list}.in")));
        assert!(!made.contains("://") && !made.contains("--index-url"), "{list}.txt names a registry");
        let packages = || made.lines().filter(|line| !line.starts_with([' ', '#']));
        let pinned = |line: &str| line.contains("==") && line.ends_with('\\');
        assert!(packages().count() > 0 && packages().all(pinned), "{list}.txt");
        // Every requested package is installed.
        for line in asked.lines().filter(|line| !line.starts_with('#')) {
            // Extras are not installed.
            let name = |line: &str| {
                let (name, version) = line.split_once("==").unwrap();
                let (name, version) = (name.split('[').next().unwrap(), version.split([' ', ';']).next().unwrap());
                format!("{}=={version}", name.to_lowercase().replace(['_', '.'], "-"))
            };
            assert!(packages().any(|package| name(package) == name(line)), "{list}.txt has no {line}");
        }
    }
}

#[test]
fn no_unit_stops_a_vault_on_a_local_disk() {
    for unit in ["infra/atlas-sync.service", "infra/atlas-serve.service"] {
        assert!(!text(unit).contains("PathIsMountPoint"), "{unit}");
    }
    assert!(text("infra/atlas-sync-mount.conf").contains("\nAssertPathIsMountPoint=/srv/vault\n"));
}

/// The value behind `prefix` on a line of a file.
fn value(path: &str, prefix: &str) -> String {
    text(path).lines().find_map(|line| line.strip_prefix(prefix)).unwrap().to_owned()
}

#[test]
fn an_installed_sync_keeps_its_state_where_it_may_write() {
    let unit = format!("/var/lib/{}", value("infra/atlas-sync.service", "StateDirectory="));
    let places = [
        (unit, value("infra/atlas-sync.service", "Environment=XDG_STATE_HOME=")),
        (value("localstack/Containerfile", "VOLUME "), value("localstack/Containerfile", "ENV XDG_STATE_HOME=")),
    ];
    for (writable, states) in places {
        let machine = tempfile::tempdir().unwrap();
        let inside = |path: &str| machine.path().join(path.trim_start_matches('/'));
        let vault = machine.path().join("vault");
        fs::create_dir(&vault).unwrap();
        fs::write(vault.join("a.md"), "one\n").unwrap();
        let mut sync = atlas();
        sync.arg("sync").arg("--root").arg(&vault);
        sync.arg("--store")
            .arg(format!("file://{}", machine.path().join("store").display()))
            .env("XDG_STATE_HOME", inside(&states));
        let done = sync.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let written = fs::read_dir(inside("/var/lib")).unwrap().map(|entry| entry.unwrap().path());
        assert_eq!(written.collect::<Vec<_>>(), [inside(&writable)]);
        assert!(fs::read_dir(inside(&writable)).unwrap().count() > 0);
    }
}

/// The parameters that `deploy.sh aws` hands to SAM with these variables set.
fn deployed(variables: &[(&str, &str)]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let copied = ["infra/deploy.sh", "infra/parameters.py", "infra/template.yaml"];
    fs::create_dir(folder.path().join("infra")).unwrap();
    for file in copied {
        fs::copy(project().join(file), folder.path().join(file)).unwrap();
    }
    let programs = folder.path().join("target/tools/infra/bin");
    fs::create_dir_all(&programs).unwrap();
    let script = "#!/bin/sh\nfor last; do :; done\nstat -c %a \"${last#file://}\" >&2\ncat \"${last#file://}\"\n";
    fs::write(programs.join("sam"), script).unwrap();
    fs::set_permissions(programs.join("sam"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut deploy = Command::new(folder.path().join("infra/deploy.sh"));
    deploy.arg("aws").env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("AWS_PROFILE", "none");
    let done = deploy.envs(variables.iter().copied()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(String::from_utf8_lossy(&done.stderr).trim(), "600", "others could read the secrets");
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn a_deployment_keeps_what_is_not_said_and_takes_values_as_they_are() {
    let plain = json!({ "Architecture": "x86_64", "SearchMemory": "512" });
    assert_eq!(deployed(&[]), plain);
    let keys = "{\"keys\": [\n  {\"x\": \"a b\"}\n]}";
    let with = |more: &[(&str, &str)]| {
        let mut expected = plain.clone();
        more.iter().for_each(|(name, value)| expected[name] = json!(value));
        expected
    };
    // Keys of another kind, and what is said of their tokens, go.
    let of_tokens = ["JwtSecret", "Jwks", "JwtIssuer", "JwtAudience", "OauthKeys", "AuthorizationServers"];
    let expected: Vec<_> = of_tokens.iter().map(|name| (*name, if *name == "Jwks" { keys } else { "" })).collect();
    assert_eq!(deployed(&[("ATLAS_JWKS", keys)]), with(&expected));
    // An empty variable gives the default.
    let emptied = [("CONFIG_KEY", ""), ("CONCURRENT", ""), ("BUILDERS", ""), ("SOURCE_FOLDER", ""), ("LOG_FILTER", "")];
    let usual = [("ConfigKey", ""), ("ConcurrentExecutions", "0"), ("Builders", "false"), ("SourceFolder", "sources")];
    assert_eq!(deployed(&emptied), with(&[&usual[..], &[("LogFilter", "info")]].concat()));
    assert_eq!(deployed(&[("CONCURRENT", "20")]), with(&[("ConcurrentExecutions", "20")]));
}

#[test]
fn each_parameter_of_the_template_has_a_variable() {
    let template = text("infra/template.yaml");
    let parameters = template.split_once("\nParameters:\n").unwrap().1.split("\nRules:\n").next().unwrap();
    let names = parameters.lines().filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    let names: Vec<&str> = names.filter(|name| !name.starts_with(' ')).collect();
    let script = text("infra/parameters.py");
    let known =
        script.lines().filter_map(|line| line.trim().strip_prefix('"')?.split_once("\": \"")).map(|(name, _)| name);
    let mut known: Vec<&str> = known.collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    known.sort_unstable();
    assert_eq!(sorted, known);
    assert!(names.len() > 20, "{names:?}");
    // A key that the settings take from the environment reaches the functions.
    for key in ["ATLAS_JWT_SECRET", "ATLAS_EMBEDDINGS_TOKEN", "ATLAS_PLUR_TOKEN", "ATLAS_GATEWAY_TOKEN"] {
        assert!(script.contains(key) && template.contains(&format!(" {key}: !If")), "{key}");
    }
}

#[test]
fn servers_for_people_bound_what_the_allocator_keeps() {
    assert!(text("localstack/Containerfile").contains("\nENV MALLOC_ARENA_MAX=2\n"));
    assert!(text("infra/atlas-serve.service").contains("\nEnvironment=MALLOC_ARENA_MAX=2\n"));
}

#[test]
fn containers_run_as_the_owner_of_the_vault_and_are_reached_from_this_machine() {
    let compose = compose();
    for service in ["sync", "auth", "serve"] {
        assert_eq!(compose["services"][service]["user"], "${VAULT_OWNER:-1000:1000}", "{service}");
    }
    for (name, service) in compose["services"].as_object().unwrap() {
        let ports = service["ports"].as_array().into_iter().flatten();
        assert!(ports.map(|port| port.as_str().unwrap()).all(|port| port.starts_with("127.0.0.1:")), "{name}");
    }
    let serve = &compose["services"]["serve"];
    assert_eq!(serve["environment"]["ATLAS_AUTH"], "jwt");
    // A public name gives tokens itself.
    assert_eq!(serve["environment"]["ATLAS_OAUTH_KEYS_FILE"], "/secret/auth.json");
    assert_eq!(serve["depends_on"]["auth"]["condition"], "service_completed_successfully");
    assert_eq!(compose["services"]["auth"]["depends_on"]["secret"]["condition"], "service_completed_successfully");
}

/// Docker starts containers after a reboot by their own rules alone: in no order, and without looking at what they depend on.
#[test]
fn containers_come_back_after_a_reboot() {
    let compose = compose();
    let services = compose["services"].as_object().unwrap();
    let depended = services.values().filter_map(|service| service["depends_on"].as_object()).flatten();
    let ending: Vec<_> = depended
        .filter(|(_, how)| how["condition"] == "service_completed_successfully")
        .map(|(name, _)| name.as_str())
        .collect();
    let mut staying = Vec::new();
    for (name, service) in services.iter().filter(|(_, service)| service.get("profiles").is_none()) {
        // The network of another container is not there before it, and is gone when that one starts again.
        assert_eq!(service.get("network_mode"), None, "{name}");
        if !ending.contains(&name.as_str()) {
            assert_eq!(service["restart"], "unless-stopped", "{name}");
            staying.push(name.as_str());
        }
    }
    assert_eq!(staying, ["minio", "sync", "serve", "caddy"]);
    // The proxy asks the server by its name, from the address that the server believes, which no other container gets.
    for network in ["172.16.37", "10.9.8"] {
        let compose = compose_in(network);
        let (serve, caddy) = (&compose["services"]["serve"], &compose["services"]["caddy"]);
        let listens = serve["command"][2].as_str().unwrap().parse::<std::net::SocketAddr>().unwrap();
        assert!(text("localstack/Caddyfile").contains(&format!("reverse_proxy serve:{}\n", listens.port())));
        let proxy = caddy["networks"]["front"]["ipv4_address"].as_str().unwrap();
        assert_eq!(serve["environment"]["ATLAS_PROXIES"], proxy);
        let ranges = &compose["networks"]["front"]["ipam"]["config"][0];
        let within = |address: &str, range: &str| {
            let (network, bits) = ranges[range].as_str().unwrap().split_once('/').unwrap();
            let number = |address: &str| u32::from(address.parse::<std::net::Ipv4Addr>().unwrap());
            (number(network) ^ number(address)) >> (32 - bits.parse::<u32>().unwrap()) == 0
        };
        // Nobody else is in that network, and the server listens in no other.
        let server = listens.ip().to_string();
        assert_eq!(serve["networks"]["front"]["ipv4_address"], server);
        for address in [server.as_str(), proxy] {
            assert!(within(address, "subnet") && !within(address, "ip_range"), "{address}");
        }
        let services = compose["services"].as_object().unwrap();
        let front = services.iter().filter(|(_, service)| service["networks"].get("front").is_some());
        assert_eq!(front.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["serve", "caddy"]);
        assert_eq!(caddy["networks"].as_object().unwrap().len(), 1);
        assert!(serve.get("ports").is_none());
    }
}

/// Callers are told of the page where people reach it, and not where the server listens.
#[test]
fn containers_tell_of_the_page_at_the_proxy() {
    let resource = &compose()["services"]["serve"]["environment"]["ATLAS_RESOURCE"];
    assert_eq!(resource, "${ATLAS_URL:-https://localhost:8443}");
}

/// The step of `compose.yaml` at each start, in a folder: [`None`] if this user may not change a file's owner.
fn make_secret(folder: &Path) -> String {
    let service = &compose()["services"]["secret"];
    let script = service["command"][2].as_str().unwrap().replace("/secret/", &format!("{}/", folder.display()));
    let owner = fs::metadata(folder).map(|found| std::os::unix::fs::MetadataExt::uid(&found)).unwrap();
    let made = Command::new("sh").args(["-euc", &script.replace("$$", "$")]).env("OWNER", owner.to_string()).status();
    assert!(made.unwrap().success());
    fs::read_to_string(folder.join("jwt")).unwrap()
}

#[tokio::test]
async fn a_secret_is_made_at_the_first_start_and_signs_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let secret = make_secret(folder.path());
    assert!(secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit()), "{} bytes", secret.len());
    assert_eq!(make_secret(folder.path()), secret, "the next start keeps it");
    let file = folder.path().join("jwt");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0, "others may read it");
    let scopes = scope::ALL.map(Scope::as_str).join(",");
    let mut token = atlas();
    token.args(["token", "--scopes", &scopes]).env("ATLAS_JWT_SECRET_FILE", &file);
    let token = String::from_utf8(token.output().unwrap().stdout).unwrap();
    let file = file.to_str().unwrap();
    let client = Deployment::of_demo().await.set_up(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET_FILE", file)]).await;
    send(&client, "GET", "/notes", &[bearer(token.trim())], &Value::Null).await.ok();
    let forged = bearer(&crate::support::tokens::token("agent", &scope::ALL, None));
    assert_eq!(send(&client, "GET", "/notes", &[forged], &json!(null)).await.error(401).1, "token_invalid");
}

#[test]
fn a_release_has_its_images_by_digest() {
    let folder = tempfile::tempdir().unwrap();
    let digest = format!("sha256:{}", "1f".repeat(32));
    let docker = folder.path().join("docker");
    fs::write(&docker, format!("#!/bin/sh\necho {digest}\n")).unwrap();
    fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).unwrap();
    let files = ["localstack/Containerfile", "localstack/compose.yaml"].map(|file| {
        let copy = folder.path().join(Path::new(file).file_name().unwrap());
        fs::write(&copy, text(file)).unwrap();
        copy
    });
    let pin = |arguments: &[&str]| {
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let mut script = Command::new(project().join("infra/pin_images.sh"));
        script.args(arguments).args(&files).env("PATH", path).output().unwrap()
    };
    let unpinned = pin(&["--check"]);
    assert!(!unpinned.status.success() && String::from_utf8_lossy(&unpinned.stderr).contains("distroless"));
    for _ in 0..2 {
        assert!(pin(&[]).status.success());
        assert!(pin(&["--check"]).status.success());
        let all = files.each_ref().map(|file| fs::read_to_string(file).unwrap()).concat();
        let before = text("localstack/Containerfile") + &text("localstack/compose.yaml");
        assert_eq!(all.replace(&format!("@{digest}"), ""), before, "nothing else is changed");
        // Images built here have no registry.
        let images = all.lines().map(str::trim).filter(|line| line.starts_with("FROM ") || line.starts_with("image: "));
        let (pinned, others): (Vec<&str>, Vec<&str>) = images.partition(|line| line.contains(&digest));
        assert!(pinned.len() >= 6 && others.iter().all(|line| *line == "image: atlas-mirror"), "{others:?}");
    }
}
