//! Tests of several modules together.

pub mod odd_manifests;
