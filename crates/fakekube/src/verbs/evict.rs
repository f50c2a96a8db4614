//! Eviction of pods. fakekube has no disruption budgets, so every eviction is allowed.

use fakehttp::seconds;
use serde_json::{Value, json};

use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::{accept, object};

use super::Turn;
use super::delete::Options;

impl Turn<'_> {
    /// POST to a pod's `eviction`: the pod is marked as disrupted, then deleted.
    pub(super) fn evict(mut self) -> Result<Reply, Refusal> {
        accept::readable(self.call.content_type())?;
        self.params.check_write("CreateOptions")?;
        let mut eviction = self.eviction()?;
        self.place(&mut eviction)?;
        let name = self.target.name.clone().unwrap_or_default();
        if object::meta(&eviction, "name") != name {
            let message = "name in URL does not match name in Eviction object";
            return Err(Refusal::bad_request(message));
        }
        let options = Options::read(&self.params, &eviction["deleteOptions"])?;
        let (kind, key) = (self.kind(), self.target.key());
        let found = self.state.store.get(&kind.storage, &key).cloned();
        let found = found.ok_or_else(|| Refusal::not_found(&kind, &name))?;
        self.check_preconditions(&name, &found, &options)?;
        if !options.dry {
            let mut pod = (*found).clone();
            disrupt(&mut pod, &seconds(self.now));
            if pod != *found {
                self.state.store.put(&kind.storage, &key, pod);
            }
        }
        self.delete_one(&key, &name, &Options { version: None, ..options })?;
        Ok(Reply::json(
            201,
            json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
            }),
        ))
    }

    fn eviction(&self) -> Result<Value, Refusal> {
        let eviction: Value = serde_json::from_slice(&self.call.body)
            .map_err(|error| Refusal::bad_request(error.to_string()))?;
        let says = (&eviction["apiVersion"], &eviction["kind"]);
        if says != (&json!("policy/v1"), &json!("Eviction")) || !eviction["metadata"].is_object() {
            return Err(Refusal::unsupported("an eviction that is not of policy/v1"));
        }
        Ok(eviction)
    }
}

/// Sets the condition `DisruptionTarget`.
fn disrupt(pod: &mut Value, at: &str) {
    let mut condition = json!({
        "type": "DisruptionTarget", "status": "True", "lastProbeTime": null,
        "lastTransitionTime": at, "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    });
    if !pod["status"]["conditions"].is_array() {
        pod["status"]["conditions"] = json!([]);
    }
    let Some(conditions) = pod["status"]["conditions"].as_array_mut() else { return };
    match conditions.iter_mut().find(|one| one["type"] == "DisruptionTarget") {
        Some(before) => {
            if before["status"] == "True" {
                condition["lastTransitionTime"] = before["lastTransitionTime"].take();
            }
            *before = condition;
        }
        None => conditions.push(condition),
    }
}
