//! Faults: what happens to some requests only, or to the next few.
//!
//! A [`Rule`] says which requests ([`On`]), what ([`Fault`]) and how often. Rules are looked at in the order in which
//! they were made when a request arrives; all that fit and are not used up apply together (delays add up, of two
//! answers the first wins).

use std::time::Duration;

use crate::call::Call;

/// Which requests a rule is about. Everything that is set must fit.
#[derive(Clone, Debug, Default)]
pub struct On {
    /// `GET`, `POST`, ...
    pub method: Option<String>,
    /// A path without query, `*` for any one segment, `**` at the end for the rest:
    /// `/api/v1/nodes/*/status`.
    pub path: Option<String>,
    /// Only requests that mean to change something, or only those that do not.
    pub mutating: Option<bool>,
    /// Only watches, or only other requests.
    pub watch: Option<bool>,
    /// Text that the body contains.
    pub body: Option<String>,
    /// Text that the `User-Agent` contains: one client of several.
    pub user_agent: Option<String>,
}

impl On {
    /// Every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Every request that means to change something.
    #[must_use]
    pub fn mutations() -> Self {
        Self { mutating: Some(true), ..Self::default() }
    }

    /// Every request that only reads, watches among them.
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

    /// Further narrowed to bodies that contain this text.
    #[must_use]
    pub fn with_body(mut self, text: &str) -> Self {
        self.body = Some(text.to_owned());
        self
    }

    /// Further narrowed to clients whose `User-Agent` contains this text.
    #[must_use]
    pub fn from_agent(mut self, text: &str) -> Self {
        self.user_agent = Some(text.to_owned());
        self
    }

    /// Further narrowed to a path pattern.
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

/// A failure that is answered in place of the server's own answer, as a Status.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code: 409, 429, 500, 503, ...
    pub status: u16,
    /// The Status' message; a usual one for the code where none is given.
    pub message: Option<String>,
    /// Seconds for `Retry-After`, as 429 and 503 have it.
    pub retry_after: Option<u64>,
}

impl Answer {
    /// A code with its usual message.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, message: None, retry_after: None }
    }

    /// With this message.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.message = Some(message.to_owned());
        self
    }

    /// With `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }
}

/// What goes wrong.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The request is answered like this and has no effect.
    Answer(Answer),
    /// The request has its effect, but is answered like this.
    AnswerAfterEffect(Answer),
    /// The connection breaks before the effect: no answer, no effect.
    LostBefore,
    /// The connection breaks after the effect: no answer.
    LostAfter,
    /// This much later before the effect.
    DelayBefore(Duration),
    /// This much later after the effect: the answer is late.
    DelayAfter(Duration),
    /// A replica whose watch cache does not get on: watches, and reads with `resourceVersion` set, see nothing after
    /// this resource version as long as the rule holds. Other reads are consistent, as on a real server. See
    /// [`crate::FakeKube::freeze`].
    StaleCache(u64),
    /// As [`Fault::StaleCache`], but all reads, which no healthy server does.
    StaleReads(u64),
    /// A watch breaks this long after it began.
    WatchBreaks(Duration),
}

/// Faults that one request brings along, as an extension of it; they apply after those of the rules. For callers in the
/// same process that decide for each request what befalls it. Staleness outlasts a request and needs a rule.
#[derive(Clone, Debug, Default)]
pub struct Carried(pub Vec<Fault>);

/// Names a rule that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub(crate) u64);

/// Which requests, what, how often.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Which requests.
    pub on: On,
    /// What goes wrong.
    pub fault: Fault,
    /// How many requests; none: until cleared.
    pub times: Option<u64>,
    /// How many fitting requests are let through first.
    pub skip: u64,
    /// In how many of a hundred fitting requests, drawn from the seeded source; none: in all.
    pub percent: Option<u8>,
}

impl Rule {
    /// Until cleared, every fitting request.
    #[must_use]
    pub fn new(on: On, fault: Fault) -> Self {
        Self { on, fault, times: None, skip: 0, percent: None }
    }

    /// Only for this many requests.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Only once.
    #[must_use]
    pub fn once(self) -> Self {
        self.times(1)
    }

    /// Only after this many fitting requests.
    #[must_use]
    pub fn skip(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    /// Only for some of a hundred fitting requests.
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
