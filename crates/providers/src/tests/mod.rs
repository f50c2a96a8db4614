//! Guarantees of every provider alike.

mod endpoints;
