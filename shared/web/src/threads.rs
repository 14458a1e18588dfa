//! The threads of a server's calls. Each call has its own, so that it delays neither connections nor other calls. Their
//! number is limited, in all and for each caller.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atlas_ops::{Code, Error, Reason};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{Instrument as _, Span};

use crate::caller::Caller;

/// Most calls at once.
const MOST: usize = 128;
/// Most calls of one caller at once.
const MOST_OF_ONE: usize = 32;
/// Longest time that a call waits for a thread.
const WAIT: Duration = Duration::from_secs(10);

/// The threads. Calls wait for a free one.
#[derive(Clone)]
pub(crate) struct Threads {
    all: Arc<Semaphore>,
    most_of_one: usize,
    callers: Arc<Mutex<HashMap<Option<Caller>, Arc<Semaphore>>>>,
}

impl Default for Threads {
    fn default() -> Self {
        Self::new(MOST, MOST_OF_ONE)
    }
}

impl Threads {
    fn new(most: usize, most_of_one: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(most)), most_of_one, callers: Arc::default() }
    }

    /// Runs `call` on a thread of its own, and returns its result. The call ends when nobody waits for it any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        caller: Option<Caller>,
        call: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Error> {
        let place = timeout(WAIT, self.place(caller)).await.ok().flatten().ok_or_else(busy)?;
        let (waits, gone) = oneshot::channel::<()>();
        let (runtime, call) = (Handle::current(), call.instrument(Span::current()));
        let running = spawn_blocking(move || {
            let _place = place;
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    _ = gone => None,
                    result = call => Some(result),
                }
            })
        });
        let result = running.await;
        drop(waits);
        result
            .ok()
            .flatten()
            .ok_or_else(|| Error::new(Code::Internal, Reason::Internal, "the call ended without an answer"))
    }

    /// A permit among those of the caller, and one among all.
    async fn place(&self, caller: Option<Caller>) -> Option<[OwnedSemaphorePermit; 2]> {
        let own = {
            let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
            // A running or waiting call holds its caller's permits too.
            callers.retain(|_, own| Arc::strong_count(own) > 1);
            callers.entry(caller).or_insert_with(|| Arc::new(Semaphore::new(self.most_of_one))).clone()
        };
        // The semaphores are never closed.
        let own = own.acquire_owned().await.ok()?;
        Some([own, self.all.clone().acquire_owned().await.ok()?])
    }
}

fn busy() -> Error {
    let message = "too many calls are under way; try again in a few seconds";
    Error::new(Code::Unavailable, Reason::ServerBusy, message).with("retry_after_seconds", 2)
}

/// The processor time that this thread has used.
pub(crate) fn cpu_time() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
    }
    #[cfg(not(unix))]
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;
    use crate::routes::Door;
    use crate::server::Server;
    use crate::{Routes, Settings};

    fn caller(name: &str) -> Option<Caller> {
        Some(Caller::named(name))
    }

    static RUNNING: AtomicUsize = AtomicUsize::new(0);
    static MAY_END: AtomicBool = AtomicBool::new(false);

    /// Works without yielding until it may end.
    async fn hostile() {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        while !MAY_END.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    }

    async fn ask(address: std::net::SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// On one async thread, which the first of two such calls would occupy.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn calls_that_work_without_a_pause_stop_no_others() {
        let hostile = async |door: Door| {
            door.app.threads.unwrap().run(door.app.asked_by, hostile()).await.unwrap();
            "done"
        };
        let find = atlas_tools::entry::<atlas_tools::bridge::find::Find>();
        let find = get(async move |door: Door| {
            let called = crate::routes::call(&door, find, serde_json::json!({ "term": "x" })).await;
            called.respond(crate::response::ok)
        });
        let routes = Routes::default().serve("/hostile", &[], get(hostile)).serve("/find", &[], find);
        let settings = Settings::read([("ATLAS_STORE".to_owned(), "memory://".to_owned())]).unwrap();
        let server = Server::listen(routes, &settings, "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = server.address().unwrap();
        tokio::spawn(server.run(std::future::pending()));
        let attackers: Vec<_> = (0..2).map(|_| tokio::spawn(ask(address, "/hostile"))).collect();
        while RUNNING.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(ask(address, "/health").await.contains("\"ok\""));
        // The vault is not published, as the error says.
        assert!(ask(address, "/find").await.contains("vault_not_published"));
        MAY_END.store(true, Ordering::SeqCst);
        for attacker in attackers {
            assert!(attacker.await.unwrap().ends_with("done"));
        }
    }

    #[tokio::test]
    async fn a_caller_has_a_share_of_the_threads_and_waits_for_one_more() {
        let threads = Threads::new(3, 2);
        let hold = |name: &'static str| {
            let (threads, (end, ended)) = (threads.clone(), oneshot::channel::<()>());
            (end, tokio::spawn(async move { threads.run(caller(name), ended).await.unwrap() }))
        };
        let held = [hold("a"), hold("a"), hold("a")];
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(threads.run(caller("b"), async { 1 }).await, Ok(1), "another caller's share is free");
        let [(first, one), (second, two), (third, three)] = held;
        for end in [first, second, third] {
            end.send(()).unwrap();
        }
        for call in [one, two, three] {
            call.await.unwrap().unwrap();
        }
        assert_eq!(threads.run(caller("a"), async { 2 }).await, Ok(2));
        assert_eq!(threads.callers.lock().unwrap().len(), 1, "callers of the past are forgotten");
    }

    #[tokio::test]
    async fn a_call_that_nobody_waits_for_ends() {
        let threads = Threads::new(1, 1);
        let forever = threads.run(caller("a"), std::future::pending::<()>());
        assert!(timeout(Duration::from_millis(100), forever).await.is_err());
        assert_eq!(threads.run(caller("a"), async { 1 }).await, Ok(1));
    }
}
