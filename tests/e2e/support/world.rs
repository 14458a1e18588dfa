//! A vault in memory, behind the operations, for tests of their results.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use atlas_access::scope::ALL;
use atlas_access::{Acl, Caller, Scopes};
use atlas_mirror::{Mirror, Options, PartCache, Store, StoreOptions};
use atlas_ops::pipeline::confirmation::{Approval, approve};
use atlas_ops::pipeline::idempotency::arguments_hash;
use atlas_ops::{Atlas, Call, Error, Limits, Vault, dispatch};
use atlas_testkit::VaultBuilder;
use atlas_tools::operations;
use jiff::Timestamp;
use object_store::memory::InMemory;
use serde_json::{Value, json};

use crate::support::publish::{Symbols, publish_code};

/// A vault in memory, behind the operations.
pub struct World {
    pub atlas: Atlas,
    pub caller: Caller,
}

pub fn mirror() -> Mirror {
    let store = Store::new(Arc::new(InMemory::new()), "", StoreOptions::default()).unwrap();
    Mirror::open(store, "main".parse().unwrap(), Arc::new(PartCache::new(64 << 20)), Options::default()).unwrap()
}

pub fn atlas(mirror: Mirror, acl: &Value) -> Atlas {
    let acl = Acl::new(&serde_json::from_value(acl.clone()).unwrap()).unwrap();
    Atlas::new(
        [Vault::new("main", mirror, acl)],
        Limits { max_scan_time: std::time::Duration::MAX / 4, ..Limits::default() },
    )
}

/// A caller with every scope of operations, and `others`.
pub fn caller(others: &[String]) -> Caller {
    let names = ALL.iter().map(|scope| scope.as_str()).chain(others.iter().map(String::as_str));
    Caller::of_scopes("agent", Scopes::named(names))
}

/// The same, whose scopes hold in these folders only.
pub fn caller_within(others: &[String], folders: Option<&[String]>) -> Caller {
    let all = caller(others);
    let scopes = all.scopes().clone();
    folders.map_or(all, |folders| Caller::of_scopes("agent", scopes.within(folders)))
}

impl World {
    /// A vault with several segments: each step is one publication.
    pub async fn of(steps: &[BTreeMap<String, String>], acl: &Value, caller: Caller) -> Self {
        Self::of_code(steps, acl, caller, 0).await
    }

    /// The same, of which the first `parsed` publications are by a program that finds symbols in source code.
    pub async fn of_code(steps: &[BTreeMap<String, String>], acl: &Value, caller: Caller, parsed: usize) -> Self {
        let mirror = mirror();
        let vault = VaultBuilder::new();
        let state = tempfile::tempdir().unwrap();
        for (at, step) in steps.iter().enumerate() {
            for (path, text) in step {
                write(vault.root(), path, text);
            }
            let code = (at < parsed).then(|| Arc::new(Symbols) as Arc<dyn atlas_sync::CodeReader>);
            let skipped = publish_code(vault.root(), &mirror, state.path(), code).await.skipped;
            assert!(skipped.is_empty(), "{skipped:?}");
        }
        Self { atlas: atlas(mirror, acl), caller }
    }

    /// A vault of one publication, all visible to the caller.
    pub async fn open(notes: &[(&str, &str)]) -> Self {
        let notes = notes.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Self::of(&[notes], &json!({}), caller(&[])).await
    }

    /// The answer to a call that must succeed.
    pub async fn ok(&self, name: &str, arguments: Value) -> Value {
        let answer = self.call(name, arguments.clone()).await;
        answer.unwrap_or_else(|error| panic!("{name} {arguments}: {error:?}"))
    }

    /// The error's reason of a call that must fail.
    pub async fn refused(&self, name: &str, arguments: Value) -> String {
        match self.call(name, arguments.clone()).await {
            Err(error) => error.reason().to_owned(),
            Ok(value) => panic!("{name} {arguments}: {value}"),
        }
    }

    /// A call that a person has confirmed, if it needs that.
    pub async fn call(&self, name: &str, arguments: Value) -> Result<Value, Error> {
        let operation = operations().iter().find(|entry| entry.info.name == name).unwrap();
        let mut confirmed = arguments.clone();
        // A key is not an argument of the operation.
        confirmed.as_object_mut().map(|confirmed| confirmed.remove("idempotency_key"));
        let args_hash = &arguments_hash(name, &confirmed);
        let call = Call::new(operation, arguments, self.caller.clone(), || Timestamp::UNIX_EPOCH);
        let answer = match dispatch(&self.atlas, call.clone()).await {
            Err(error) if error.reason() == "elicit_required" => {
                let time = self.atlas.limits.confirmation_time;
                let vault = self.atlas.vault(None).unwrap();
                let approval =
                    Approval { vault: &vault.id, operation: name, args_hash, by: "a person", caller: None, time };
                let confirmation = Some(approve(&vault.mirror, &approval, Timestamp::UNIX_EPOCH).await.unwrap().token);
                dispatch(&self.atlas, Call { confirmation, ..call }).await
            }
            answer => answer,
        };
        answer.map(|answer| answer.value)
    }

    /// The result, without values that differ between publications: times.
    pub async fn told(&self, name: &str, arguments: Value) -> Value {
        let mut told = match self.call(name, arguments).await {
            Ok(value) => value,
            Err(error) => json!({ "code": error.code.as_str(), "message": error.message, "details": error.details }),
        };
        forget_times(&mut told);
        told
    }

    /// All pages of a listing.
    pub async fn pages(&self, name: &str, mut arguments: Value, field: &str) -> Vec<Value> {
        let mut all = Vec::new();
        for _ in 0..200 {
            let page = self.told(name, arguments.clone()).await;
            let Some(items) = page[field].as_array() else { return vec![page] };
            all.extend(items.iter().cloned());
            match page["cursor"].as_str() {
                Some(cursor) => arguments["cursor"] = cursor.into(),
                None => return all,
            }
        }
        panic!("{name} {arguments} does not end");
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for time in [
                "modified",
                "mtime",
                "moved_at",
                "created_at",
                "updated_at",
                "deleted_at",
                "time",
                "generated_at",
                "timestamp",
                "generation",
                "last_generation",
            ] {
                fields.remove(time);
            }
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}
