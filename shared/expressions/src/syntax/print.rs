use std::fmt::Write as _;

use super::tree::{Expr, Node, Operator};
use crate::Dialect;
use crate::time::{Unit, read::Written};

/// The expression as text of its language. Parsing it gives the same expression.
#[must_use]
pub(crate) fn print(expr: &Expr, dialect: Dialect) -> String {
    let mut printer = Printer { text: String::new(), dialect };
    printer.expr(expr, 0);
    printer.text
}

struct Printer {
    text: String,
    dialect: Dialect,
}

/// How strongly an operator binds, from 1.
fn strength(operator: Operator, dialect: Dialect) -> u8 {
    match (operator, dialect) {
        (Operator::Or, _) | (Operator::And, Dialect::Dataview) => 1,
        (Operator::And, Dialect::Bases) => 2,
        (Operator::Equal | Operator::Unequal, _) => 3,
        (Operator::Less | Operator::AtMost | Operator::Greater | Operator::AtLeast, Dialect::Dataview) => 3,
        (Operator::Less | Operator::AtMost | Operator::Greater | Operator::AtLeast, Dialect::Bases) => 4,
        (Operator::Plus | Operator::Minus, _) => 5,
        (Operator::Times | Operator::Over | Operator::Modulo, _) => 6,
    }
}

/// A function's name binds more strongly than all operators.
const POSTFIX: u8 = 8;
const UNARY: u8 = 7;

impl Printer {
    /// Prints, in brackets if what is around binds more strongly (`outer`).
    fn expr(&mut self, expr: &Expr, outer: u8) {
        let own = match &expr.node {
            Node::Binary(operator, ..) => strength(*operator, self.dialect),
            Node::Not(_) | Node::Negative(_) => UNARY,
            Node::Lambda(..) => 0,
            Node::Number(number) if *number < 0.0 || number.is_sign_negative() => POSTFIX,
            _ => u8::MAX,
        };
        let brackets = own < outer || own == 0 && outer > 0;
        if brackets {
            self.text.push('(');
        }
        self.node(&expr.node);
        if brackets {
            self.text.push(')');
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Null => self.text.push_str("null"),
            Node::Boolean(value) => self.text.push_str(if *value { "true" } else { "false" }),
            Node::Number(number) => self.text.push_str(&number.to_string()),
            Node::Text(text) => self.string(text),
            Node::Date(date) => self.date(date),
            Node::NamedDate(name) => self.write(format_args!("date({name})")),
            Node::Duration(duration) => {
                let parts = Unit::ALL
                    .into_iter()
                    .filter_map(|unit| duration.count(unit).map(|count| format!("{count} {}", unit.name())));
                let parts: Vec<_> = parts.collect();
                self.write(format_args!("dur({})", parts.join(", ")));
            }
            Node::Link(link) => {
                let bang = if link.embed { "!" } else { "" };
                let display = link.display.as_ref().map_or_else(String::new, |display| format!("|{display}"));
                self.write(format_args!("{bang}[[{}{display}]]", link.written()));
            }
            Node::Regex(source, flags) => self.write(format_args!("/{source}/{flags}")),
            Node::Variable(name) => self.text.push_str(name),
            Node::List(items) => {
                self.text.push('[');
                let start = self.text.len();
                self.separated(items);
                // "[[" would begin a link.
                if self.text.get(start..).is_some_and(|items| items.starts_with('[')) {
                    self.text.insert(start, ' ');
                }
                self.text.push(']');
            }
            Node::Object(entries) => {
                self.text.push('{');
                for (at, (name, value)) in entries.iter().enumerate() {
                    self.text.push_str(if at == 0 { " " } else { ", " });
                    self.string(name);
                    self.text.push_str(": ");
                    self.expr(value, 0);
                }
                self.text.push_str(if entries.is_empty() { "}" } else { " }" });
            }
            Node::Not(inner) => {
                self.text.push('!');
                let start = self.text.len();
                self.expr(inner, UNARY);
                // "![[" would begin an embed.
                if self.dialect == Dialect::Dataview
                    && self.text.get(start..).is_some_and(|inner| inner.starts_with("[["))
                {
                    self.text.insert(start, '(');
                    self.text.push(')');
                }
            }
            Node::Negative(inner) => {
                self.text.push('-');
                self.expr(inner, UNARY);
            }
            Node::Binary(operator, left, right) => {
                let own = strength(*operator, self.dialect);
                self.expr(left, own);
                let sign = match (operator, self.dialect) {
                    (Operator::And, Dialect::Bases) => "&&",
                    (Operator::Or, Dialect::Bases) => "||",
                    (Operator::Equal, Dialect::Bases) => "==",
                    (Operator::And, Dialect::Dataview) => "and",
                    (Operator::Or, Dialect::Dataview) => "or",
                    _ => operator.sign(),
                };
                self.write(format_args!(" {sign} "));
                self.expr(right, own + 1);
            }
            Node::Index(object, index) => {
                self.expr(object, POSTFIX);
                match index.as_text() {
                    Some(name) if self.is_name(name) => self.write(format_args!(".{name}")),
                    _ => {
                        self.text.push('[');
                        self.expr(index, 0);
                        self.text.push(']');
                    }
                }
            }
            Node::Call(function, arguments) => {
                self.expr(function, POSTFIX);
                self.text.push('(');
                self.separated(arguments);
                self.text.push(')');
            }
            Node::Lambda(names, body) => {
                self.write(format_args!("({}) => ", names.join(", ")));
                self.expr(body, 0);
            }
        }
    }

    fn separated(&mut self, items: &[Expr]) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            self.expr(item, 0);
        }
    }

    fn is_name(&self, text: &str) -> bool {
        match self.dialect {
            Dialect::Bases => super::bases::is_identifier(text),
            Dialect::Dataview => {
                let mut cursor = match super::cursor::Cursor::new(text) {
                    Ok(cursor) => cursor,
                    Err(_) => return false,
                };
                super::dataview::identifier(&mut cursor).is_some() && cursor.at == text.len()
            }
        }
    }

    fn string(&mut self, text: &str) {
        self.text.push('"');
        for char in text.chars() {
            match char {
                '"' | '\\' => {
                    self.text.push('\\');
                    self.text.push(char);
                }
                '\n' if self.dialect == Dialect::Bases => self.text.push_str("\\n"),
                _ => self.text.push(char),
            }
        }
        self.text.push('"');
    }

    fn date(&mut self, date: &Written) {
        let (year, month, day) = date.day;
        self.write(format_args!("date({year:04}-{month:02}-{day:02}"));
        if let Some([hour, minute, second, milli]) = date.time {
            self.write(format_args!("T{hour:02}:{minute:02}:{second:02}.{milli:03}"));
        }
        match date.offset {
            Some(0) => self.text.push('Z'),
            Some(offset) => {
                let sign = if offset < 0 { '-' } else { '+' };
                self.write(format_args!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60));
            }
            None => {}
        }
        self.text.push(')');
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a `String` cannot fail.
        let _ = self.text.write_fmt(text);
    }
}
