//! A callback for every write, in order.

use serde_json::Value;

/// A write, by a client or by the server.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The API group of the object; empty for the core group.
    pub group: &'a str,
    /// The plural of the object's kind, in lower case.
    pub plural: &'a str,
    /// `namespace/name`, or `name` for cluster-scoped kinds.
    pub key: &'a str,
    /// The object before the write; `None` for a creation.
    pub before: Option<&'a Value>,
    /// The object after the write; `None` for a deletion.
    pub after: Option<&'a Value>,
}

/// The callback, if set.
pub(crate) type Observer = fakehttp::Observer<dyn FnMut(Write<'_>) + Send>;
