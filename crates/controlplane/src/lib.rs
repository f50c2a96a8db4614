//! Starts a real etcd and kube-apiserver for a test and always stops them. Test support: no
//! shipped crate depends on this crate.
//!
//! In: the folder of binaries that `control-plane/build` makes, or `KUBEBUILDER_ASSETS`.
//! Out: a [`ControlPlane`] with RBAC on, reachable on loopback only, with the
//! content of a fresh API server.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use control_plane::ControlPlane;
//!
//! let Some(plane) = ControlPlane::start().await? else {
//!     return Ok(()); // skipped: one line on stderr says why
//! };
//! let version = plane.client()?.apiserver_version().await?;
//! assert_eq!(version.major, "1");
//! # Ok(())
//! # }
//! ```
//!
//! [`ControlPlane::borrow`] lends a wiped plane of an earlier test, because a start costs
//! seconds of processor time.
//!
//! [`ControlPlane::ipam_provider`] makes a plane a management cluster of Cluster API, in either
//! generation.
//!
//! There is no kubelet and, unless started, no controller: the test writes nodes, pods and their
//! status.
//!
//! Cleanup by the end of a test:
//!
//! | the test                                | stops the processes | deletes the folder |
//! |-----------------------------------------|---------------------|--------------------|
//! | drops the plane, returns or panics      | `Drop`, in order    | janitor, `Drop` waits |
//! | is killed, interrupted, aborts or exits | janitor             | janitor            |
//!
//! The janitor is a small shell beside the plane, explained in `leash.rs`.

mod apiserver;
mod assets;
mod audit;
mod cluster_api;
mod component;
mod controllers;
mod error;
mod etcd;
mod ipam;
mod kubeconfig;
mod leash;
mod loan;
mod plane;
mod port;
mod ready;
mod store;
mod wipe;

pub use assets::{Assets, assets};
pub use audit::AuditEntry;
pub use cluster_api::Generation;
pub use error::Error;
pub use loan::Loan;
pub use plane::ControlPlane;
