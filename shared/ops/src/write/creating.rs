//! Creating one note, of which the state that is extended may decide the path and the text.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Attempt, ChangeSet, Hash, Snapshot};
use atlas_vault::VaultPath;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::operation::{Answer, Context, Info};
use crate::read::notes;
use crate::write::batch::{Batch, NewDocument};
use crate::write::commit::{self, Outcome};
use crate::write::precondition::{Condition, Mode};
use crate::write::writable;

/// A note to create.
pub struct Creation<K> {
    /// Its path.
    pub path: VaultPath,
    /// Its text.
    pub text: Vec<u8>,
    /// Further values to keep, for a call that is made again.
    pub kept: K,
}

/// A note that was created. A keyed commit keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Created<K> {
    /// Its path.
    pub path: String,
    /// SHA-256 of its bytes.
    pub sha256: Hash,
    /// When it was created.
    pub at: Timestamp,
    /// Further values to keep.
    pub kept: K,
}

/// Creates the note that `plan` decides on for the state that is extended, where nothing is. A call that was executed before, by its key, gets what it
/// created then.
///
/// # Errors
/// Those of `plan`; when the caller may not write there, or something is there.
pub async fn create<K, P, F>(context: &Context<'_>, operation: &Info, plan: P) -> Result<Answer<Created<K>>, Error>
where
    K: Serialize + DeserializeOwned + Send + Sync + 'static,
    P: Fn(Arc<Snapshot>) -> F + Sync,
    F: Future<Output = Result<Creation<K>, Error>> + Send,
{
    let change = Create { context, plan };
    let (value, generation) = commit::commit(context, operation, None, &change).await?.kept();
    Ok(Answer { value, generation: Some(generation) })
}

struct Create<'a, P> {
    context: &'a Context<'a>,
    plan: P,
}

impl<K, P, F> ChangeSet for Create<'_, P>
where
    K: Send,
    P: Fn(Arc<Snapshot>) -> F + Sync,
    F: Future<Output = Result<Creation<K>, Error>> + Send,
{
    type Error = Error;
    type Outcome = Outcome<Created<K>>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let head = writable::published(head)?;
        let Creation { path, text, kept } = (self.plan)(head.clone()).await?;
        self.context.check(Access::Write, &path)?;
        let there = notes::find(head, path.as_str(), |_| false).await?;
        Condition::Mode(Mode::Create, None).check(path.as_str(), there.as_ref())?;
        let at = self.context.now;
        let new = NewDocument::text(path.clone(), text.into(), None, at)?;
        let created = Created { path: path.as_str().to_owned(), sha256: new.sha256(), at, kept };
        let mut batch = Batch::on(head, self.context);
        batch.put(new, None);
        Ok(Attempt::changes(batch.derived().await?, created.into()))
    }
}
