//! `POST /find`: where is it, by file name, heading and text.

use atlas_ops::Entry;
use atlas_ops::find::Find;
use atlas_web::Routes;

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    Routes::default().post("/find", Entry::of::<Find>())
}
