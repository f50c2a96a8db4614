//! Watches over an API server whose answers are written down.

mod following;
mod pausing;
mod script;
