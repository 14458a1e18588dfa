//! Dataview's expressions, read as Dataview reads them: names of operators need no space after them, and what begins with
//! `true`, `false` or `null` is that.

use std::sync::Arc;

use super::cursor::Cursor;
use super::tree::{Expr, Node, Operator};
use crate::emoji;
use crate::error::Result;
use crate::time::read;
use crate::value::Link;

/// Words that no name may be.
const KEYWORDS: [&str; 5] = ["FROM", "WHERE", "LIMIT", "GROUP", "FLATTEN"];

/// Parses a whole text.
///
/// # Errors
/// If it is not an expression; the error tells where, and what could have stood there.
pub(crate) fn parse(text: &str) -> Result<Expr> {
    let mut cursor = Cursor::new(text)?;
    let parsed = field(&mut cursor);
    cursor.finish(parsed)
}

/// Operators from the weakest to the strongest, each with its signs.
const LEVELS: [&[(&str, Operator)]; 4] = [
    &[("and", Operator::And), ("or", Operator::Or), ("&", Operator::And), ("|", Operator::Or)],
    &[
        (">=", Operator::AtLeast),
        ("<=", Operator::AtMost),
        ("!=", Operator::Unequal),
        (">", Operator::Greater),
        ("<", Operator::Less),
        ("=", Operator::Equal),
    ],
    &[("+", Operator::Plus), ("-", Operator::Minus)],
    &[("*", Operator::Times), ("/", Operator::Over), ("%", Operator::Modulo)],
];
const LEVEL_NAMES: [&str; 4] = ["\"and\" or \"or\"", "a comparison", "\"+\" or \"-\"", "\"*\", \"/\" or \"%\""];

/// An expression.
pub(crate) fn field(cursor: &mut Cursor<'_>) -> Option<Expr> {
    cursor.nested(|cursor| binary(cursor, 0))
}

fn binary(cursor: &mut Cursor<'_>, level: usize) -> Option<Expr> {
    let (Some(signs), Some(name)) = (LEVELS.get(level), LEVEL_NAMES.get(level)) else { return postfixed(cursor) };
    let start = cursor.here();
    let mut left = binary(cursor, level + 1)?;
    while let Some((operator, right)) = cursor.attempt(|cursor| {
        cursor.spaces();
        let operator = operator(cursor, signs, name)?;
        cursor.spaces();
        Some((operator, binary(cursor, level + 1)?))
    }) {
        left = cursor.build(Node::Binary(operator, Box::new(left), Box::new(right)), start)?;
    }
    Some(left)
}

/// The operator here, if it is one of `signs`.
pub(crate) fn operator(cursor: &mut Cursor<'_>, signs: &[(&str, Operator)], name: &'static str) -> Option<Operator> {
    for (sign, operator) in signs {
        if cursor.rest().get(..sign.len()).is_some_and(|start| start.eq_ignore_ascii_case(sign)) {
            cursor.at += sign.len();
            return Some(*operator);
        }
    }
    cursor.miss(name)
}

fn postfixed(cursor: &mut Cursor<'_>) -> Option<Expr> {
    let start = cursor.here();
    let mut expr = atom(cursor)?;
    loop {
        let at = cursor.here();
        let node = match cursor.next() {
            Some('.') => {
                let name = cursor.attempt(|cursor| {
                    cursor.at += 1;
                    identifier(cursor)
                });
                let Some(name) = name else { break };
                let index = Expr::new(Node::Text(name), at);
                Node::Index(Box::new(expr), Box::new(index))
            }
            Some('[') => {
                let index = cursor.attempt(|cursor| {
                    cursor.at += 1;
                    cursor.spaces();
                    let index = field(cursor)?;
                    cursor.spaces();
                    cursor.sign("]", "\"]\"")?;
                    Some(index)
                });
                let Some(index) = index else { break };
                Node::Index(Box::new(expr), Box::new(index))
            }
            Some('(') => {
                let arguments = cursor.attempt(|cursor| {
                    cursor.at += 1;
                    cursor.spaces();
                    let arguments = cursor.entries(field);
                    cursor.spaces();
                    cursor.sign(")", "\")\"")?;
                    Some(arguments)
                });
                let Some(arguments) = arguments else { break };
                Node::Call(Box::new(expr), arguments)
            }
            _ => break,
        };
        expr = cursor.build(node, start)?;
    }
    Some(expr)
}

fn atom(cursor: &mut Cursor<'_>) -> Option<Expr> {
    let at = cursor.here();
    match cursor.next() {
        Some('!') => {
            if let Some(mut link) = cursor.attempt(|cursor| {
                cursor.at += 1;
                link(cursor)
            }) {
                link.embed = true;
                return cursor.build(Node::Link(link), at);
            }
            cursor.at += 1;
            let inner = cursor.nested(postfixed)?;
            cursor.build(Node::Not(Box::new(inner)), at)
        }
        Some('[') => {
            if let Some(link) = link(cursor) {
                return cursor.build(Node::Link(link), at);
            }
            cursor.at += 1;
            cursor.spaces();
            let items = cursor.entries(field);
            cursor.spaces();
            cursor.sign("]", "\"]\"")?;
            cursor.build(Node::List(items), at)
        }
        Some('{') => {
            cursor.at += 1;
            cursor.spaces();
            let entries = cursor.entries(entry);
            cursor.spaces();
            cursor.sign("}", "\"}\"")?;
            let mut object: indexmap::IndexMap<Arc<str>, Expr> = indexmap::IndexMap::new();
            for (name, value) in entries {
                object.insert(name, value);
            }
            cursor.build(Node::Object(object.into_iter().collect()), at)
        }
        Some('(') => {
            if let Some((names, body)) = cursor.attempt(lambda) {
                return cursor.build(Node::Lambda(names.into(), Arc::new(body)), at);
            }
            cursor.at += 1;
            cursor.spaces();
            let inner = field(cursor)?;
            cursor.spaces();
            cursor.sign(")", "\")\"")?;
            Some(inner)
        }
        Some('"') => {
            let text = string(cursor)?;
            cursor.build(Node::Text(text), at)
        }
        // Before a function of its own, and nowhere else, may be white space that nothing else took.
        Some(space) if emoji::is_space(space) => {
            let (names, body) = cursor.attempt(|cursor| {
                cursor.spaces();
                lambda(cursor)
            })?;
            cursor.build(Node::Lambda(names.into(), Arc::new(body)), at)
        }
        _ => {
            let node = literal(cursor).or_else(|| cursor.attempt(call_like)).or_else(|| variable(cursor))?;
            cursor.build(node, at)
        }
    }
}

fn literal(cursor: &mut Cursor<'_>) -> Option<Node> {
    const WORDS: [(&str, Node); 4] = [
        ("true", Node::Boolean(true)),
        ("false", Node::Boolean(false)),
        ("True", Node::Boolean(true)),
        ("False", Node::Boolean(false)),
    ];
    for (word, node) in WORDS {
        if cursor.rest().starts_with(word) {
            cursor.at += word.len();
            return Some(node);
        }
    }
    if let Some((number, end)) = read::number(cursor.text, cursor.at) {
        cursor.at = end;
        return Some(Node::Number(number));
    }
    if cursor.rest().starts_with("null") {
        cursor.at += 4;
        return Some(Node::Null);
    }
    None
}

/// `date(2021-04-18)`, `date(today)` and `dur(1 day)`, whose insides are no expressions.
fn call_like(cursor: &mut Cursor<'_>) -> Option<Node> {
    if cursor.rest().starts_with("date(") {
        cursor.at += 5;
        cursor.spaces();
        let rest = cursor.rest();
        let node = if let Some(name) = read::NAMED.iter().find(|name| rest.starts_with(*name)) {
            cursor.at += name.len();
            Node::NamedDate(name)
        } else {
            let Some((date, length)) = read::date(rest) else { return cursor.miss("a date like 2021-04-18 or today") };
            cursor.at += length;
            Node::Date(date)
        };
        cursor.spaces();
        cursor.sign(")", "\")\"")?;
        return Some(node);
    }
    if cursor.rest().starts_with("dur(") {
        cursor.at += 4;
        cursor.spaces();
        let Some((duration, length)) = read::duration(cursor.rest()) else {
            return cursor.miss("a duration like 4hr 15min");
        };
        cursor.at += length;
        cursor.spaces();
        cursor.sign(")", "\")\"")?;
        return Some(Node::Duration(duration));
    }
    None
}

fn variable(cursor: &mut Cursor<'_>) -> Option<Node> {
    let start = cursor.at;
    if cursor.next().is_none_or(|next| !next.is_alphabetic() && next.is_ascii()) {
        return cursor.miss("an expression");
    }
    let name = identifier(cursor)?;
    if KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(&name)) {
        cursor.at = start;
        return cursor.miss("an expression");
    }
    Some(Node::Variable(name))
}

/// A name: letters, digits, `_`, `-` and emoji, of which a letter or an emoji comes first.
pub(crate) fn identifier(cursor: &mut Cursor<'_>) -> Option<Arc<str>> {
    let start = cursor.at;
    while let Some(next) = cursor.next() {
        let first = cursor.at == start;
        if emoji::is_letter(next) || !first && (next.is_ascii_digit() || next == '_' || next == '-') {
            cursor.at += next.len_utf8();
            continue;
        }
        let emoji = emoji::prefix(cursor.rest());
        if emoji == 0 {
            break;
        }
        cursor.at += emoji;
    }
    if cursor.at == start {
        return cursor.miss("a name");
    }
    Some(cursor.text.get(start..cursor.at)?.into())
}

/// Text in double quotes. `\"` is a quote and `\\` a backslash; another backslash stands for itself.
pub(crate) fn string(cursor: &mut Cursor<'_>) -> Option<Arc<str>> {
    let start = cursor.at;
    cursor.sign("\"", "text in double quotes")?;
    let mut text = String::new();
    loop {
        let Some(next) = cursor.next() else {
            let missed = cursor.miss("the closing quote");
            cursor.at = start;
            return missed;
        };
        cursor.at += next.len_utf8();
        match next {
            '"' => return Some(text.into()),
            '\\' => match cursor.next() {
                Some(escaped) => {
                    cursor.at += escaped.len_utf8();
                    if escaped != '"' && escaped != '\\' {
                        text.push('\\');
                    }
                    text.push(escaped);
                }
                None => continue,
            },
            _ => text.push(next),
        }
    }
}

/// `[[link]]`
pub(crate) fn link(cursor: &mut Cursor<'_>) -> Option<Link> {
    let inner = cursor.rest().strip_prefix("[[");
    let end = inner.and_then(|inner| {
        inner.find(['[', ']']).filter(|end| inner.get(*end..).is_some_and(|rest| rest.starts_with("]]")))
    });
    let (Some(inner), Some(end)) = (inner, end) else { return cursor.miss("a link") };
    cursor.at += end + 4;
    Some(Link::inner(inner.get(..end)?))
}

fn entry(cursor: &mut Cursor<'_>) -> Option<(Arc<str>, Expr)> {
    let name = if cursor.next() == Some('"') { string(cursor)? } else { identifier(cursor)? };
    cursor.spaces();
    cursor.sign(":", "\":\"")?;
    cursor.spaces();
    Some((name, field(cursor)?))
}

fn lambda(cursor: &mut Cursor<'_>) -> Option<(Vec<Arc<str>>, Expr)> {
    cursor.sign("(", "\"(\"")?;
    cursor.spaces();
    let names = cursor.entries(identifier);
    cursor.spaces();
    cursor.sign(")", "\")\"")?;
    cursor.spaces();
    cursor.sign("=>", "\"=>\"")?;
    cursor.spaces();
    Some((names, field(cursor)?))
}
