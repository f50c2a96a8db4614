//! ip-address-controller's README, executed: its manifests as printed, and a test for each promise
//! of the page.
//!
//! | part of the page | here, or where the promise is proven already |
//! |---|---|
//! | quick start: install, deploy, create, verify | `installation` |
//! | the example; `reservedIPs`, `nodeSelector`, `cloud.region`, `cloud.zones` | `example` |
//! | automatic allocation, the label `ip.ready=true` | `example`, `allocations::placing` |
//! | smart reallocation, the reallocation flow: a Deployment | `allocations::google`, `allocations::draining` |
//! | workload types: StatefulSet, DaemonSet | `workloads` |
//! | a cordoned node without a node to go to | `allocations::draining` |
//! | eviction of pods | `allocations::evicting` |
//! | leader election, replicas | `around`; the Lease of the page: `migrating` |
//! | `reconcileInterval` | `core/tests/planner/reading.rs` |
//! | health endpoints, environment variables | `around` |
//! | metrics, queries | `metrics` |
//! | alerts | `alerts` |
//! | permissions at Google | `around` |
//! | RBAC, PodMonitor | `installation` |
//! | troubleshooting: its commands about the cluster | `installation`, `migrating` |
//! | from v1.0.x to v1.1: `deploymentRef` | `example`, `allocations::placing`, `tests/crds/allocations.rs` |
//! | the definition, with stored objects | `tests/crds/allocation_upgrade.rs`, `allocations::upgrading` |
//!
//! Not tested: the dashboard, which Pontoon does not have yet, the commands of `gcloud`, and the
//! development of the predecessor. AWS and Azure are announced there, and not served: new objects
//! are refused (`tests/crds/allocations.rs`), stored ones say so (`allocations::upgrading`).

mod alerts;
mod around;
mod example;
mod installation;
mod metrics;
pub mod migrating;
mod stage;
mod workloads;
