//! `POST /find`: finds notes by file name, heading and text.

use atlas_tools::bridge::find::Find;
use atlas_web::Routes;

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    Routes::default().post("/find", atlas_tools::entry::<Find>())
}
