//! The grammars of the languages, each prepared when it is first needed.

mod c;
mod jvm;
mod mobile;
mod scripts;
mod systems;
mod web;

use std::sync::LazyLock;

#[cfg(test)]
use crate::grammar::Grammar;
use crate::grammar::Rules;
use crate::language::Language;

macro_rules! rules {
    ($($language:ident => $parser:expr, $grammar:expr;)*) => {
        /// The rules of a language.
        pub(crate) fn rules(language: Language) -> &'static Rules {
            match language {
                $(Language::$language => {
                    static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::new($parser.into(), &$grammar));
                    &RULES
                })*
            }
        }

        /// The grammar of a language as it is written down.
        #[cfg(test)]
        pub(crate) fn grammar(language: Language) -> (tree_sitter::Language, &'static Grammar) {
            match language {
                $(Language::$language => ($parser.into(), &$grammar),)*
            }
        }
    };
}

rules! {
    Rust => tree_sitter_rust::LANGUAGE, systems::RUST;
    Go => tree_sitter_go::LANGUAGE, systems::GO;
    Python => tree_sitter_python::LANGUAGE, scripts::PYTHON;
    TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT, web::TYPESCRIPT;
    Tsx => tree_sitter_typescript::LANGUAGE_TSX, web::TSX;
    JavaScript => tree_sitter_javascript::LANGUAGE, web::JAVASCRIPT;
    Java => tree_sitter_java::LANGUAGE, jvm::JAVA;
    C => tree_sitter_c::LANGUAGE, c::C;
    Cpp => tree_sitter_cpp::LANGUAGE, c::CPP;
    CSharp => tree_sitter_c_sharp::LANGUAGE, jvm::C_SHARP;
    Kotlin => tree_sitter_kotlin_ng::LANGUAGE, mobile::KOTLIN;
    Swift => tree_sitter_swift::LANGUAGE, mobile::SWIFT;
    Ruby => tree_sitter_ruby::LANGUAGE, scripts::RUBY;
    Php => tree_sitter_php::LANGUAGE_PHP, web::PHP;
    Shell => tree_sitter_bash::LANGUAGE, scripts::SHELL;
}
