//! Rust and Go.

use atlas_segment::code::SymbolKind::{Alias, Constant, Function, Interface, Macro, Member, Module, Type, Variable};

use crate::grammar::Grammar;
use crate::grammar::Named::Field;

pub(crate) const RUST: Grammar = Grammar {
    defines: &[
        ("function_item", Function, Field("name")),
        ("function_signature_item", Function, Field("name")),
        ("struct_item", Type, Field("name")),
        ("enum_item", Type, Field("name")),
        ("union_item", Type, Field("name")),
        ("trait_item", Interface, Field("name")),
        ("type_item", Alias, Field("name")),
        ("associated_type", Alias, Field("name")),
        ("const_item", Constant, Field("name")),
        ("static_item", Constant, Field("name")),
        ("macro_definition", Macro, Field("name")),
        ("mod_item", Module, Field("name")),
        ("field_declaration", Member, Field("name")),
        ("enum_variant", Member, Field("name")),
    ],
    scopes: &[("impl_item", Field("type"))],
    uses: &[("call_expression", "function"), ("macro_invocation", "macro"), ("struct_expression", "name")],
    types: &[],
    imports: &[("use_declaration", "argument"), ("extern_crate_declaration", "name")],
    locals: &[
        ("parameter", "pattern"),
        ("closure_parameters", ""),
        ("let_declaration", "pattern"),
        ("let_condition", "pattern"),
        ("for_expression", "pattern"),
        ("match_arm", "pattern"),
    ],
    bodies: &[],
};

pub(crate) const GO: Grammar = Grammar {
    defines: &[
        ("function_declaration", Function, Field("name")),
        ("method_declaration", Function, Field("name")),
        ("method_elem", Function, Field("name")),
        ("type_spec", Type, Field("name")),
        ("type_alias", Alias, Field("name")),
        ("const_spec", Constant, Field("name")),
        ("var_spec", Variable, Field("name")),
        ("field_declaration", Member, Field("name")),
        ("package_clause", Module, crate::grammar::Named::Child(&["package_identifier"])),
    ],
    scopes: &[],
    uses: &[("call_expression", "function")],
    types: &[],
    imports: &[("import_spec", "path")],
    locals: &[
        ("parameter_declaration", "name"),
        ("variadic_parameter_declaration", "name"),
        ("short_var_declaration", "left"),
        ("range_clause", "left"),
        ("var_spec", "name"),
        ("type_switch_statement", "alias"),
    ],
    bodies: &["struct_type", "interface_type"],
};
