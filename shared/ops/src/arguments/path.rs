//! Arguments that are paths, checked when they are decoded.

use std::borrow::Cow;
use std::ops::Deref;

use atlas_vault::VaultPath;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::located::PATH;

/// The path of a file that a call reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPath(VaultPath);

/// The path of a note that a call writes: it ends in `.md`, and no name in it begins with a dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritePath(VaultPath);

impl WritePath {
    /// Checks the path of a note to write.
    ///
    /// # Errors
    /// Why it is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let path = VaultPath::parse(text).map_err(|error| error.to_string())?;
        if !path.is_note() {
            return Err("notes are written at paths that end in .md".to_owned());
        }
        if path.as_str().split('/').any(|part| part.starts_with('.')) {
            return Err("notes are not written where a name begins with a dot".to_owned());
        }
        Ok(Self(path))
    }
}

impl<'de> Deserialize<'de> for ReadPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        VaultPath::parse(&text).map(Self).map_err(|error| D::Error::invalid_value(PATH, &error.to_string().as_str()))
    }
}

impl<'de> Deserialize<'de> for WritePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|problem| D::Error::invalid_value(PATH, &problem.as_str()))
    }
}

macro_rules! is_a_path {
    ($($name:ty),*) => {$(
        impl Deref for $name {
            type Target = VaultPath;

            fn deref(&self) -> &VaultPath {
                &self.0
            }
        }

        impl From<$name> for VaultPath {
            fn from(path: $name) -> Self {
                path.0
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                String::schema_name()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                String::json_schema(generator)
            }
        }
    )*};
}

is_a_path!(ReadPath, WritePath);
