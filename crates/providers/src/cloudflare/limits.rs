//! Cloudflare's rate limit: 1,200 requests in five minutes per user, counted over all clients.
//! Exceeding the limit blocks every request for five minutes.

use std::time::Duration;

use http::HeaderMap;

use crate::layers::{Burst, Headroom, RateRules, is_too_many};

const LIMIT: u64 = 1_200;
const WINDOW: Duration = Duration::from_secs(300);

/// Headers also count requests of other clients. Our own burst count covers answers without
/// headers.
pub(super) const RULES: RateRules = RateRules {
    headroom,
    burst: Some(Burst { requests: LIMIT as usize, per: WINDOW }),
    refuses: is_too_many,
};

/// Parses `ratelimit: "default";r=50;t=30` (requests left, seconds to the reset) and
/// `ratelimit-policy: "default";q=1200;w=300` (requests per window). Of several limits, the one
/// with the smallest share left counts.
pub(super) fn headroom(headers: &HeaderMap) -> Option<Headroom> {
    let policies = items(headers, "ratelimit-policy");
    let limit = |name: &str| {
        let policy = policies.iter().find(|item| item.name == name);
        policy.and_then(|item| item.number('q')).unwrap_or(LIMIT)
    };
    let told = items(headers, "ratelimit").into_iter().filter_map(|item| {
        Some(Headroom {
            limit: limit(item.name),
            remaining: item.number('r')?,
            resets_in: item.number('t').map_or(WINDOW, Duration::from_secs),
        })
    });
    told.min_by(|a, b| {
        let share = |x: &Headroom, y: &Headroom| u128::from(x.remaining) * u128::from(y.limit);
        share(a, b).cmp(&share(b, a))
    })
}

/// An item of a structured header list: a name and its parameters.
struct Item<'a> {
    name: &'a str,
    parameters: &'a str,
}

impl Item<'_> {
    fn number(&self, name: char) -> Option<u64> {
        let mut parameters = self.parameters.split(';').map(str::trim);
        parameters.find_map(|p| p.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
    }
}

fn items<'a>(headers: &'a HeaderMap, name: &str) -> Vec<Item<'a>> {
    let lines = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let items = lines.flat_map(|line| line.split(',')).map(|item| {
        let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
        Item { name: name.trim().trim_matches('"'), parameters }
    });
    items.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(left: &str, policy: &str) -> Option<Headroom> {
        let mut headers = HeaderMap::new();
        headers.insert("ratelimit", left.parse().unwrap());
        headers.insert("ratelimit-policy", policy.parse().unwrap());
        headroom(&headers)
    }

    fn expected(limit: u64, remaining: u64, seconds: u64) -> Option<Headroom> {
        Some(Headroom { limit, remaining, resets_in: Duration::from_secs(seconds) })
    }

    #[test]
    fn what_is_left_of_what_until_when_is_in_two_headers() {
        let policy = r#""default";q=1200;w=300"#;
        assert_eq!(told(r#""default";r=50;t=30"#, policy), expected(1200, 50, 30));
        assert_eq!(told(r#""default"; r=50 ; t=30"#, ""), expected(1200, 50, 30));
        assert_eq!(told(r#""default";r=50"#, policy), expected(1200, 50, 300));
    }

    #[test]
    fn of_several_limits_the_scarcest_counts() {
        let policy = r#""default";q=1200;w=300, "burst";q=100;w=60"#;
        let left = r#""default";r=300;t=200, "burst";r=80;t=20"#;
        assert_eq!(told(left, policy), expected(1200, 300, 200));
        let left = r#""default";r=300;t=200, "burst";r=8;t=20"#;
        assert_eq!(told(left, policy), expected(100, 8, 20));
    }

    #[test]
    fn answers_without_these_headers_or_with_nonsense_in_them_say_nothing() {
        assert_eq!(headroom(&HeaderMap::new()), None);
        for left in ["", "50", ";;;", r#""default""#, r#""default";r=-1"#, "r=many", ","] {
            assert_eq!(told(left, "q=x,,;"), None, "{left}");
        }
    }
}
