//! capi-vip-allocator's README, executed: its manifests as printed (descriptions left out), and a test
//! for each promise of the page. The IPAM provider's part is played by hand; `clusters` has the real one.
//!
//! | part of the page | here, or where the promise is proven already |
//! |---|---|
//! | features: allocation by class, no VIP in the manifest, the variable | `quick_start` |
//! | features: cleanup by ownerReferences | `quick_start` |
//! | features: leader election, health checks | `around` |
//! | installation | `installing::clusterctl`, `permissions` |
//! | create a pool, create a Cluster, verification | `quick_start` |
//! | pool selection by labels; lists in labels, which no API server accepts | `selecting` |
//! | manual VIP | `selecting` |
//! | configuration options | `around`, `src/args/tests.rs` |
//! | step 1, the variable; a class without it | `quick_start`, `troubleshooting` |
//! | steps 2 and 3, the complete class: which patches an API server accepts | `classes` |
//! | steps 2 and 3: the VIP arrives in the templates, kube-vip | `rke2_example` |
//! | troubleshooting | `troubleshooting` |
//! | architecture: owner, claim, variable before the topology | `quick_start` |
//!
//! The alerts that the predecessor ships: `alerts`. From it to Pontoon: `migrating`. Not tested: CAPIProvider objects of Rancher Turtles, cert-manager, the
//! workload cluster's kube-vip, and the development of the predecessor.

mod alerts;
mod around;
mod classes;
mod installation;
pub mod migrating;
mod quick_start;
mod selecting;
pub mod stage;
mod troubleshooting;
