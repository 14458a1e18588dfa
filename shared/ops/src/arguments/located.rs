//! Reads JSON values with serde, with errors that include the path of the fault. The path is built from its end while
//! an error is returned, so it costs nothing without an error, and all argument types share the code of this one
//! reader. `serde_path_to_error` wraps the reader again for each type, which makes the functions' packages larger.

use std::fmt;

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// A fault of a value.
#[derive(Debug)]
pub(super) struct Fault(Box<Located>);

#[derive(Debug)]
struct Located {
    way: String,
    error: serde_json::Error,
    is_path: bool,
}

/// The unexpected value that an invalid [path](super::path) reports, so that its own reason is kept.
pub(super) const PATH: Unexpected<'static> = Unexpected::Other("path");

impl Fault {
    /// The path of the fault, such as `filter[0].op`; empty for the value itself.
    pub(super) fn way(&self) -> &str {
        &self.0.way
    }

    /// Whether the fault is an invalid vault path.
    pub(super) fn is_path(&self) -> bool {
        self.0.is_path
    }

    /// The expected form.
    pub(super) fn cause(&self) -> String {
        self.0.error.to_string()
    }

    #[cold]
    fn of_key(mut self, key: &str) -> Self {
        let way = &mut self.0.way;
        if !way.is_empty() && !way.starts_with('[') {
            way.insert(0, '.');
        }
        way.insert_str(0, key);
        self
    }

    #[cold]
    fn of_index(mut self, index: usize) -> Self {
        let way = &mut self.0.way;
        if !way.is_empty() && !way.starts_with('[') {
            way.insert(0, '.');
        }
        way.insert_str(0, &format!("[{index}]"));
        self
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self(Box::new(Located { way: String::new(), error, is_path: false }))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.error.fmt(f)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        // Not generic, so that this code exists once.
        let text: &str = &message.to_string();
        <serde_json::Error as de::Error>::custom(text).into()
    }

    #[cold]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        <serde_json::Error as de::Error>::invalid_type(unexpected, expected).into()
    }

    #[cold]
    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        if unexpected == PATH {
            let mut fault: Self = de::Error::custom(expected);
            fault.0.is_path = true;
            return fault;
        }
        <serde_json::Error as de::Error>::invalid_value(unexpected, expected).into()
    }
}

/// A value to read.
pub(super) struct Reader(pub(super) Value);

impl<'de> Deserializer<'de> for Reader {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => {
                let length = items.len();
                let mut items = Items { rest: items.into_iter(), index: 0 };
                let value = visitor.visit_seq(&mut items)?;
                if items.rest.len() > 0 {
                    return Err(de::Error::invalid_length(length, &"fewer elements in array"));
                }
                Ok(value)
            }
            Value::Object(fields) => {
                let length = fields.len();
                let mut fields = Fields { rest: fields.into_iter(), entry: None };
                let value = visitor.visit_map(&mut fields)?;
                if fields.rest.len() > 0 {
                    return Err(de::Error::invalid_length(length, &"fewer elements in map"));
                }
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if let Value::Object(fields) = &mut self.0 {
            // Sorted, so that of several faults the same one is always reported. Maps keep their order.
            fields.sort_keys();
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(Choice::of(self.0)?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map
        identifier
    }
}

/// A text that is the name of a field or a variant.
struct Name<'a>(&'a str);

impl<'de> Deserializer<'de> for Name<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.0)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        option newtype_struct enum identifier ignored_any
    }
}

struct Items {
    rest: std::vec::IntoIter<Value>,
    /// The index of the next item.
    index: usize,
}

impl<'de> SeqAccess<'de> for &mut Items {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(value) = self.rest.next() else { return Ok(None) };
        let read = seed.deserialize(Reader(value)).map_err(|fault| fault.of_index(self.index))?;
        self.index += 1;
        Ok(Some(read))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Fields {
    rest: serde_json::map::IntoIter,
    /// The entry whose name has been read.
    entry: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for &mut Fields {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        let read = seed.deserialize(Name(&key)).map_err(|fault| fault.of_key(&key))?;
        self.entry = Some((key, value));
        Ok(Some(read))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let (key, value) = self.entry.take().unwrap_or_default();
        seed.deserialize(Reader(value)).map_err(|fault| fault.of_key(&key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A variant of an enum: its name, or an object with that one field.
struct Choice {
    name: String,
    value: Option<Value>,
}

impl Choice {
    fn of(value: Value) -> Result<Self, Fault> {
        match value {
            Value::String(name) => Ok(Self { name, value: None }),
            Value::Object(fields) => Self::of_fields(fields),
            other => Err(de::Error::invalid_type(unexpected(&other), &"string or map")),
        }
    }

    fn of_fields(fields: Map<String, Value>) -> Result<Self, Fault> {
        let mut fields = fields.into_iter();
        match (fields.next(), fields.next()) {
            (Some((name, value)), None) => Ok(Self { name, value: Some(value) }),
            _ => Err(de::Error::invalid_value(Unexpected::Map, &"map with a single key")),
        }
    }

    fn read<'de, T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        match self.value {
            Some(value) => seed.deserialize(Reader(value)).map_err(|fault| fault.of_key(&self.name)),
            None => Err(de::Error::invalid_type(Unexpected::UnitVariant, &"a variant with a value")),
        }
    }
}

impl<'de> EnumAccess<'de> for Choice {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Fault> {
        Ok((seed.deserialize(Name(&self.name))?, self))
    }
}

/// Reads a value with a visitor.
struct Visited<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Visited<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_any(self.0)
    }
}

impl<'de> VariantAccess<'de> for Choice {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.value {
            None | Some(Value::Null) => Ok(()),
            Some(other) => {
                Err(<Fault as de::Error>::invalid_type(unexpected(&other), &"unit variant").of_key(&self.name))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        self.read(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.read(Visited(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.read(Visited(visitor))
    }
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Unexpected::Unsigned(number),
            (None, Some(number)) => Unexpected::Signed(number),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

#[cfg(test)]
mod tests;
