//! Standard input and output: messages a line each, from the process that started this one and is trusted.

use atlas_ops::Caller;
use atlas_web::App;
use atlas_web::routes::Door;
use axum::http::HeaderMap;
use rmcp::service::ServerInitializeError;
use rmcp::{ServiceExt as _, transport};

use crate::server::Server;

/// Who calls.
const CALLER: &str = "stdio";

/// Answers with `app` until standard input ends. Nothing else may write to standard output meanwhile.
///
/// # Errors
/// When the client does not begin as the protocol says.
pub async fn serve(app: App) -> Result<(), ServerInitializeError> {
    let door = Door { app, headers: HeaderMap::new(), caller: Caller::trusted(CALLER) };
    match Server::new(door).serve(transport::stdio()).await {
        Ok(service) => {
            // Its end is that of the process, whatever the reason.
            let _ = service.waiting().await;
            Ok(())
        }
        // Who says nothing wants nothing.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
