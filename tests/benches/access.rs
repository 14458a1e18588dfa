//! The cost of authentication and of access lists.

use std::time::{Duration, Instant};

use atlas_access::mint::Grant;
use atlas_access::{Acl, Caller, Expected, Keys, Scopes, Secret, Verifier, mint};
use atlas_ops::{Atlas, Call, Limits, Vault, dispatch};
use atlas_testkit::Issuer;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::draw::{Calls, Drawn};
use crate::table::{self, Table};
use crate::vault::Folder;
use crate::world::World;

/// Globs of the access list.
const GLOBS: usize = 50;
/// The greatest ratio of a warm `find`'s times with and without it.
const MAX_TIMES: f64 = 1.1;
/// Repetitions of each call.
const REPEATS: usize = 15;
/// Tokens that are verified together: one is too fast to be timed.
const TOKENS: u32 = 50;

/// Verifying tokens of each kind.
pub(crate) fn verification(table: &mut Table) {
    let issuer = Issuer::new();
    let secret = Secret::new("a secret that is long enough to be one").unwrap();
    let sets = issuer.set().to_string();
    let keys = Keys::new(Some(&secret), Some(&sets), &["us".to_owned()]).unwrap();
    let verifier = Verifier::new(keys, Expected::default());
    let now = Timestamp::now();
    let claims =
        json!({ "iss": "us", "sub": "agent", "exp": now.as_second() + 600, "scope": "read:vault write:vault" });
    let (subject, scopes) = ("agent", "read:vault write:vault");
    let time = Duration::from_secs(600);
    let grant = Grant { subject, scopes, vault: None, issuer: Some("us"), audience: None, client: None, time };
    for (kind, token, most) in [
        ("HS256", mint(&secret, &grant, now).unwrap(), 20),
        ("ES256", issuer.sign("ES256", Some("ec"), &claims), 200),
        ("RS256", issuer.sign("RS256", Some("rsa"), &claims), 200),
        ("EdDSA", issuer.sign("EdDSA", Some("ed"), &claims), 200),
    ] {
        let verify = || {
            let begun = Instant::now();
            (0..TOKENS).for_each(|_| assert_eq!(verifier.verify(&token, now).unwrap().name(), "agent"));
            begun.elapsed() / TOKENS
        };
        let took = table::median(REPEATS, verify);
        let most = Duration::from_micros(most);
        let target = format!("median {}", table::duration(most));
        table.row(
            &format!("a token verified, {kind}"),
            "",
            &format!("median {}", table::duration(took)),
            &target,
            Some(took <= most),
        );
    }
}

/// `find` with an access list that hides nothing, so that the other work is equal, compared with `find` without one.
/// Each call is the first of its caller.
pub(crate) fn filtering(table: &mut Table, folder: &Folder, world: &World, drawn: &Drawn) {
    let mut read: Vec<String> = (2..GLOBS / 2).map(|number| format!("Folder {number}/**/*.private.md")).collect();
    read.extend(["**/nothing here.md".to_owned(), "**".to_owned()]);
    let rules: Vec<Value> =
        (0..GLOBS / 2).map(|number| json!({ "glob": format!("Team {number}/**"), "scopes": ["team:a"] })).collect();
    let config = json!({ "readPaths": read, "rules": rules });
    let acl = || Acl::new(&serde_json::from_value(config.clone()).unwrap()).unwrap();
    let over = |acl| Atlas::new([Vault::new("main", world.mirror().clone(), acl)], Limits::default());
    let (without, with) = (over(Acl::default()), over(acl()));
    let mut callers = 0;
    let mut find = |atlas: &Atlas, calls: &Calls, arguments: &Value| {
        callers += 1;
        let caller = Caller::of_scopes("agent", Scopes::named(["read:vault", &format!("team:{callers}")]));
        let call = Call::new(calls.operation, arguments.clone(), caller, Timestamp::now);
        let begun = Instant::now();
        world.runtime.block_on(dispatch(atlas, call)).unwrap();
        begun.elapsed()
    };
    for calls in drawn.calls.iter().filter(|calls| calls.operation.info.name == "find") {
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for arguments in &calls.arguments {
            find(&without, calls, arguments);
            // Nothing is cached about who may read what, as with a new list.
            let new = over(acl());
            times[2].push(find(&new, calls, arguments));
            find(&with, calls, arguments);
            // Alternating, so that both run under equal conditions.
            let mut both = [Vec::new(), Vec::new()];
            for _ in 0..REPEATS {
                both[0].push(find(&without, calls, arguments));
                both[1].push(find(&with, calls, arguments));
            }
            for (times, mut both) in times.iter_mut().zip(both) {
                both.sort_unstable();
                times.push(both[REPEATS / 2]);
            }
        }
        let [without, with, new] = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        });
        let ratio = with.as_secs_f64() / without.as_secs_f64();
        let result = format!(
            "{ratio:.2} times {}; {} the first after a change of the list",
            table::duration(without),
            table::duration(new)
        );
        let what = format!("warm {} with an access list of {GLOBS} globs", calls.what);
        table.row(&what, folder.name, &result, &format!("{MAX_TIMES} times"), Some(ratio <= MAX_TIMES));
    }
}
