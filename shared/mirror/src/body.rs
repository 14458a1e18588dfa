//! The bodies of the store's answers.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::TryStreamExt as _;
use object_store::{GetResult, GetResultPayload, ObjectMeta};
use tokio::time::timeout;

use crate::failure::Failure;

/// All bytes of a body that must have `length` of them. The wait for each piece is limited by `time`.
pub(crate) async fn whole(found: GetResult, length: u64, time: Duration) -> Result<Bytes, Failure> {
    let bytes = match found.payload {
        GetResultPayload::Stream(mut body) => {
            let mut pieces = BytesMut::with_capacity(usize::try_from(length).unwrap_or_default());
            while let Some(piece) = timeout(time, body.try_next()).await.map_err(|_| Failure::unanswered(time))?? {
                if pieces.len() as u64 + piece.len() as u64 > length {
                    return Err(Failure::Unclear(format!("the answer has more than {length} bytes")));
                }
                pieces.extend_from_slice(&piece);
            }
            pieces.freeze()
        }
        GetResultPayload::File(..) => found.bytes().await?,
    };
    if bytes.len() as u64 == length {
        Ok(bytes)
    } else {
        Err(Failure::Unclear(format!("the answer was cut short: {} bytes of {length}", bytes.len())))
    }
}

/// The answer to a request.
pub(crate) trait Body {
    /// Its bytes that were read.
    fn size(&self) -> u64 {
        0
    }
}

impl Body for () {}
impl Body for ObjectMeta {}
impl<T> Body for Option<T> {}
impl<T> Body for Vec<T> {}
impl<T> Body for (Vec<T>, bool) {}
impl Body for Bytes {
    fn size(&self) -> u64 {
        self.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use futures::stream::{self, StreamExt as _};
    use object_store::Attributes;
    use object_store::path::Path;
    use tokio::time::{Instant, sleep};

    use super::*;

    const TIME: Duration = Duration::from_secs(3);

    /// A body of `length` bytes that comes in `pieces`: the seconds before each, and its bytes.
    fn found(length: u64, pieces: Vec<(u64, &'static [u8])>) -> GetResult {
        let pieces = stream::iter(pieces).then(|(seconds, bytes)| async move {
            sleep(Duration::from_secs(seconds)).await;
            Ok(Bytes::from_static(bytes))
        });
        let meta = ObjectMeta {
            location: Path::from("key"),
            last_modified: Default::default(),
            size: length,
            e_tag: None,
            version: None,
        };
        let payload = GetResultPayload::Stream(pieces.boxed());
        GetResult { payload, meta, range: 0..length, attributes: Attributes::default(), extensions: Default::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_body_is_read_to_its_end_and_one_that_stops_is_not_waited_for() {
        let read = whole(found(100, vec![(2, b"0123456789"); 10]), 100, TIME).await.unwrap();
        assert_eq!(read.len(), 100);
        let begun = Instant::now();
        let failure = whole(found(20, vec![(1, b"0123456789"), (3600, b"0123456789")]), 20, TIME).await.unwrap_err();
        assert!(matches!(&failure, Failure::Unclear(reason) if reason == "no answer within 3000 ms"), "{failure:?}");
        assert_eq!(begun.elapsed().as_secs(), 4);
    }

    #[tokio::test]
    async fn a_body_of_another_length_is_refused() {
        for length in [19, 21] {
            let failure = whole(found(length, vec![(0, b"0123456789"); 2]), length, TIME).await.unwrap_err();
            assert!(matches!(failure, Failure::Unclear(_)), "{failure:?}");
        }
    }
}
