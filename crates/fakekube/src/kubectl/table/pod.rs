//! The row of a Pod.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Row;
use super::age::{age_of, since_or_unknown};

pub(super) fn row(pod: &Value, now: Timestamp) -> Row {
    let summary = Summary::of(pod);
    let none = |text: &Value| match text.as_str() {
        None | Some("") => Value::from("<none>"),
        Some(text) => Value::from(text),
    };
    let restarts = match &summary.last_restart {
        Some(time) if summary.restarts != 0 => {
            let ago = since_or_unknown(&Value::from(time.as_str()), now);
            format!("{} ({ago} ago)", summary.restarts)
        }
        _ => summary.restarts.to_string(),
    };
    let cells = vec![
        pod["metadata"]["name"].clone(),
        Value::from(format!("{}/{}", summary.ready, summary.total)),
        Value::from(summary.reason.as_str()),
        Value::from(restarts),
        age_of(pod, now),
        none(&pod["status"]["podIPs"][0]["ip"]),
        none(&pod["spec"]["nodeName"]),
        none(&pod["status"]["nominatedNodeName"]),
        Value::from(readiness_gates(pod)),
    ];
    let ended = |message: &str| {
        let reason = &pod["status"]["phase"];
        json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}])
    };
    let conditions = match pod["status"]["phase"].as_str() {
        Some("Succeeded") => Some(ended("The pod has completed successfully.")),
        Some("Failed") => Some(ended("The pod failed.")),
        _ => None,
    };
    Row { cells, conditions }
}

/// Summary of the containers' statuses.
#[derive(Default)]
struct Summary {
    reason: String,
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: Option<String>,
}

impl Summary {
    fn of(pod: &Value) -> Self {
        let sidecars = list(&pod["spec"]["initContainers"]).filter(|init| is_sidecar(init)).count();
        let mut summary = Self {
            reason: initial_reason(pod),
            total: list(&pod["spec"]["containers"]).count() + sidecars,
            ..Self::default()
        };
        let mut of_sidecars = (0, None);
        let initializing = summary.add_init_containers(pod, &mut of_sidecars);
        if !initializing || condition(pod, "Initialized") == Some(true) {
            (summary.restarts, summary.last_restart) = of_sidecars;
            summary.add_containers(pod);
        }
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            let phase = pod["status"]["phase"].as_str().unwrap_or_default();
            if pod["status"]["reason"] == "NodeLost" {
                summary.reason = "Unknown".to_owned();
            } else if !matches!(phase, "Succeeded" | "Failed") {
                summary.reason = "Terminating".to_owned();
            }
        }
        summary
    }

    /// Adds the init containers; returns whether the pod still initializes.
    fn add_init_containers(&mut self, pod: &Value, sidecars: &mut (i64, Option<String>)) -> bool {
        let specs: Vec<_> = list(&pod["spec"]["initContainers"]).collect();
        for (index, status) in list(&pod["status"]["initContainerStatuses"]).enumerate() {
            count(status, &mut self.restarts, &mut self.last_restart);
            let spec = specs.iter().find(|spec| spec["name"] == status["name"]);
            let sidecar = spec.is_some_and(|spec| is_sidecar(spec));
            if sidecar {
                count(status, &mut sidecars.0, &mut sidecars.1);
            }
            let terminated = &status["state"]["terminated"];
            if terminated.is_object() && terminated["exitCode"].as_i64().unwrap_or_default() == 0 {
                continue;
            }
            if sidecar && status["started"] == Value::Bool(true) {
                self.ready += usize::from(status["ready"] == Value::Bool(true));
                continue;
            }
            let waiting = status["state"]["waiting"]["reason"].as_str().unwrap_or_default();
            self.reason = if terminated.is_object() {
                format!("Init:{}", ended(terminated))
            } else if !matches!(waiting, "" | "PodInitializing") {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{}", specs.len())
            };
            return true;
        }
        false
    }

    fn add_containers(&mut self, pod: &Value) {
        let mut running = false;
        let mut failed = None;
        let statuses: Vec<_> = list(&pod["status"]["containerStatuses"]).collect();
        for status in statuses.into_iter().rev() {
            count(status, &mut self.restarts, &mut self.last_restart);
            let state = &status["state"];
            let waiting = state["waiting"]["reason"].as_str().unwrap_or_default();
            if !waiting.is_empty() {
                self.reason = waiting.to_owned();
            } else if state["terminated"].is_object() {
                self.reason = ended(&state["terminated"]);
                if state["terminated"]["exitCode"].as_i64().unwrap_or_default() != 0 {
                    failed = Some(self.reason.clone());
                }
            } else if status["ready"] == Value::Bool(true) && state["running"].is_object() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if running && condition(pod, "Ready") == Some(true) {
                self.reason = "Running".to_owned();
            } else if let Some(failed) = failed {
                self.reason = failed;
            } else if running {
                self.reason = "NotReady".to_owned();
            }
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn initial_reason(pod: &Value) -> String {
    let gated = list(&pod["status"]["conditions"]).any(|condition| {
        condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated"
    });
    if gated {
        return "SchedulingGated".to_owned();
    }
    match pod["status"]["reason"].as_str() {
        None | Some("") => pod["status"]["phase"].as_str().unwrap_or_default().to_owned(),
        Some(reason) => reason.to_owned(),
    }
}

/// Adds a container's restarts.
fn count(status: &Value, restarts: &mut i64, last: &mut Option<String>) {
    *restarts += status["restartCount"].as_i64().unwrap_or_default();
    let ended = status["lastState"]["terminated"]["finishedAt"].as_str();
    // Times in the same zone sort as texts.
    if let Some(ended) = ended.filter(|ended| last.as_deref().is_none_or(|last| last < *ended)) {
        *last = Some(ended.to_owned());
    }
}

/// The reason why a container ended.
fn ended(terminated: &Value) -> String {
    let number = |field: &str| terminated[field].as_i64().unwrap_or_default();
    match terminated["reason"].as_str() {
        None | Some("") if number("signal") != 0 => format!("Signal:{}", number("signal")),
        None | Some("") => format!("ExitCode:{}", number("exitCode")),
        Some(reason) => reason.to_owned(),
    }
}

/// Whether a condition is true; `None` if absent.
fn condition(pod: &Value, name: &str) -> Option<bool> {
    let found = list(&pod["status"]["conditions"]).find(|condition| condition["type"] == name)?;
    Some(found["status"] == "True")
}

fn readiness_gates(pod: &Value) -> String {
    let gates: Vec<_> = list(&pod["spec"]["readinessGates"])
        .filter_map(|gate| gate["conditionType"].as_str())
        .collect();
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| condition(pod, gate) == Some(true)).count();
    format!("{open}/{}", gates.len())
}
