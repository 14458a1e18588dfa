//! `POST /mcp`: every operation as an MCP tool.

use atlas_web::Routes;

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    atlas_mcp::routes()
}
