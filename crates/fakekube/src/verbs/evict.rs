//! Eviction of pods, as far as their disruption budgets allow it.

use fakehttp::seconds;
use serde_json::{Value, json};

use crate::object::{deleting, meta};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::route::key;
use crate::{accept, budgets, label_selector};

use super::Turn;
use super::delete::Options;

/// What an eviction does to the budget of a pod.
enum Cost {
    /// There is none, or it is spent.
    Settled,
    /// The budget does not count the pod, as long as the pod stays as it is.
    Uncounted,
}

impl Turn<'_> {
    /// POST to a pod's `eviction`: its budget is spent, the pod is marked as disrupted, then
    /// deleted.
    pub(super) fn evict(mut self) -> Result<Reply, Refusal> {
        accept::readable(self.call.content_type())?;
        self.params.check_write("CreateOptions")?;
        let mut eviction = self.eviction()?;
        self.place(&mut eviction)?;
        let name = self.target.name.clone().unwrap_or_default();
        if meta(&eviction, "name") != name {
            let message = "name in URL does not match name in Eviction object";
            return Err(Refusal::bad_request(message));
        }
        let mut options = Options::read(&self.params, &eviction["deleteOptions"])?;
        let (kind, key) = (self.kind(), self.target.key());
        let found = self.state.store.get(&kind.storage, &key).cloned();
        let found = found.ok_or_else(|| Refusal::not_found(&kind, &name))?;
        if let Cost::Uncounted = self.pay(&found, options.dry)? {
            // The server replaces the asked version by that of the pod.
            options.version = None;
        }
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

    /// Spends the budget of a pod, or refuses its eviction.
    fn pay(&mut self, pod: &Value, dry: bool) -> Result<Cost, Refusal> {
        let idle =
            matches!(pod["status"]["phase"].as_str(), Some("Pending" | "Succeeded" | "Failed"));
        let place = ("policy".to_owned(), "poddisruptionbudgets".to_owned());
        if idle || deleting(pod) {
            return Ok(Cost::Settled);
        }
        let prefix = self.target.namespace.as_deref().map(|name| format!("{name}/"));
        let all = self.state.store.objects(&place);
        let mut fitting = all.iter().filter(|(key, budget)| {
            prefix.as_deref().is_some_and(|prefix| key.starts_with(prefix))
                && label_selector::selects(&budget["spec"]["selector"], &pod["metadata"]["labels"])
        });
        let Some((_, budget)) = fitting.next() else {
            return Ok(Cost::Settled);
        };
        if fitting.next().is_some() {
            let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(Refusal::unexpected(why));
        }
        if !is_ready(pod) && budgets::frees_unready(budget) {
            return Ok(Cost::Uncounted);
        }
        let spent = budgets::spend(budget, meta(pod, "name"), &seconds(self.now))?;
        let key = key(self.target.namespace.as_deref(), meta(budget, "name"));
        if !dry {
            self.state.store.put(&place, &key, spent);
        }
        Ok(Cost::Settled)
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

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
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
