//! Symbols of source code: what the index knows of them, and what answers make of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::world::{World, caller};

const AUTH: &str = "use crate::store::load_user;\n\n/// Checks a login.\npub fn check_login(name: &str, secret: &str) -> bool {\n    let user = load_user(name);\n    let digest = hash(secret, user.salt, user.rounds);\n    digest == user.digest && !user.locked\n}\n\npub struct Token {\n    pub expires: u64,\n}\n";
const STORE: &str = "pub fn load_user(name: &str) -> User {\n    todo!()\n}\n\npub fn drop_tables() {}\n";
const DOOR: &str = "use crate::auth::check_login;\n\nimpl Door {\n    pub fn open(&self) -> Answer {\n        if check_login(&self.name, &self.secret) { Answer::yes() } else { Answer::no() }\n    }\n\n    pub fn shut(&self) {}\n}\n";
const COPY: &str = "fn verify_password(who: &str, word: &str) -> bool {\n    let found = load_user(who);\n    let sum = hash(word, found.salt, found.rounds);\n    // The same.\n    sum == found.digest && !found.locked\n}\n";
const OTHER: &str = "pub fn tide_table() {}\n\npub fn berth() {}\n";

fn files() -> BTreeMap<String, String> {
    [
        ("src/auth.rs", AUTH),
        ("src/store.rs", STORE),
        ("src/door.rs", DOOR),
        ("src/old/passwords.rs", COPY),
        ("src/tides.rs", OTHER),
        ("notes/login.md", "# Login\n\nHow a login is checked.\n"),
    ]
    .map(|(path, text)| (path.to_owned(), text.to_owned()))
    .into()
}

async fn world(acl: &Value) -> World {
    World::of_code(&[files()], acl, caller(&[]), 1).await
}

fn candidates(answer: &Value) -> &[Value] {
    answer["candidates"].as_array().unwrap()
}

#[tokio::test]
async fn definitions_are_found_by_their_names_and_copies_by_their_shape() {
    let world = world(&json!({})).await;
    let found = world.ok("atlas_find_duplicates", json!({ "intent": "check_login" })).await;
    let first = &candidates(&found)[0];
    assert_eq!(
        (&first["path"], &first["line"], &first["symbol"]),
        (&json!("src/auth.rs"), &json!(4), &json!("function"))
    );
    assert_eq!(first["signature"], "(name: &str, secret: &str) -> bool");
    let copy = candidates(&found).iter().find(|one| one["name"] == "verify_password").expect("the copy");
    assert_eq!((&copy["same_as"], &copy["line"]), (&json!("src/auth.rs:4"), &json!(1)), "{found:#}");
    // Methods and members are symbols too.
    let method = world.ok("atlas_find_duplicates", json!({ "intent": "Door::open" })).await;
    let first = &candidates(&method)[0];
    assert_eq!(
        (&first["name"], &first["symbol"], &first["container"]),
        (&json!("open"), &json!("method"), &json!("Door"))
    );
    let member = world.ok("atlas_find_duplicates", json!({ "intent": "expires" })).await;
    assert_eq!((&candidates(&member)[0]["symbol"], &candidates(&member)[0]["line"]), (&json!("member"), &json!(11)));
}

/// A test, a route and a page use a function without being a definition, or by words that only their language has.
#[tokio::test]
async fn a_pack_has_what_uses_a_name_outside_of_definitions() {
    let mut files: BTreeMap<String, String> = [
        ("pay.js", "export function chargeCard(a) { return a; }\n"),
        ("pay.test.js", "test(\"charges\", () => {\n  expect(chargeCard(1)).toBe(1);\n});\n"),
        ("route.js", "router.post(\"/c\", (req, res) => { res.send(chargeCard(req.body)); });\n"),
        ("button.tsx", "export const PrimaryButton = () => { return 1; };\n"),
        ("screen.tsx", "export function Screen() { return <PrimaryButton a=\"x\"/>; }\n"),
        ("money.py", "class Money:\n    pass\n"),
        ("euro.py", "class Euro(Money):\n    pass\n"),
        ("price.py", "def price(of: Money | None):\n    return of\n"),
    ]
    .map(|(path, text)| (path.to_owned(), text.to_owned()))
    .into();
    files.extend(
        (1..10).map(|n| (format!("z{n}.js"), "// chargeCard, charge a card, a primary button, money\n".to_owned())),
    );
    let world = World::of_code(&[files], &json!({}), caller(&[]), 1).await;
    for (task, users) in [
        ("change `chargeCard`", ["pay.test.js", "route.js"].as_slice()),
        ("change `PrimaryButton`", &["screen.tsx"]),
        ("change `Money`", &["euro.py", "price.py"]),
    ] {
        let pack = world.ok("atlas_pack", json!({ "task": task, "budget": 2_200 })).await;
        for path in users {
            let file = pack["files"].as_array().unwrap().iter().find(|file| file["path"] == *path);
            let reason = file.map(|file| file["reason"].as_str().unwrap());
            assert!(reason.is_some_and(|reason| reason.contains("uses ")), "{path}: {pack:#}");
        }
    }
}

#[tokio::test]
async fn a_pack_follows_the_graph_and_leaves_out_what_has_nothing_to_do_with_it() {
    let world = world(&json!({})).await;
    let pack = world.ok("atlas_pack", json!({ "task": "make check_login slower after each failure" })).await;
    let files = pack["files"].as_array().unwrap();
    let file = |path: &str| files.iter().find(|file| file["path"] == path);
    assert_eq!(files[0]["path"], "src/auth.rs");
    assert!(files[0]["reason"].as_str().unwrap().contains("defines check_login"), "{pack:#}");
    assert!(file("src/door.rs").unwrap()["reason"].as_str().unwrap().contains("uses check_login"), "{pack:#}");
    assert!(file("src/store.rs").unwrap()["reason"].as_str().unwrap().contains("load_user"), "{pack:#}");
    assert!(file("src/tides.rs").is_none(), "it has nothing to do with that: {pack:#}");
    // Of a long file only what is wanted.
    let long: String = (0..400).map(|n| format!("pub fn other_{n}() {{ nothing(); }}\n\n")).collect();
    let mut all = self::files();
    all.insert("src/auth.rs".to_owned(), format!("{long}{AUTH}{long}"));
    let world = World::of_code(&[all], &json!({}), caller(&[]), 1).await;
    let pack = world.ok("atlas_pack", json!({ "task": "make check_login slower", "budget": 8_000 })).await;
    let content = pack["files"][0]["content"].as_str().unwrap();
    assert!(content.contains("/// Checks a login.\npub fn check_login") && !content.contains("other_3"), "{content}");
    assert!(pack.to_string().chars().count() <= 8_000);
    // Of a short one too where there is no room for all of it.
    let other: String = (0..25).map(|n| format!("pub fn other_{n}() {{ nothing(); }}\n")).collect();
    let mut all = self::files();
    all.insert("src/auth.rs".to_owned(), format!("{other}{AUTH}"));
    let world = World::of_code(&[all], &json!({}), caller(&[]), 1).await;
    let pack = world.ok("atlas_pack", json!({ "task": "make check_login slower", "budget": 500 })).await;
    let content = pack["files"][0]["content"].as_str().unwrap();
    assert!(content.contains("pub fn check_login") && !content.contains("other_3"), "{content}");
    assert!(pack.to_string().chars().count() <= 500);
}

/// A caller who may not read some code is answered as if it were not there.
#[tokio::test]
async fn hidden_code_affects_no_answer() {
    let hidden = world(&json!({ "readPaths": ["src/*.rs", "notes/**"] })).await;
    let mut visible = files();
    visible.remove("src/old/passwords.rs");
    let without = World::of_code(&[visible], &json!({}), caller(&[]), 1).await;
    for (name, field, asked) in [
        ("atlas_find_duplicates", "intent", ["check_login", "verify_password", "load_user", "hash password"]),
        ("atlas_pack", "task", ["mend load_user", "verify_password", "the hash of a password", "check login"]),
    ] {
        for asked in asked {
            let (one, other) =
                (hidden.ok(name, json!({ field: asked })).await, without.ok(name, json!({ field: asked })).await);
            assert_eq!(paths(&one), paths(&other), "{name} {asked}");
            assert!(!one.to_string().contains("passwords.rs"), "{name} {asked}: {one:#}");
        }
    }
}

fn paths(answer: &Value) -> Vec<String> {
    let list = answer["candidates"].as_array().or_else(|| answer["files"].as_array()).unwrap();
    list.iter().map(|one| format!("{} {} {}", one["path"], one["line"], one["same_as"])).collect()
}

/// Symbols that the host found stay in the index when programs without grammars write other files and merge segments.
#[tokio::test]
async fn symbols_survive_merges_by_programs_without_grammars() {
    let others = (0..12).map(|n| BTreeMap::from([(format!("src/later{n}.rs"), format!("fn later_{n}() {{}}\n"))]));
    let steps: Vec<BTreeMap<String, String>> = std::iter::once(files()).chain(others).collect();
    let world = World::of_code(&steps, &json!({}), caller(&[]), 1).await;
    let method = world.ok("atlas_find_duplicates", json!({ "intent": "Door::open" })).await;
    assert_eq!(candidates(&method)[0]["symbol"], "method", "{method:#}");
    // Of the others the lines say what they define.
    let later = world.ok("atlas_find_duplicates", json!({ "intent": "later_3" })).await;
    assert_eq!((&candidates(&later)[0]["name"], candidates(&later)[0].get("symbol")), (&json!("later_3"), None));
    // A file that was changed since is known by its lines, not by what it was.
    let changed = BTreeMap::from([("src/door.rs".to_owned(), "fn ajar() {}\n".to_owned())]);
    let world = World::of_code(&[files(), changed], &json!({}), caller(&[]), 1).await;
    let gone = world.ok("atlas_find_duplicates", json!({ "intent": "Door::open" })).await;
    assert!(!gone.to_string().contains("\"open\""), "{gone:#}");
}
