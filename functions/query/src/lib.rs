//! `POST /query`: answers questions from the architecture notes.

use atlas_tools::bridge::query::Query;
use atlas_web::Routes;

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    Routes::default().post("/query", atlas_tools::entry::<Query>())
}
