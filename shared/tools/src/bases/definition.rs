//! The words of obsidian-tc for what bases call otherwise: `source` for a filter, `columns` for `order`, `group` for `groupBy`.

use atlas_expressions::{Dialect, Node};
use atlas_ops::arguments::invalid_input;
use atlas_ops::error::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Which notes a base is about, where one thing says it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// By what.
    r#type: Kind,
    /// The tag, the folder, the link's target, or the property's name.
    value: String,
}

/// By what notes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// Those with a tag.
    Tag,
    /// Those in a folder or below it.
    Folder,
    /// Those with a link.
    Link,
    /// Those with a property.
    Property,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Tag, Self::Folder, Self::Link, Self::Property];

    const fn function(self) -> &'static str {
        match self {
            Self::Tag => "hasTag",
            Self::Folder => "inFolder",
            Self::Link => "hasLink",
            Self::Property => "hasProperty",
        }
    }
}

impl Source {
    /// The source as a filter of the document.
    pub(super) fn filters(&self) -> Value {
        json!({ "and": [format!("file.{}({})", self.r#type.function(), Value::from(self.value.as_str()))] })
    }

    /// The source that the filters of a document are, if they say no more.
    pub(super) fn of(filters: Option<&Value>) -> Option<Self> {
        let only = |filters: &Value| match filters {
            Value::Object(map) if map.len() == 1 => map
                .get("and")
                .or_else(|| map.get("or"))
                .and_then(Value::as_array)
                .filter(|items| items.len() == 1)?
                .first()
                .cloned(),
            text => Some(text.clone()),
        };
        let expr = Dialect::Bases.parse(only(filters?)?.as_str()?).ok()?;
        let Node::Call(function, arguments) = &expr.node else { return None };
        let (Node::Index(object, name), [argument]) = (&function.node, arguments.as_slice()) else { return None };
        let name = name.as_text().filter(|_| object.as_name() == Some("file"))?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.function() == name)?;
        Some(Self { r#type: kind, value: argument.as_text()?.to_owned() })
    }
}

/// A document in the words of Bases.
pub(super) fn document(base: Map<String, Value>) -> Result<Map<String, Value>, Error> {
    let mut document = Map::new();
    for (name, value) in base {
        let (name, value) = match (name.as_str(), value) {
            ("source", value) => {
                let source: Source = serde_json::from_value(value)
                    .map_err(|error| invalid_input("base", &format!("source: {error}")))?;
                ("filters".to_owned(), source.filters())
            }
            ("views", Value::Array(views)) => {
                let views = views.into_iter().map(|one| match one {
                    Value::Object(settings) => Ok(view(settings)?.into()),
                    other => Ok(other),
                });
                (name, views.collect::<Result<Vec<Value>, Error>>()?.into())
            }
            (_, value) => (name, value),
        };
        if document.insert(name, value).is_some() {
            return Err(invalid_input("base", "source is a filter: give source or filters, not both"));
        }
    }
    Ok(document)
}

/// A view, or some settings of one, in the words of Bases.
pub(super) fn view(settings: Map<String, Value>) -> Result<Map<String, Value>, Error> {
    let mut view = Map::new();
    for (name, value) in settings {
        let own = match name.as_str() {
            "columns" => "order",
            "group" => "groupBy",
            _ => name.as_str(),
        };
        if view.insert(own.to_owned(), value).is_some() {
            return Err(invalid_input(
                "views",
                &format!("{own} is given twice: columns is order, and group is groupBy"),
            ));
        }
    }
    Ok(view)
}
