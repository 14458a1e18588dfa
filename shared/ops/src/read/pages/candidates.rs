//! The files that can be rows by a plan, as the index decides it before any row is looked at.

use std::sync::Arc;

use atlas_expressions::plan::{Clause, Plan, Test, has_tag};
use atlas_expressions::{Evaluator, Value};
use atlas_vault::VaultPath;

use super::{IndexPages, is_dotted, refused};
use crate::error::Error;
use crate::operation::Context;
use crate::read::index::DocumentRef;

/// For each segment which of its documents.
type Marks = Vec<Vec<bool>>;

impl IndexPages {
    /// The files that the caller sees and the clauses of `plan` leave, by path. `evaluator` is one over these pages.
    ///
    /// # Errors
    /// When it takes too much.
    pub fn candidates(
        &self,
        context: &Context<'_>,
        plan: &Plan,
        evaluator: &Evaluator<'_>,
    ) -> Result<Vec<Arc<str>>, Error> {
        let mut left = self.marks(true)?;
        // Tests that need each file's path come last.
        let (by_path, by_index): (Vec<&Clause>, Vec<&Clause>) =
            plan.clauses.iter().partition(|clause| clause.iter().any(|(_, test)| matches!(test, Test::File(..))));
        for clause in by_index {
            context.work.check()?;
            let mut any = self.marks(false)?;
            for (wanted, test) in clause {
                let passing = self.passing(test, evaluator, &left)?;
                zip(&mut any, &passing, |any, passes| *any |= passes == *wanted);
            }
            zip(&mut left, &any, |left, any| *left &= any);
        }
        let mut found = Vec::new();
        for (segment, marks) in left.iter().enumerate() {
            for document in (0..).zip(marks).filter(|(_, left)| **left).map(|(document, _)| document) {
                let document = DocumentRef { segment, document };
                if let Some(path) = self.visible(document)? {
                    found.push(path);
                }
            }
        }
        if left.len() > 1 {
            found.sort_unstable();
        }
        if by_path.is_empty() {
            return Ok(found);
        }
        let rest = Plan { clauses: by_path.into_iter().cloned().collect(), rest: Vec::new() };
        let mut kept = Vec::new();
        for path in found {
            let holds = rest.holds(evaluator, &path);
            if holds.map_err(|error| refused(&error, evaluator.dialect(), ""))? {
                kept.push(path);
            }
        }
        Ok(kept)
    }

    /// All files that the caller sees, by path.
    pub(super) fn all(&self) -> Result<Vec<Arc<str>>, Error> {
        let mut all = Vec::new();
        for segment in self.index().segments() {
            for document in 0..self.index().paths(segment)?.len() {
                all.extend(self.visible(DocumentRef { segment, document })?);
            }
        }
        if self.index().segments().len() > 1 {
            all.sort_unstable();
        }
        Ok(all)
    }

    /// The path of a document, if the caller sees it.
    fn visible(&self, document: DocumentRef) -> Result<Option<Arc<str>>, Error> {
        if !self.index().shows(document) {
            return Ok(None);
        }
        let path = self.index().path(document)?;
        if is_dotted(&path) {
            return Ok(None);
        }
        let path: Arc<str> = path.into();
        self.documents.borrow_mut().insert(path.clone(), Some(document));
        Ok(Some(path))
    }

    /// The same mark for all documents.
    fn marks(&self, mark: bool) -> Result<Marks, Error> {
        let segments = self.index().segments();
        segments.map(|segment| Ok(vec![mark; self.index().paths(segment)?.len() as usize])).collect()
    }

    /// The documents that pass a test, of those that are left.
    fn passing(&self, test: &Test, evaluator: &Evaluator<'_>, left: &Marks) -> Result<Marks, Error> {
        let mut passing = self.marks(false)?;
        let facts = self.graph.facts();
        match test {
            Test::Tag(tag) => {
                for segment in self.index().segments() {
                    for column in facts.tags(segment)?.iter().filter(|column| has_tag(column.key(), tag)) {
                        column.iter().for_each(|(document, _)| mark(&mut passing, segment, document));
                    }
                }
            }
            Test::Folder(folder) if folder.trim_matches('/').is_empty() => passing = self.marks(true)?,
            Test::Folder(folder) => {
                let prefix = format!("{}/", folder.trim_matches('/'));
                for segment in self.index().segments() {
                    let below = self.index().paths(segment)?.with_prefix(&prefix);
                    below.for_each(|document| mark(&mut passing, segment, document));
                }
            }
            Test::Path(path) => {
                let document = self.document(path);
                document.into_iter().for_each(|document| mark(&mut passing, document.segment, document.document));
            }
            Test::LinksTo(target) => {
                for document in self.links_to(target) {
                    mark(&mut passing, document.segment, document.document);
                }
            }
            Test::Has(name) => {
                for segment in self.index().segments() {
                    self.documents_with(segment, name, |document| mark(&mut passing, segment, document))?;
                }
            }
            Test::Tasks => {
                for segment in self.index().segments() {
                    let with_tasks = facts.lists(segment)?.with_tasks();
                    with_tasks.iter().for_each(|document| mark(&mut passing, segment, *document));
                }
            }
            Test::Property(name, ..) => {
                let admits =
                    |own: &Value| test.admits(evaluator, own).map_err(|error| refused(&error, evaluator.dialect(), ""));
                passing = self.marks(admits(&Value::Null)?)?;
                for segment in self.index().segments() {
                    let mut with = Vec::new();
                    self.documents_with(segment, name, |document| with.push(document))?;
                    for document in with {
                        let is_left = left.get(segment).and_then(|marks| marks.get(document as usize)).copied();
                        let at = DocumentRef { segment, document };
                        if is_left.unwrap_or_default() && self.index().shows(at) {
                            let path = self.index().path(at)?;
                            let passes = admits(&self.property_of(at, &path, name).unwrap_or_default())?;
                            set(&mut passing, segment, document, passes);
                        }
                    }
                }
            }
            // These are asked of each path.
            Test::File(..) => passing = self.marks(true)?,
        }
        Ok(passing)
    }

    /// The files whose links have this path, or this text if they lead nowhere.
    fn links_to(&self, target: &str) -> Vec<DocumentRef> {
        if let Some(document) = self.document(target) {
            let Some(record) = self.record(document) else { return Vec::new() };
            return self.linking(document, target, &record);
        }
        let mut found = self.graph.with_target(target);
        found.retain(|document| {
            let path = self.noted(self.index().path(*document));
            path.is_some_and(|path| VaultPath::parse(&path).is_ok() && self.meaning(target, &path).is_none())
        });
        found
    }
}

fn mark(marks: &mut Marks, segment: usize, document: u32) {
    set(marks, segment, document, true);
}

fn set(marks: &mut Marks, segment: usize, document: u32, value: bool) {
    if let Some(mark) = marks.get_mut(segment).and_then(|marks| marks.get_mut(document as usize)) {
        *mark = value;
    }
}

fn zip(into: &mut Marks, from: &Marks, change: impl Fn(&mut bool, bool)) {
    for (into, from) in into.iter_mut().flatten().zip(from.iter().flatten()) {
        change(into, *from);
    }
}
