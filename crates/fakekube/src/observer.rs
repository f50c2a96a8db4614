//! A callback for every write, in order.

use std::fmt;

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

type Told = Box<dyn FnMut(Write<'_>) + Send>;

/// The callback, if set.
#[derive(Default)]
pub(crate) struct Observer(Option<Told>);

impl Observer {
    pub(crate) fn new(told: impl FnMut(Write<'_>) + Send + 'static) -> Self {
        Self(Some(Box::new(told)))
    }

    pub(crate) fn tell(&mut self, write: Write<'_>) {
        if let Some(told) = &mut self.0 {
            told(write);
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.is_some()).finish()
    }
}
