use crate::Dialect;
use crate::error::{Error, Result};
use crate::syntax::{Expr, Node};
use crate::time::Unit;
use crate::value::{Page, Value};

use super::files::file_field;
use super::{Evaluator, Names};

impl Evaluator<'_> {
    pub(super) fn variable(&self, name: &str, names: &Names<'_>) -> Result<Value> {
        if let Some(value) = names.local(name) {
            return Ok(value.clone());
        }
        let this = || self.this().map_or(Value::Null, |path| Value::page(path.clone()));
        match self.dialect() {
            Dialect::Dataview => {
                if let Some(value) = self.own_field(&names.row, name)? {
                    return Ok(value);
                }
                Ok(if name == "this" { this() } else { Value::Null })
            }
            Dialect::Bases => match name {
                "this" => Ok(this()),
                "file" | "note" => self.member(&names.row, name),
                "formula" => Ok(Value::Null),
                _ => Ok(self.own_field(&names.row, name)?.unwrap_or_default()),
            },
        }
    }

    /// The value of a row's `name`; `None` if it has none.
    fn own_field(&self, row: &Value, name: &str) -> Result<Option<Value>> {
        match row {
            Value::Page(page) => self.page_field(page, name),
            Value::Object(object) => Ok(object.get(name).cloned()),
            _ => Ok(None),
        }
    }

    fn page_field(&self, page: &Page, name: &str) -> Result<Option<Value>> {
        if let Some(value) = page.over.get(name) {
            return Ok(Some(value.clone()));
        }
        if name == "file" {
            return Ok(Some(Value::File(page.path.clone())));
        }
        Ok(self.pages().property(&page.path, name))
    }

    pub(super) fn index(&self, object: &Expr, index: &Expr, names: &Names<'_>) -> Result<Value> {
        let key = match &index.node {
            // Dataview takes a name in brackets as the name of a field.
            Node::Variable(name) if self.dialect() == Dialect::Dataview => Value::Text(name.clone()),
            Node::Text(text) => Value::Text(text.clone()),
            _ => self.eval(index, names)?,
        };
        if self.dialect() == Dialect::Dataview && object.as_name() == Some("row") {
            let name = key.as_text().ok_or_else(|| Error::evaluation("index row with a text"))?;
            return self.variable(name, names);
        }
        if let (Dialect::Bases, Some("formula"), Some(name)) = (self.dialect(), object.as_name(), key.as_text())
            && names.local("formula").is_none()
        {
            return names.formulas.map_or(Ok(Value::Null), |formulas| formulas.value(self, name, names));
        }
        let value = self.eval(object, names)?;
        self.element(&value, &key)
    }

    /// `value[key]`
    pub(crate) fn element(&self, value: &Value, key: &Value) -> Result<Value> {
        if self.dialect() == Dialect::Bases {
            return match (value, key) {
                (_, Value::Text(name)) => self.member(value, name),
                (Value::List(items), Value::Number(at)) => Ok(at_number(items, *at).cloned().unwrap_or_default()),
                (Value::Text(text), Value::Number(at)) => Ok(char_at(text, *at)),
                (Value::Null, _) => Ok(Value::Null),
                _ => Err(Error::evaluation(format!("a value of type {} has no such element", value.type_name()))),
            };
        }
        if !matches!(key, Value::Text(_) | Value::Number(_)) {
            return Err(Error::evaluation("index with a text, a name or a number"));
        }
        match (value, key) {
            (Value::Text(text), Value::Number(at)) => Ok(char_at(text, *at)),
            (Value::List(items), Value::Number(at)) => Ok(at_number(items, *at).cloned().unwrap_or_default()),
            (Value::List(items), Value::Text(name)) => {
                self.spend(items.len())?;
                let values = items.iter().filter_map(|item| self.element(item, &Value::Text(name.clone())).ok());
                Ok(Value::list(values.collect()))
            }
            (Value::Text(_), _) => Err(Error::evaluation("index a text with a number")),
            (
                Value::Object(_)
                | Value::Page(_)
                | Value::File(_)
                | Value::Link(_)
                | Value::Date(_)
                | Value::Duration(_),
                Value::Number(_),
            ) => Err(Error::evaluation(format!("index a value of type {} with a text", value.type_name()))),
            (_, Value::Text(name)) => self.member(value, name),
            _ => Ok(Value::Null),
        }
    }

    /// `value.name`; null if there is nothing of that name.
    pub(crate) fn member(&self, value: &Value, name: &str) -> Result<Value> {
        let bases = self.dialect() == Dialect::Bases;
        Ok(match value {
            Value::Object(object) => object.get(name).cloned().unwrap_or_default(),
            Value::Page(page) if bases && name == "note" => Value::Page(page.clone()),
            Value::Page(page) => self.page_field(page, name)?.unwrap_or_default(),
            Value::File(path) => file_field(self, path, name)?,
            Value::Link(link) => {
                let from = self.this().map_or("", |this| this);
                match self.pages().resolve(&link.path, from) {
                    Some(path) if bases => self.member(&Value::File(path), name)?,
                    Some(path) => self.member(&Value::page(path), name)?,
                    None => Value::Null,
                }
            }
            Value::Date(date) => date_part(date.zoned(), name, bases),
            Value::Duration(duration) => match unit(name) {
                Some(unit) => Value::Number(duration.shifted(&[unit]).get(unit)),
                None => Value::Null,
            },
            Value::Text(text) if bases && name == "length" => text.chars().count().into(),
            Value::List(items) if bases && name == "length" => items.len().into(),
            _ => Value::Null,
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "compared before")]
fn at_number(items: &[Value], at: f64) -> Option<&Value> {
    if at < 0.0 || at.fract() != 0.0 || at > 1e9 { None } else { items.get(at as usize) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "compared before")]
fn char_at(text: &str, at: f64) -> Value {
    if at < 0.0 || at.fract() != 0.0 || at > 1e9 {
        return Value::Null;
    }
    text.chars().nth(at as usize).map(|char| char.to_string()).into()
}

fn date_part(at: &jiff::Zoned, name: &str, bases: bool) -> Value {
    let number = match name {
        "year" => i32::from(at.year()),
        "month" => i32::from(at.month()),
        "day" => i32::from(at.day()),
        "hour" => i32::from(at.hour()),
        "minute" => i32::from(at.minute()),
        "second" => i32::from(at.second()),
        "millisecond" => i32::from(at.millisecond()),
        "weekyear" if !bases => i32::from(at.date().iso_week_date().week()),
        "week" if !bases => i32::from(at.day()) / 7 + 1,
        "weekday" if !bases => i32::from(at.weekday().to_monday_one_offset()),
        _ => return Value::Null,
    };
    Value::Number(f64::from(number))
}

fn unit(name: &str) -> Option<Unit> {
    // Dataview has no single week.
    Unit::ALL.into_iter().find(|unit| name.strip_suffix('s').unwrap_or(name) == unit.name() && name != "week")
}
