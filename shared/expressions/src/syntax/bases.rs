//! Bases' expressions, which look like JavaScript's.

use std::sync::Arc;

use super::cursor::Cursor;
use super::tree::{Expr, Node, Operator};
use crate::emoji;
use crate::error::Result;

/// Parses a whole text; white space around it does not matter.
///
/// # Errors
/// If it is not an expression; the error tells where, and what could have stood there.
pub(crate) fn parse(text: &str) -> Result<Expr> {
    let mut cursor = Cursor::new(text)?;
    cursor.spaces();
    let parsed = expression(&mut cursor);
    cursor.spaces();
    cursor.finish(parsed)
}

const LEVELS: [&[(&str, Operator)]; 6] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[("==", Operator::Equal), ("!=", Operator::Unequal)],
    &[(">=", Operator::AtLeast), ("<=", Operator::AtMost), (">", Operator::Greater), ("<", Operator::Less)],
    &[("+", Operator::Plus), ("-", Operator::Minus)],
    &[("*", Operator::Times), ("/", Operator::Over), ("%", Operator::Modulo)],
];
const LEVEL_NAMES: [&str; 6] =
    ["\"||\"", "\"&&\"", "\"==\" or \"!=\"", "a comparison", "\"+\" or \"-\"", "\"*\", \"/\" or \"%\""];

fn expression(cursor: &mut Cursor<'_>) -> Option<Expr> {
    cursor.nested(|cursor| binary(cursor, 0))
}

fn binary(cursor: &mut Cursor<'_>, level: usize) -> Option<Expr> {
    let (Some(signs), Some(name)) = (LEVELS.get(level), LEVEL_NAMES.get(level)) else { return unary(cursor) };
    let start = cursor.here();
    let mut left = binary(cursor, level + 1)?;
    while let Some((operator, right)) = cursor.attempt(|cursor| {
        cursor.spaces();
        let operator = super::dataview::operator(cursor, signs, name)?;
        cursor.spaces();
        Some((operator, binary(cursor, level + 1)?))
    }) {
        left = cursor.build(Node::Binary(operator, Box::new(left), Box::new(right)), start)?;
    }
    Some(left)
}

fn unary(cursor: &mut Cursor<'_>) -> Option<Expr> {
    let at = cursor.here();
    let sign = cursor.next().filter(|next| *next == '!' || *next == '-');
    let Some(sign) = sign else { return postfixed(cursor) };
    cursor.at += 1;
    cursor.spaces();
    let inner = Box::new(cursor.nested(unary)?);
    cursor.build(if sign == '!' { Node::Not(inner) } else { Node::Negative(inner) }, at)
}

fn postfixed(cursor: &mut Cursor<'_>) -> Option<Expr> {
    let start = cursor.here();
    let mut expr = atom(cursor)?;
    loop {
        let at = cursor.at;
        cursor.spaces();
        let here = cursor.here();
        let node = match cursor.next() {
            Some('.') => {
                cursor.at += 1;
                cursor.spaces();
                let name = identifier(cursor)?;
                Node::Index(Box::new(expr), Box::new(Expr::new(Node::Text(name), here)))
            }
            Some('[') => {
                cursor.at += 1;
                cursor.spaces();
                let index = expression(cursor)?;
                cursor.spaces();
                cursor.sign("]", "\"]\"")?;
                Node::Index(Box::new(expr), Box::new(index))
            }
            Some('(') => {
                cursor.at += 1;
                cursor.spaces();
                let arguments = cursor.entries(expression);
                cursor.spaces();
                cursor.sign(")", "\")\"")?;
                Node::Call(Box::new(expr), arguments)
            }
            _ => {
                cursor.at = at;
                return Some(expr);
            }
        };
        expr = cursor.build(node, start)?;
    }
}

fn atom(cursor: &mut Cursor<'_>) -> Option<Expr> {
    let at = cursor.here();
    let node = match cursor.next() {
        Some('(') => {
            cursor.at += 1;
            cursor.spaces();
            let inner = expression(cursor)?;
            cursor.spaces();
            cursor.sign(")", "\")\"")?;
            return Some(inner);
        }
        Some('[') => {
            cursor.at += 1;
            cursor.spaces();
            let items = cursor.entries(expression);
            cursor.spaces();
            cursor.sign("]", "\"]\"")?;
            Node::List(items)
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
            Node::Object(object.into_iter().collect())
        }
        Some('"' | '\'') => Node::Text(string(cursor)?),
        Some('/') => regex(cursor)?,
        Some(digit) if digit.is_ascii_digit() => number(cursor)?,
        _ => match &*identifier(cursor)? {
            "true" => Node::Boolean(true),
            "false" => Node::Boolean(false),
            "null" => Node::Null,
            name => Node::Variable(name.into()),
        },
    };
    cursor.build(node, at)
}

/// Digits, and more digits after a point. `5.isEmpty()` calls a function of 5.
fn number(cursor: &mut Cursor<'_>) -> Option<Node> {
    let (number, end) = crate::time::read::number(cursor.text, cursor.at)?;
    cursor.at = end;
    Some(Node::Number(number))
}

/// A name: letters, digits, `_`, `$` and emoji; a digit does not come first.
fn identifier(cursor: &mut Cursor<'_>) -> Option<Arc<str>> {
    let start = cursor.at;
    while let Some(next) = cursor.next() {
        let first = cursor.at == start;
        if next.is_alphabetic()
            || next == '_'
            || next == '$'
            || !first && (next.is_numeric() || !next.is_ascii() && unicode_normalization::char::is_combining_mark(next))
        {
            cursor.at += next.len_utf8();
            continue;
        }
        let emoji = emoji::prefix(cursor.rest());
        if emoji == 0 || next.is_ascii() {
            break;
        }
        cursor.at += emoji;
    }
    if cursor.at == start {
        return cursor.miss("an expression");
    }
    Some(cursor.text.get(start..cursor.at)?.into())
}

/// Whether all of `text` is one name.
pub(crate) fn is_identifier(text: &str) -> bool {
    Cursor::new(text).is_ok_and(|mut cursor| identifier(&mut cursor).is_some() && cursor.at == text.len())
}

/// Text in quotes of either kind, with JavaScript's escapes.
fn string(cursor: &mut Cursor<'_>) -> Option<Arc<str>> {
    let quote = cursor.next()?;
    cursor.at += 1;
    let mut text = String::new();
    loop {
        let Some(next) = cursor.next() else { return cursor.miss("the closing quote") };
        cursor.at += next.len_utf8();
        if next == quote {
            return Some(text.into());
        }
        if next != '\\' {
            text.push(next);
            continue;
        }
        let Some(escaped) = cursor.next() else { continue };
        cursor.at += escaped.len_utf8();
        match escaped {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'u' => {
                let code = cursor.rest().get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let Some(char) = code.and_then(char::from_u32) else { return cursor.miss("four hexadecimal digits") };
                cursor.at += 4;
                text.push(char);
            }
            _ => text.push(escaped),
        }
    }
}

fn regex(cursor: &mut Cursor<'_>) -> Option<Node> {
    cursor.at += 1;
    let start = cursor.at;
    let mut class = false;
    loop {
        let next = cursor.next().filter(|next| *next != '\n');
        let Some(next) = next else { return cursor.miss("the closing \"/\"") };
        let at = cursor.at;
        cursor.at += next.len_utf8();
        match next {
            '\\' => cursor.at += cursor.next().map_or(0, char::len_utf8),
            '[' => class = true,
            ']' => class = false,
            '/' if !class => {
                let source = cursor.text.get(start..at)?;
                let flags = cursor.rest().len()
                    - cursor.rest().trim_start_matches(|char: char| char.is_ascii_lowercase()).len();
                let flags_text = cursor.rest().get(..flags)?;
                cursor.at += flags;
                return Some(Node::Regex(source.into(), flags_text.into()));
            }
            _ => {}
        }
    }
}

fn entry(cursor: &mut Cursor<'_>) -> Option<(Arc<str>, Expr)> {
    let name = if matches!(cursor.next(), Some('"' | '\'')) { string(cursor)? } else { identifier(cursor)? };
    cursor.spaces();
    cursor.sign(":", "\":\"")?;
    cursor.spaces();
    Some((name, expression(cursor)?))
}
