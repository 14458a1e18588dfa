//! S3's environment variables.

use std::collections::BTreeMap;
use std::fmt;

/// The environment variables that configure an S3 store: those whose names begin with `AWS_`. An empty one counts as
/// unset, and values are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// The value of the variable `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl Extend<(String, String)> for Variables {
    fn extend<I: IntoIterator<Item = (String, String)>>(&mut self, variables: I) {
        let wanted = |(name, value): &(String, String)| name.starts_with("AWS_") && !value.is_empty();
        self.0.extend(variables.into_iter().filter(wanted));
    }
}

impl FromIterator<(String, String)> for Variables {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        let mut wanted = Self::default();
        wanted.extend(variables);
        wanted
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_keep_what_stores_need_and_show_no_value() {
        let all = [("AWS_REGION", "eu-west-1"), ("AWS_SESSION_TOKEN", ""), ("PATH", "/bin")];
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables: Variables = all.into_iter().collect();
        assert_eq!(variables.get("AWS_REGION"), Some("eu-west-1"));
        assert_eq!((variables.get("AWS_SESSION_TOKEN"), variables.get("PATH")), (None, None));
        assert_eq!(format!("{variables:?}"), "{\"AWS_REGION\"}");
    }
}
