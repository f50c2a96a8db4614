//! The ways to patch an object. All functions are pure.

pub(crate) mod json;
pub(crate) mod merge;
pub(crate) mod order;
pub(crate) mod strategic;
