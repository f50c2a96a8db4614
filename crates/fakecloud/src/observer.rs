//! Somebody who is told of everything that happens in a cloud, in order, as it happens.

use std::fmt;

use crate::store::State;

/// What happened. The state that comes with it is the one after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening<'a> {
    /// A request had its effect, if it has one. Its caller may not have been answered yet.
    Effect {
        /// As sent.
        user_agent: &'a str,
    },
    /// A request was lost before it had an effect.
    Lost {
        /// As sent.
        user_agent: &'a str,
    },
    /// Something else changed the state: an operation ended, or somebody acted by hand.
    Change,
}

type Told = Box<dyn FnMut(Happening<'_>, &State) + Send>;

/// Who is told.
#[derive(Default)]
pub(crate) struct Observer(Option<Told>);

impl Observer {
    pub(crate) fn new(told: impl FnMut(Happening<'_>, &State) + Send + 'static) -> Self {
        Self(Some(Box::new(told)))
    }

    pub(crate) fn tell(&mut self, happening: Happening<'_>, state: &State) {
        if let Some(told) = &mut self.0 {
            told(happening, state);
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.is_some()).finish()
    }
}
