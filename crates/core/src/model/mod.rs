//! The nouns: nodes, pods, pools, addresses. Plain values, already validated.

mod address;
mod name;
mod node;
mod pool;

pub use address::{Family, Sighting};
pub use name::{AccountId, Machine, MachineId, NodeName, OperationId, PodId, PoolKey, Text};
pub use node::{Effect, Labels, Marks, Node, Pod, Taint};
pub use pool::{Drift, Finding, Intent, Ledger, Pool, Remembered, Request, Resolution};
