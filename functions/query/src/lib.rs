//! `POST /query`: questions that the architecture notes answer.

use atlas_ops::Entry;
use atlas_ops::query::Query;
use atlas_web::Routes;

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    Routes::default().post("/query", Entry::of::<Query>())
}
