//! `POST /search`: the lines that match, as ripgrep finds them.

use atlas_tools::search::Search;
use atlas_web::Routes;

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    Routes::default().post("/search", atlas_tools::entry::<Search>())
}
