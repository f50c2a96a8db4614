//! Layers around a [`Transport`](crate::Transport).
//!
//! From the outside in: the [budget](Budget) of the credential, the [deadline](within) of the
//! request, and the [gate](Gate) directly around the sender. A provider's `open` adds the first
//! two; the creator of the transport adds the gate.

mod budget;
mod deadline;
pub(crate) mod gate;

pub use budget::{
    Budget, Burst, Headroom, HeldBack, Priority, RateRules, is_too_many, retry_after,
};
pub use deadline::within;
pub use gate::{Gate, on_behalf_of};

pub(crate) use budget::sent_at;
