use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::eval::Evaluator;
use crate::eval::methods::has_tag;
use crate::pages::{Fact, in_folder};
use crate::syntax::cursor::Cursor;
use crate::syntax::dataview::{link, string};
use crate::value::Value;

/// Which pages a query is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `#tag`: pages with that tag, or one nested in it.
    Tag(String),
    /// `"folder"`: pages in it or below, or the one file of that path.
    Folder(String),
    /// `csv("file.csv")`
    Csv(String),
    /// `[[note]]`: pages with a link to it.
    Incoming(String),
    /// `outgoing([[note]])`: pages that it links to.
    Outgoing(String),
    /// `!source`: pages that are not of it.
    Not(Box<Source>),
    /// Pages of both.
    And(Box<Source>, Box<Source>),
    /// Pages of either.
    Or(Box<Source>, Box<Source>),
}

pub(super) fn parse(cursor: &mut Cursor<'_>) -> Option<Source> {
    cursor.nested(|cursor| {
        let mut left = atom(cursor)?;
        let mut count = 0;
        while let Some((and, right)) = cursor.attempt(|cursor| {
            cursor.spaces();
            let and = ["and", "&"].iter().any(|sign| starts(cursor, sign));
            let or = !and && ["or", "|"].iter().any(|sign| starts(cursor, sign));
            if !and && !or {
                return cursor.miss("\"and\" or \"or\"");
            }
            cursor.spaces();
            Some((and, atom(cursor)?))
        }) {
            count += 1;
            if count > 100 {
                return cursor.refuse(Error::limit("a source may have 100 operators"));
            }
            let (left_box, right) = (Box::new(left), Box::new(right));
            left = if and { Source::And(left_box, right) } else { Source::Or(left_box, right) };
        }
        Some(left)
    })
}

/// Steps over `sign` in any case.
fn starts(cursor: &mut Cursor<'_>, sign: &str) -> bool {
    let found = cursor.rest().get(..sign.len()).is_some_and(|start| start.eq_ignore_ascii_case(sign));
    cursor.at += if found { sign.len() } else { 0 };
    found
}

fn atom(cursor: &mut Cursor<'_>) -> Option<Source> {
    match cursor.next() {
        Some('(') => {
            cursor.at += 1;
            cursor.spaces();
            let inner = parse(cursor)?;
            cursor.spaces();
            cursor.sign(")", "\")\"")?;
            Some(inner)
        }
        Some('-' | '!') => {
            cursor.at += 1;
            Some(Source::Not(Box::new(cursor.nested(atom)?)))
        }
        Some('"') => Some(Source::Folder(string(cursor)?.to_string())),
        Some('[') => Some(Source::Incoming(link(cursor)?.path.to_string())),
        Some('#') => {
            let rest = cursor.rest().get(1..)?;
            let end = rest.find(|char: char| ends_tag(char)).unwrap_or(rest.len());
            cursor.at += end + 1;
            Some(Source::Tag(format!("#{}", rest.get(..end)?)))
        }
        _ => {
            let outgoing = cursor.rest().starts_with("outgoing(");
            if !outgoing && !cursor.rest().starts_with("csv(") {
                return cursor.miss("a #tag, a \"folder\" or a [[link]]");
            }
            cursor.at += if outgoing { 9 } else { 4 };
            cursor.spaces();
            let source = if outgoing {
                Source::Outgoing(link(cursor)?.path.to_string())
            } else {
                Source::Csv(string(cursor)?.to_string())
            };
            cursor.sign(")", "\")\"")?;
            Some(source)
        }
    }
}

/// Whether a tag ends before that character.
pub(crate) fn ends_tag(char: char) -> bool {
    matches!(char, '\u{2000}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}')
        || crate::emoji::is_space(char)
        || "'!\"#$%&()*+,.:;<=>?@^`{|}~[]\\".contains(char)
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        match self {
            Self::Tag(tag) => f.write_str(tag),
            Self::Folder(folder) => write!(f, "\"{}\"", text(folder)),
            Self::Csv(path) => write!(f, "csv(\"{}\")", text(path)),
            Self::Incoming(path) => write!(f, "[[{}]]", path.replace('|', "\\|")),
            Self::Outgoing(path) => write!(f, "outgoing([[{}]])", path.replace('|', "\\|")),
            Self::Not(inner) => write!(f, "!({inner})"),
            Self::And(left, right) => write!(f, "{left} and ({right})"),
            Self::Or(left, right) => write!(f, "{left} or ({right})"),
        }
    }
}

/// A source whose links and folders have been looked up.
pub(super) enum ResolvedSource {
    Tag(String),
    Folder(String),
    File(Arc<str>),
    Incoming(Arc<str>),
    Paths(HashSet<Arc<str>>),
    Not(Box<ResolvedSource>),
    And(Box<ResolvedSource>, Box<ResolvedSource>),
    Or(Box<ResolvedSource>, Box<ResolvedSource>),
}

/// Whether Dataview makes a page of the file.
pub(super) fn is_page(path: &str) -> bool {
    path.ends_with(".md")
}

/// The one file that the text of a source means, if there is no folder of that name.
pub(crate) fn file_named(folder: &str, evaluator: &Evaluator<'_>) -> Option<Arc<str>> {
    let pages = evaluator.pages();
    if folder.is_empty() || pages.is_folder(folder) {
        return None;
    }
    [folder.to_owned(), format!("{folder}.md")].into_iter().find(|path| pages.is_file(path)).map(Arc::from)
}

impl Source {
    /// Looks up what the source names.
    ///
    /// # Errors
    /// For CSV files, and if a note whose links are wanted is not there.
    pub(super) fn find(&self, evaluator: &Evaluator<'_>) -> Result<ResolvedSource> {
        let target = |link: &str| match link {
            "" => evaluator.this().cloned(),
            _ => evaluator.resolved(link),
        };
        Ok(match self {
            Self::Tag(tag) => ResolvedSource::Tag(tag.clone()),
            Self::Folder(folder) => match file_named(folder, evaluator) {
                Some(file) => ResolvedSource::File(file),
                None => ResolvedSource::Folder(folder.clone()),
            },
            Self::Csv(_) => {
                return Err(Error::unsupported("csv() is not supported as a source: make notes or a table of it"));
            }
            // Links to what is not there count by their text.
            Self::Incoming(link) => ResolvedSource::Incoming(target(link).unwrap_or_else(|| link.as_str().into())),
            Self::Outgoing(link) => {
                let note = target(link).ok_or_else(|| {
                    Error::evaluation(format!("there is no note \"{link}\" whose links could be followed"))
                })?;
                let links = evaluator.pages().fact(&note, Fact::Links);
                let links = links.as_list().unwrap_or_default().iter();
                ResolvedSource::Paths(
                    links
                        .filter_map(|link| if let Value::Link(link) = link { Some(link.path.clone()) } else { None })
                        .collect(),
                )
            }
            Self::Not(inner) => ResolvedSource::Not(Box::new(inner.find(evaluator)?)),
            Self::And(left, right) => {
                ResolvedSource::And(Box::new(left.find(evaluator)?), Box::new(right.find(evaluator)?))
            }
            Self::Or(left, right) => {
                ResolvedSource::Or(Box::new(left.find(evaluator)?), Box::new(right.find(evaluator)?))
            }
        })
    }
}

impl ResolvedSource {
    pub(super) fn holds(&self, evaluator: &Evaluator<'_>, path: &Arc<str>) -> Result<bool> {
        evaluator.spend(1)?;
        Ok(match self {
            Self::Tag(tag) => {
                let tags = evaluator.pages().fact(path, Fact::Tags);
                let tags = tags.as_list().unwrap_or_default();
                evaluator.spend(tags.len())?;
                tags.iter().filter_map(Value::as_text).any(|own| has_tag(own, tag))
            }
            Self::Folder(folder) => in_folder(path, folder),
            Self::File(file) => file == path,
            Self::Paths(paths) => paths.contains(path),
            Self::Incoming(target) => {
                let links = evaluator.pages().fact(path, Fact::Links);
                let links = links.as_list().unwrap_or_default();
                evaluator.spend(links.len())?;
                links.iter().any(|link| matches!(link, Value::Link(link) if link.path == *target))
            }
            Self::Not(inner) => !inner.holds(evaluator, path)?,
            Self::And(left, right) => left.holds(evaluator, path)? && right.holds(evaluator, path)?,
            Self::Or(left, right) => left.holds(evaluator, path)? || right.holds(evaluator, path)?,
        })
    }
}
