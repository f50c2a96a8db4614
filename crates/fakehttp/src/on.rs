//! Filters of requests.

use http::Method;
use serde::{Deserialize, Serialize};

/// The parts of a request that filters need.
#[derive(Clone, Copy, Debug)]
pub struct Arriving<'a> {
    /// `GET`, `POST`, ...
    pub method: &'a Method,
    /// The path without query.
    pub path: &'a str,
    /// The `User-Agent`; empty if absent.
    pub user_agent: &'a str,
    /// The body as sent.
    pub body: &'a [u8],
    /// Whether the request may change the state.
    pub mutates: bool,
    /// Whether the answer is a stream of changes.
    pub watches: bool,
}

/// Filter of requests. All set conditions must hold.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct On {
    /// `GET`, `POST`, ...
    pub method: Option<String>,
    /// A path without query. `*` stands for a single segment, a final `**` for the rest:
    /// `/things/*/actions`.
    pub path: Option<String>,
    /// Only requests that may change the state, or only reads.
    pub mutating: Option<bool>,
    /// Only watches, or only other requests.
    pub watch: Option<bool>,
    /// Text that the body contains. `"assign"` with its quotes distinguishes an assign from an
    /// unassign.
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

    /// Every request that may change the state.
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

    /// Whether the request passes the filter.
    #[must_use]
    pub fn fits(&self, request: &Arriving<'_>) -> bool {
        let Self { method, path, mutating, watch, body, user_agent } = self;
        method.as_ref().is_none_or(|m| m.eq_ignore_ascii_case(request.method.as_str()))
            && mutating.is_none_or(|m| m == request.mutates)
            && watch.is_none_or(|w| w == request.watches)
            && path.as_ref().is_none_or(|p| path_fits(p, request.path))
            && user_agent.as_ref().is_none_or(|text| request.user_agent.contains(text))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_paths() {
        assert!(path_fits("/things/*/actions", "/things/1.2.3.4/actions"));
        assert!(!path_fits("/things/*", "/things/1.2.3.4/actions"));
        assert!(!path_fits("/things/*", "/things"));
        assert!(path_fits("/things/**", "/things/1.2.3.4/actions"));
        assert!(path_fits("/things/**", "/things"));
    }
}
