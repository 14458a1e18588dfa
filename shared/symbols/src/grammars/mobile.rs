//! Kotlin and Swift.

use atlas_segment::code::SymbolKind::{Alias, Function, Interface, Macro, Member, Module, Type, Variable};

use crate::grammar::Grammar;
use crate::grammar::Named::{Child, Field, First};

pub(crate) const KOTLIN: Grammar = Grammar {
    defines: &[
        ("class_declaration", Type, Field("name")),
        ("object_declaration", Type, Field("name")),
        ("function_declaration", Function, Field("name")),
        ("type_alias", Alias, Field("type")),
        ("property_declaration", Variable, Child(&["variable_declaration"])),
        ("class_parameter", Member, Child(&["identifier"])),
        ("enum_entry", Member, Child(&["identifier"])),
        ("package_header", Module, Child(&["qualified_identifier", "identifier"])),
    ],
    scopes: &[],
    uses: &[("call_expression", ""), ("constructor_invocation", ""), ("user_type", "")],
    types: &[],
    imports: &[("import", "")],
    locals: &[("parameter", ""), ("variable_declaration", ""), ("lambda_parameters", "")],
    bodies: &["function_body", "class_body", "enum_class_body"],
};

pub(crate) const SWIFT: Grammar = Grammar {
    defines: &[
        ("class_declaration", Type, First("name")),
        ("protocol_declaration", Interface, First("name")),
        ("function_declaration", Function, First("name")),
        ("protocol_function_declaration", Function, First("name")),
        ("init_declaration", Function, First("name")),
        ("typealias_declaration", Alias, First("name")),
        ("associatedtype_declaration", Alias, First("name")),
        ("property_declaration", Variable, First("name")),
        ("protocol_property_declaration", Member, First("name")),
        ("enum_entry", Member, First("name")),
        ("macro_declaration", Macro, Child(&["simple_identifier"])),
    ],
    scopes: &[],
    uses: &[("call_expression", ""), ("user_type", "")],
    types: &[],
    imports: &[("import_declaration", "")],
    locals: &[
        ("parameter", "name"),
        ("property_declaration", "name"),
        ("for_statement", "item"),
        ("lambda_parameter", "name"),
    ],
    bodies: &["function_body", "class_body", "enum_class_body", "protocol_body"],
};
