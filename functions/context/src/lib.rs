//! `POST /context/current`: the notes of the current context.

use atlas_tools::bridge::context_current::ContextCurrent;
use atlas_web::Routes;

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    Routes::default().post("/context/current", atlas_tools::entry::<ContextCurrent>())
}
