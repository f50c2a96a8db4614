//! In-memory Kubernetes API as a tower service, in process or over TCP.
//!
//! [`FakeKube`] is a server. [`FakeKube::service`] fits `kube::Client::new`; [`FakeKube::serve`]
//! listens on a loopback port for stock `kubectl`. Tests inject [`Rule`]s and read the record of
//! [`Exchange`]s. Time is tokio's throughout: a paused clock pauses the server, and a seed makes
//! runs repeatable.
//!
//! Served are Node, Pod, Namespace, Event (both groups, a single store), ConfigMap, Secret,
//! ServiceAccount, Lease, Deployment, ReplicaSet, StatefulSet, DaemonSet, PodDisruptionBudget,
//! CustomResourceDefinition, and the kinds of all CustomResourceDefinitions; all verbs; JSON, merge
//! and strategic merge patches; server-side apply; metadata-only answers; the scale of workloads;
//! evictions, which spend the budgets of pods. The feature `kubectl`, on by default, adds what only
//! stock `kubectl` asks for: Tables, discovery, OpenAPI v3, bodies in protobuf. `tests/api` sends the
//! same requests to fakekube and to a real kube-apiserver and compares the answers.
//!
//! Unsupported features get 501 and are recorded ([`FakeKube::unknown_requests`]), never guessed:
//! all other built-in groups and kinds, the subresources of pods other than `status` and `eviction`
//! (binding, log, exec, ...), `nodes/proxy`, `serviceaccounts/token`, `/api/v1/watch/...`, OpenAPI
//! v2, server-side apply of a scale, and protobuf bodies of kinds that kubectl does not send. YAML
//! bodies get 415.
//!
//! Known differences from a real server:
//! * `managedFields` begin with an object's first server-side apply, or with its creation
//!   ([`FakeKube::track_managers`], as on a real server). Leases, events and writes of the server
//!   itself have no `managedFields`.
//! * No authorization, and no admission except for namespaces.
//! * No controllers, except that a definition's kinds are served at once, and that the contents of
//!   a deleted namespace or definition are deleted at once. Workloads make no pods, and nobody
//!   reports the status of a budget.
//! * No garbage collection unless switched on ([`FakeKube::collect_garbage`]): what a deleted object
//!   owned stays, and the finalizers of the policies `Foreground` and `Orphan` wait for somebody to
//!   remove them. On namespaces and definitions every policy acts like `Background`. The collector
//!   writes no events about references to an owner in another namespace.
//! * Conversion webhooks are not called.

mod accept;
mod body;
mod budgets;
mod builtin;
mod call;
mod clock;
mod crd;
mod decode;
mod events;
mod faults;
mod garbage;
mod handle;
mod ids;
mod kubeconfig;
#[cfg(feature = "kubectl")]
pub mod kubectl;
#[cfg(not(feature = "kubectl"))]
#[path = "without_kubectl.rs"]
mod kubectl;
mod label_selector;
mod lifecycle;
mod managed;
mod news;
mod object;
mod observer;
pub mod openapi;
mod params;
mod patches;
mod pod_spec;
mod pods;
mod record;
mod refusal;
pub mod registry;
mod reply;
mod route;
pub mod schema;
mod selector;
mod service;
mod state;
mod store;
mod strategy;
mod stream;
mod validation;
mod verbs;
mod workloads;

pub use body::{Body, Broken};
pub use fakehttp::{Carried, DEFAULT_BASE, Loss, Lost, On, Recording, RuleId, Server};
pub use faults::{Answer, Fault, KubeFault, Rule};
pub use handle::FakeKube;
pub use kubeconfig::write_kubeconfig;
pub use observer::Write;
pub use record::Exchange;
pub use service::KubeService;
