//! The visibility of operations.

use std::collections::BTreeMap;

use crate::policy::VisibilityConfig;

/// The properties of an operation that determine its visibility.
#[derive(Clone, Copy, Debug)]
pub struct KnownOperation<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its tags.
    pub tags: &'a [&'a str],
    /// Whether it can change something.
    pub writes: bool,
    /// Whether it is listed where nothing is said of it.
    pub is_listed: bool,
}

/// The tag of operations that need an app beside the vault's files.
pub const NEEDS_APP: &str = "obsidian_app";

/// How an operation is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Offer {
    /// It is listed, and answers.
    Listed,
    /// It is not listed, but can be called by name.
    Hidden,
    /// It answers as if it did not exist.
    Disabled,
}

/// How each operation is offered. By default all are listed except those that need what is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visibility {
    /// Those that are not listed.
    others: BTreeMap<String, Offer>,
}

/// The configuration names an unknown operation or tag. It is refused, since the mistake could expose what it was meant
/// to close.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` names {name:?}, which no operation has: use some of {known}")]
pub struct UnknownName {
    /// The field.
    pub field: &'static str,
    /// The name or tag.
    pub name: String,
    /// The known ones.
    pub known: String,
}

impl Visibility {
    /// Applies `config` to the operations `known`, which are all.
    ///
    /// # Errors
    /// When it names an unknown operation or tag.
    pub fn new(config: &VisibilityConfig, known: &[KnownOperation<'_>]) -> Result<Self, UnknownName> {
        let mut names: Vec<&str> = known.iter().map(|operation| operation.name).collect();
        let mut tags: Vec<&str> = known.iter().flat_map(|operation| operation.tags).copied().collect();
        names.sort_unstable();
        tags.sort_unstable();
        tags.dedup();
        let allowed = config.allowed.as_deref();
        for (field, used, there) in [
            ("allowed", allowed.unwrap_or_default(), &names),
            ("hidden", &config.hidden, &names),
            ("disabled", &config.disabled, &names),
            ("hiddenTags", &config.hidden_tags, &tags),
            ("disabledTags", &config.disabled_tags, &tags),
        ] {
            if let Some(name) = used.iter().find(|name| !there.contains(&name.as_str())) {
                return Err(UnknownName { field, name: name.clone(), known: there.join(", ") });
            }
        }
        let offer = |operation: &KnownOperation<'_>| {
            let named = |list: &[String]| list.iter().any(|name| name == operation.name);
            let tagged = |list: &[String]| list.iter().any(|tag| operation.tags.contains(&tag.as_str()));
            if named(&config.disabled) || tagged(&config.disabled_tags) {
                Offer::Disabled
            } else if named(&config.hidden)
                || tagged(&config.hidden_tags)
                || (config.require_read_only && operation.writes)
                || allowed.map_or(!operation.is_listed, |allowed| !named(allowed))
            {
                Offer::Hidden
            } else {
                Offer::Listed
            }
        };
        let others = known.iter().map(|operation| (operation.name.to_owned(), offer(operation)));
        Ok(Self { others: others.filter(|(_, offer)| *offer != Offer::Listed).collect() })
    }

    /// How the operation of this name is offered.
    #[must_use]
    pub fn of(&self, operation: &str) -> Offer {
        self.others.get(operation).copied().unwrap_or(Offer::Listed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Offer::{Disabled, Hidden, Listed};

    const KNOWN: [KnownOperation<'static>; 3] = [
        KnownOperation { name: "find", tags: &["search"], writes: false, is_listed: true },
        KnownOperation { name: "move", tags: &["notes", "links"], writes: true, is_listed: true },
        KnownOperation { name: "read", tags: &["notes"], writes: false, is_listed: true },
    ];

    fn offers(config: &str) -> [Offer; 3] {
        let visibility = Visibility::new(&serde_json::from_str(config).unwrap(), &KNOWN).unwrap();
        KNOWN.map(|operation| visibility.of(operation.name))
    }

    #[test]
    fn disabled_goes_before_hidden_and_hidden_before_listed() {
        for (config, expected) in [
            ("{}", [Listed, Listed, Listed]),
            (r#"{"allowed": ["find"]}"#, [Listed, Hidden, Hidden]),
            (r#"{"allowed": []}"#, [Hidden, Hidden, Hidden]),
            (r#"{"allowed": ["find", "read"], "hidden": ["find"]}"#, [Hidden, Hidden, Listed]),
            (r#"{"allowed": ["find"], "hidden": ["find"], "disabled": ["find"]}"#, [Disabled, Hidden, Hidden]),
            (r#"{"requireReadOnly": true}"#, [Listed, Hidden, Listed]),
            (r#"{"requireReadOnly": true, "disabledTags": ["notes"]}"#, [Listed, Disabled, Disabled]),
            (r#"{"hiddenTags": ["links", "search"]}"#, [Hidden, Hidden, Listed]),
            (r#"{"hiddenTags": ["notes"], "disabledTags": ["links"]}"#, [Listed, Disabled, Hidden]),
        ] {
            assert_eq!(offers(config), expected, "{config}");
        }
    }

    #[test]
    fn a_name_that_nothing_has_is_refused() {
        for (config, says) in [
            (
                r#"{"disabled": ["fnid"]}"#,
                "`disabled` names \"fnid\", which no operation has: use some of find, move, read",
            ),
            (r#"{"allowed": ["notes"]}"#, "`allowed` names \"notes\""),
            (r#"{"hidden": [""]}"#, "`hidden` names \"\""),
            (r#"{"hiddenTags": ["Notes"]}"#, "`hiddenTags` names \"Notes\""),
            (r#"{"disabledTags": ["write"]}"#, "use some of links, notes, search"),
        ] {
            let refused = Visibility::new(&serde_json::from_str(config).unwrap(), &KNOWN).unwrap_err().to_string();
            assert!(refused.contains(says), "{refused}");
        }
    }
}
