use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::super::gate::{Gate, cluster, judge};
use super::super::{Board, Extension, resting};
use super::{Stage, extension, limits};
use crate::fronts::FRONTS;
use crate::observe::schema::Schema;
use crate::run::Mode;

/// A Cluster of the newer generation, as Cluster API embeds it: without its kind.
fn new(endpoint: Value) -> Value {
    let topology = json!({"classRef": {"name": "rke2"}, "version": "v1.34.0"});
    let metadata = json!({"name": "a", "namespace": "infra", "uid": "u"});
    json!({"metadata": metadata, "spec": {"topology": topology, "controlPlaneEndpoint": endpoint}})
}

/// A Cluster of the older generation.
fn old(endpoint: Value) -> Value {
    let mut cluster = new(endpoint);
    cluster["apiVersion"] = json!("cluster.x-k8s.io/v1beta1");
    cluster["kind"] = json!("Cluster");
    cluster["spec"]["topology"] = json!({"class": "rke2", "version": "v1.34.0"});
    cluster
}

/// Puts a Cluster on the board as the watch does, with our condition.
fn see(board: &Board, mut object: Value, said: Option<(&str, &str)>) {
    let front = FRONTS.iter().find(|front| front.vips().is_some()).unwrap();
    if let Some((reason, message)) = said {
        object["status"] = json!({"conditions": [{
            "type": "vip.capi.gorizond.io/VIPReady", "status": "False", "reason": reason,
            "message": message, "lastTransitionTime": "2026-11-15T03:35:57Z",
        }]});
    }
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let schema = Schema::Theirs(&front.generations()[0]);
    board.see(&front.decode(object, schema).unwrap());
}

#[tokio::test]
async fn the_gate_opens_when_the_host_appears_in_either_generation() {
    let stage = Stage::open().await;
    for (held, open) in [
        (new(json!(null)), new(json!({"host": "192.0.2.5", "port": 6443}))),
        (old(json!({"host": "", "port": 0})), old(json!({"host": "192.0.2.5", "port": 6443}))),
    ] {
        let answer = stage.gate(held).await;
        assert_eq!(
            (answer["status"].as_str(), &answer["retryAfterSeconds"]),
            (Some("Success"), &json!(2))
        );
        assert_eq!(answer["message"], "no VIP yet: Pontoon has not seen this Cluster");
        let answer = stage.gate(open).await;
        assert_eq!(
            (answer["status"].as_str(), &answer["retryAfterSeconds"]),
            (Some("Success"), &json!(0))
        );
        assert_eq!(answer["message"], "the endpoint is 192.0.2.5");
    }
}

#[tokio::test]
async fn a_cluster_that_waits_is_told_why_by_the_condition_that_every_replica_sees() {
    let extension = extension();
    let board = extension.board.clone();
    let stage = Stage::with(extension, limits()).await;
    see(&board, new(json!(null)), Some(("PoolNotFound", "control plane: no VIP pool serves")));
    let answer = stage.gate(new(json!(null))).await;
    assert_eq!(answer["message"], "no VIP yet: control plane: no VIP pool serves");
    assert_eq!(answer["retryAfterSeconds"], 2);
    see(&board, new(json!(null)), None);
    let answer = stage.gate(new(json!(null))).await;
    let expected = "no VIP yet: the Cluster has no condition of Pontoon's; see its events";
    assert_eq!(answer["message"], expected);
    // Times would change the message, and the condition that shows it, at every attempt.
    see(&board, new(json!(null)), Some(("WriteFailed", "timed out; next attempt at 03:35:57")));
    let answer = stage.gate(new(json!(null))).await;
    let expected = "no VIP yet: WriteFailed; see the condition and the events of the Cluster";
    assert_eq!(answer["message"], expected);
}

#[tokio::test]
async fn the_gate_stays_closed_for_a_copy_without_the_vip_although_the_watch_has_seen_the_vip() {
    let extension = extension();
    let board = extension.board.clone();
    let stage = Stage::with(extension, limits()).await;
    see(&board, new(json!({"host": "192.0.2.5", "port": 6443})), None);
    let answer = stage.gate(new(json!(null))).await;
    assert_eq!(answer["retryAfterSeconds"], 2);
    let expected = "no VIP yet: 192.0.2.5 is set, and Cluster API is about to read it";
    assert_eq!(answer["message"], expected);
    let mut another = new(json!(null));
    another["metadata"]["uid"] = json!("of a Cluster of the same name");
    let answer = stage.gate(another).await;
    assert_eq!(answer["message"], "no VIP yet: Pontoon has not seen this Cluster");
}

#[test]
fn a_cluster_that_gets_no_vip_of_ours_is_not_held_back() {
    let opened = |object: &Value, classes| match judge(&cluster(object).unwrap(), classes, None) {
        Gate::Open(why) => why,
        Gate::Held(why) => panic!("held: {why}"),
    };
    let mut manual = new(json!(null));
    manual["spec"]["topology"]["variables"] = json!([{"name": "clusterVip", "value": "192.0.2.9"}]);
    assert_eq!(opened(&manual, None), "the VIP is 192.0.2.9, by the topology's variable");
    let plain = json!({"metadata": {"name": "a", "namespace": "infra"}});
    assert_eq!(opened(&plain, None), "the Cluster has no class, and asks for no VIP");
    let other = "the setting classes does not name the class infra/rke2";
    assert_eq!(opened(&new(json!(null)), Some("docker, other/rke2")), other);
}

#[test]
fn the_setting_names_the_classes_that_are_held_back() {
    let object = cluster(&new(json!(null))).unwrap();
    for classes in [None, Some("rke2"), Some("docker, rke2"), Some("infra/rke2")] {
        assert!(matches!(judge(&object, classes, None), Gate::Held(_)), "{classes:?}");
    }
}

#[tokio::test]
async fn a_replica_that_gives_no_vips_holds_no_cluster_back() {
    assert_eq!(resting(true, Mode::Active), None);
    for (gives, mode) in [(false, Mode::Active), (true, Mode::Observe)] {
        let mut extension = extension();
        extension.resting = resting(gives, mode);
        let stage = Stage::with(extension, limits()).await;
        let answer = stage.gate(new(json!(null))).await;
        assert_eq!(answer["retryAfterSeconds"], 0, "{answer}");
        assert!(answer["message"].as_str().unwrap().starts_with("nothing to wait for: "));
    }
}

#[tokio::test]
async fn a_cluster_outside_the_namespace_that_is_served_is_not_held_back() {
    for (served, retry) in [("infra", 2), ("other", 0)] {
        let extension = Extension { namespace: Some(served.to_owned()), ..extension() };
        let stage = Stage::with(extension, limits()).await;
        let answer = stage.gate(new(json!(null))).await;
        assert_eq!(answer["retryAfterSeconds"], retry, "{answer}");
    }
}
