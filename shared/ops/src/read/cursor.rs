//! Cursors: the start of the next page of a listing, and the generation that its pages show.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Reason};
use crate::operation::{Answer, Context};
use crate::read::view::View;

/// Encodes `cursor` for clients.
pub fn encode(cursor: &impl Serialize) -> Option<String> {
    serde_json::to_vec(cursor).ok().map(|json| BASE64.encode(json))
}

/// Decodes a client's `cursor`.
pub fn decode<C: DeserializeOwned>(cursor: &str) -> Result<C, Error> {
    serde_json::from_slice(&BASE64.decode(cursor).map_err(|_| invalid())?).map_err(|_| invalid())
}

/// The error for an invalid cursor, or one of another listing.
pub fn invalid() -> Error {
    Error::bad_request(Reason::CursorInvalid, "cursor: pass the previous page's cursor unchanged")
}

/// Runs a query on the newest generation or, for a page after the first, on the `pinned` generation of the first page.
pub async fn read<T, Q, F>(context: &Context<'_>, pinned: Option<u64>, query: Q) -> Result<Answer<T>, Error>
where
    Q: Fn(View) -> F + Send + Sync,
    F: Future<Output = Result<T, Error>> + Send,
    T: Send,
{
    let Some(generation) = pinned else { return context.read(query).await };
    let expired = || {
        Error::bad_request(
            Reason::CursorExpired,
            "cursor: the vault's generation at the first page is no longer kept; start again without a cursor",
        )
    };
    let snapshot = context.vault.mirror.named(generation).await?.ok_or_else(expired)?;
    Ok(Answer { value: query(context.view(snapshot)).await?, generation: Some(generation) })
}
