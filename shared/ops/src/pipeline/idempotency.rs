//! Keyed calls: a repeated call with the same key gets the first one's answer and changes nothing more. The key is
//! claimed in the store before the commit, and stored in the commit with the answer.
//!
//! Two calls with one key may run at once; no process could refuse the second, since none knows of both. Both look in
//! the store for the other's commit. One of them commits, and both return its answer.

use std::time::Duration;

use atlas_mirror::{Claimed, Hash, Mirror};
use futures::future::try_join;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::error::{Code, Error, Reason};

/// Longest key, in bytes.
const MAX_KEY: usize = 256;

/// Identifies a repeated call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// The hash of the key, its vault and its caller.
    key: Hash,
    operation: Hash,
    /// The hash of the key and everything that it is bound to.
    hash: Hash,
    arguments: Hash,
}

impl Keyed {
    /// The hash of the arguments, independent of the order of their fields.
    pub(crate) fn hash_of(arguments: &Value) -> Hash {
        Hash::of(canonical(arguments).as_bytes())
    }

    /// The call of `operation` in `vault` by `caller` with `key`.
    pub(crate) fn of(vault: &str, caller: &str, operation: &str, key: &str, arguments: Hash) -> Result<Self, Error> {
        if !(1..=MAX_KEY).contains(&key.len()) || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("the idempotency key must be 1 to {MAX_KEY} visible ASCII characters");
            return Err(Error::bad_request(Reason::ValidationError, message).with("field", "idempotency_key"));
        }
        let of = |parts: &[&str]| Hash::of(json!(parts).to_string().as_bytes());
        Ok(Self {
            key: of(&[vault, caller, key]),
            operation: Hash::of(operation.as_bytes()),
            hash: of(&[vault, caller, operation, key]),
            arguments,
        })
    }

    /// Claims the key for this call, from `now` on for `time`; fails if another call has claimed it.
    pub(crate) async fn claim(self, mirror: &Mirror, now: Timestamp, time: Duration) -> Result<Claimed, Error> {
        mirror.check_writes_once().await?;
        // Two claims, since programs that know the second alone may have executed the call, or may yet.
        let operation = mirror.claim_name(self.key, self.operation, now, time);
        let (operation, claimed) = try_join(operation, mirror.claim(self.hash, self.arguments, now, time)).await?;
        if operation == self.operation && claimed.arguments == self.arguments {
            return Ok(claimed);
        }
        let message = "the idempotency key was used for another call: take a new key for each call";
        Err(Error::new(Code::Conflict, Reason::IdempotencyKeyMismatch, message))
    }
}

/// Identifies a call in confirmations and in the audit log: the first 32 hexadecimal digits of the SHA-256 of the
/// operation's name and its arguments, independent of the order of their fields.
pub fn arguments_hash(operation: &str, arguments: &Value) -> String {
    let hash = Hash::of(format!("{operation}\n{}", canonical(arguments)).as_bytes()).to_string();
    hash.get(..32).unwrap_or_default().to_owned()
}

/// The canonical form of arguments, independent of the order of their fields.
fn canonical(arguments: &Value) -> String {
    match arguments {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            let field = |(name, value): (&String, &Value)| format!("{}:{}", json!(name), canonical(value));
            format!("{{{}}}", fields.into_iter().map(field).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(vault: &str, operation: &str, key: &str, arguments: &str) -> Keyed {
        let arguments = Keyed::hash_of(&serde_json::from_str(arguments).unwrap());
        Keyed::of(vault, "agent", operation, key, arguments).unwrap()
    }

    #[test]
    fn a_call_is_the_same_whatever_the_order_of_its_fields() {
        let call = keyed("main", "edit", "k", r#"{"a":[1,{"c":2,"d":3}],"b":"x"}"#);
        assert_eq!(call, keyed("main", "edit", "k", r#"{"b":"x","a":[1,{"d":3,"c":2}]}"#));
        let other = keyed("main", "edit", "k", r#"{"b":"x","a":[{"d":3,"c":2},1]}"#);
        assert!(other.hash == call.hash && other.arguments != call.arguments);
        for other in
            [keyed("m", "ain", "edit", "{}"), keyed("main", "edit", "K", "{}"), keyed("main", "e", "ditk", "{}")]
        {
            assert!(other.hash != call.hash && other.key != call.key);
        }
    }

    #[test]
    fn a_key_is_for_one_operation() {
        let (edit, append) = (keyed("main", "edit", "k", "{}"), keyed("main", "append", "k", "{}"));
        assert_eq!(edit.key, append.key);
        assert_ne!(edit.operation, append.operation);
    }

    #[test]
    fn a_key_is_short_and_visible() {
        let of = |key: &str| Keyed::of("main", "agent", "edit", key, Keyed::hash_of(&json!({})));
        assert!(of("a").is_ok() && of(&"~".repeat(256)).is_ok());
        for key in ["", "a b", "\t", "ä", &"x".repeat(257)] {
            assert_eq!(of(key).unwrap_err().reason(), "validation_error", "{key:?}");
        }
    }
}
