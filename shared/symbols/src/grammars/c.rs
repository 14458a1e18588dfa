//! C and C++.

use atlas_segment::code::SymbolKind::{Alias, Constant, Function, Interface, Macro, Member, Module, Type, Variable};

use crate::grammar::Grammar;
use crate::grammar::Named::{Declarator, Field};

pub(crate) const C: Grammar = Grammar {
    defines: &[
        ("function_definition", Function, Declarator),
        ("declaration", Variable, Declarator),
        ("field_declaration", Member, Declarator),
        ("type_definition", Alias, Declarator),
        ("struct_specifier", Type, Field("name")),
        ("union_specifier", Type, Field("name")),
        ("enum_specifier", Type, Field("name")),
        ("enumerator", Constant, Field("name")),
        ("preproc_def", Macro, Field("name")),
        ("preproc_function_def", Macro, Field("name")),
    ],
    scopes: &[],
    uses: &[("call_expression", "function")],
    types: &[],
    imports: &[("preproc_include", "path")],
    locals: &[("parameter_declaration", "declarator"), ("declaration", "declarator")],
    bodies: &[],
};

pub(crate) const CPP: Grammar = Grammar {
    defines: &[
        ("function_definition", Function, Declarator),
        ("declaration", Variable, Declarator),
        ("field_declaration", Member, Declarator),
        ("type_definition", Alias, Declarator),
        ("alias_declaration", Alias, Field("name")),
        ("class_specifier", Type, Field("name")),
        ("struct_specifier", Type, Field("name")),
        ("union_specifier", Type, Field("name")),
        ("enum_specifier", Type, Field("name")),
        ("concept_definition", Interface, Field("name")),
        ("enumerator", Constant, Field("name")),
        ("namespace_definition", Module, Field("name")),
        ("preproc_def", Macro, Field("name")),
        ("preproc_function_def", Macro, Field("name")),
    ],
    scopes: &[],
    uses: &[("call_expression", "function"), ("new_expression", "type")],
    types: &[],
    imports: &[("preproc_include", "path"), ("using_declaration", "")],
    locals: &[
        ("parameter_declaration", "declarator"),
        ("optional_parameter_declaration", "declarator"),
        ("declaration", "declarator"),
        ("for_range_loop", "declarator"),
    ],
    bodies: &[],
};
