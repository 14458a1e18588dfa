//! Servers in a file of JSON, which may have comments. Its text is edited, so that all else stays as it is written: comments, order, numbers.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::{NAME, Snippet};

/// JSON with the comments and commas that clients accept.
const FORM: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};
/// Members by which a client starts a program, and by which it calls an address.
const OF_PROGRAM: [&str; 2] = ["command", "args"];
const URL: &str = "url";
/// Members with which a client says at an address who it is.
const CREDENTIALS: [&str; 4] = ["headers", "headersHelper", "oauth", "auth"];
/// The member that names one of both, and its value for programs.
const TYPE: &str = "type";
const TYPE_OF_PROGRAM: &str = "stdio";

/// The file `text` with the server in its member `member`.
///
/// # Errors
/// When it cannot be edited.
pub(super) fn with(text: &str, member: &str, snippet: &Snippet) -> Result<String, String> {
    let unreadable = |error| format!("is not JSON: mend it, or write the lines into it by hand ({error})");
    let root = CstRootNode::parse(text, &FORM).map_err(unreadable)?;
    let comments = comments(&root);
    let members = root.object_value_or_create().ok_or("is not a JSON object: write the lines into it by hand")?;
    for (name, values) in &snippet.others {
        append(&members, name, values)?;
    }
    let entry = object(&object(&members, member)?, NAME)?;
    let old = one(&entry, URL)?.and_then(|property| value(&property));
    if snippet.is_program {
        remove(&entry, &[URL])?;
    } else {
        remove(&entry, &OF_PROGRAM)?;
    }
    if !snippet.is_at_same_origin(old.as_ref().and_then(Value::as_str)) {
        remove(&entry, &CREDENTIALS)?;
    }
    if let Some(property) = one(&entry, TYPE)?
        && (value(&property) == Some(TYPE_OF_PROGRAM.into())) != snippet.is_program
    {
        property.remove();
    }
    for (name, value) in &snippet.entry {
        set(&entry, name, value)?;
    }
    if self::comments(&root) != comments {
        return Err("has a comment beside what would be replaced: write the lines into it by hand".to_owned());
    }
    let written = root.to_string();
    Ok(if written.ends_with('\n') { written } else { format!("{written}\n") })
}

/// The only property of this name.
fn one(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, String> {
    let mut found = object.properties().into_iter().filter(|found| found.decoded_name().as_deref() == Some(name));
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(format!("has {name} twice in one object: remove one of them")),
        (found, None) => Ok(found),
    }
}

fn remove(object: &CstObject, names: &[&str]) -> Result<(), String> {
    for name in names {
        if let Some(property) = one(object, name)? {
            property.remove();
        }
    }
    Ok(())
}

fn value(property: &CstObjectProp) -> Option<Value> {
    property.value()?.to_serde_value()
}

/// The object that is the member `name`, which is made if it is missing.
fn object(parent: &CstObject, name: &str) -> Result<CstObject, String> {
    one(parent, name)?;
    let found = parent.object_value_or_create(name);
    found.ok_or_else(|| format!("has {name}, which is no object: write the lines into it by hand"))
}

/// Sets a member; of one that is an object, its members.
fn set(parent: &CstObject, name: &str, new: &Value) -> Result<(), String> {
    let Some(property) = one(parent, name)? else {
        parent.append(name, input(new));
        return Ok(());
    };
    match (property.object_value(), new) {
        (Some(object), Value::Object(members)) => members.iter().try_for_each(|(name, new)| set(&object, name, new)),
        _ if value(&property).as_ref() == Some(new) => Ok(()),
        _ => {
            property.set_value(input(new));
            Ok(())
        }
    }
}

/// Appends the `values` to the list `name`, except those whose id it has.
fn append(parent: &CstObject, name: &str, values: &Value) -> Result<(), String> {
    one(parent, name)?;
    let list = parent.array_value_or_create(name);
    let list = list.ok_or_else(|| format!("has {name}, which is no list: write the lines into it by hand"))?;
    let there: Vec<Value> = list.elements().iter().filter_map(CstNode::to_serde_value).collect();
    let is_there = |new: &&Value| there.iter().any(|old| old.get("id") == new.get("id"));
    for new in values.as_array().into_iter().flatten().filter(|new| !is_there(new)) {
        list.append(input(new));
    }
    Ok(())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

/// All comments, in their order.
fn comments(root: &CstRootNode) -> Vec<String> {
    let mut found = Vec::new();
    let mut left: Vec<CstNode> = root.children();
    left.reverse();
    while let Some(node) = left.pop() {
        found.extend(node.as_comment().map(|comment| comment.raw_value()));
        left.extend(node.children().into_iter().rev());
    }
    found
}
