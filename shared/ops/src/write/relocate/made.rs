//! Links to files that somebody else has moved.

use std::collections::HashMap;
use std::sync::Arc;

use atlas_mirror::Snapshot;
use futures::future::try_join;

use crate::error::Error;
use crate::read::notes::{self, Found};
use crate::write::batch::{Batch, NewDocument};

use super::{Ends, Moving, Relinks, Rewritten};

/// How files came to their new paths.
#[derive(Clone, Debug)]
pub struct Made {
    /// The generation that moved them; of several, the first.
    pub generation: u64,
    /// SHA-256 of each file before its move, by its new path.
    pub contents: HashMap<String, [u8; 32]>,
}

impl Made {
    /// Whether the moves may be older than `note`, so that its links may mean what they say now.
    pub(super) fn may_be_older_than(&self, note: &Found) -> bool {
        let is_only_moved = self.contents.get(&note.record.path) == Some(&note.record.sha256);
        note.generation >= self.generation && !is_only_moved
    }
}

/// The plan of rewriting links on one state.
pub struct Followed<'a> {
    /// The notes to write.
    pub batch: Batch<'a>,
    /// The number of rewritten links.
    pub links: usize,
    /// The notes with rewritten links.
    pub notes: Vec<String>,
    /// Why others keep their links.
    pub left: Vec<Error>,
}

impl<'a> Moving<'a> {
    /// Those of the moves that are made on `head`: nothing is at the old path, and a file is at the new one.
    async fn made_on(&self, head: &Snapshot) -> Result<(Self, Vec<Ends>), Error> {
        let from: Vec<&str> = self.ways.iter().map(|(from, _)| from.as_str()).collect();
        let to: Vec<&str> = self.ways.iter().map(|(_, to)| to.as_str()).collect();
        let from = notes::find_all(head, &from, |_| false);
        let to = notes::find_all(head, &to, |record| record.blob.is_none());
        let (from, to) = try_join(from, to).await?;
        let ends = self.ways.iter().zip(from.into_iter().zip(to));
        let made = ends.filter_map(|(way, (from, to))| {
            let to = to.filter(|_| from.is_none())?;
            Some((way.clone(), Ends { from: to, to: None }))
        });
        let (ways, ends) = made.unzip();
        Ok((Moving { ways, made: self.made.clone(), ..*self }, ends))
    }

    /// The links to rewrite on `head`, where the files have moved already.
    pub async fn follow<'h>(&'h self, head: &'h Arc<Snapshot>) -> Result<Followed<'h>, Error> {
        let now = self.context.now;
        let mut batch = Batch::on(head, self.context);
        let (moving, ends) = self.made_on(head).await?;
        let Relinks { own, others, left } = match ends.is_empty() {
            true => Relinks::default(),
            false => moving.rewritten(head, &ends).await?,
        };
        let moved = moving.ways.into_iter().zip(ends).zip(own).filter_map(|(((_, path), ends), own)| {
            let own = own?;
            Some(Rewritten { path, was: ends.from, text: own.text, meant: own.meant })
        });
        let (mut links, mut notes) = (0, Vec::new());
        for Rewritten { path, was, text, meant } in moved.chain(others) {
            links += meant.len();
            notes.push(path.as_str().to_owned());
            batch.put_relinked(NewDocument::text(path, text.into(), Some(&was), now)?, &was);
        }
        notes.sort_unstable();
        Ok(Followed { batch, links, notes, left })
    }
}
