//! The name of a node.

use atlas_segment::code::{MAX_NAME_BYTES, MAX_SIGNATURE_BYTES};
use tree_sitter::Node;

/// How deep a name is looked for in declarators and callees.
const DEPTH: usize = 32;
/// Fields that lead from what qualifies a name to the name.
const FIELDS: [&str; 8] = ["field", "property", "attribute", "name", "function", "method", "suffix", "type"];

/// The prefix of operator names in C++.
const OPERATOR: &str = "operator";

/// The text of a node.
pub(crate) fn text<'t>(node: Node<'_>, source: &'t str) -> &'t str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// The identifier that a node is or ends with: of `a::b`, `a.b`, `a->b` and `b::<T>` it is `b`.
pub(crate) fn last(mut node: Node<'_>) -> Option<Node<'_>> {
    for _ in 0..DEPTH {
        if node.child_count() == 0 {
            return Some(node);
        }
        let field = FIELDS.iter().find_map(|field| node.child_by_field_name(field));
        let inner = || {
            let count = u32::try_from(node.named_child_count()).ok()?;
            (0..count.min(8))
                .rev()
                .filter_map(|at| node.named_child(at))
                .find(|child| !child.kind().contains("argument"))
        };
        match field.or_else(inner) {
            Some(inner) => node = inner,
            None => return Some(node),
        }
    }
    None
}

/// The identifier that a declarator of C declares, and whether it is a function.
pub(crate) fn declared(mut node: Node<'_>) -> Option<(Node<'_>, bool)> {
    let mut is_function = false;
    for _ in 0..DEPTH {
        match node.kind() {
            "function_declarator" => is_function = true,
            // A pointer to a function is a variable.
            "parenthesized_declarator" => is_function = is_function && !has_pointer(node),
            _ => {}
        }
        let inner = node.child_by_field_name("declarator").or_else(|| {
            if node.kind() == "variable_declarator" {
                return node.child_by_field_name("name");
            }
            let wraps =
                matches!(node.kind(), "parenthesized_declarator" | "reference_declarator" | "attributed_declarator");
            if wraps { node.named_child(0) } else { None }
        });
        match inner {
            Some(inner) => node = inner,
            None => return Some((node, is_function)),
        }
    }
    None
}

fn has_pointer(node: Node<'_>) -> bool {
    node.named_child(0).is_some_and(|child| child.kind() == "pointer_declarator")
}

/// The last two parts of a qualified name; the first of them is empty if nothing qualifies it.
pub(crate) fn parts(whole: &str) -> (&str, &str) {
    // Signs that stand in the name of an operator of C++ part nothing.
    let is_operator = |at: &usize| {
        let begins = whole.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with(':'));
        let rest = whole.get(at + OPERATOR.len()..).unwrap_or_default();
        begins && !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')
    };
    if let Some(at) = whole.find(OPERATOR).filter(is_operator) {
        return (whole.get(..at).unwrap_or_default().trim_end_matches("::"), whole.get(at..).unwrap_or_default());
    }
    // Angle brackets hold arguments of types.
    let (mut depth, mut from, mut end) = (0_u32, 0, whole.len());
    let mut before = "";
    for (at, sign) in whole.bytes().enumerate() {
        match sign {
            b'<' => {
                if depth == 0 {
                    end = at;
                }
                depth += 1;
            }
            b'>' => depth = depth.saturating_sub(1),
            b':' | b'.' | b'\\' if depth == 0 => {
                // Of two colons the second counts.
                before = whole.get(from..end.min(at)).filter(|part| !part.is_empty()).unwrap_or(before);
                (from, end) = (at + 1, whole.len());
            }
            _ => {}
        }
    }
    (before, whole.get(from..end).unwrap_or_default())
}

/// How many lines of `whole` end before `part`, which is a slice of it.
pub(crate) fn lines_before(part: &str, whole: &str) -> usize {
    let at = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    whole.bytes().take(at).filter(|sign| *sign == b'\n').count()
}

/// A name as it is kept; [`None`] if it is none.
pub(crate) fn clean(name: &str) -> Option<&str> {
    let name = name.trim().trim_matches(['"', '\'', '`', '$', '#']);
    let is_name =
        !name.is_empty() && name.len() <= MAX_NAME_BYTES && name != "_" && !name.contains(['\n', '(', '{', '[']);
    is_name.then_some(name)
}

/// `text` with one space for several, cut.
pub(crate) fn tidy(text: &str) -> String {
    let mut tidy = String::new();
    for word in text.split_whitespace() {
        if !tidy.is_empty() {
            tidy.push(' ');
        }
        tidy.push_str(word);
        if tidy.len() > MAX_SIGNATURE_BYTES {
            tidy.truncate(tidy.floor_char_boundary(MAX_SIGNATURE_BYTES));
            break;
        }
    }
    tidy
}

/// Whether a variable that is declared at `at` is one that never changes.
pub(crate) fn is_constant(source: &str, at: usize, name: &str) -> bool {
    let before = source.get(at.saturating_sub(16)..at).unwrap_or_default().trim_end();
    let is_loud =
        name.len() > 1 && name.bytes().all(|one| one.is_ascii_uppercase() || one.is_ascii_digit() || one == b'_');
    before.ends_with("const") || is_loud
}

/// A signature without what leads to the body.
pub(crate) fn bare_signature(signature: &str) -> String {
    let mut bare = signature.trim_start_matches(')').trim();
    while let Some(less) = ["{", "=>", "=", ":", ";", "where"].iter().find_map(|end| bare.strip_suffix(end)) {
        bare = less.trim_end();
    }
    // The body of a Rust macro defines nothing.
    if bare.starts_with('{') { String::new() } else { bare.to_owned() }
}

/// The text of a field of a node; empty if it has none.
pub(crate) fn text_of_field<'t>(node: Node<'_>, field: &str, source: &'t str) -> &'t str {
    node.child_by_field_name(field).map_or("", |child| text(child, source))
}

/// The class to whose prototype an assignment of JavaScript adds.
pub(crate) fn prototype<'t>(node: Node<'_>, source: &'t str) -> Option<&'t str> {
    let left = node.child_by_field_name("left").filter(|left| left.kind() == "member_expression")?;
    let (class, _) = text(left, source).rsplit_once(".prototype.")?;
    clean(parts(class).1)
}

/// The first child of one of these kinds.
pub(crate) fn child_of<'n>(node: Node<'n>, kinds: &[&str]) -> Option<Node<'n>> {
    let mut cursor = node.walk();
    let found = node.named_children(&mut cursor).take(64).find(|child| kinds.contains(&child.kind()));
    let found = found?;
    // A declaration within it has the name.
    match found.kind() {
        "variable_declaration" => found.named_child(0),
        _ => Some(found),
    }
}

/// The type of the receiver of a method of Go.
pub(crate) fn receiver<'t>(node: Node<'_>, source: &'t str) -> Option<&'t str> {
    let list = node.child_by_field_name("receiver").filter(|list| list.kind() == "parameter_list")?;
    let kind = list.named_child(0)?.child_by_field_name("type")?;
    let (_, name) = parts(text(kind, source).trim_start_matches(['*', '(', ' ']));
    clean(name.trim_end_matches([')', ' ']).split('[').next()?)
}
