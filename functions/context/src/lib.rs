//! `POST /context/current`: the notes that say what is going on now.

use atlas_tools::bridge::context_current::ContextCurrent;
use atlas_web::Routes;

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    Routes::default().post("/context/current", atlas_tools::entry::<ContextCurrent>())
}
