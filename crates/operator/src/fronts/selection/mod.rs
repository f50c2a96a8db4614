//! Selection of nodes, by labels, pods and taints, as several kinds have it.

mod decode;
mod rules;
mod types;

pub(super) use decode::matching;
pub use types::{Match, Toleration};
