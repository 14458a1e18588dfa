//! The table of connections. It chooses which one gives its place to a new one: never one whose request is being answered.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The stage of a connection. Lower stages are dropped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// It has no request under way, or only a part of its head.
    Idle,
    /// It waits for more of a request's body.
    Receiving,
    /// It waits for its client to take more of a response.
    Sending,
    /// A request is being answered.
    Working,
}

/// The connections of a server.
pub(super) struct Table {
    most: usize,
    most_of_one: usize,
    seats: Mutex<BTreeMap<u64, Arc<Seat>>>,
    /// Counts events, so that the stage that began first is known.
    time: Arc<AtomicU64>,
    /// A connection ended.
    ended: Notify,
}

/// The place of one connection.
pub(super) struct Seat {
    address: IpAddr,
    /// The stage, and when it began.
    stage: Mutex<(Stage, u64)>,
    time: Arc<AtomicU64>,
    dropped: Notify,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// All are being answered.
    Everybody,
    /// All of this address are being answered, and it has as many as one may have.
    Address,
}

impl Seat {
    pub(super) fn is_now(&self, stage: Stage) {
        let mut now = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if now.0 != stage {
            *now = (stage, self.time.fetch_add(1, Ordering::Relaxed));
        }
    }

    /// All that was to be sent is sent. HTTP says so at other times too.
    pub(super) fn has_sent(&self) {
        if self.stage().0 == Stage::Sending {
            self.is_now(Stage::Idle);
        }
    }

    fn stage(&self) -> (Stage, u64) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Done when the place is given to another.
    pub(super) async fn dropped(&self) {
        self.dropped.notified().await;
    }
}

impl Table {
    pub(super) fn new(most: usize, most_of_one: usize) -> Self {
        Self { most, most_of_one, seats: Mutex::default(), time: Arc::default(), ended: Notify::new() }
    }

    /// A place for a connection of `address`, which another may have to give up: one of the same address where that has as many as one
    /// may have, else any.
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

    /// The connection has ended.
    pub(super) fn leave(&self, id: u64) {
        self.seats().remove(&id);
        self.ended.notify_one();
    }

    /// Done when a connection has ended since this was waited for last.
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }

    fn seats(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the place of that connection which can best do without.
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
