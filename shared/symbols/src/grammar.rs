//! The names of nodes in each grammar.

use std::collections::HashSet;

use atlas_segment::code::SymbolKind;
use tree_sitter::Language;

/// The node names of one language's grammar. Kinds are names of nodes; an empty field is any child.
pub(crate) struct Grammar {
    /// Nodes that define something, as what, and where the name stands.
    pub(crate) defines: &'static [(&'static str, SymbolKind, Named)],
    /// Nodes whose members belong to what they name, though they do not define that.
    pub(crate) scopes: &'static [(&'static str, Named)],
    /// Nodes that use a function or type, and the field that names it.
    pub(crate) uses: &'static [(&'static str, &'static str)],
    /// Where every identifier names a type, but what qualifies it: a kind and a field of it.
    pub(crate) types: &'static [(&'static str, &'static str)],
    /// Nodes that import, and the field that says what.
    pub(crate) imports: &'static [(&'static str, &'static str)],
    /// Where locals are declared: a kind and a field of it.
    pub(crate) locals: &'static [(&'static str, &'static str)],
    /// Nodes that are bodies where no field says so.
    pub(crate) bodies: &'static [&'static str],
}

/// Where a definition's name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// In a field, which may occur several times.
    Field(&'static str),
    /// At the end of the first of a field.
    First(&'static str),
    /// In the declarators of C.
    Declarator,
    /// In the first child of one of these kinds.
    Child(&'static [&'static str]),
    /// In a field, where the value is a function (or, outside of functions, anything).
    Value(&'static str, &'static str),
    /// On the left of an assignment, if that is a plain name or, with a function on the right, a property.
    Assigned,
}

/// The action at a node, by its kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Action {
    pub(crate) defines: Option<(SymbolKind, Named)>,
    pub(crate) scope: Option<Named>,
    pub(crate) uses: Option<&'static str>,
    pub(crate) imports: Option<&'static str>,
    pub(crate) is_body: bool,
    pub(crate) is_type_name: bool,
    pub(crate) is_comment: bool,
    pub(crate) is_identifier: bool,
    pub(crate) is_token_tree: bool,
    pub(crate) is_function: bool,
}

/// A grammar, prepared for walks.
pub(crate) struct Rules {
    pub(crate) language: Language,
    actions: Vec<Action>,
    locals: Places,
    types: Places,
    /// The fields of what stands before a name and is none itself.
    qualifiers: Vec<u16>,
    /// Where the names of arguments stand.
    argument_names: Places,
}

/// Leaves that may name a local.
const IDENTIFIERS: [&str; 4] = ["identifier", "simple_identifier", "shorthand_property_identifier_pattern", "name"];
/// Leaves that name a type.
const TYPES: [&str; 1] = ["type_identifier"];
/// Fields of what qualifies a name.
const QUALIFIERS: [&str; 2] = ["object", "qualifier"];
/// The names of arguments: a kind and a field of it.
const ARGUMENT_NAMES: [(&str, &str); 1] = [("keyword_argument", "name")];
/// Values that are functions.
const FUNCTIONS: [&str; 6] =
    ["arrow_function", "function_expression", "function", "generator_function", "func_literal", "lambda"];

impl Rules {
    pub(crate) fn new(language: Language, grammar: &Grammar) -> Self {
        let kinds = language.node_kind_count();
        let mut actions = vec![Action::default(); kinds];
        for id in 0..u16::try_from(kinds).unwrap_or(u16::MAX) {
            let (Some(kind), Some(action)) = (language.node_kind_for_id(id), actions.get_mut(usize::from(id))) else {
                continue;
            };
            if !language.node_kind_is_named(id) {
                continue;
            }
            action.defines = grammar.defines.iter().find(|one| one.0 == kind).map(|one| (one.1, one.2));
            action.scope = grammar.scopes.iter().find(|one| one.0 == kind).map(|one| one.1);
            action.uses = grammar.uses.iter().find(|one| one.0 == kind).map(|one| one.1);
            action.imports = grammar.imports.iter().find(|one| one.0 == kind).map(|one| one.1);
            action.is_body = grammar.bodies.contains(&kind);
            action.is_type_name = TYPES.contains(&kind);
            action.is_comment = kind.contains("comment");
            action.is_identifier = IDENTIFIERS.contains(&kind);
            action.is_token_tree = kind == "token_tree";
            action.is_function = FUNCTIONS.contains(&kind);
        }
        let (locals, types) = (Places::of(&language, grammar.locals), Places::of(&language, grammar.types));
        let qualifiers = QUALIFIERS.iter().filter_map(|field| language.field_id_for_name(field)).map(u16::from);
        let argument_names = Places::of(&language, &ARGUMENT_NAMES);
        Self { qualifiers: qualifiers.collect(), argument_names, language, actions, locals, types }
    }

    pub(crate) fn action(&self, kind: u16) -> Action {
        self.actions.get(usize::from(kind)).copied().unwrap_or_default()
    }

    /// Whether a child of `kind` in `field` declares locals.
    pub(crate) fn declares(&self, kind: u16, field: Option<u16>) -> bool {
        self.locals.have(kind, field)
    }

    /// Whether the identifiers in a child of `kind` in `field` name types.
    pub(crate) fn names_types(&self, kind: u16, field: Option<u16>) -> bool {
        self.types.have(kind, field)
    }

    /// Whether a child of `kind` in `field` names no type itself: it qualifies a name, or names an argument.
    pub(crate) fn names_no_type(&self, kind: u16, field: Option<u16>) -> bool {
        self.argument_names.have(kind, field) || field.is_some_and(|field| self.qualifiers.contains(&field))
    }
}

/// Kinds of nodes with the field of a child, 0 for any.
struct Places(HashSet<(u16, u16)>);

impl Places {
    fn of(language: &Language, places: &[(&str, &str)]) -> Self {
        let mut found = HashSet::new();
        for (kind, field) in places {
            let field = if field.is_empty() { Some(0) } else { language.field_id_for_name(field).map(u16::from) };
            for id in 0..u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX) {
                if language.node_kind_is_named(id)
                    && language.node_kind_for_id(id) == Some(kind)
                    && let Some(field) = field
                {
                    found.insert((id, field));
                }
            }
        }
        Self(found)
    }

    fn have(&self, kind: u16, field: Option<u16>) -> bool {
        self.0.contains(&(kind, 0)) || field.is_some_and(|field| self.0.contains(&(kind, field)))
    }
}

/// Whether all names of kinds and fields are known to the grammar; the first that is not.
#[cfg(test)]
pub(crate) fn unknown(language: &Language, grammar: &Grammar) -> Option<&'static str> {
    let fields = |named: Named| match named {
        Named::Field(field) | Named::First(field) => vec![field],
        Named::Value(field, value) => vec![field, value],
        Named::Declarator => vec!["declarator"],
        Named::Assigned => vec!["left", "right"],
        Named::Child(_) => vec![],
    };
    let children = |named: Named| if let Named::Child(kinds) = named { kinds } else { &[] };
    let named = || grammar.defines.iter().map(|one| one.2).chain(grammar.scopes.iter().map(|one| one.1));
    let pairs = || grammar.uses.iter().chain(grammar.imports).chain(grammar.locals).chain(grammar.types);
    let kinds = grammar.defines.iter().map(|one| one.0).chain(grammar.scopes.iter().map(|one| one.0));
    let mut kinds = kinds.chain(pairs().map(|one| one.0)).chain(grammar.bodies.iter().copied());
    let mut all_fields = named().flat_map(fields).chain(pairs().map(|one| one.1).filter(|field| !field.is_empty()));
    let is_kind = |kind: &&str| language.id_for_node_kind(kind, true) != 0;
    let kind = kinds.find(|kind| !is_kind(kind));
    kind.or_else(|| named().flat_map(children).copied().find(|kind| !is_kind(kind)))
        .or_else(|| all_fields.find(|field| language.field_id_for_name(field).is_none()))
}
