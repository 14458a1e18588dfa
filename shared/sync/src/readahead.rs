//! Runs slow jobs before their results are needed: files on a mount take time, and disks serve several readers at once.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Threads that work ahead.
const THREADS: usize = 4;
/// Jobs that a thread runs before it hands over their results: waking a thread costs as much as a small job.
const BATCH: usize = 16;
/// Batches that each thread may have ready.
const AHEAD: usize = 1;

/// Runs `run` on `jobs` and passes the results to `take` in the order of the jobs. Jobs that are not `small` run only
/// when their turn comes, so that few results are in memory at once.
pub(crate) fn in_order<J: Sync, R: Send, E>(
    jobs: &[J],
    small: impl Fn(&J) -> bool + Sync,
    run: impl Fn(&J) -> R + Sync,
    mut take: impl FnMut(&J, R) -> Result<(), E>,
) -> Result<(), E> {
    let batches: Vec<&[J]> = jobs.chunks(BATCH).collect();
    let threads = THREADS.min(batches.len());
    let (small, run) = (&small, &run);
    thread::scope(|scope| {
        let work = |first: usize| {
            let (sender, receiver) = sync_channel(AHEAD);
            let mut mine = batches.iter().skip(first).step_by(threads);
            let work = move || {
                let ready = |job: &J| small(job).then(|| run(job));
                // An error means that nobody waits for the results any more.
                let _ = mine.try_for_each(|batch| sender.send(batch.iter().map(ready).collect()));
            };
            // Without a thread, jobs run when their turn comes.
            thread::Builder::new().spawn_scoped(scope, work).ok().map(|_| receiver)
        };
        let queues: Vec<Option<Receiver<Vec<Option<R>>>>> = (0..threads).map(work).collect();
        for (batch, queue) in batches.iter().zip(queues.iter().cycle()) {
            let ready = queue.as_ref().and_then(|queue| queue.recv().ok()).unwrap_or_default();
            let ready = ready.into_iter().chain(std::iter::repeat_with(|| None));
            for (job, ready) in batch.iter().zip(ready) {
                take(job, ready.unwrap_or_else(|| run(job)))?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whoever_is_slow() {
        let jobs: Vec<u64> = (0..500).collect();
        let mut taken = Vec::new();
        let run = |job: &u64| {
            if job.is_multiple_of(7) {
                thread::sleep(std::time::Duration::from_micros(200));
            }
            job * 2
        };
        in_order(
            &jobs,
            |job| job % 3 != 0,
            run,
            |job, result| {
                taken.push((*job, result));
                Ok::<_, ()>(())
            },
        )
        .unwrap();
        assert_eq!(taken, jobs.iter().map(|job| (*job, job * 2)).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_ends_the_work() {
        let jobs: Vec<u64> = (0..10_000).collect();
        let mut left = 3;
        let result = in_order(
            &jobs,
            |_| true,
            |job| *job,
            |_, job| {
                left -= 1;
                if left == 0 { Err(job) } else { Ok(()) }
            },
        );
        assert_eq!(result, Err(2));
    }

    #[test]
    fn no_jobs_are_no_work() {
        assert_eq!(in_order(&[] as &[u64], |_| true, |job| *job, |_, job| Err(job)), Ok(()));
    }
}
