//! The open scopes of a walk: definitions, and nodes that name the type of members.

use std::collections::BTreeSet;

use atlas_segment::code::{MAX_USES, SymbolKind};

use crate::shape::Shape;

/// Functions that hear of the tokens of those in them.
const SHAPED: usize = 4;

/// A definition, or what stands for one.
#[derive(Debug)]
pub(crate) struct Scope<'t> {
    /// The depth of its node.
    depth: usize,
    /// The definition's number; none if it was not one.
    pub(crate) definition: Option<usize>,
    pub(crate) name: &'t str,
    pub(crate) kind: SymbolKind,
    /// Where its parameters begin, in bytes.
    from: usize,
    shape: Option<Shape<'t>>,
    uses: BTreeSet<&'t str>,
}

/// The result of a closed scope.
pub(crate) struct Closed<'t> {
    pub(crate) definition: Option<usize>,
    pub(crate) shape: u64,
    pub(crate) uses: BTreeSet<&'t str>,
}

/// The open scopes, from the outermost.
#[derive(Debug, Default)]
pub(crate) struct Scopes<'t>(Vec<Scope<'t>>);

impl<'t> Scopes<'t> {
    /// Opens one. With `from`, its shape is taken from there on.
    pub(crate) fn open(
        &mut self,
        depth: usize,
        definition: Option<usize>,
        name: &'t str,
        kind: SymbolKind,
        from: Option<usize>,
    ) {
        let shape = from.map(|_| Shape::of(name));
        let from = from.unwrap_or(usize::MAX);
        self.0.push(Scope { depth, definition, name, kind, from, shape, uses: BTreeSet::new() });
    }

    /// Closes the innermost if its node has ended before a node at `depth`.
    pub(crate) fn close(&mut self, depth: usize) -> Option<Closed<'t>> {
        let scope = self.0.pop_if(|scope| scope.depth >= depth)?;
        let shape = scope.shape.map_or(0, |shape| shape.finish());
        if scope.definition.is_none()
            && let Some(outer) = self.0.last_mut()
        {
            outer.uses.extend(scope.uses);
            return Some(Closed { definition: None, shape, uses: BTreeSet::new() });
        }
        Some(Closed { definition: scope.definition, shape, uses: scope.uses })
    }

    /// Whether a place is within a function.
    pub(crate) fn is_in_function(&self) -> bool {
        self.0.last().is_some_and(|scope| scope.kind.is_function())
    }

    /// The innermost type or module.
    pub(crate) fn container(&self) -> Option<(&'t str, SymbolKind)> {
        self.0.iter().rev().find(|scope| !scope.name.is_empty()).map(|scope| (scope.name, scope.kind))
    }

    /// Adds a use to the innermost; false if nothing is open.
    pub(crate) fn add_use(&mut self, name: &'t str) -> bool {
        let Some(scope) = self.0.last_mut() else { return false };
        if scope.uses.len() < MAX_USES && scope.name != name {
            scope.uses.insert(name);
        }
        true
    }

    /// Tells the open functions of a local.
    pub(crate) fn declare(&mut self, name: &'t str) {
        for shape in self.0.iter_mut().rev().filter_map(|scope| scope.shape.as_mut()).take(SHAPED) {
            shape.declare(name);
        }
    }

    /// Tells the open functions of a token that begins at byte `at`.
    pub(crate) fn token(&mut self, at: usize, token: &str, may_be_local: bool) {
        for scope in self.0.iter_mut().rev().filter(|scope| scope.shape.is_some()).take(SHAPED) {
            if at >= scope.from
                && let Some(shape) = &mut scope.shape
            {
                shape.add(token, may_be_local);
            }
        }
    }
}
