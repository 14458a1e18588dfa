use super::query::{Column, Header, Query, Step};
use super::source;
use crate::error::Result;
use crate::syntax::Expr;
use crate::syntax::cursor::Cursor;
use crate::syntax::dataview::{field, identifier, string};

/// Most steps of a query.
const MAX_STEPS: usize = 100;

pub(super) fn query(text: &str) -> Result<Query> {
    let mut cursor = Cursor::new(text)?;
    let parsed = whole(&mut cursor);
    cursor.finish(parsed)
}

fn whole(cursor: &mut Cursor<'_>) -> Option<Query> {
    gap(cursor);
    let header = header(cursor)?;
    gap(cursor);
    let source = cursor.attempt(|cursor| {
        cursor.word("FROM")?;
        cursor.some_space()?;
        source::parse(cursor)
    });
    gap(cursor);
    let mut steps = Vec::new();
    while let Some(step) = cursor.attempt(step) {
        steps.push(step);
        gap(cursor);
        if steps.len() > MAX_STEPS {
            return cursor.refuse(crate::Error::limit(format!("a query has at most {MAX_STEPS} steps")));
        }
    }
    Some(Query { header, source, steps })
}

/// White space and lines of comments.
fn gap(cursor: &mut Cursor<'_>) {
    loop {
        cursor.spaces();
        if !cursor.rest().starts_with("//") {
            return;
        }
        let rest = cursor.rest();
        cursor.at += rest.find('\n').unwrap_or(rest.len());
    }
}

fn header(cursor: &mut Cursor<'_>) -> Option<Header> {
    let start = cursor.at;
    for word in ["TABLE", "LIST", "TASK", "CALENDAR"] {
        if !cursor.rest().get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)) {
            continue;
        }
        cursor.at += word.len();
        if word == "TASK" {
            return Some(Header::Task);
        }
        if cursor.at == cursor.text.len() && word != "CALENDAR" {
            return Some(if word == "TABLE" {
                Header::Table { columns: Vec::new(), with_id: true }
            } else {
                Header::List { value: None, with_id: true }
            });
        }
        cursor.some_space()?;
        if word == "CALENDAR" {
            return Some(Header::Calendar(column(cursor)?));
        }
        let without = cursor.attempt(|cursor| {
            cursor.word("WITHOUT")?;
            cursor.some_space()?;
            cursor.word("ID")
        });
        cursor.spaces();
        let with_id = without.is_none();
        return Some(if word == "TABLE" {
            Header::Table { columns: cursor.entries(column), with_id }
        } else {
            Header::List { value: cursor.attempt(field), with_id }
        });
    }
    cursor.miss_at(start, "TABLE, LIST, TASK or CALENDAR")
}

/// A value, and `AS` its name.
fn column(cursor: &mut Cursor<'_>) -> Option<Column> {
    let start = cursor.at;
    let value = field(cursor)?;
    let written = cursor.text.get(start..cursor.at)?;
    let named = cursor.attempt(|cursor| {
        cursor.some_space()?;
        cursor.word("AS")?;
        cursor.some_space()?;
        if cursor.next() == Some('"') { string(cursor) } else { identifier(cursor) }
    });
    let name = match named {
        Some(name) => name.to_string(),
        None => written.split(['\r', '\n']).map(str::trim).collect(),
    };
    Some(Column { name, value })
}

fn step(cursor: &mut Cursor<'_>) -> Option<Step> {
    if cursor.attempt(|cursor| keyword(cursor, "WHERE")).is_some() {
        return Some(Step::Where(field(cursor)?));
    }
    if cursor.attempt(|cursor| keyword(cursor, "SORT")).is_some() {
        let by = cursor.entries(sort_field);
        return if by.is_empty() { None } else { Some(Step::Sort(by)) };
    }
    if cursor.attempt(|cursor| keyword(cursor, "LIMIT")).is_some() {
        return Some(Step::Limit(field(cursor)?));
    }
    if cursor.attempt(|cursor| keyword(cursor, "GROUP BY")).is_some() {
        return Some(Step::Group(column(cursor)?));
    }
    keyword(cursor, "FLATTEN")?;
    Some(Step::Flatten(column(cursor)?))
}

fn keyword(cursor: &mut Cursor<'_>, word: &'static str) -> Option<()> {
    cursor.word(word)?;
    cursor.some_space()
}

fn sort_field(cursor: &mut Cursor<'_>) -> Option<(Expr, bool)> {
    let expr = field(cursor)?;
    let down = cursor.attempt(|cursor| {
        cursor.spaces();
        for (word, down) in [("ASCENDING", false), ("DESCENDING", true), ("ASC", false), ("DESC", true)] {
            if cursor.word(word).is_some() {
                return Some(down);
            }
        }
        None
    });
    Some((expr, down.unwrap_or(false)))
}
