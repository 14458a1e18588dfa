//! Expressions of Templater's commands: members of `tp`, calls of them, strings and numbers, joined by `+`.

use std::iter::Peekable;
use std::str::CharIndices;

/// A term of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A string.
    Text(String),
    /// A number.
    Number(i64),
    /// `true` or `false`.
    Word(String),
    /// `tp.a.b`, and the arguments if it is called.
    Member {
        /// The names after `tp`.
        names: Vec<String>,
        /// [`None`] if it is not called.
        arguments: Option<Vec<Expression>>,
    },
}

/// Greatest depth of nested terms, and most terms of a command.
const MAX_DEPTH: usize = 8;
const MAX_TERMS: usize = 100;

/// The terms joined by `+`; [`None`] if the code is anything else.
#[must_use]
pub fn read(code: &str) -> Option<Vec<Expression>> {
    let mut reader = Reader { code, chars: code.char_indices().peekable(), terms: 0 };
    let terms = reader.sum(0)?;
    reader.skip_space();
    reader.eat(';');
    reader.skip_space();
    reader.chars.peek().is_none().then_some(terms)
}

struct Reader<'a> {
    code: &'a str,
    chars: Peekable<CharIndices<'a>>,
    terms: usize,
}

impl Reader<'_> {
    fn sum(&mut self, depth: usize) -> Option<Vec<Expression>> {
        let mut terms = vec![self.term(depth)?];
        while self.eat('+') {
            terms.push(self.term(depth)?);
        }
        Some(terms)
    }

    fn term(&mut self, depth: usize) -> Option<Expression> {
        self.terms += 1;
        if depth > MAX_DEPTH || self.terms > MAX_TERMS {
            return None;
        }
        self.skip_space();
        let (start, first) = *self.chars.peek()?;
        match first {
            '"' | '\'' | '`' => self.text(),
            '-' | '0'..='9' => {
                self.chars.next();
                while self.chars.next_if(|(_, c)| c.is_ascii_digit()).is_some() {}
                self.code.get(start..self.at())?.parse().ok().map(Expression::Number)
            }
            _ => match self.word()? {
                word @ ("true" | "false") => Some(Expression::Word(word.to_owned())),
                "tp" => self.member(depth),
                _ => None,
            },
        }
    }

    fn member(&mut self, depth: usize) -> Option<Expression> {
        let mut names = Vec::new();
        loop {
            if self.eat('.') {
                self.skip_space();
                names.push(self.word()?.to_owned());
            } else if self.eat('[') {
                self.skip_space();
                let Expression::Text(name) = self.text()? else { return None };
                names.push(name);
                if !self.eat(']') {
                    return None;
                }
            } else {
                break;
            }
        }
        let mut arguments = None;
        if self.eat('(') {
            let given = arguments.insert(Vec::new());
            while !self.eat(')') {
                match <[Expression; 1]>::try_from(self.sum(depth + 1)?) {
                    Ok([argument]) => given.push(argument),
                    Err(_) => return None,
                }
                if !self.eat(',') && self.next_char() != Some(')') {
                    return None;
                }
            }
            // The result of a call has no members here.
            if matches!(self.next_char(), Some('.' | '[' | '(')) {
                return None;
            }
        }
        Some(Expression::Member { names, arguments })
    }

    fn text(&mut self) -> Option<Expression> {
        let (_, quote) = self.chars.next().filter(|(_, c)| matches!(c, '"' | '\'' | '`'))?;
        let mut text = String::new();
        loop {
            match self.chars.next()?.1 {
                '\\' => match self.chars.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    c @ ('\\' | '"' | '\'' | '`' | '$') => text.push(c),
                    _ => return None,
                },
                // An expression within a string.
                '$' if quote == '`' && matches!(self.chars.peek(), Some((_, '{'))) => return None,
                c if c == quote => return Some(Expression::Text(text)),
                c => text.push(c),
            }
        }
    }

    fn word(&mut self) -> Option<&str> {
        let start = self.at();
        while self.chars.next_if(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '$')).is_some() {}
        let end = self.at();
        self.code.get(start..end).filter(|word| !word.is_empty())
    }

    fn eat(&mut self, sign: char) -> bool {
        self.skip_space();
        self.chars.next_if(|(_, c)| *c == sign).is_some()
    }

    fn next_char(&mut self) -> Option<char> {
        self.skip_space();
        self.chars.peek().map(|(_, c)| *c)
    }

    fn skip_space(&mut self) {
        while self.chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
    }

    fn at(&mut self) -> usize {
        self.chars.peek().map_or(self.code.len(), |(at, _)| *at)
    }
}
