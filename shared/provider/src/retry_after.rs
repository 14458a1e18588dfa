//! How long a service wants to be left alone: the header `Retry-After`, in seconds or as a date.

use std::time::{Duration, SystemTime};

use atlas_outbound::HeaderMap;
use atlas_outbound::header::{DATE, RETRY_AFTER};

/// The time that `headers` ask for. A date counts from the service's own clock, or from `now` if it does not tell that.
pub(crate) fn of(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let asked = text(RETRY_AFTER)?;
    if let Ok(seconds) = asked.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(asked).ok()?;
    let from = text(DATE).and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    Some(until.duration_since(from).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&'static str, &str)]) -> Option<u64> {
        let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        of(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)).map(|time| time.as_secs())
    }

    #[test]
    fn seconds_and_dates_are_understood() {
        assert_eq!(asked(&[("retry-after", "7")]), Some(7));
        let later = ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT");
        assert_eq!(asked(&[later]), Some(30), "by the clock here");
        assert_eq!(asked(&[later, ("date", "Sun, 06 Nov 1994 08:50:00 GMT")]), Some(7), "by the service's clock");
        assert_eq!(asked(&[later, ("date", "Sun, 06 Nov 1994 09:50:00 GMT")]), Some(0), "a date that has passed");
        for other in ["soon", "-1", "", "1.5"] {
            assert_eq!(asked(&[("retry-after", other)]), None, "{other}");
        }
        assert_eq!(asked(&[]), None);
    }
}
