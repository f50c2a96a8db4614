//! In-memory Kubernetes API as a tower service, in process or over TCP.
//!
//! [`FakeKube`] is a server. [`FakeKube::service`] goes into `kube::Client::new`; [`FakeKube::serve`] puts it behind a
//! loopback port for stock `kubectl`. Tests inject [`Rule`]s and read the record of [`Exchange`]s. Time is tokio's
//! throughout: under a paused clock the server is paused too, and everything it does is repeatable from its seed.
//!
//! Served are Node, Pod, Namespace, Event (both groups, one store), ConfigMap, Secret, ServiceAccount, Lease,
//! CustomResourceDefinition, and the kinds of all CustomResourceDefinitions; all verbs; JSON, merge and strategic merge
//! patches; server-side apply; Tables and metadata-only answers; discovery and OpenAPI v3. `tests/api` runs the same requests here and
//! on a real kube-apiserver and compares the answers.
//!
//! What a real API server has and this one has not is answered with 501 and noted
//! ([`FakeKube::unknown_requests`]), never guessed: all other built-in groups and kinds, the subresources of pods other
//! than `status` and `eviction` (binding, log, exec, ...), `nodes/proxy`, `serviceaccounts/token`,
//! `/api/v1/watch/...`, OpenAPI v2, and protobuf bodies other than those that kubectl sends. YAML bodies get 415.
//!
//! Known differences: `managedFields` are kept from an object's first server-side apply on, or from its creation
//! ([`FakeKube::track_managers`], as a real server does), but never of Leases and events, nor of what the server itself
//! writes; there is no authorization and no admission but that of
//! namespaces; controllers are not there, except that a definition's kinds are served at once and the contents of a
//! deleted namespace or definition go at once; dependents are not garbage-collected, so every propagation policy acts
//! like `Background`; conversion webhooks are not called.

mod accept;
mod body;
mod builtin;
mod call;
mod clock;
mod crd;
mod decode;
pub mod discovery;
mod events;
mod faults;
mod handle;
mod ids;
mod lifecycle;
mod managed;
mod news;
mod object;
mod observer;
pub mod openapi;
mod params;
mod patches;
mod pods;
mod protobuf;
mod record;
mod refusal;
pub mod registry;
mod reply;
mod route;
mod rules;
pub mod schema;
mod selector;
mod serve;
mod service;
mod state;
mod store;
mod strategy;
mod stream;
pub mod table;
mod validation;
mod verbs;

pub use body::{Body, Broken};
pub use clock::DEFAULT_BASE;
pub use faults::{Answer, Carried, Fault, On, Rule, RuleId};
pub use handle::FakeKube;
pub use observer::Write;
pub use record::{Exchange, Loss};
pub use serve::Server;
pub use service::{KubeService, Lost};
