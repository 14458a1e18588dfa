//! Whether a call may be made, and what waits for it.

use std::collections::BTreeSet;

use atlas_mirror::{Hash, Mirror, StateObject};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;

use super::request::PendingCall;
use super::{
    AT_ONCE, Decision, FOLDER, Use, decided, decision_name, get_request, is_id, is_recent, is_waiting, name, readable,
    used_name,
};
use crate::error::{Code, Error, Reason};

/// Most requests for one plan at a time, without those that were replaced.
const MAX_ROUNDS: u32 = 16;
/// The same, with those that were replaced.
pub(super) const MAX_ALL_ROUNDS: u32 = 100;
/// Most requests of one caller at a time, without those that were replaced.
pub(super) const MAX_OF_CALLER: usize = 100;
/// The same, with those that were replaced: they take up the store too.
const MAX_ALL_OF_CALLER: usize = 400;
/// Most requests that wait for a person, of all callers: fewer than are listed, since several callers may ask at the same moment.
pub(super) const MAX_WAITING: usize = 150;

/// Whether a call may be made.
pub(crate) enum Standing {
    /// It may be made.
    Passes,
    /// It waits for a person, as the request with this id, until this time.
    Waits(String, Timestamp),
    /// A person refused it.
    Refused(String, Decision),
}

/// Whether the call `asked` may be made. Creates the request if there is none. `own` identifies the use of the
/// approval.
pub(crate) async fn standing(mirror: &Mirror, asked: &PendingCall<'_>, own: &Use) -> Result<Standing, Error> {
    mirror.check_writes_once().await?;
    let plan = asked.plan();
    let mut rounds = 0..MAX_ROUNDS;
    for round in 0..MAX_ALL_ROUNDS {
        let id = asked.id(plan, round);
        // The decision is small: of a replaced request nothing else is read.
        let decision: Option<Decision> = mirror.get_state(&decision_name(&id)).await?;
        if decision.as_ref().is_some_and(|decision| decision.is_replaced) {
            continue;
        }
        if rounds.next().is_none() {
            break;
        }
        let Some(request) = readable(get_request(mirror, &id).await)? else {
            make_room(mirror, asked, plan).await?;
            let request = asked.request(plan);
            mirror.create_state_if_absent(&name(&id), &request).await?;
            return Ok(Standing::Waits(id, request.expires));
        };
        if request.plan != plan || asked.now >= request.expires {
            continue;
        }
        match decision {
            None => return Ok(Standing::Waits(id, request.expires)),
            Some(refusal) if !refusal.approved => return Ok(Standing::Refused(id, refusal)),
            Some(_) => match mirror.get_or_create_state(&used_name(&id), own).await? {
                None => return Ok(Standing::Passes),
                Some(other) if other == *own => return Ok(Standing::Passes),
                Some(Use { refusal: Some(refusal), .. }) => return Ok(Standing::Refused(id, refusal)),
                Some(_) => {}
            },
        }
    }
    Err(too_many())
}

/// Ends what waits for the same call with another plan, if there is room for the new request then.
async fn make_room(mirror: &Mirror, asked: &PendingCall<'_>, plan: Hash) -> Result<(), Error> {
    let listed = mirror.list_state(FOLDER, None).await?;
    let decided = decided(&listed);
    let of_caller = asked.caller.pseudonym();
    let own: Vec<&str> = own(&listed, &of_caller, asked.now).map(|made| made.name.as_str()).collect();
    if own.len() >= MAX_ALL_OF_CALLER {
        return Err(too_many());
    }
    let outdated = outdated(mirror, asked, plan, own.iter().copied().filter(|id| !decided.contains(id))).await?;
    let mut counted = own.len().saturating_sub(outdated.len());
    if counted >= MAX_OF_CALLER {
        counted = counted.saturating_sub(replaced(mirror, own.into_iter().filter(|id| decided.contains(id))).await?);
    }
    if counted >= MAX_OF_CALLER {
        return Err(too_many());
    }
    check_waiting(&listed, outdated.len(), asked.now)?;
    let decision = Decision::replaced(asked.caller, asked.now);
    for id in outdated {
        // A person may have decided at this moment: that stands.
        let _: Option<Decision> = mirror.get_or_create_state(&decision_name(id), &decision).await?;
    }
    Ok(())
}

/// The requests of the caller with this pseudonym that may be valid.
fn own<'a>(listed: &'a [StateObject], of_caller: &str, now: Timestamp) -> impl Iterator<Item = &'a StateObject> {
    listed.iter().filter(move |made| is_id(&made.name) && made.name.ends_with(of_caller) && is_recent(made, now))
}

/// The requests among `waiting`, all of this caller, that are for the same call with another plan: its files have changed since, or their
/// new versions have.
async fn outdated<'a>(
    mirror: &Mirror,
    asked: &PendingCall<'_>,
    plan: Hash,
    waiting: impl Iterator<Item = &'a str>,
) -> Result<Vec<&'a str>, Error> {
    let found: Vec<_> = waiting
        .take(MAX_ALL_OF_CALLER)
        .map(|id| async move {
            let request = readable(get_request(mirror, id).await)?;
            let is_outdated = request.is_some_and(|request| asked.is_for(&request) && request.plan != plan);
            Ok::<_, Error>(is_outdated.then_some(id))
        })
        .collect();
    let found: Vec<Option<&str>> = stream::iter(found).buffered(AT_ONCE).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// The number of requests among `ids` that were replaced.
async fn replaced(mirror: &Mirror, ids: impl Iterator<Item = &str>) -> Result<usize, Error> {
    let found: Vec<_> = ids
        .take(MAX_ALL_OF_CALLER)
        .map(|id| async move { readable(mirror.get_state::<Decision>(&decision_name(id)).await) })
        .collect();
    let found: Vec<Option<Decision>> = stream::iter(found).buffered(AT_ONCE).try_collect().await?;
    Ok(found.iter().flatten().filter(|decision| decision.is_replaced).count())
}

/// Whether one more call may wait for a person, once this many wait no more.
pub(super) fn check_waiting(listed: &[StateObject], outdated: usize, now: Timestamp) -> Result<(), Error> {
    let decided: BTreeSet<&str> = decided(listed);
    let waiting = listed.iter().filter(|made| is_waiting(made, &decided, now)).count();
    if waiting.saturating_sub(outdated) < MAX_WAITING {
        return Ok(());
    }
    let message = format!(
        "{MAX_WAITING} calls wait for a person already: ask them to decide on some, with `atlas approvals`, then make this call again"
    );
    Err(Error::new(Code::TooManyRequests, Reason::ApprovalsFull, message))
}

fn too_many() -> Error {
    let message = "too many of your calls were to be approved within a day: ask the person to decide on those that wait, with `atlas approvals`";
    Error::new(Code::TooManyRequests, Reason::ApprovalsFull, message)
}
