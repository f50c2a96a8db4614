//! Faults of selected requests.
//!
//! A [`Rule`] holds a filter of requests ([`On`]), a [`Fault`] and a count. Rules are checked in
//! the order of their creation when a request arrives. All rules that match and are not used up
//! apply together: delays add up, and the first of two answers wins.

use std::time::Duration;

use crate::call::Call;

/// Filter of requests. All set conditions must hold.
#[derive(Clone, Debug, Default)]
pub struct On {
    /// `GET`, `POST`, ...
    pub method: Option<String>,
    /// A path without query. `*` stands for a single segment, a final `**` for the rest:
    /// `/api/v1/nodes/*/status`.
    pub path: Option<String>,
    /// Only requests that may change objects, or only reads.
    pub mutating: Option<bool>,
    /// Only watches, or only other requests.
    pub watch: Option<bool>,
    /// Text that the body contains.
    pub body: Option<String>,
    /// Text that the `User-Agent` contains, to select a single client.
    pub user_agent: Option<String>,
}

impl On {
    /// Every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Every request that may change objects.
    #[must_use]
    pub fn mutations() -> Self {
        Self { mutating: Some(true), ..Self::default() }
    }

    /// Every read, including watches.
    #[must_use]
    pub fn reads() -> Self {
        Self { mutating: Some(false), ..Self::default() }
    }

    /// Every watch.
    #[must_use]
    pub fn watches() -> Self {
        Self { watch: Some(true), ..Self::default() }
    }

    /// Requests to a path pattern.
    #[must_use]
    pub fn path(path: &str) -> Self {
        Self { path: Some(path.to_owned()), ..Self::default() }
    }

    /// Requests of a method to a path pattern.
    #[must_use]
    pub fn call(method: &str, path: &str) -> Self {
        Self { method: Some(method.to_owned()), ..Self::path(path) }
    }

    /// Narrows the filter to bodies that contain `text`.
    #[must_use]
    pub fn with_body(mut self, text: &str) -> Self {
        self.body = Some(text.to_owned());
        self
    }

    /// Narrows the filter to clients with `text` in their `User-Agent`.
    #[must_use]
    pub fn from_agent(mut self, text: &str) -> Self {
        self.user_agent = Some(text.to_owned());
        self
    }

    /// Narrows the filter to a path pattern.
    #[must_use]
    pub fn at(mut self, path: &str) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    pub(crate) fn fits(&self, call: &Call) -> bool {
        let Self { method, path, mutating, watch, body, user_agent } = self;
        method.as_ref().is_none_or(|m| m.eq_ignore_ascii_case(call.method.as_str()))
            && mutating.is_none_or(|m| m == call.mutates())
            && watch.is_none_or(|w| w == call.watches())
            && path.as_ref().is_none_or(|p| path_fits(p, call.path()))
            && user_agent.as_ref().is_none_or(|text| call.user_agent().contains(text))
            && body.as_ref().is_none_or(|text| String::from_utf8_lossy(&call.body).contains(text))
    }
}

fn path_fits(pattern: &str, path: &str) -> bool {
    let mut given = path.trim_end_matches('/').split('/');
    for wanted in pattern.trim_end_matches('/').split('/') {
        if wanted == "**" {
            return true;
        }
        match given.next() {
            Some(segment) if wanted == "*" || wanted == segment => {}
            _ => return false,
        }
    }
    given.next().is_none()
}

/// A failure that replaces the server's answer, as a Status.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code: 409, 429, 500, 503, ...
    pub status: u16,
    /// Message of the Status; by default the usual message for the code.
    pub message: Option<String>,
    /// Seconds in `Retry-After`, as with 429 and 503.
    pub retry_after: Option<u64>,
}

impl Answer {
    /// A status code with its usual message.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, message: None, retry_after: None }
    }

    /// Replaces the usual message.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.message = Some(message.to_owned());
        self
    }

    /// Adds `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }
}

/// The failure that a rule causes.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Answers with a failure; the request has no effect.
    Answer(Answer),
    /// Answers with a failure, although the request has its effect.
    AnswerAfterEffect(Answer),
    /// The connection breaks before the effect: no answer, no effect.
    LostBefore,
    /// The connection breaks after the effect: no answer.
    LostAfter,
    /// Delays the request before its effect.
    DelayBefore(Duration),
    /// Delays the answer after the effect.
    DelayAfter(Duration),
    /// Simulates a replica with a stuck watch cache: watches, and reads with `resourceVersion` set,
    /// see no writes after the given resource version while the rule holds. Other reads are
    /// consistent, as on a real server. See [`crate::FakeKube::freeze`].
    StaleCache(u64),
    /// As [`Fault::StaleCache`], but for all reads. No healthy server behaves so.
    StaleReads(u64),
    /// Breaks a watch after the given time.
    WatchBreaks(Duration),
}

/// Faults that a request carries as an extension, for callers in the same process that choose
/// faults per request. Applied after the faults of the rules. Staleness outlasts a request, so the
/// `Stale*` faults need a rule and are ignored here.
#[derive(Clone, Debug, Default)]
pub struct Carried(pub Vec<Fault>);

/// Handle of an injected rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub(crate) u64);

/// A fault with its filter and its limits.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The requests to which the rule applies.
    pub on: On,
    /// The failure of these requests.
    pub fault: Fault,
    /// Number of requests to which the rule applies; `None`: until cleared.
    pub times: Option<u64>,
    /// Number of matching requests that pass unharmed first.
    pub skip: u64,
    /// Share of the matching requests in percent, drawn from the seeded source; `None`: all.
    pub percent: Option<u8>,
}

impl Rule {
    /// Applies the fault to every matching request until cleared.
    #[must_use]
    pub fn new(on: On, fault: Fault) -> Self {
        Self { on, fault, times: None, skip: 0, percent: None }
    }

    /// Limits the rule to a number of requests.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Limits the rule to a single request.
    #[must_use]
    pub fn once(self) -> Self {
        self.times(1)
    }

    /// Lets a number of matching requests pass first.
    #[must_use]
    pub fn skip(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    /// Limits the rule to a share of the matching requests.
    #[must_use]
    pub fn percent(mut self, percent: u8) -> Self {
        self.percent = Some(percent);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_paths() {
        assert!(path_fits("/api/v1/nodes/*/status", "/api/v1/nodes/a/status"));
        assert!(!path_fits("/api/v1/nodes/*", "/api/v1/nodes/a/status"));
        assert!(!path_fits("/api/v1/nodes/*", "/api/v1/nodes"));
        assert!(path_fits("/api/v1/**", "/api/v1/nodes/a/status"));
    }
}
