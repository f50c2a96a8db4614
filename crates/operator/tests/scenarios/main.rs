//! The operator as its users meet it: the real binary, on a real API server, with the
//! emulated cloud over TCP. One binary, so that the control plane is linked once.

mod arena;
mod bad_input;
mod creation;
mod faults;
mod placement;
mod replica;
mod takeover;
mod upgrade;
