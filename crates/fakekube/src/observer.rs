//! Somebody who is told of every write, in order, as it happens.

use std::fmt;

use serde_json::Value;

/// One write, whoever made it.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The API group of the object; empty for the core group.
    pub group: &'a str,
    /// The plural of its kind, in lower case.
    pub plural: &'a str,
    /// `namespace/name`, or `name` where there are no namespaces.
    pub key: &'a str,
    /// The object before it; none if it was made.
    pub before: Option<&'a Value>,
    /// The object after it; none if it is gone.
    pub after: Option<&'a Value>,
}

type Told = Box<dyn FnMut(Write<'_>) + Send>;

/// Who is told.
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
