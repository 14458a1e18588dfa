//! The auth function on Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    atlas_web::lambda::serve(function_auth::routes(), std::env::vars()).await
}
