//! Kubernetes events, named and timed by our own clock.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};
use pontoon_core::Time;
use pontoon_core::model::{Node, PoolKey};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::status::micro_time;
use crate::api::{GROUP, VERSION};
use crate::connect::WRITE_DEADLINE;
use crate::env::Env;

/// The name under which we report.
pub const CONTROLLER: &str = "pontoon";

/// More than this many events under way at once are not sent: a storm must not take the API
/// server's attention from the writes that matter.
const AT_ONCE: usize = 64;

/// Longest note that the API server takes.
const LONGEST_NOTE: usize = 1024;

/// So many events about one object at once, then one each [`REFILL`]: an object that flaps
/// must not drown the others.
const BURST: f64 = 25.0;
const REFILL: Duration = Duration::from_secs(10);

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// As it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

/// Writes events.
pub struct Events {
    client: Client,
    env: Env,
    instance: String,
    under_way: JoinSet<()>,
    allowances: BTreeMap<String, Allowance>,
}

/// How many more events an object may have.
struct Allowance {
    left: f64,
    at: Time,
}

impl Events {
    /// Events of the replica that is called `instance`.
    pub fn new(client: Client, env: Env, instance: String) -> Self {
        let (under_way, allowances) = (JoinSet::new(), BTreeMap::new());
        Self { client, env, instance, under_way, allowances }
    }

    /// Tells something about an object. Fire and forget: an event that cannot be written is
    /// logged, and nothing waits for it.
    pub fn tell(&mut self, about: ObjectReference, weight: Weight, reason: &str, note: &str) {
        while self.under_way.try_join_next().is_some() {}
        if self.under_way.len() >= AT_ONCE || !self.allows(&about) {
            tracing::debug!(reason, note, "too many events at once; not sent");
            return;
        }
        // Events of cluster-scoped objects live in `default`.
        let namespace = about.namespace.clone().filter(|name| !name.is_empty());
        let namespace = namespace.unwrap_or_else(|| "default".to_owned());
        let name = about.name.as_deref().unwrap_or_default();
        let event = Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{}", self.env.token())),
                namespace: Some(namespace.clone()),
                ..ObjectMeta::default()
            },
            event_time: micro_time(self.env.now()),
            action: Some(reason.to_owned()),
            reason: Some(reason.to_owned()),
            note: Some(note.chars().take(LONGEST_NOTE).collect()),
            regarding: Some(about),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(match weight {
                Weight::Normal => "Normal".to_owned(),
                Weight::Warning => "Warning".to_owned(),
            }),
            ..Event::default()
        };
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        self.env.spawn(&mut self.under_way, async move {
            let params = PostParams::default();
            match timeout(WRITE_DEADLINE, api.create(&params, &event)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, reason = event.reason, "event not written");
                }
                Err(_) => tracing::debug!(reason = event.reason, "event not written in time"),
            }
        });
    }
}

impl Events {
    fn allows(&mut self, about: &ObjectReference) -> bool {
        let now = self.env.now();
        let refilled = |one: &Allowance| {
            let more = now.since(one.at).as_secs_f64() / REFILL.as_secs_f64();
            (one.left + more).min(BURST)
        };
        // Whoever has all of it again need not be remembered.
        self.allowances.retain(|_, one| refilled(one) < BURST);
        let (kind, uid) = (about.kind.as_deref(), about.uid.as_deref());
        let key = format!("{kind:?} {uid:?} {:?}", about.name);
        let allowance = self.allowances.entry(key).or_insert(Allowance { left: BURST, at: now });
        *allowance = Allowance { left: refilled(allowance), at: now };
        let allowed = allowance.left >= 1.0;
        if allowed {
            allowance.left -= 1.0;
        }
        allowed
    }
}

/// A pool, for events about it.
pub fn about_pool(key: &PoolKey, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(format!("{GROUP}/{VERSION}")),
        kind: Some(key.kind.to_owned()),
        namespace: Some(key.namespace.to_string()),
        name: Some(key.name.to_string()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

/// A node, for events about it.
pub fn about_node(node: &Node) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.name.to_string()),
        uid: Some(node.uid.to_string()),
        ..ObjectReference::default()
    }
}

/// The Lease that replicas stand for, for events about the election.
pub fn about_lease(namespace: &str, name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("coordination.k8s.io/v1".to_owned()),
        kind: Some("Lease".to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}
