//! Reading the newest generation: strongly consistent, and without waiting to know which is the newest.

use std::pin::pin;
use std::sync::Arc;

use futures::future::{Either, select};

use crate::error::MirrorError;
use crate::head::Head;
use crate::mirror::Mirror;
use crate::newest::{Newest, Presence, Probed};
use crate::snapshot::Snapshot;

/// One in this many rounds looks for the newest generation by a listing, the others step to the next. A listing finds
/// many at once but takes as long as a commit, so listings alone never catch up with a constant writer.
const LISTING_EVERY: usize = 3;
/// Most generations that one read steps through before it answers from the newest of the last listing.
const MAX_ROUNDS: usize = 8;

impl Mirror {
    /// Runs `run` on the newest generation, and returns its result with that generation.
    ///
    /// The generation was the newest at some moment during the call, so the result shows every commit reported before,
    /// unless the options allow an older one. To save time, `run` starts at once on the newest known generation while
    /// the store is asked for a newer one; if there is one, `run` is dropped and starts again. So `run` must be safe to
    /// repeat.
    ///
    /// # Errors The errors of `run`, and as `E`: [`MirrorError::NotPublished`], [`MirrorError::Damaged`],
    /// [`MirrorError::Newer`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn read<T, E, F, R>(&self, run: F) -> Result<(T, Arc<Snapshot>), E>
    where
        E: From<MirrorError>,
        F: Fn(Arc<Snapshot>) -> R,
        R: Future<Output = Result<T, E>>,
    {
        let run = &run;
        let run = move |snapshot: Option<Arc<Snapshot>>| async move {
            let snapshot = snapshot.ok_or_else(|| self.not_published())?;
            Ok((run(snapshot.clone()).await?, snapshot))
        };
        self.run_on_newest(Newest::Within(self.shared.options.freshness), run).await
    }

    /// The newest generation.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn head(&self) -> Result<Arc<Snapshot>, MirrorError> {
        let (_, snapshot) = self.read(|_| std::future::ready(Ok::<_, MirrorError>(()))).await?;
        Ok(snapshot)
    }

    /// Like [`read`](Self::read), but also for a vault without a generation.
    pub(crate) async fn run_on_newest<T, E: From<MirrorError>, R: Future<Output = Result<T, E>>>(
        &self,
        wanted: Newest,
        run: impl Fn(Option<Arc<Snapshot>>) -> R,
    ) -> Result<T, E> {
        let mut head = match self.known_head() {
            Some(head) => head,
            None => match self.first_head().await? {
                Some(head) => head,
                None => return run(None).await,
            },
        };
        let mut looked_again = false;
        let mut rounds = 0;
        loop {
            let snapshot = self.snapshot(&head);
            let generation = head.generation();
            let result = if wanted.is_met(&head) || rounds >= MAX_ROUNDS {
                run(Some(snapshot.clone())).await
            } else {
                match self.run_and_probe(&head, wanted.presence(), run(Some(snapshot.clone()))).await? {
                    Either::Left(result) => result,
                    Either::Right(Some(newer)) => {
                        rounds += 1;
                        head = if rounds % LISTING_EVERY == 2 { self.listed_after(newer).await? } else { newer };
                        continue;
                    }
                    Either::Right(None) => {
                        match self.look_again(&head).await? {
                            Some(found) if !looked_again => head = found,
                            Some(_) => return Err(unsteady(generation).into()),
                            None => return run(None).await,
                        }
                        looked_again = true;
                        continue;
                    }
                }
            };
            // A missing segment may belong to a generation that was collected meanwhile; a listing then shows a newer
            // one. If it does not, the segment is lost.
            let Some(missing) = snapshot.missing().filter(|_| result.is_err()) else { return result };
            let found = self.look_again(&head).await?;
            match found.filter(|found| found.state.hash != head.state.hash && !looked_again) {
                Some(found) => head = found,
                None => return Err(MirrorError::damaged(missing, "it is missing").into()),
            }
            looked_again = true;
        }
    }

    /// Runs `run` on `head` while checking that it is the newest. Returns the result if it is, else the newer
    /// generation, or neither if `head` is lost.
    async fn run_and_probe<T, E: From<MirrorError>>(
        &self,
        head: &Head,
        presence: Presence,
        run: impl Future<Output = Result<T, E>>,
    ) -> Result<Either<Result<T, E>, Option<Head>>, E> {
        let (run, probe) = (pin!(run), pin!(self.probe(head.clone(), presence)));
        let (result, probe) = match select(run, probe).await {
            Either::Left((result, probe)) => (Either::Left(result), probe.await?),
            Either::Right((probe, run)) => (Either::Right(run), probe?),
        };
        match probe {
            Probed::Newest(head) => {
                self.keep_head(head);
                Ok(Either::Left(match result {
                    Either::Left(result) => result,
                    Either::Right(run) => run.await,
                }))
            }
            Probed::Newer(newer) => {
                self.keep_head(newer.clone());
                Ok(Either::Right(Some(newer)))
            }
            Probed::Lost => Ok(Either::Right(None)),
        }
    }

    /// The newest generation from a listing, after `head` was found missing.
    async fn look_again(&self, head: &Head) -> Result<Option<Head>, MirrorError> {
        tracing::warn!(generation = head.generation(), "looking for the newest generation again");
        let found = self.listed_head().await?;
        self.forget_head(head.state.hash);
        if let Some(found) = &found {
            self.keep_head(found.clone());
        }
        Ok(found)
    }
}

fn unsteady(generation: u64) -> MirrorError {
    MirrorError::unavailable(format!("generation {generation} is listed but not there"))
}
