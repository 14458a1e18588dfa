//! Python, Ruby and shells.

use atlas_segment::code::SymbolKind::{Alias, Constant, Function, Module, Type, Variable};

use crate::grammar::Grammar;
use crate::grammar::Named::{Assigned, Field};

pub(crate) const PYTHON: Grammar = Grammar {
    defines: &[
        ("function_definition", Function, Field("name")),
        ("class_definition", Type, Field("name")),
        ("assignment", Variable, Assigned),
        ("type_alias_statement", Alias, Field("left")),
    ],
    scopes: &[],
    uses: &[("call", "function"), ("decorator", "")],
    types: &[("type", ""), ("class_definition", "superclasses"), ("except_clause", "value")],
    imports: &[("import_statement", "name"), ("import_from_statement", "module_name")],
    locals: &[
        ("parameters", ""),
        ("lambda_parameters", ""),
        ("assignment", "left"),
        ("for_statement", "left"),
        ("for_in_clause", "left"),
        ("as_pattern", "alias"),
        ("named_expression", "name"),
    ],
    bodies: &[],
};

pub(crate) const RUBY: Grammar = Grammar {
    defines: &[
        ("method", Function, Field("name")),
        ("singleton_method", Function, Field("name")),
        ("alias", Function, Field("name")),
        ("class", Type, Field("name")),
        ("module", Module, Field("name")),
        ("assignment", Constant, Assigned),
    ],
    scopes: &[],
    uses: &[("call", "method"), ("superclass", "")],
    types: &[],
    imports: &[],
    locals: &[
        ("method_parameters", ""),
        ("block_parameters", ""),
        ("lambda_parameters", ""),
        ("assignment", "left"),
        ("for", "pattern"),
        ("exception_variable", ""),
    ],
    bodies: &["body_statement"],
};

pub(crate) const SHELL: Grammar = Grammar {
    defines: &[("function_definition", Function, Field("name"))],
    scopes: &[],
    uses: &[("command", "name")],
    types: &[],
    imports: &[],
    locals: &[],
    bodies: &[],
};
