//! Turns the selection of nodes in a spec into rules for planning.

use pontoon_core::model::Finding;
use pontoon_core::nodes::{Cordon, Match, PodMatch, Selector, Toleration};

use super::types;
use crate::fronts::observed::{finding, given};

/// The rules for nodes that a spec gives.
pub(in crate::fronts) fn matching(wanted: &types::Match) -> Result<Match, Finding> {
    let selector = |field: &str, text: &str| {
        Selector::parse(text).map_err(|error| {
            let problem = format!("spec.match.{field} \"{text}\" is not a label selector: {error}");
            finding("InvalidSelector", problem)
        })
    };
    let asks_for_pods = !wanted.pod_label.is_empty() || !wanted.pod_namespace.is_empty();
    let pod_labels = selector("podLabel", &wanted.pod_label)?;
    let tolerations = wanted.tolerations.iter().filter_map(toleration).collect();
    Ok(Match {
        nodes: selector("nodeLabel", &wanted.node_label)?,
        pods: asks_for_pods.then(|| PodMatch {
            namespace: given(&wanted.pod_namespace),
            labels: pod_labels,
            ..PodMatch::default()
        }),
        tolerations,
        // A cordoned node is judged by its taint.
        cordon: Cordon::Tainted,
    })
}

/// A toleration with Kubernetes' semantics: an empty key matches every key, and an unknown operator
/// tolerates nothing.
fn toleration(toleration: &types::Toleration) -> Option<Toleration> {
    let value = match toleration.operator.as_str() {
        "Exists" => None,
        "" | "Equal" => Some(toleration.value.as_str().into()),
        _ => return None,
    };
    let effect = given(&toleration.effect).map(|effect| (&*effect).into());
    Some(Toleration { key: given(&toleration.key), value, effect })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toleration_without_a_key_is_for_every_key_and_one_of_an_unknown_kind_for_none() {
        let tolerates = |toleration: serde_json::Value, value: &str| {
            let wanted = serde_json::json!({"tolerations": [toleration]});
            let wanted = matching(&serde_json::from_value(wanted).unwrap()).unwrap();
            let taint = pontoon_core::model::Taint {
                key: "k".into(),
                value: value.into(),
                effect: "NoSchedule".into(),
            };
            wanted.tolerations.iter().any(|one| one.tolerates(&taint))
        };
        assert!(tolerates(serde_json::json!({"operator": "Exists"}), "v"));
        assert!(tolerates(serde_json::json!({}), ""));
        assert!(!tolerates(serde_json::json!({}), "v"));
        assert!(tolerates(serde_json::json!({"key": "k"}), ""));
        assert!(!tolerates(serde_json::json!({"key": "k", "effect": "NoExecute"}), ""));
        assert!(!tolerates(serde_json::json!({"operator": "exists"}), ""));
    }
}
