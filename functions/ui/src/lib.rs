//! `/ui`: the page for people.

use atlas_web::Routes;

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    atlas_ui::routes()
}
