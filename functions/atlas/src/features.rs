//! Optional abilities of this build.

use std::sync::Arc;
use std::time::Duration;

use atlas_ops::atlas::ScalePicture;
use atlas_sync::{CodeReader, Reading};

/// Scales pictures down.
#[cfg(feature = "pictures")]
pub(crate) const SCALE_PICTURE: Option<ScalePicture> = Some(crate::pictures::scale);
#[cfg(not(feature = "pictures"))]
pub(crate) const SCALE_PICTURE: Option<ScalePicture> = None;

/// Finds the symbols of source code.
#[cfg_attr(not(feature = "code"), expect(clippy::missing_const_for_fn, reason = "the feature needs it"))]
pub(crate) fn code() -> Option<Arc<dyn CodeReader>> {
    #[cfg(feature = "code")]
    return Some(crate::code::reader());
    #[cfg(not(feature = "code"))]
    None
}

/// Reads the text of attachments, for at most the given time in one sync.
#[cfg_attr(
    not(feature = "pdf"),
    expect(clippy::missing_const_for_fn, unused_variables, reason = "the feature needs it")
)]
pub(crate) fn reading(time: Duration) -> Option<Reading> {
    #[cfg(feature = "pdf")]
    return Some(crate::pdf::reading(time));
    #[cfg(not(feature = "pdf"))]
    None
}
