//! DigitalOcean's rate limits: 5,000 requests in any hour, told by headers, and 250 in any
//! minute, told by nothing until it answers 429.

use std::time::{Duration, UNIX_EPOCH};

use http::HeaderMap;

use crate::layers::{Burst, Headroom, RateRules, sent_at};

pub(super) const RULES: RateRules =
    RateRules { headroom, burst: Some(Burst { requests: 250, per: Duration::from_secs(60) }) };

/// `ratelimit-reset` is the moment at which the oldest request of the hour is forgotten, by
/// the vendor's clock, so that it is compared with the answer's own `date`.
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

/// When the answer does not say.
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
