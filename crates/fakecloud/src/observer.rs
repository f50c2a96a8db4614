//! A callback for all events in a cloud, in order.

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

/// The callback, if set.
pub(crate) type Observer = fakehttp::Observer<dyn FnMut(Happening<'_>, &State) + Send>;
