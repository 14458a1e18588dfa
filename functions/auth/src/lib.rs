//! Signing in, and giving tokens to clients.

use atlas_web::Routes;

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    routes_beside_ui().merge(atlas_ui::sign_in_routes())
}

/// The same without those that the function `ui` has too, for a process that has both.
#[must_use]
pub fn routes_beside_ui() -> Routes {
    atlas_oauth::routes().merge(atlas_ui::consent_routes())
}
