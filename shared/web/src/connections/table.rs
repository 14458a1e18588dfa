//! The table of connections. It chooses which one a new one replaces: never one whose request is being answered.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The stage of a connection. Lower stages are dropped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// It has no running request, or only a part of its head.
    Idle,
    /// It waits for the rest of a request's body.
    Receiving,
    /// It waits for its client to receive a response.
    Sending,
    /// A request is being answered.
    Working,
}

/// The connections of a server.
pub(super) struct Table {
    most: usize,
    most_of_one: usize,
    seats: Mutex<BTreeMap<u64, Arc<Seat>>>,
    /// A counter of events, to compare when stages began.
    time: Arc<AtomicU64>,
    /// Notified when a connection ends.
    ended: Notify,
}

/// The entry of one connection.
pub(super) struct Seat {
    address: IpAddr,
    /// The stage, and when it began.
    stage: Mutex<(Stage, u64)>,
    time: Arc<AtomicU64>,
    dropped: Notify,
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// All connections are being answered.
    Everybody,
    /// The address has its most connections, and all are being answered.
    Address,
}

impl Seat {
    pub(super) fn is_now(&self, stage: Stage) {
        let mut now = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if now.0 != stage {
            *now = (stage, self.time.fetch_add(1, Ordering::Relaxed));
        }
    }

    /// Records that everything was sent. HTTP reports this at other times too.
    pub(super) fn has_sent(&self) {
        if self.stage().0 == Stage::Sending {
            self.is_now(Stage::Idle);
        }
    }

    fn stage(&self) -> (Stage, u64) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes when the connection is replaced.
    pub(super) async fn dropped(&self) {
        self.dropped.notified().await;
    }
}

impl Table {
    pub(super) fn new(most: usize, most_of_one: usize) -> Self {
        Self { most, most_of_one, seats: Mutex::default(), time: Arc::default(), ended: Notify::new() }
    }

    /// Adds a connection from `address`. It may replace another: one from the same address if that has its most
    /// connections, else any.
    pub(super) fn admit(&self, address: IpAddr) -> Result<(u64, Arc<Seat>), Full> {
        let mut seats = self.seats();
        let of_one = seats.values().filter(|seat| seat.address == address).count();
        if of_one >= self.most_of_one {
            give_up(&mut seats, |seat| seat.address == address).ok_or(Full::Address)?;
        } else if seats.len() >= self.most {
            give_up(&mut seats, |_| true).ok_or(Full::Everybody)?;
        }
        let now = self.time.fetch_add(1, Ordering::Relaxed);
        let stage = Mutex::new((Stage::Idle, now));
        let seat = Arc::new(Seat { address, stage, time: self.time.clone(), dropped: Notify::new() });
        seats.insert(now, seat.clone());
        Ok((now, seat))
    }

    /// Removes a connection that has ended.
    pub(super) fn leave(&self, id: u64) {
        self.seats().remove(&id);
        self.ended.notify_one();
    }

    /// Completes when a connection has ended since the last call.
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }

    fn seats(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops the connection with the lowest stage among those that `may` be dropped.
fn give_up(seats: &mut BTreeMap<u64, Arc<Seat>>, may: impl Fn(&Seat) -> bool) -> Option<()> {
    let candidates = seats.iter().filter(|(_, seat)| may(seat)).map(|(id, seat)| (seat.stage(), *id));
    let ((stage, _), id) = candidates.min()?;
    if stage == Stage::Working {
        return None;
    }
    seats.remove(&id)?.dropped.notify_one();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn ids(table: &Table) -> Vec<u64> {
        table.seats().keys().copied().collect()
    }

    #[test]
    fn the_longest_idle_goes_first_then_who_waits_and_never_who_is_answered() {
        let table = Table::new(4, 4);
        let all: Vec<_> = (0..4).map(|_| table.admit(ONE).unwrap()).collect();
        all[0].1.is_now(Stage::Working);
        all[1].1.is_now(Stage::Sending);
        all[2].1.is_now(Stage::Receiving);
        for gone in [3, 2, 1] {
            let (_, new) = table.admit(OTHER).unwrap();
            assert!(!ids(&table).contains(&all[gone].0) && ids(&table).len() == 4);
            new.is_now(Stage::Working);
        }
        assert_eq!(table.admit(OTHER).err(), Some(Full::Everybody));
        table.leave(all[0].0);
        assert!(table.admit(OTHER).is_ok());
    }

    #[test]
    fn one_address_takes_places_from_itself_once_it_has_its_share() {
        let table = Table::new(10, 2);
        let other = table.admit(OTHER).unwrap();
        let first = table.admit(ONE).unwrap();
        let second = table.admit(ONE).unwrap();
        first.1.is_now(Stage::Receiving);
        second.1.is_now(Stage::Receiving);
        let third = table.admit(ONE).unwrap();
        assert_eq!(ids(&table), [other.0, second.0, third.0]);
        for (_, seat) in [&second, &third] {
            seat.is_now(Stage::Working);
        }
        assert_eq!(table.admit(ONE).err(), Some(Full::Address));
        assert!(table.admit(OTHER).is_ok());
    }
}
