//! What wraps a [`Transport`](crate::Transport).
//!
//! From the outside in: the [budget](Budget) of the credential, the [deadline](within) of
//! the call, and the [gate](Gate) directly around what sends. A vendor's `open` adds the
//! first two; whoever makes the transport adds the gate.

mod budget;
mod deadline;
pub(crate) mod gate;

pub use budget::{Budget, Burst, Headroom, Hold, Priority, RateRules, retry_after};
pub use deadline::within;
pub use gate::Gate;

pub(crate) use budget::sent_at;
