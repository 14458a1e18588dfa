//! Plans the byte ranges to request, so that few requests cover all wanted bytes.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// A gap up to this many bytes costs less than a request of its own.
const ALWAYS_MERGED: u64 = 16 << 10;
/// A gap over this many bytes costs more than a request of its own.
const NEVER_MERGED: u64 = 2 << 20;
/// Gaps over 16 KiB may have so many bytes together, or as many as is wanted: to read more takes longer than the requests that it saves.
const GAPS: u64 = 4 << 20;
/// Most bytes of one request.
const LARGEST_REQUEST: u64 = 8 << 20;

/// Bytes of one of several objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The object.
    pub(crate) object: usize,
    /// The bytes.
    pub(crate) range: Range<u64>,
}

impl Span {
    pub(crate) fn len(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }
}

/// Requests that together cover every byte of `wants`, in order, without overlap.
///
/// Gaps up to 16 KiB are always included. Then wider gaps are included, the smallest first and none over 2 MiB, until
/// at most `max_requests` are left, or no such gap is, or these gaps have more bytes together than 4 MiB and all that is
/// wanted. There may always be half as many requests more than objects, since each object needs one: else large objects
/// would be read whole for the sake of small ones. No request is over 8 MiB.
pub(crate) fn plan(wants: &[Span], max_requests: usize) -> Vec<Span> {
    let mut sorted: Vec<&Span> = wants.iter().filter(|want| want.len() > 0).collect();
    sorted.sort_unstable_by_key(|want| (want.object, want.range.start));
    let mut merged = merge(sorted.into_iter().cloned(), ALWAYS_MERGED);
    let objects = merged.chunk_by(|one, other| one.object == other.object).count();
    let max_requests = max_requests.max(objects + max_requests / 2);
    if merged.len() > max_requests {
        let mut gaps: Vec<u64> = merged.windows(2).filter_map(gap).filter(|gap| *gap <= NEVER_MERGED).collect();
        gaps.sort_unstable();
        let mut left = merged.iter().map(Span::len).sum::<u64>().max(GAPS);
        let affordable = |gap: &&u64| left.checked_sub(**gap).map(|rest| left = rest).is_some();
        // Gaps as wide as one that is too many stay open too: all of one width are closed together.
        if let Some(open) = gaps.get(gaps.iter().take_while(affordable).count()).copied() {
            gaps.truncate(gaps.partition_point(|gap| *gap < open));
        }
        let enough = gaps.partition_point(|gap| merge(merged.iter().cloned(), *gap).len() > max_requests);
        if let Some(gap) = gaps.get(enough).or(gaps.last()) {
            merged = merge(merged.into_iter(), *gap);
        }
    }
    merged.into_iter().flat_map(split).collect()
}

/// Joins neighbours in `spans`, which are sorted, over gaps up to `widest`. Overlapping spans are always joined.
fn merge(spans: impl Iterator<Item = Span>, widest: u64) -> Vec<Span> {
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut().filter(|last| last.object == span.object) {
            Some(last) if joins(&last.range, &span.range, widest) => {
                last.range.end = last.range.end.max(span.range.end)
            }
            _ => merged.push(span),
        }
    }
    merged
}

fn joins(last: &Range<u64>, next: &Range<u64>, widest: u64) -> bool {
    next.start < last.end || (next.start - last.end <= widest && next.end - last.start <= LARGEST_REQUEST)
}

/// The gap between two neighbours of one object.
fn gap(pair: &[Span]) -> Option<u64> {
    let [last, next] = pair else { return None };
    if last.object == next.object { next.range.start.checked_sub(last.range.end) } else { None }
}

fn split(span: Span) -> impl Iterator<Item = Span> {
    let Span { object, range } = span;
    let end = range.end;
    range
        .step_by(LARGEST_REQUEST as usize)
        .map(move |start| Span { object, range: start..end.min(start + LARGEST_REQUEST) })
}

/// The bytes of `want`, cut from the answers to its plan's requests.
///
/// They are copied, since a cached slice would keep the whole answer in memory. [`None`] when the requests do not cover
/// the want.
pub(crate) fn cut(want: &Span, requests: &[Span], bodies: &[Bytes]) -> Option<Bytes> {
    let first =
        requests.partition_point(|request| (request.object, request.range.end) <= (want.object, want.range.start));
    let mut bytes = BytesMut::with_capacity(0);
    let mut at = want.range.start;
    for (request, body) in requests.iter().zip(bodies).skip(first) {
        if at >= want.range.end {
            break;
        }
        if request.object != want.object || request.range.start > at {
            return None;
        }
        if request == want {
            return Some(body.clone());
        }
        let end = want.range.end.min(request.range.end);
        let from = usize::try_from(at - request.range.start).ok()?;
        let to = usize::try_from(end - request.range.start).ok()?;
        bytes.extend_from_slice(body.get(from..to)?);
        at = end;
    }
    if at >= want.range.end { Some(bytes.freeze()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KB: u64 = 1 << 10;
    const MB: u64 = 1 << 20;

    fn spans<const N: usize>(ranges: [(u64, u64); N]) -> Vec<Span> {
        ranges.map(|(start, end)| Span { object: 0, range: start..end }).to_vec()
    }

    #[test]
    fn small_gaps_are_fetched_along() {
        let wants = spans([(26 * KB, 36 * KB), (0, 10 * KB)]);
        assert_eq!(plan(&wants, 12), spans([(0, 36 * KB)]));
    }

    #[test]
    fn wider_gaps_are_closed_only_when_requests_are_too_many() {
        let wants = spans([(0, KB), (101 * KB, 102 * KB), (302 * KB, 303 * KB)]);
        assert_eq!(plan(&wants, 3), wants);
        assert_eq!(plan(&wants, 2), spans([(0, 102 * KB), (302 * KB, 303 * KB)]));
        assert_eq!(plan(&wants, 1), spans([(0, 303 * KB)]));
    }

    #[test]
    fn the_widest_gaps_stay_open_and_objects_apart() {
        let mut wants = spans([(0, KB), (4 * MB, 4 * MB + KB)]);
        wants.push(Span { object: 1, range: 0..KB });
        assert_eq!(plan(&wants, 1), wants);
    }

    #[test]
    fn gaps_are_closed_as_long_as_they_are_fewer_than_what_is_wanted() {
        let wants: Vec<Span> = (0..9).map(|at| Span { object: 0, range: at * MB..at * MB + 64 * KB }).collect();
        assert_eq!(plan(&wants, 2), wants, "all gaps are as wide, and all of them together too many");
        let close = |span: &Span| Span { range: span.range.start / 2..span.range.start / 2 + 64 * KB, ..span.clone() };
        let closer: Vec<Span> = wants.iter().map(close).collect();
        assert_eq!(plan(&closer, 2), spans([(0, 4 * MB + 64 * KB)]));
        let large = |span: &Span| Span { range: span.range.start..span.range.start + 600 * KB, ..span.clone() };
        let larger: Vec<Span> = wants.iter().map(large).collect();
        assert_eq!(plan(&larger, 2).len(), 2);
    }

    #[test]
    fn many_small_objects_do_not_close_the_gaps_of_a_large_one() {
        let mut wants = spans([(0, KB), (101 * KB, 102 * KB), (302 * KB, 303 * KB), (603 * KB, 604 * KB)]);
        wants.extend((1..9).map(|object| Span { object, range: 0..KB }));
        assert_eq!(plan(&wants, 6), wants);
        assert_eq!(plan(&wants, 4)[..3], spans([(0, 102 * KB), (302 * KB, 303 * KB), (603 * KB, 604 * KB)]));
    }

    #[test]
    fn a_large_want_comes_in_pieces() {
        let wants = spans([(MB, 20 * MB)]);
        assert_eq!(plan(&wants, 1), spans([(MB, 9 * MB), (9 * MB, 17 * MB), (17 * MB, 20 * MB)]));
    }

    /// Wants over three objects of 40 MiB, whose byte at `i` is a function of object and `i`.
    fn wants() -> impl Strategy<Value = Vec<Span>> {
        let want = (0..3usize, 0..40 * MB, prop_oneof![4 => 0..256 * KB, 1 => 0..12 * MB]);
        prop::collection::vec(want, 0..60).prop_map(|wants| {
            let span = |(object, start, length): (usize, u64, u64)| Span {
                object,
                range: start..(start + length).min(40 * MB),
            };
            wants.into_iter().map(span).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn requests_are_in_order_apart_and_within_their_limits(wants in wants(), max_requests in 1..20usize) {
            let requests = plan(&wants, max_requests);
            prop_assert!(requests.iter().all(|request| (1..=LARGEST_REQUEST).contains(&request.len())));
            for pair in requests.windows(2) {
                let (a, b) = (&pair[0], &pair[1]);
                prop_assert!((a.object, a.range.end) <= (b.object, b.range.start));
            }
            let wanted = |byte: u64, object| wants.iter().any(|want| want.object == object && want.range.contains(&byte));
            for request in &requests {
                prop_assert!(wanted(request.range.start, request.object) && wanted(request.range.end - 1, request.object));
            }
        }

        #[test]
        fn requests_bring_all_that_is_wanted(wants in wants(), max_requests in 1..20usize) {
            let body = |request: &Span| -> Bytes {
                request.range.clone().map(|byte| (byte / 7 + request.object as u64) as u8).collect::<Vec<_>>().into()
            };
            let small: Vec<Span> = wants.into_iter().filter(|want| want.len() < 300 * KB).take(12).collect();
            let requests = plan(&small, max_requests);
            let bodies: Vec<Bytes> = requests.iter().map(body).collect();
            for want in small.iter().filter(|want| want.len() > 0) {
                prop_assert_eq!(cut(want, &requests, &bodies), Some(body(want)));
            }
        }
    }
}
