//! Server-side apply, and field ownership after any write.

use std::borrow::Cow;

use fakehttp::seconds;
use serde_json::{Value, json};

use crate::managed::{self, Managers, Unapplied, Writing};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::strategy::Special;
use crate::{decode, object, pods, validation};

use super::Turn;

impl Turn<'_> {
    /// Whether a PATCH is a server-side apply.
    pub(super) fn applies(&self) -> bool {
        let given = self.call.content_type().and_then(|text| text.split(';').next());
        given.map(str::trim) == Some("application/apply-patch+yaml")
    }

    /// PATCH with an applied configuration of an object or its status.
    pub(super) fn apply_config(mut self) -> Result<Reply, Refusal> {
        self.params.check_apply()?;
        let kind = self.kind();
        if !managed::is_managed(&kind) {
            return Err(Refusal::unsupported("server-side apply of Leases and events"));
        }
        let config = self.config()?;
        let name = self.target.name.clone().unwrap_or_default();
        let old = self.state.store.get(&kind.storage, &self.target.key()).cloned();
        if old.is_none() && self.target.sub.is_some() {
            return Err(Refusal::not_found(&kind, &name));
        }
        let live = old.as_ref().map(|old| object::load(&kind, old));
        let live = live.unwrap_or_else(|| managed::zero(&kind));
        let managers = Managers::decode(&live["metadata"]["managedFields"]);
        let (manager, time) = (self.manager(), seconds(self.now));
        let force = self.params.force == Some(true);
        let applied = self.writing(&kind, &manager, &time).applied(&live, &config, managers, force);
        let (mut object, managers) = applied.map_err(|error| match error {
            Unapplied::Conflicts(conflicts) => Refusal::apply_conflicts(&conflicts),
            Unapplied::Unfit(why) => Refusal::unexpected(why),
            Unapplied::Untyped => Refusal::unsupported("server-side apply of this kind"),
        })?;
        if decode::mismatch(&kind, &object).is_some() {
            return Err(Refusal::unsupported("a server-side apply with a value of another type"));
        }
        validation::prune(&self.state.registry, &kind, &mut object);
        self.check_name(&object)?;
        self.place(&mut object)?;
        let Some(old) = old else {
            let uid = object::meta(&object, "uid");
            if !uid.is_empty() {
                return Err(Refusal::applied_to_nobody(&kind, &name, uid));
            }
            object::forget(&mut object, "resourceVersion");
            let stored = self.insert(object, Some(managers))?;
            return self.object_reply(201, &stored);
        };
        self.check_patched_version(&object, &old)?;
        let stored = self.replace(object, &old, Some(managers))?;
        self.object_reply(200, &stored)
    }

    /// The applied configuration, checked to be of the path's kind.
    fn config(&self) -> Result<Value, Refusal> {
        let kind = &self.target.kind;
        // Clients send JSON, a subset of YAML.
        let config: Value = serde_json::from_slice(&self.call.body)
            .map_err(|_| Refusal::unsupported("YAML that is not JSON"))?;
        let text = |field: &str| config[field].as_str().unwrap_or_default();
        let (version, given) = (text("apiVersion"), text("kind"));
        if version != kind.api_version() || given != kind.kind {
            let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
            let message = format!("invalid object type: {group}/{version}, Kind={given}");
            return Err(Refusal::bad_request(message));
        }
        if !config["metadata"]["managedFields"].is_null() {
            return Err(Refusal::bad_request("metadata.managedFields must be nil"));
        }
        if !config["metadata"].is_object() {
            return Err(Refusal::unsupported("a server-side apply without metadata"));
        }
        Ok(config)
    }

    /// The field manager that the request names, or else its user agent.
    fn manager(&self) -> String {
        if !self.params.field_manager.is_empty() {
            return self.params.field_manager.clone();
        }
        let agent = self.call.user_agent().split('/').next().unwrap_or_default();
        let agent: String = agent.chars().filter(|letter| !letter.is_control()).take(128).collect();
        if agent.is_empty() { "unknown".to_owned() } else { agent }
    }

    fn writing<'a>(
        &self,
        kind: &'a crate::registry::Kind,
        manager: &'a str,
        time: &'a str,
    ) -> Writing<'a> {
        let subresource = match self.target.sub.as_deref() {
            Some("status") => "status",
            Some("scale") => "scale",
            _ => "",
        };
        Writing { kind, manager, subresource, time }
    }

    /// Sets the owners of a new object's fields.
    pub(super) fn own_new(&self, object: &mut Value, applied: Option<Managers>) {
        let kind = self.kind();
        let managers = match applied {
            Some(managers) => managers,
            None if self.state.tracks && managed::is_managed(&kind) => {
                let (manager, time) = (self.manager(), seconds(self.now));
                let writing = self.writing(&kind, &manager, &time);
                let sent = as_sent(Special::of(&kind), object);
                writing.updated(&managed::zero(&kind), &sent, Managers::default())
            }
            None => return,
        };
        show(object, &managers);
    }

    /// Updates the owners of a changed object's fields. `given` is `managedFields` of the request.
    pub(super) fn own(
        &self,
        object: &mut Value,
        old: &Value,
        given: &Value,
        applied: Option<Managers>,
    ) {
        object::forget(object, "managedFields");
        let kind = self.kind();
        let before = Managers::decode(&old["metadata"]["managedFields"]);
        let mut managers = match applied {
            Some(managers) => managers,
            None => {
                let base = match Managers::decode(given) {
                    _ if self.status_only() => before.clone(),
                    _ if *given == json!([{}]) => Managers::default(),
                    named if named == Managers::default() => before.clone(),
                    named => named,
                };
                if base == Managers::default() {
                    base
                } else {
                    let (manager, time) = (self.manager(), seconds(self.now));
                    let [old, new] = [old, &*object].map(|object| self.as_owned(object));
                    self.writing(&kind, &manager, &time).updated(&old, &new, base)
                }
            }
        };
        let mut bare = old.clone();
        object::forget(&mut bare, "managedFields");
        // A write without changes keeps the old owners and times.
        if *object == bare && !managers.differs(&before) {
            managers = before;
        }
        show(object, &managers);
    }

    /// The object as its managers see it: a scale omits 0 replicas.
    fn as_owned<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        let none = object["spec"]["replicas"] == json!(0);
        if self.target.sub.as_deref() != Some("scale") || !none {
            return Cow::Borrowed(object);
        }
        let mut object = object.clone();
        object["spec"].as_object_mut().map(|spec| spec.remove("replicas"));
        Cow::Owned(object)
    }
}

fn show(object: &mut Value, managers: &Managers) {
    if *managers != Managers::default() {
        object["metadata"]["managedFields"] = managers.encode();
    }
}

/// A new object without the fields that the server adds after it has set the owners.
fn as_sent(special: Special, object: &Value) -> Value {
    let mut sent = object.clone();
    match special {
        Special::Namespace => sent["spec"] = json!({}),
        Special::Pod => pods::without_admission(&mut sent),
        _ => {}
    }
    sent
}
