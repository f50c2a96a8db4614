//! VIPs of Clusters in a management cluster in memory, with stand-ins for Cluster API and for the
//! IPAM provider, and with garbage collection.

mod life;
mod pools;
mod stage;
