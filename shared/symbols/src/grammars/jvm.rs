//! Java and C#.

use atlas_segment::code::SymbolKind::{Alias, Constant, Function, Interface, Member, Module, Type, Variable};

use crate::grammar::Grammar;
use crate::grammar::Named::{Child, Declarator, Field};

pub(crate) const JAVA: Grammar = Grammar {
    defines: &[
        ("class_declaration", Type, Field("name")),
        ("record_declaration", Type, Field("name")),
        ("enum_declaration", Type, Field("name")),
        ("interface_declaration", Interface, Field("name")),
        ("annotation_type_declaration", Interface, Field("name")),
        ("method_declaration", Function, Field("name")),
        ("constructor_declaration", Function, Field("name")),
        ("compact_constructor_declaration", Function, Field("name")),
        ("annotation_type_element_declaration", Function, Field("name")),
        ("field_declaration", Member, Declarator),
        ("constant_declaration", Constant, Declarator),
        ("enum_constant", Member, Field("name")),
        ("package_declaration", Module, Child(&["scoped_identifier", "identifier"])),
    ],
    scopes: &[],
    uses: &[
        ("method_invocation", "name"),
        ("object_creation_expression", "type"),
        ("annotation", "name"),
        ("marker_annotation", "name"),
    ],
    types: &[],
    imports: &[("import_declaration", "")],
    locals: &[
        ("formal_parameter", "name"),
        ("spread_parameter", ""),
        ("variable_declarator", "name"),
        ("enhanced_for_statement", "name"),
        ("catch_formal_parameter", "name"),
        ("lambda_expression", "parameters"),
    ],
    bodies: &[],
};

pub(crate) const C_SHARP: Grammar = Grammar {
    defines: &[
        ("class_declaration", Type, Field("name")),
        ("struct_declaration", Type, Field("name")),
        ("record_declaration", Type, Field("name")),
        ("enum_declaration", Type, Field("name")),
        ("interface_declaration", Interface, Field("name")),
        ("delegate_declaration", Alias, Field("name")),
        ("method_declaration", Function, Field("name")),
        ("constructor_declaration", Function, Field("name")),
        ("destructor_declaration", Function, Field("name")),
        ("local_function_statement", Function, Field("name")),
        ("property_declaration", Member, Field("name")),
        ("event_declaration", Member, Field("name")),
        ("enum_member_declaration", Member, Field("name")),
        ("variable_declarator", Variable, Field("name")),
        ("namespace_declaration", Module, Field("name")),
        ("file_scoped_namespace_declaration", Module, Field("name")),
    ],
    scopes: &[],
    uses: &[("invocation_expression", "function")],
    types: &[
        ("parameter", "type"),
        ("variable_declaration", "type"),
        ("property_declaration", "type"),
        ("local_function_statement", "type"),
        ("foreach_statement", "type"),
        ("cast_expression", "type"),
        ("typeof_expression", "type"),
        ("catch_declaration", "type"),
        ("declaration_pattern", "type"),
        ("primary_constructor_base_type", "type"),
        ("object_creation_expression", "type"),
        ("method_declaration", "returns"),
        ("base_list", ""),
        ("type_argument_list", ""),
        ("is_expression", "right"),
        ("as_expression", "right"),
        ("attribute", "name"),
    ],
    imports: &[("using_directive", "")],
    locals: &[
        ("parameter", "name"),
        ("variable_declarator", "name"),
        ("foreach_statement", "left"),
        ("catch_declaration", "name"),
        ("implicit_parameter", ""),
    ],
    bodies: &["block", "arrow_expression_clause"],
};
