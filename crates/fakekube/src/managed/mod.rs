//! Server-side apply: ownership of fields, and merging of applied configurations.
//!
//! Follows Kubernetes' field manager. All versions of a kind are assumed to have the same fields.

mod fields;
mod managers;
mod typed;
mod types;
mod unfit;

use serde_json::{Map, Value, json};

use crate::registry::Kind;
use crate::strategy::Special;
use fields::Fields;
use managers::{Manager, Share};
use typed::Comparison;
use types::Type;

pub(crate) use managers::Managers;

/// The annotation in which kubectl's client-side apply keeps its last configuration.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The parts of a write that matter for ownership.
pub(crate) struct Writing<'a> {
    pub(crate) kind: &'a Kind,
    /// Name of the field manager.
    pub(crate) manager: &'a str,
    /// `status`, `scale`, or empty.
    pub(crate) subresource: &'a str,
    /// Time of the write, in the format of metadata.
    pub(crate) time: &'a str,
}

/// The reason why an apply failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unapplied {
    /// Other managers own the fields: manager and path, as messages show them.
    Conflicts(Vec<(String, String)>),
    /// The configuration does not fit the schema. Holds the message.
    Unfit(String),
    /// No schema of the kind is available.
    Untyped,
}

/// Whether field managers of a kind are tracked. Leases and events are not tracked: they are
/// written most often and never applied.
pub(crate) fn is_managed(kind: &Kind) -> bool {
    !matches!(Special::of(kind), Special::Lease | Special::Event | Special::NewEvent)
}

/// The zero value of a kind in Go, which has some parts even when empty.
pub(crate) fn zero(kind: &Kind) -> Value {
    let template = json!({"metadata": {}, "spec": {"containers": null}});
    let mut zero = match Special::of(kind) {
        Special::Pod => json!({"spec": {"containers": null}, "status": {}}),
        Special::Node | Special::Namespace => json!({"spec": {}, "status": {}}),
        Special::Deployment => json!({
            "spec": {"selector": null, "template": template, "strategy": {}}, "status": {},
        }),
        Special::ReplicaSet => json!({
            "spec": {"selector": null, "template": template}, "status": {"replicas": 0},
        }),
        Special::StatefulSet => json!({
            "spec": {"selector": null, "template": template, "serviceName": "", "updateStrategy": {}},
            "status": {"replicas": 0, "availableReplicas": 0},
        }),
        Special::DaemonSet => json!({
            "spec": {"selector": null, "template": template, "updateStrategy": {}},
            "status": {
                "currentNumberScheduled": 0, "numberMisscheduled": 0,
                "desiredNumberScheduled": 0, "numberReady": 0,
            },
        }),
        Special::Budget => json!({
            "spec": {},
            "status": {
                "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
            },
        }),
        Special::Definition => json!({
            "spec": {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": null},
            "status": {"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": null},
        }),
        _ => json!({}),
    };
    zero["apiVersion"] = json!(kind.api_version());
    zero["kind"] = json!(kind.kind);
    if kind.built_in() {
        zero["metadata"] = json!({});
    }
    zero
}

/// Fields without an owner.
fn unowned() -> Fields {
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let top = [&["apiVersion"][..], &["kind"], &["metadata"]].map(Fields::path);
    let below = metadata.map(|field| Fields::path(&["metadata", field]));
    top.iter().chain(&below).fold(Fields::default(), |all, one| all.union(one))
}

impl Writing<'_> {
    /// Fields that a request to this subresource cannot change. Their values in the request are
    /// ignored.
    fn reset(&self) -> Fields {
        let special = Special::of(self.kind);
        let paths: &[&[&str]] = match (self.subresource, special) {
            ("scale", _) => &[&["status"]],
            ("", _) if self.kind.status_subresource => &[&["status"]],
            ("", _) => &[],
            (_, Special::Custom) => &[&["metadata"], &["spec"]],
            (_, Special::Pod) => {
                &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
            }
            (_, Special::Deployment) => &[&["spec"], &["metadata", "labels"]],
            _ => &[&["spec"]],
        };
        paths.iter().fold(Fields::default(), |all, path| all.union(&Fields::path(path)))
    }

    fn id(&self, name: &str, applies: bool) -> Manager {
        Manager {
            name: name.to_owned(),
            applies,
            version: if applies { String::new() } else { self.kind.api_version() },
            subresource: self.subresource.to_owned(),
        }
    }

    /// The managers after an update of `old` to `new`.
    pub(crate) fn updated(&self, old: &Value, new: &Value, managers: Managers) -> Managers {
        let Some(of) = Type::of(self.kind) else { return managers };
        self.update(of, self.manager, old, new, managers)
    }

    fn update(
        &self,
        of: Type<'_>,
        name: &str,
        old: &Value,
        new: &Value,
        mut managers: Managers,
    ) -> Managers {
        let all = typed::compare(Some(&bare(old)), Some(&bare(new)), of);
        let seen = all.without(&self.reset());
        for share in managers.0.values_mut() {
            share.fields = after(&share.fields, &seen);
        }
        managers.tidy();
        let gained = all.modified.union(&all.added);
        let gained = gained.without(&self.reset()).difference(&unowned());
        if !gained.is_empty() {
            let id = self.id(name, false);
            let before = managers.0.remove(&id).map(|share| share.fields).unwrap_or_default();
            let share = Share {
                version: self.kind.api_version(),
                fields: gained.union(&before),
                time: Some(self.time.to_owned()),
            };
            managers.0.insert(id, share);
        }
        managers.cap();
        managers
    }

    /// The object and its managers after an apply of `config` to `live`.
    pub(crate) fn applied(
        &self,
        live: &Value,
        config: &Value,
        mut managers: Managers,
        force: bool,
    ) -> Result<(Value, Managers), Unapplied> {
        let of = Type::of(self.kind).ok_or(Unapplied::Untyped)?;
        self.check(of, config)?;
        let live = bare(live);
        if managers.0.is_empty() {
            let zero = zero(self.kind);
            managers = self.update(of, "before-first-apply", &zero, &live, managers);
        }
        let mut outcome = self.apply(of, &live, config, managers.clone(), force);
        if self.manager == "kubectl"
            && let Err(Unapplied::Conflicts(conflicts)) = &mut outcome
            && let Some(allowed) = self.last_applied(of, &live)
        {
            conflicts.retain(|(_, path)| !allowed.contains(path));
            if conflicts.is_empty() {
                outcome = self.apply(of, &live, config, managers, true);
            }
        }
        let (mut object, managers) = outcome?;
        let annotation = annotations(&mut object).and_then(|all| all.get_mut(LAST_APPLIED));
        if let Some(last) = annotation.filter(|_| self.manager == "kubectl")
            && last.as_str().is_some_and(|text| !text.is_empty())
        {
            let mut config = config.clone();
            annotations(&mut config).into_iter().for_each(|own| drop(own.remove(LAST_APPLIED)));
            *last = json!(format!("{config}\n"));
        }
        Ok((object, managers))
    }

    fn apply(
        &self,
        of: Type<'_>,
        live: &Value,
        config: &Value,
        mut managers: Managers,
        force: bool,
    ) -> Result<(Value, Managers), Unapplied> {
        let id = self.id(self.manager, true);
        let merged = typed::merge(Some(live), Some(config), of).unwrap_or_else(|| json!({}));
        let last = managers.0.remove(&id);
        let fields = typed::fields(config, of).without(&self.reset());
        let time = last.as_ref().and_then(|last| last.time.clone());
        let share = Share { version: self.kind.api_version(), fields, time };
        managers.0.insert(id.clone(), share);
        let object = prune(merged, &managers, last.map(|last| last.fields), of);
        let all = typed::compare(Some(live), Some(&object), of).without(&self.reset());
        let taken = all.modified.union(&all.added);
        let mut others: Vec<_> = managers.0.iter().filter(|(manager, _)| **manager != id).collect();
        others.sort_by_key(|(manager, _)| (&manager.name, !manager.applies, *manager));
        let conflicts = others.into_iter().flat_map(|(manager, share)| {
            let paths = share.fields.intersection(&taken).paths();
            paths.into_iter().map(|path| (manager.in_words(), path))
        });
        let conflicts: Vec<_> = conflicts.collect();
        if !force && !conflicts.is_empty() {
            return Err(Unapplied::Conflicts(conflicts));
        }
        for (manager, share) in &mut managers.0 {
            if *manager != id {
                share.fields = after(&share.fields, &all);
            }
        }
        if let Some(share) = managers.0.get_mut(&id) {
            share.fields = share.fields.difference(&unowned());
            if object != *live {
                share.time = Some(self.time.to_owned());
            }
        }
        managers.tidy();
        Ok((object, managers))
    }

    fn check(&self, of: Type<'_>, config: &Value) -> Result<(), Unapplied> {
        let reasons = unfit::reasons(config, of);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let why = match reasons.as_slice() {
            [] => return Ok(()),
            [one] => one.clone(),
            many => format!("errors:\n  {}", many.join("\n  ")),
        };
        let metadata = &config["metadata"];
        Err(Unapplied::Unfit(format!(
            "failed to create typed patch object ({}/{}; {}/{}, Kind={}): {why}",
            text(&metadata["namespace"]),
            text(&metadata["name"]),
            self.kind.group,
            self.kind.version,
            self.kind.kind,
        )))
    }

    /// Paths from kubectl's client-side apply that are unchanged since. kubectl may take them over.
    fn last_applied(&self, of: Type<'_>, live: &Value) -> Option<Vec<String>> {
        let text = live["metadata"]["annotations"][LAST_APPLIED].as_str()?;
        let last: Value = serde_json::from_str(text).ok()?;
        if last["apiVersion"] != json!(self.kind.api_version()) {
            return None;
        }
        let Comparison { added, modified, removed } = typed::compare(Some(&last), Some(live), of);
        let own = typed::fields(&last, of);
        Some(own.difference(&modified).difference(&added).difference(&removed).paths())
    }
}

/// The fields that a manager keeps after a change by another manager.
fn after(fields: &Fields, change: &Comparison) -> Fields {
    let taken = change.modified.union(&change.added).union(&change.removed);
    fields.difference(&taken)
}

/// Removes fields that the manager applied last time but not now, unless another manager owns them.
fn prune(merged: Value, managers: &Managers, last: Option<Fields>, of: Type<'_>) -> Value {
    let Some(last) = last.filter(|last| !last.is_empty()) else { return merged };
    let named = |fields: &Fields| typed::with_named(fields, of);
    let fields_of = |value: &Value| named(&typed::fields(value, of));
    let last = named(&last);
    let pruned = typed::remove(&merged, &last, of).unwrap_or_else(|| json!({}));
    let shares = managers.0.values().map(|share| &share.fields);
    let owned = shares.fold(Fields::default(), |all, one| all.union(one));
    let kept = fields_of(&pruned).union(&named(&owned));
    let all = fields_of(&merged);
    let pruned = typed::remove(&merged, &all.difference(&kept), of).unwrap_or_else(|| json!({}));
    // Fields that the manager did not own before stay.
    let dangling = all.difference(&fields_of(&pruned)).intersection(&last);
    let mut left = typed::remove(&merged, &dangling, of).unwrap_or_else(|| json!({}));
    if !of.is_custom() {
        drop_nulls(&mut left);
    }
    left
}

/// Removes fields without a value, which Go's types of built-in kinds do not show.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn annotations(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
}

/// An object without its managers.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    crate::object::forget(&mut object, "managedFields");
    object
}
