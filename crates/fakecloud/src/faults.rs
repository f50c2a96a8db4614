//! Faults: what happens to some requests only, or to the next few.
//!
//! A [`Rule`] says which requests ([`On`]), what ([`Fault`]) and how often. Rules are looked at in the order in which
//! they were made when a request arrives; all that fit and are not used up apply together (delays add up, of two
//! answers the first wins).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::rules::Arriving;

/// Which requests a rule is about. Everything that is set must fit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct On {
    /// `GET`, `POST`, ...
    pub method: Option<String>,
    /// A path without query, `*` for any one segment, `**` at the end for the rest: `/v2/reserved_ips/*/actions`.
    pub path: Option<String>,
    /// Only requests that mean to change something, or only those that do not.
    pub mutating: Option<bool>,
    /// Text that the body contains: `"assign"` with its quotes tells an assign from an unassign.
    pub body: Option<String>,
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

    /// Every request that only reads.
    #[must_use]
    pub fn reads() -> Self {
        Self { mutating: Some(false), ..Self::default() }
    }

    /// Requests of a method to a path pattern.
    #[must_use]
    pub fn call(method: &str, path: &str) -> Self {
        Self { method: Some(method.to_owned()), ..Self::path(path) }
    }

    /// Requests to a path pattern.
    #[must_use]
    pub fn path(path: &str) -> Self {
        Self { path: Some(path.to_owned()), ..Self::default() }
    }

    /// Further narrowed to bodies that contain this text.
    #[must_use]
    pub fn with_body(mut self, text: &str) -> Self {
        self.body = Some(text.to_owned());
        self
    }

    pub(crate) fn fits(&self, request: &Arriving<'_>) -> bool {
        let Self { method, path, mutating, body } = self;
        method.as_ref().is_none_or(|m| m.eq_ignore_ascii_case(request.method.as_str()))
            && mutating.is_none_or(|m| m == request.mutates)
            && path.as_ref().is_none_or(|p| path_fits(p, request.path))
            && body.as_ref().is_none_or(|text| String::from_utf8_lossy(request.body).contains(text))
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

/// An answer in place of the vendor's own.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The message in the vendor's error body; the vendor's usual one where none is given.
    #[serde(default)]
    pub message: Option<String>,
    /// Further headers.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// A body of another content type, as proxies send it, instead of the vendor's.
    #[serde(default)]
    pub raw: Option<(String, String)>,
}

impl Answer {
    /// A status with the vendor's usual body for it.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, message: None, headers: Vec::new(), raw: None }
    }

    /// With this message in the vendor's body.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.message = Some(message.to_owned());
        self
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With exactly this body.
    #[must_use]
    pub fn raw(mut self, content_type: &str, body: &str) -> Self {
        self.raw = Some((content_type.to_owned(), body.to_owned()));
        self
    }
}

/// What goes wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The request is answered like this and has no effect.
    Answer(Answer),
    /// The request has its effect, but is answered like this: a gateway that gave up waiting.
    AnswerAfterEffect(Answer),
    /// The connection breaks before the effect: no answer, no effect.
    LostBefore,
    /// The connection breaks after the effect: no answer.
    LostAfter,
    /// This much later before the effect.
    DelayBefore(#[serde(with = "crate::millis")] Duration),
    /// This much later after the effect: the answer is late.
    DelayAfter(#[serde(with = "crate::millis")] Duration),
    /// The request arrives twice (a proxy tried again); the second answer is given.
    Duplicated,
    /// The action that the request starts takes this long.
    ActionTakes(#[serde(with = "crate::millis")] Duration),
    /// The action that the request starts ends as errored.
    ActionErrors,
    /// The action that the request starts ends as completed, but moves nothing.
    ActionIgnored,
    /// The action that the request starts is unknown to reads for this long.
    ActionHidden(#[serde(with = "crate::millis")] Duration),
    /// From the second page on, a listing has lost one item, as if an earlier one had been deleted meanwhile.
    PageGap,
}

/// Faults that one request brings along, as an extension of it; they apply after those of the rules. For callers in the
/// same process that decide for each request what befalls it.
#[derive(Clone, Debug, Default)]
pub struct Carried(pub Vec<Fault>);

/// Names a rule that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub(crate) u64);

/// Which requests, what, how often.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which requests.
    #[serde(default)]
    pub on: On,
    /// What goes wrong.
    pub fault: Fault,
    /// How many requests; none: until cleared.
    #[serde(default)]
    pub times: Option<u64>,
    /// How many fitting requests are let through first.
    #[serde(default)]
    pub skip: u64,
    /// In how many of a hundred fitting requests, drawn from the seeded source; none: in all.
    #[serde(default)]
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

/// When the connection of a request breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The request had no effect.
    BeforeEffect,
    /// The request had its effect.
    AfterEffect,
    /// The request had its effect and was answered, but the caller had gone by then.
    CallerGone,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_paths() {
        assert!(path_fits("/v2/reserved_ips/*/actions", "/v2/reserved_ips/1.2.3.4/actions"));
        assert!(!path_fits("/v2/reserved_ips/*", "/v2/reserved_ips/1.2.3.4/actions"));
        assert!(!path_fits("/v2/reserved_ips/*", "/v2/reserved_ips"));
        assert!(path_fits("/v2/reserved_ips/**", "/v2/reserved_ips/1.2.3.4/actions"));
        assert!(path_fits("/v2/reserved_ips/**", "/v2/reserved_ips"));
    }
}
