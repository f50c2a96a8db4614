//! VIPs of Clusters: the known Clusters, claims, addresses and VIP pools, and the plan.
//!
//! A Cluster gets its VIPs by claims. A provider of addresses, which is not ours, binds each claim
//! to an address of the claim's VIP pool.

pub(crate) mod action;
mod fold;
pub mod model;
pub(crate) mod plan;
pub mod verdict;
mod world;

pub use world::{Tally, VipSource};

pub(crate) use world::Vips;
