//! Faults of selected requests.
//!
//! A [`Rule`] holds a filter of requests ([`On`]), a [`Fault`] and a count. Rules are checked in
//! the order of their creation when a request arrives. All rules that match and are not used up
//! apply together: delays add up, and the first of two answers wins.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::rules::Arriving;

/// Filter of requests. All set conditions must hold.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct On {
    /// `GET`, `POST`, ...
    pub method: Option<String>,
    /// A path without query. `*` stands for a single segment, a final `**` for the rest:
    /// `/v2/reserved_ips/*/actions`.
    pub path: Option<String>,
    /// Only requests that may change the state, or only reads.
    pub mutating: Option<bool>,
    /// Text that the body contains. `"assign"` with its quotes distinguishes an assign from an
    /// unassign.
    pub body: Option<String>,
}

impl On {
    /// Every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Every request that may change the state.
    #[must_use]
    pub fn mutations() -> Self {
        Self { mutating: Some(true), ..Self::default() }
    }

    /// Every read.
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

    /// Narrows the filter to bodies that contain `text`.
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

/// An answer that replaces the vendor's answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Message in the vendor's error body; by default the vendor's usual message.
    #[serde(default)]
    pub message: Option<String>,
    /// Additional headers.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// Content type and body that replace the vendor's body, as from a proxy.
    #[serde(default)]
    pub raw: Option<(String, String)>,
}

impl Answer {
    /// A status with the vendor's usual body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, message: None, headers: Vec::new(), raw: None }
    }

    /// Replaces the message in the vendor's body.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.message = Some(message.to_owned());
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Replaces the whole body.
    #[must_use]
    pub fn raw(mut self, content_type: &str, body: &str) -> Self {
        self.raw = Some((content_type.to_owned(), body.to_owned()));
        self
    }
}

/// The failure that a rule causes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Answers with a failure; the request has no effect.
    Answer(Answer),
    /// Answers with a failure, although the request has its effect, as a gateway does after a
    /// timeout.
    AnswerAfterEffect(Answer),
    /// The connection breaks before the effect: no answer, no effect.
    LostBefore,
    /// The connection breaks after the effect: no answer.
    LostAfter,
    /// Delays the request before its effect.
    DelayBefore(#[serde(with = "crate::millis")] Duration),
    /// Delays the answer after the effect.
    DelayAfter(#[serde(with = "crate::millis")] Duration),
    /// Executes the request twice, as after a retry by a proxy; the second answer is returned.
    Duplicated,
    /// Sets the duration of the action that the request starts.
    ActionTakes(#[serde(with = "crate::millis")] Duration),
    /// Makes the action that the request starts end as errored.
    ActionErrors,
    /// Makes the action that the request starts end as completed, but without effect.
    ActionIgnored,
    /// Hides the action that the request starts from reads for the given time.
    ActionHidden(#[serde(with = "crate::millis")] Duration),
    /// Drops an item from the second and later pages of a listing, as if an earlier item had been
    /// deleted meanwhile.
    PageGap,
}

/// Faults that a request carries as an extension, for callers in the same process that choose
/// faults per request. Applied after the faults of the rules.
#[derive(Clone, Debug, Default)]
pub struct Carried(pub Vec<Fault>);

/// Handle of an injected rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub(crate) u64);

/// A fault with its filter and its limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The requests to which the rule applies.
    #[serde(default)]
    pub on: On,
    /// The failure of these requests.
    pub fault: Fault,
    /// Number of requests to which the rule applies; `None`: until cleared.
    #[serde(default)]
    pub times: Option<u64>,
    /// Number of matching requests that pass unharmed first.
    #[serde(default)]
    pub skip: u64,
    /// Share of the matching requests in percent, drawn from the seeded source; `None`: all.
    #[serde(default)]
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

/// The moment at which the connection of a request breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The request had no effect.
    BeforeEffect,
    /// The request had its effect.
    AfterEffect,
    /// The request had its effect and an answer, but the caller was gone.
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
