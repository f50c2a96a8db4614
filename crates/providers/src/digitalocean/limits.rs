//! DigitalOcean's rate limits: 5,000 requests per hour, reported in headers, and 250 per minute,
//! reported only by a 429.

use std::time::{Duration, UNIX_EPOCH};

use http::HeaderMap;

use crate::layers::{Burst, Headroom, RateRules, is_too_many, sent_at};

pub(super) const RULES: RateRules = RateRules {
    headroom,
    burst: Some(Burst { requests: 250, per: Duration::from_secs(60) }),
    refuses: is_too_many,
};

/// Parses the hourly limit. `ratelimit-reset` is a time on DigitalOcean's clock, at which the
/// oldest request of the hour expires, and is compared with the `date` of the same answer.
pub(super) fn headroom(headers: &HeaderMap) -> Option<Headroom> {
    let number = |name| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    let now = sent_at(headers).and_then(|date| date.duration_since(UNIX_EPOCH).ok());
    let reset = number("ratelimit-reset");
    Some(Headroom {
        limit: number("ratelimit-limit")?,
        remaining: number("ratelimit-remaining")?,
        resets_in: reset.zip(now).map_or(A_MINUTE, |(reset, now)| {
            Duration::from_secs(reset.saturating_sub(now.as_secs()))
        }),
    })
}

/// The reset, if the answer does not tell.
const A_MINUTE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    const LIMITS: [(&str, &str); 3] = [
        ("ratelimit-limit", "5000"),
        ("ratelimit-remaining", "4816"),
        ("ratelimit-reset", "784111807"),
    ];

    #[test]
    fn the_reset_counts_from_the_answers_own_date() {
        let mut pairs = LIMITS.to_vec();
        pairs.push(("date", "Sun, 06 Nov 1994 08:49:37 GMT"));
        let expected =
            Headroom { limit: 5000, remaining: 4816, resets_in: Duration::from_secs(30) };
        assert_eq!(headroom(&headers(&pairs)), Some(expected));
    }

    #[test]
    fn a_reset_in_the_past_is_now() {
        let mut pairs = LIMITS.to_vec();
        pairs.push(("date", "Sun, 06 Nov 1994 09:49:37 GMT"));
        assert_eq!(headroom(&headers(&pairs)).unwrap().resets_in, Duration::ZERO);
    }

    #[test]
    fn without_a_date_the_reset_is_taken_to_be_a_minute_away() {
        assert_eq!(headroom(&headers(&LIMITS)).unwrap().resets_in, A_MINUTE);
    }

    #[test]
    fn answers_without_these_headers_or_with_nonsense_in_them_say_nothing() {
        assert_eq!(headroom(&HeaderMap::new()), None);
        assert_eq!(
            headroom(&headers(&[("ratelimit-limit", "many"), ("ratelimit-remaining", "-1")])),
            None
        );
    }
}
