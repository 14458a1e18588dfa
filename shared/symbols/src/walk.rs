//! The walk over a tree: once, in the order of the text, without recursion.

use std::collections::BTreeSet;

use atlas_segment::code::{
    Code, Definition, MAX_DEFINITIONS, MAX_IMPORTS, MAX_NAME_BYTES, MAX_SIGNATURE_BYTES, MAX_USES, SymbolKind,
};
use tree_sitter::{Node, Tree};

use crate::grammar::{Action, Named, Rules};
use crate::name::{
    bare_signature, child_of, clean, declared, is_constant, last, lines_before, parts, prototype, receiver, text,
    text_of_field, tidy,
};
use crate::scope::Scopes;
use crate::special::{Special, special};

/// Most nodes that are looked at; a text of [`crate::MAX_BYTES`] has fewer.
const MAX_NODES: usize = 4_000_000;
/// Deepest node that is looked at.
const MAX_DEPTH: usize = 20_000;

/// Walks the tree of `source`; [`None`] if it is too deep or large.
pub(crate) fn walk(tree: &Tree, source: &str, rules: &Rules) -> Option<Code> {
    let mut walk = Walk::of(source, rules);
    let mut cursor = tree.walk();
    let mut kinds: Vec<u16> = Vec::new();
    for _ in 0..MAX_NODES {
        let node = cursor.node();
        let field = cursor.field_id().map(u16::from);
        let is_wanted = walk.visit(node, kinds.len(), kinds.last().copied().unwrap_or(0), field);
        if is_wanted && kinds.len() < MAX_DEPTH && cursor.goto_first_child() {
            kinds.push(node.kind_id());
            continue;
        }
        if kinds.len() >= MAX_DEPTH {
            return None;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Some(walk.finish());
            }
            kinds.pop();
        }
    }
    None
}

struct Walk<'t, 'r> {
    source: &'t str,
    rules: &'r Rules,
    scopes: Scopes<'t>,
    code: Code,
    uses: BTreeSet<&'t str>,
    /// The depth of the node in which identifiers are declared as locals.
    declaring: Option<usize>,
    /// The depth of the node in which identifiers name types.
    typing: Option<usize>,
    /// The begin of the name of a definition, which is no use of itself.
    naming: usize,
    /// The last identifier, and where it ends: within a macro of Rust it is a call if brackets follow.
    before: Option<(&'t str, usize)>,
}

impl<'t, 'r> Walk<'t, 'r> {
    fn of(source: &'t str, rules: &'r Rules) -> Self {
        Self {
            source,
            rules,
            scopes: Scopes::default(),
            code: Code::default(),
            uses: BTreeSet::new(),
            declaring: None,
            typing: None,
            naming: usize::MAX,
            before: None,
        }
    }

    fn finish(mut self) -> Code {
        self.close(0);
        self.code.uses = self.uses.into_iter().take(MAX_USES).map(str::to_owned).collect();
        self.code
    }

    fn close(&mut self, depth: usize) {
        while let Some(closed) = self.scopes.close(depth) {
            let Some(definition) = closed.definition.and_then(|number| self.code.definitions.get_mut(number)) else {
                self.uses.extend(closed.uses.into_iter().take(MAX_USES));
                continue;
            };
            definition.shape = closed.shape;
            definition.uses = closed.uses.into_iter().map(str::to_owned).collect();
        }
    }

    fn add_use(&mut self, name: &'t str) {
        let Some(name) = clean(name) else { return };
        if !self.scopes.add_use(name) && self.uses.len() < MAX_USES {
            self.uses.insert(name);
        }
    }

    /// Looks at a node; whether to look at what is in it.
    fn visit(&mut self, node: Node<'_>, depth: usize, parent: u16, field: Option<u16>) -> bool {
        self.close(depth);
        for (place, is_here) in [
            (&mut self.declaring, self.rules.declares(parent, field)),
            (&mut self.typing, self.rules.names_types(parent, field)),
        ] {
            if place.is_none_or(|place| depth <= place) {
                *place = is_here.then_some(depth);
            }
        }
        let action = self.rules.action(node.kind_id());
        if action.is_comment {
            return false;
        }
        if node.child_count() == 0 {
            self.leaf(node, action, parent, field);
        }
        if action.is_token_tree
            && let Some((name, at)) = self.before.take()
            && at == node.start_byte()
            && self.source.as_bytes().get(at) == Some(&b'(')
        {
            self.add_use(name);
        }
        if let Some(field) = action.uses {
            let callee = if field.is_empty() { node.named_child(0) } else { node.child_by_field_name(field) };
            if let Some(name) = callee.and_then(last) {
                let name = text(name, self.source);
                match special(name, node.kind()) {
                    Some(special) => self.special(node, depth, special),
                    None => self.add_use(name),
                }
            }
        }
        if let Some(field) = action.imports {
            self.import(node, field);
        }
        if let Some(named) = action.scope
            && let Some(name) = self.one_name(node, named)
        {
            let (_, name) = parts(text(name, self.source));
            self.scopes.open(depth, None, clean(name).unwrap_or_default(), SymbolKind::Type, None);
        }
        if let Some((kind, named)) = action.defines {
            self.define(node, depth, kind, named);
        }
        true
    }

    fn leaf(&mut self, node: Node<'_>, action: Action, parent: u16, field: Option<u16>) {
        let token = text(node, self.source);
        if token.is_empty() {
            return;
        }
        if action.is_identifier {
            if self.declaring.is_some() {
                self.scopes.declare(token);
            }
            self.before = Some((token, node.end_byte()));
        }
        let is_type = action.is_identifier && self.typing.is_some() && !self.rules.names_no_type(parent, field);
        if (action.is_type_name || is_type) && node.start_byte() != self.naming {
            self.add_use(token);
        }
        self.scopes.token(node.start_byte(), token, action.is_identifier);
    }

    fn import(&mut self, node: Node<'_>, field: &str) {
        if field.is_empty() {
            let whole = text(node, self.source);
            self.add_import(whole.split_once(char::is_whitespace).map_or(whole, |(_, rest)| rest));
            return;
        }
        let mut cursor = node.walk();
        let imported: Vec<Node<'_>> = node.children_by_field_name(field, &mut cursor).take(MAX_IMPORTS).collect();
        for imported in imported.into_iter().filter(Node::is_named) {
            self.add_import(text(imported.child_by_field_name("name").unwrap_or(imported), self.source));
        }
    }

    fn add_import(&mut self, import: &str) {
        let import = import.get(..import.floor_char_boundary(MAX_SIGNATURE_BYTES)).unwrap_or(import);
        let import = tidy(import.trim().trim_end_matches(';').trim_matches(['"', '\'', '`', '<', '>']));
        if !import.is_empty() && self.code.imports.len() < MAX_IMPORTS {
            self.code.imports.push(import);
        }
    }

    /// A call that does what other languages have words for.
    fn special(&mut self, node: Node<'_>, depth: usize, special: Special) {
        let list = node.child_by_field_name("arguments").unwrap_or(node);
        let mut cursor = list.walk();
        let arguments: Vec<Node<'_>> = list.named_children(&mut cursor).take(MAX_USES).collect();
        match special {
            Special::Import => {
                let is_text = |one: &&Node<'_>| one.kind().contains("string") || one.kind() == "word";
                if let Some(import) = arguments.iter().find(is_text) {
                    self.add_import(text(*import, self.source));
                }
            }
            Special::Nothing => {}
            Special::Constant => {
                let text = arguments.first().and_then(|first| first.named_child(0)).and_then(last);
                if let Some(name) = text.filter(|name| name.kind().contains("string")) {
                    self.add((name, None), depth, SymbolKind::Constant, name, None);
                }
            }
            Special::Members => {
                for name in arguments.into_iter().filter(|one| one.kind() == "simple_symbol") {
                    self.add((name, None), depth, SymbolKind::Member, name, None);
                }
            }
        }
    }

    /// The node of the only name of a scope.
    fn one_name<'n>(&self, node: Node<'n>, named: Named) -> Option<Node<'n>> {
        match named {
            Named::Field(field) => node.child_by_field_name(field),
            Named::Child(kinds) => child_of(node, kinds),
            _ => None,
        }
    }

    fn define(&mut self, node: Node<'_>, depth: usize, kind: SymbolKind, named: Named) {
        let whole = (node, None);
        match named {
            Named::First(field) => {
                if text_of_field(node, "declaration_kind", self.source) == "extension" {
                    let name = node.child_by_field_name(field).and_then(last).map(|name| text(name, self.source));
                    self.scopes.open(depth, None, name.and_then(clean).unwrap_or_default(), SymbolKind::Type, None);
                } else if let Some(name) = node.child_by_field_name(field).and_then(last) {
                    self.add(whole, depth, kind, name, None);
                }
            }
            Named::Field(field) => {
                let mut cursor = node.walk();
                let names: Vec<Node<'_>> = node.children_by_field_name(field, &mut cursor).take(MAX_USES).collect();
                for name in names.into_iter().filter(Node::is_named) {
                    self.add(whole, depth, kind, name, None);
                }
            }
            Named::Child(kinds) => {
                if let Some(name) = child_of(node, kinds) {
                    self.add(whole, depth, kind, name, None);
                }
            }
            Named::Declarator => self.declarators(node, depth, kind),
            Named::Value(field, value) => {
                let Some(name) = node.child_by_field_name(field) else { return };
                let value = node.child_by_field_name(value);
                match value.filter(|value| self.rules.action(value.kind_id()).is_function) {
                    Some(value) => self.add((node, Some(value)), depth, SymbolKind::Function, name, Some(value)),
                    None if kind != SymbolKind::Function => self.add(whole, depth, kind, name, None),
                    None => {}
                }
            }
            Named::Assigned => self.assigned(node, depth, kind),
        }
    }

    fn declarators(&mut self, node: Node<'_>, depth: usize, kind: SymbolKind) {
        let mut cursor = node.walk();
        let declarators: Vec<Node<'_>> =
            node.children_by_field_name("declarator", &mut cursor).take(MAX_USES).collect();
        for declarator in declarators.into_iter().filter(Node::is_named) {
            let Some((name, is_function)) = declared(declarator) else { continue };
            let kind = match kind {
                SymbolKind::Variable | SymbolKind::Member if is_function => SymbolKind::Prototype,
                kind => kind,
            };
            self.add((node, None), depth, kind, name, None);
        }
    }

    fn assigned(&mut self, node: Node<'_>, depth: usize, kind: SymbolKind) {
        let Some(left) = node.child_by_field_name("left") else { return };
        let value = node.child_by_field_name("right");
        let function = value.filter(|value| self.rules.action(value.kind_id()).is_function);
        let is_plain = matches!(left.kind(), "identifier" | "constant");
        match function {
            Some(value) if is_plain || left.kind() == "member_expression" => {
                if let Some(name) = last(left) {
                    self.add((node, Some(value)), depth, SymbolKind::Function, name, Some(value));
                }
            }
            _ if is_plain && kind != SymbolKind::Function => self.add((node, None), depth, kind, left, None),
            _ if kind != SymbolKind::Function && matches!(left.kind(), "pattern_list" | "left_assignment_list") => {
                for at in 0..u32::try_from(left.named_child_count().min(100)).unwrap_or(0) {
                    if let Some(name) =
                        left.named_child(at).filter(|name| matches!(name.kind(), "identifier" | "constant"))
                    {
                        self.add((node, None), depth, kind, name, None);
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds a definition that is called `name`. `value` is the function that it names, if it is not itself one.
    fn add(
        &mut self,
        (node, function): (Node<'_>, Option<Node<'_>>),
        depth: usize,
        kind: SymbolKind,
        name: Node<'_>,
        value: Option<Node<'_>>,
    ) {
        let is_variable = matches!(kind, SymbolKind::Variable | SymbolKind::Constant | SymbolKind::Member);
        if self.code.definitions.len() >= MAX_DEFINITIONS || is_variable && self.scopes.is_in_function() {
            return;
        }
        let source = self.source;
        let written = text(name, source);
        let (qualifier, bare) = if written.len() <= 4 * MAX_NAME_BYTES { parts(written) } else { return };
        let Some(bare) = clean(bare) else { return };
        // A named type within the alias that it gets at once is none of its members.
        let is_aliased = |of: SymbolKind| of == SymbolKind::Alias && kind == SymbolKind::Type;
        let container = self.scopes.container().filter(|(_, of)| !of.is_function() && !is_aliased(*of));
        let (_, qualifier) = parts(qualifier);
        // Many may be declared at once, so that nothing is looked for that only others have.
        let is_one = !is_variable && kind != SymbolKind::Prototype;
        let receiver = if is_one { receiver(node, source).or_else(|| prototype(node, source)) } else { None };
        let of = clean(qualifier).or(receiver).or(container.map(|(name, _)| name)).unwrap_or_default();
        let is_member = clean(qualifier).or(receiver).is_some() || container.is_some_and(|(_, kind)| kind.is_type());
        let body = if is_one { self.body(function.unwrap_or(node)) } else { None };
        let kind = match kind {
            SymbolKind::Function if is_member => SymbolKind::Method,
            SymbolKind::Variable if is_member => SymbolKind::Member,
            SymbolKind::Variable if is_constant(source, node.start_byte(), bare) => SymbolKind::Constant,
            SymbolKind::Type if body.is_some_and(|body| body.kind() == "interface_type") => SymbolKind::Interface,
            kind => kind,
        };
        // A name that a C type is derived from is a use.
        if kind == SymbolKind::Type
            && body.is_none()
            && matches!(node.kind(), "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier")
        {
            return;
        }
        let from = value.map_or_else(|| name.end_byte(), |value| value.start_byte());
        let has_signature = kind.is_function() || kind.is_type();
        let to = body.map_or_else(|| node.end_byte(), |body| body.start_byte());
        let signature = match source.get(from..to.min(from + 4 * MAX_SIGNATURE_BYTES)) {
            Some(signature) if has_signature => tidy(signature),
            // It may end within a character.
            None if has_signature => {
                tidy(source.get(from..source.floor_char_boundary(from + MAX_SIGNATURE_BYTES)).unwrap_or_default())
            }
            _ => String::new(),
        };
        let signature = bare_signature(&signature);
        let (first, end) = (node.start_position().row, node.end_position());
        let end = if end.column == 0 && end.row > first { end.row - 1 } else { end.row };
        let row = |row: usize| u32::try_from(row).unwrap_or(u32::MAX);
        let number = self.code.definitions.len();
        self.code.definitions.push(Definition {
            name: bare.to_owned(),
            kind,
            container: of.to_owned(),
            // A qualified name may begin on a line above.
            line: row(name.start_position().row + lines_before(bare, written)),
            lines: (row(first), row(end)),
            signature,
            shape: 0,
            uses: Vec::new(),
        });
        self.naming = name.start_byte();
        if has_signature || kind == SymbolKind::Module {
            let shaped = (kind.is_function() && body.is_some()).then_some(from);
            self.scopes.open(depth, Some(number), bare, kind, shaped);
        }
    }

    /// The body of a definition.
    fn body<'n>(&self, node: Node<'n>) -> Option<Node<'n>> {
        node.child_by_field_name("body").or_else(|| {
            let count = u32::try_from(node.named_child_count()).unwrap_or(0);
            // It is the last, or nearly.
            let mut last = (0..count).rev().take(4).filter_map(|at| node.named_child(at));
            last.find(|child| self.rules.action(child.kind_id()).is_body)
        })
    }
}
