//! A callback for all events in a cloud, in order.

use std::fmt;

use crate::store::State;

/// An event in a cloud. The callback also gets the state after the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening<'a> {
    /// A request was executed, with or without an effect. The answer may still be pending.
    Effect {
        /// `User-Agent` of the request.
        user_agent: &'a str,
    },
    /// A request was lost before its effect.
    Lost {
        /// `User-Agent` of the request.
        user_agent: &'a str,
    },
    /// Another change of the state: an operation ended, or a test acted by hand.
    Change,
}

type Told = Box<dyn FnMut(Happening<'_>, &State) + Send>;

/// The callback, if set.
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
