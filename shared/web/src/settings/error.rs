//! What can be wrong with settings.

/// A setting that cannot be used; says what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The value is not one that the setting can have. Nothing secret of it is shown.
    #[error("{name}={:?} cannot be used: {remedy}", atlas_mirror::secrets::masked(value))]
    Value {
        /// The setting.
        name: &'static str,
        /// What it was set to.
        value: String,
        /// What to write instead.
        remedy: String,
    },
    /// The name is not that of a setting.
    #[error("{name} is not a setting: use one of {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The settings that there are.
        known: String,
    },
    /// The service would be open to anyone who can reach it.
    #[error("{place} would answer anyone who can reach it: {remedy}")]
    Open {
        /// Where the service would run.
        place: String,
        /// What to do.
        remedy: &'static str,
    },
}
