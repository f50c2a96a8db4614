//! Clusters, claims, addresses, VIP pools and classes, as far as planning reads them.

mod claim;
mod cluster;
mod job;
mod pool;
mod settings;

pub use claim::{ClaimOwner, Holder, ObjectName, VipAddress, VipClaim};
pub use cluster::{ClassRef, Cluster, ClusterClass, Ingress, VipNames};
pub use job::{Job, Role, Slot};
pub use pool::{Entries, PoolId, PoolScope, Room, VipPool};
pub use settings::VipSettings;
