//! Languages, by the names of files.

/// A language whose code is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[expect(missing_docs, reason = "they are named as everybody names them")]
pub enum Language {
    Rust,
    Go,
    Python,
    TypeScript,
    /// TypeScript with elements.
    Tsx,
    JavaScript,
    Java,
    C,
    Cpp,
    CSharp,
    Kotlin,
    Swift,
    Ruby,
    Php,
    Shell,
}

/// By their extensions, in lower case.
const EXTENSIONS: [(&str, Language); 39] = [
    ("bash", Language::Shell),
    ("c", Language::C),
    ("c++", Language::Cpp),
    ("cc", Language::Cpp),
    ("cjs", Language::JavaScript),
    ("cpp", Language::Cpp),
    ("cs", Language::CSharp),
    ("cts", Language::TypeScript),
    ("cxx", Language::Cpp),
    ("go", Language::Go),
    ("gradle.kts", Language::Kotlin),
    ("h", Language::Cpp),
    ("h++", Language::Cpp),
    ("hh", Language::Cpp),
    ("hpp", Language::Cpp),
    ("hxx", Language::Cpp),
    ("inl", Language::Cpp),
    ("ino", Language::Cpp),
    ("java", Language::Java),
    ("js", Language::JavaScript),
    ("jsx", Language::JavaScript),
    ("kt", Language::Kotlin),
    ("kts", Language::Kotlin),
    ("ksh", Language::Shell),
    ("mjs", Language::JavaScript),
    ("mts", Language::TypeScript),
    ("php", Language::Php),
    ("phtml", Language::Php),
    ("py", Language::Python),
    ("pyi", Language::Python),
    ("pyw", Language::Python),
    ("rake", Language::Ruby),
    ("rb", Language::Ruby),
    ("rs", Language::Rust),
    ("sh", Language::Shell),
    ("swift", Language::Swift),
    ("ts", Language::TypeScript),
    ("tsx", Language::Tsx),
    ("zsh", Language::Shell),
];

impl Language {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Rust,
        Self::Go,
        Self::Python,
        Self::TypeScript,
        Self::Tsx,
        Self::JavaScript,
        Self::Java,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Kotlin,
        Self::Swift,
        Self::Ruby,
        Self::Php,
        Self::Shell,
    ];

    /// That of a file of this name (or path).
    #[must_use]
    pub fn of(file_name: &str) -> Option<Self> {
        let (stem, extension) = file_name.rsplit_once('.')?;
        if stem.is_empty() || stem.ends_with('/') {
            return None;
        }
        EXTENSIONS.iter().find(|(other, _)| extension.eq_ignore_ascii_case(other)).map(|(_, language)| *language)
    }

    /// Its number, which names it to another process.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// That with this number.
    #[must_use]
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}
