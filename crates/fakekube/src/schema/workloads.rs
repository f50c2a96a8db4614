//! Validation of Deployments, ReplicaSets, StatefulSets and DaemonSets.

use serde_json::Value;

use super::counts::{amount, not_negative, share};
use super::{Cause, builtin, metadata, names, selectors};
use crate::label_selector;

/// Checks the spec and the counts in the status. With an old object, checks an update.
pub(super) fn check(kind: &str, new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = &new["spec"];
    let counts: &[&str] = match kind {
        "Deployment" => {
            &["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"]
        }
        "DaemonSet" => &["minReadySeconds", "revisionHistoryLimit"],
        _ => &["replicas", "minReadySeconds"],
    };
    not_negative(spec, "spec", counts, causes);
    if check_selector(kind, spec, causes) || kind == "DaemonSet" {
        check_template(kind, &spec["template"], causes);
    }
    match kind {
        "Deployment" => {
            deployment_strategy(&spec["strategy"], causes);
            deadline(spec, causes);
        }
        "DaemonSet" => daemon_strategy(&spec["updateStrategy"], causes),
        "StatefulSet" => stateful(spec, causes),
        _ => {}
    }
    check_status(kind, &new["status"], causes);
    if let Some(old) = old {
        unchanged(kind, spec, &old["spec"], causes);
    }
}

/// Returns whether the selector has a meaning.
fn check_selector(kind: &str, spec: &Value, causes: &mut Vec<Cause>) -> bool {
    let (selector, path) = (&spec["selector"], "spec.selector");
    let before = causes.len();
    selectors::check(selector, path, causes);
    if causes.len() > before {
        match kind {
            "DaemonSet" => {}
            "StatefulSet" => causes.push(Cause::invalid(path, selector, "")),
            _ => causes.push(Cause::invalid(path, selector, "invalid label selector")),
        }
        return false;
    }
    if selector.is_null() && kind != "DaemonSet" {
        causes.push(Cause::required(path, ""));
    }
    if !selector.is_null() && selectors::is_empty(selector) {
        // The server calls a ReplicaSet a deployment here.
        let what = if kind == "ReplicaSet" { "deployment".to_owned() } else { kind.to_lowercase() };
        let why = format!("empty selector is invalid for {what}");
        causes.push(Cause::invalid(path, selector, why));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if !label_selector::selects(selector, labels) {
        let why = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", labels, why));
    }
    true
}

fn check_template(kind: &str, template: &Value, causes: &mut Vec<Cause>) {
    let (meta, pod) = (&template["metadata"], &template["spec"]);
    metadata::labels(&meta["labels"], "spec.template.labels", causes);
    metadata::annotations(&meta["annotations"], "spec.template.annotations", causes);
    builtin::containers(pod, "spec.template.spec", causes);
    if pod["restartPolicy"] != "Always" {
        let field = "spec.template.spec.restartPolicy";
        causes.push(Cause::not_supported(field, &pod["restartPolicy"], &["Always".to_owned()]));
    }
    if !pod["activeDeadlineSeconds"].is_null() {
        // The server calls a Deployment a ReplicaSet here.
        let what = if kind == "Deployment" { "ReplicaSet" } else { kind };
        let why = format!("activeDeadlineSeconds in {what} is not Supported");
        causes.push(Cause::forbidden("spec.template.spec.activeDeadlineSeconds", why));
    }
}

fn deadline(spec: &Value, causes: &mut Vec<Cause>) {
    let ready = spec["minReadySeconds"].as_i64().unwrap_or_default();
    let deadline = &spec["progressDeadlineSeconds"];
    if deadline.as_i64().is_some_and(|deadline| deadline <= ready) {
        let why = "must be greater than minReadySeconds";
        causes.push(Cause::invalid("spec.progressDeadlineSeconds", deadline, why));
    }
}

fn deployment_strategy(strategy: &Value, causes: &mut Vec<Cause>) {
    let rolling = &strategy["rollingUpdate"];
    let path = "spec.strategy.rollingUpdate";
    match strategy["type"].as_str().unwrap_or_default() {
        "RollingUpdate" => {
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            share(unavailable, &format!("{path}.maxUnavailable"), true, causes);
            share(surge, &format!("{path}.maxSurge"), false, causes);
            if amount(unavailable) == 0 && amount(surge) == 0 {
                let why = "may not be 0 when `maxSurge` is 0";
                causes.push(Cause::invalid(format!("{path}.maxUnavailable"), unavailable, why));
            }
        }
        "Recreate" => {
            if !rolling.is_null() {
                let why = "may not be specified when strategy `type` is 'Recreate'";
                causes.push(Cause::forbidden(path, why));
            }
        }
        _ => causes.push(unknown("spec.strategy", strategy, ["Recreate", "RollingUpdate"])),
    }
}

fn daemon_strategy(strategy: &Value, causes: &mut Vec<Cause>) {
    let rolling = &strategy["rollingUpdate"];
    let path = "spec.updateStrategy.rollingUpdate";
    match strategy["type"].as_str().unwrap_or_default() {
        "OnDelete" => {}
        "RollingUpdate" => {
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            share(unavailable, &format!("{path}.maxUnavailable"), true, causes);
            share(surge, &format!("{path}.maxSurge"), true, causes);
            match (amount(unavailable), amount(surge)) {
                (0, 0) => {
                    let why = "cannot be 0 when maxSurge is 0";
                    causes.push(Cause::required(format!("{path}.maxUnavailable"), why));
                }
                (0, _) | (_, 0) => {}
                _ => {
                    let why = "may not be set when maxUnavailable is non-zero";
                    causes.push(Cause::invalid(format!("{path}.maxSurge"), surge, why));
                }
            }
        }
        _ => causes.push(unknown("spec.updateStrategy", strategy, ["RollingUpdate", "OnDelete"])),
    }
}

/// A strategy of an unknown type. The server shows its own type of the strategy.
fn unknown(path: &str, strategy: &Value, known: [&str; 2]) -> Cause {
    let cause = Cause::not_supported(path, strategy, &known.map(str::to_owned));
    let shown = format!("{{\"Type\":{},\"RollingUpdate\":null}}", strategy["type"]);
    Cause { message: format!("Unsupported value: {shown}: {}", cause.detail), ..cause }
}

fn stateful(spec: &Value, causes: &mut Vec<Cause>) {
    let policy = &spec["podManagementPolicy"];
    if policy != "OrderedReady" && policy != "Parallel" {
        let why = "must be 'OrderedReady' or 'Parallel'";
        causes.push(Cause::invalid("spec.podManagementPolicy", policy, why));
    }
    let strategy = &spec["updateStrategy"];
    let path = "spec.updateStrategy";
    match strategy["type"].as_str().unwrap_or_default() {
        "RollingUpdate" => {
            let path = format!("{path}.rollingUpdate");
            not_negative(&strategy["rollingUpdate"], &path, &["partition"], causes);
        }
        "OnDelete" => {}
        _ => {
            let why = "must be 'RollingUpdate' or 'OnDelete'";
            let shown = format!("{{\"Type\":{},\"RollingUpdate\":null}}", strategy["type"]);
            let message = format!("Invalid value: {shown}: {why}");
            causes.push(Cause { message, ..Cause::invalid(path, strategy, why) });
        }
    }
    let retention = &spec["persistentVolumeClaimRetentionPolicy"];
    for when in ["whenDeleted", "whenScaled"] {
        let known = ["Retain", "Delete"];
        if !known.iter().any(|policy| retention[when] == *policy) {
            let field = format!("spec.persistentVolumeClaimRetentionPolicy.{when}");
            let known = known.map(str::to_owned);
            causes.push(Cause::not_supported(field, &retention[when], &known));
        }
    }
}

fn check_status(kind: &str, status: &Value, causes: &mut Vec<Cause>) {
    let fields: Vec<&str> =
        status.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    not_negative(status, "status", &fields, causes);
    let count = |name: &str| status[name].as_i64().unwrap_or_default();
    let parts = [
        "fullyLabeledReplicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ];
    for part in parts.into_iter().filter(|part| count(part) > count("replicas")) {
        let why = "cannot be greater than status.replicas";
        causes.push(Cause::invalid(format!("status.{part}"), &status[part], why));
    }
    if count("availableReplicas") > count("readyReplicas") {
        let path = if kind == "StatefulSet" { "status." } else { "" };
        let why = format!("cannot be greater than {path}readyReplicas");
        causes.push(Cause::invalid("status.availableReplicas", &status["availableReplicas"], why));
    }
}

fn unchanged(kind: &str, new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    if kind != "StatefulSet" {
        if new["selector"] != old["selector"] {
            causes.push(Cause::invalid("spec.selector", &new["selector"], "field is immutable"));
        }
        return;
    }
    let free = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    let fixed = |spec: &Value| {
        let mut spec = spec.clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|name, _| !free.contains(&name.as_str()));
        }
        spec
    };
    if fixed(new) != fixed(old) {
        let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        causes.push(Cause::forbidden("spec", why));
    }
}

/// What the server warns of in an accepted object of a built-in kind.
pub(crate) fn warnings(kind: &str, new: &Value, created: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    let wrong = names::dns1123_label(name);
    if created && matches!(kind, "Deployment" | "ReplicaSet") && !wrong.is_empty() {
        let wrong = wrong.join(" ");
        warnings.push(format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [{wrong}]"
        ));
    }
    let limit = new["spec"]["revisionHistoryLimit"].as_i64().unwrap_or_default();
    if kind == "StatefulSet" && limit < 0 {
        let why = "a negative value retains all historical revisions; a value >= 0 is recommended";
        warnings.push(format!("spec.revisionHistoryLimit: {why}"));
    }
    warnings
}
