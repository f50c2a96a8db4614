//! Watches over an API server whose answers are written down.

mod decoding;
mod following;
mod pausing;
pub(crate) mod script;
mod watching;
