//! Errors of settings.

/// An invalid setting, with what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The value is invalid. No secret in it is shown.
    #[error("{name}={:?} cannot be used: {remedy}", atlas_mirror::secrets::masked(value))]
    Value {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: String,
        /// The text to write instead.
        remedy: String,
    },
    /// The name is not a setting.
    #[error("{name} is not a setting: use one of {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The known settings.
        known: String,
    },
    /// The service would be open to anyone who can reach it.
    #[error("{place} would answer anyone who can reach it: {remedy}")]
    Open {
        /// Where the service would run.
        place: String,
        /// The advice.
        remedy: &'static str,
    },
}

/// The error of the setting `name`, which cannot be `value`.
pub(crate) fn unusable(name: &'static str, value: &str, remedy: &str) -> SettingsError {
    SettingsError::Value { name, value: value.to_owned(), remedy: remedy.to_owned() }
}
