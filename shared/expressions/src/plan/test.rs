//! Questions that an index can answer.

use std::sync::Arc;

use crate::error::Result;
use crate::eval::Evaluator;
use crate::eval::methods::has_tag;
use crate::pages::{Fact, in_folder};
use crate::syntax::Operator;
use crate::value::Value;

/// A question to an index about one file.
#[derive(Debug, Clone)]
pub enum Test {
    /// It has the tag, or one nested in it; in any case, with `#` or without.
    Tag(String),
    /// It is in the folder or below it; the empty folder is the vault.
    Folder(String),
    /// It is the file at that path.
    Path(Arc<str>),
    /// A text of the file is this.
    File(FileText, Arc<str>),
    /// It has a link to that path.
    LinksTo(Arc<str>),
    /// It has a property of that name.
    Has(Arc<str>),
    /// It has tasks.
    Tasks,
    /// Its property compares so with that value; nothing, if it has none.
    Property(Arc<str>, Operator, Value),
}

/// A text that every file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileText {
    /// Its name, as its language has it.
    Name,
    /// The path of its folder.
    Folder,
    /// Its path.
    Path,
    /// Its extension.
    Extension,
}

impl FileText {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "name" => Self::Name,
            "folder" => Self::Folder,
            "path" => Self::Path,
            "ext" => Self::Extension,
            _ => return None,
        })
    }

    fn field(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Folder => "folder",
            Self::Path => "path",
            Self::Extension => "ext",
        }
    }
}

impl Test {
    /// The test's result for the file at `path`; an index must give the same.
    ///
    /// # Errors
    /// If it takes too many steps.
    pub fn holds(&self, evaluator: &Evaluator<'_>, path: &Arc<str>) -> Result<bool> {
        let pages = evaluator.pages();
        let list = |fact| pages.fact(path, fact);
        Ok(match self {
            Self::Tag(tag) => {
                let tags = list(Fact::Tags);
                tags.as_list().unwrap_or_default().iter().filter_map(Value::as_text).any(|own| has_tag(own, tag))
            }
            Self::Folder(folder) => in_folder(path, folder),
            Self::Path(own) => own == path,
            Self::LinksTo(target) => {
                let links = list(Fact::Links);
                links
                    .as_list()
                    .unwrap_or_default()
                    .iter()
                    .any(|link| matches!(link, Value::Link(link) if link.path == *target))
            }
            Self::Has(name) => pages.property(path, name).is_some(),
            Self::Tasks => {
                let tasks = evaluator.member(&Value::File(path.clone()), "tasks")?;
                tasks.as_list().is_some_and(|tasks| !tasks.is_empty())
            }
            Self::File(text, value) => {
                let own = evaluator.member(&Value::File(path.clone()), text.field())?;
                evaluator.truth(&evaluator.operate(Operator::Equal, &own, &Value::Text(value.clone()))?)
            }
            Self::Property(name, ..) => self.admits(evaluator, &pages.property(path, name).unwrap_or_default())?,
        })
    }

    /// Whether a property with that value passes the test; `true` for tests of other things.
    ///
    /// # Errors
    /// If it takes too many steps.
    pub fn admits(&self, evaluator: &Evaluator<'_>, own: &Value) -> Result<bool> {
        let Self::Property(_, operator, value) = self else { return Ok(true) };
        Ok(evaluator.truth(&evaluator.operate(*operator, own, value)?))
    }
}
