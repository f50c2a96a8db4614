//! BeforeClusterCreate: a new Cluster is held back until its endpoint has a VIP.
//!
//! The gate opens only by the Cluster in the request. Cluster API goes on with that very copy: a newer
//! one, which shows the VIP already, would not help the templates that are rendered next. What the
//! watches have seen explains the wait, and never ends it.

use kube::api::DynamicObject;
use pontoon_core::vips::model::{ClassRef, Cluster};
use serde_json::{Value, json};

use super::Extension;
use super::board::Seen;
use super::message::short;
use crate::fronts::{FRONTS, Front};
use crate::observe::schema::Schema;

/// Seconds until Cluster API asks again.
const RETRY: u32 = 2;

/// The setting of the ExtensionConfig that names the classes whose Clusters are held back.
const CLASSES: &str = "classes";

/// Reasons whose message has a time in it.
const TIMED: [&str; 3] = ["WriteRejected", "WriteForbidden", "WriteFailed"];

/// The answer of the gate, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    Open(String),
    Held(String),
}

/// Answers a request.
pub(super) fn answer(extension: &Extension, request: &Value) -> Result<Value, String> {
    let cluster = cluster(&request["cluster"])?;
    let classes = request["settings"][CLASSES].as_str();
    let seen = extension.board.seen(&cluster.key).filter(|seen| seen.uid == cluster.uid);
    let gate = match (extension.resting, &extension.namespace) {
        (Some(why), _) => Gate::Open(format!("nothing to wait for: {why}")),
        (None, Some(ours)) if **ours != *cluster.key.namespace => {
            Gate::Open(format!("nothing to wait for: Pontoon serves the namespace {ours} alone"))
        }
        (None, _) => judge(&cluster, classes, seen.as_ref()),
    };
    tracing::debug!(cluster = %cluster.key, ?gate, "BeforeClusterCreate");
    let (message, retry) = match gate {
        Gate::Open(why) => (why, 0),
        Gate::Held(why) => (why, RETRY),
    };
    Ok(json!({"message": message, "retryAfterSeconds": retry}))
}

/// The Cluster of a request, in either generation.
pub(super) fn cluster(object: &Value) -> Result<Cluster, String> {
    let front = vip_front().ok_or("this Pontoon knows no Clusters")?;
    let (group, name) = (front.kind().group, front.kind().name);
    if !object.is_object() {
        return Err("cluster of the request is missing".to_owned());
    }
    // Cluster API leaves both out of embedded objects.
    let version = object["apiVersion"].as_str().filter(|text| !text.is_empty());
    let of_group = |version: &str| version.split_once('/').is_some_and(|(one, _)| one == group);
    if let Some(version) = version.filter(|version| !of_group(version)) {
        return Err(format!("cluster.apiVersion is {}, not of {group}", short(version)));
    }
    let kind = object["kind"].as_str().filter(|text| !text.is_empty());
    if let Some(kind) = kind.filter(|kind| *kind != name) {
        return Err(format!("cluster.kind is {}, not {name}", short(kind)));
    }
    let object: DynamicObject = serde_json::from_value(object.clone())
        .map_err(|error| format!("cluster of the request cannot be read: {error}"))?;
    let decoded = front.decode(object, Schema::Current).and_then(|observed| observed.vips);
    decoded.ok_or_else(|| "cluster.metadata.name is missing".to_owned())
}

/// The front of the Clusters that the hooks are about.
pub(super) fn vip_front() -> Option<&'static dyn Front> {
    FRONTS.iter().copied().find(|front| front.vips().is_some())
}

/// Whether a Cluster may be created, and why.
pub(super) fn judge(cluster: &Cluster, classes: Option<&str>, seen: Option<&Seen>) -> Gate {
    if let Some(host) = &cluster.host {
        return Gate::Open(format!("the endpoint is {host}"));
    }
    if let Some(value) = &cluster.variable {
        return Gate::Open(format!("the VIP is {value}, by the topology's variable"));
    }
    let Some(class) = &cluster.class else {
        return Gate::Open("the Cluster has no class, and asks for no VIP".to_owned());
    };
    if classes.is_some_and(|list| !lists(list, class)) {
        return Gate::Open(format!("the setting {CLASSES} does not name the class {class}"));
    }
    Gate::Held(format!("no VIP yet: {}", wait(seen)))
}

/// Whether a list has a class, as `name` or as `namespace/name`.
fn lists(list: &str, class: &ClassRef) -> bool {
    let full = class.to_string();
    list.split(',').map(str::trim).any(|entry| entry == class.name.as_ref() || entry == full)
}

/// What a Cluster waits for.
fn wait(seen: Option<&Seen>) -> String {
    match seen {
        None => "Pontoon has not seen this Cluster".to_owned(),
        Some(Seen { host: Some(host), .. }) => {
            format!("{host} is set, and Cluster API is about to read it")
        }
        Some(Seen { said: Some((reason, message)), .. }) => match reason.as_str() {
            timed if TIMED.contains(&timed) => {
                format!("{timed}; see the condition and the events of the Cluster")
            }
            _ => message.clone(),
        },
        Some(_) => "the Cluster has no condition of Pontoon's; see its events".to_owned(),
    }
}
