//! TypeScript, JavaScript and PHP.

use atlas_segment::code::SymbolKind::{Alias, Constant, Function, Interface, Member, Module, Type, Variable};

use crate::grammar::Grammar;
use crate::grammar::Named::{Assigned, Child, Field, Value};

const SCRIPT_LOCALS: &[(&str, &str)] = &[
    ("formal_parameters", ""),
    ("arrow_function", "parameter"),
    ("variable_declarator", "name"),
    ("for_in_statement", "left"),
    ("catch_clause", "parameter"),
];

pub(crate) const JAVASCRIPT: Grammar = Grammar {
    defines: &[
        ("function_declaration", Function, Field("name")),
        ("generator_function_declaration", Function, Field("name")),
        ("method_definition", Function, Field("name")),
        ("class_declaration", Type, Field("name")),
        ("class", Type, Field("name")),
        ("variable_declarator", Variable, Value("name", "value")),
        ("field_definition", Member, Value("property", "value")),
        ("assignment_expression", Function, Assigned),
        ("pair", Function, Value("key", "value")),
    ],
    scopes: &[],
    uses: &[
        ("call_expression", "function"),
        ("new_expression", "constructor"),
        ("class_heritage", ""),
        ("jsx_opening_element", "name"),
        ("jsx_self_closing_element", "name"),
        ("decorator", ""),
    ],
    types: &[],
    imports: &[("import_statement", "source"), ("export_statement", "source")],
    locals: SCRIPT_LOCALS,
    bodies: &[],
};

pub(crate) const TYPESCRIPT: Grammar = Grammar {
    defines: &[
        ("function_declaration", Function, Field("name")),
        ("generator_function_declaration", Function, Field("name")),
        ("function_signature", Function, Field("name")),
        ("method_definition", Function, Field("name")),
        ("method_signature", Function, Field("name")),
        ("abstract_method_signature", Function, Field("name")),
        ("class_declaration", Type, Field("name")),
        ("abstract_class_declaration", Type, Field("name")),
        ("class", Type, Field("name")),
        ("interface_declaration", Interface, Field("name")),
        ("enum_declaration", Type, Field("name")),
        ("enum_assignment", Member, Field("name")),
        ("enum_body", Member, Field("name")),
        ("type_alias_declaration", Alias, Field("name")),
        ("internal_module", Module, Field("name")),
        ("module", Module, Field("name")),
        ("property_signature", Member, Field("name")),
        ("public_field_definition", Member, Value("name", "value")),
        ("variable_declarator", Variable, Value("name", "value")),
        ("assignment_expression", Function, Assigned),
        ("pair", Function, Value("key", "value")),
    ],
    scopes: &[],
    uses: &[
        ("call_expression", "function"),
        ("new_expression", "constructor"),
        ("extends_clause", "value"),
        ("decorator", ""),
    ],
    types: &[],
    imports: &[("import_statement", "source"), ("export_statement", "source")],
    locals: SCRIPT_LOCALS,
    bodies: &[],
};

pub(crate) const TSX: Grammar = Grammar {
    uses: &[
        ("call_expression", "function"),
        ("new_expression", "constructor"),
        ("extends_clause", "value"),
        ("decorator", ""),
        ("jsx_opening_element", "name"),
        ("jsx_self_closing_element", "name"),
    ],
    ..TYPESCRIPT
};

pub(crate) const PHP: Grammar = Grammar {
    defines: &[
        ("function_definition", Function, Field("name")),
        ("method_declaration", Function, Field("name")),
        ("class_declaration", Type, Field("name")),
        ("trait_declaration", Type, Field("name")),
        ("enum_declaration", Type, Field("name")),
        ("interface_declaration", Interface, Field("name")),
        ("namespace_definition", Module, Field("name")),
        ("const_element", Constant, Child(&["name"])),
        ("enum_case", Member, Field("name")),
        ("property_element", Member, Field("name")),
        ("property_promotion_parameter", Member, Field("name")),
    ],
    scopes: &[],
    uses: &[
        ("function_call_expression", "function"),
        ("member_call_expression", "name"),
        ("nullsafe_member_call_expression", "name"),
        ("scoped_call_expression", "name"),
        ("object_creation_expression", ""),
    ],
    types: &[("named_type", ""), ("base_clause", ""), ("class_interface_clause", ""), ("attribute", "")],
    imports: &[("namespace_use_clause", "")],
    locals: &[
        ("simple_parameter", "name"),
        ("variadic_parameter", "name"),
        ("assignment_expression", "left"),
        ("foreach_statement", ""),
    ],
    bodies: &[],
};
