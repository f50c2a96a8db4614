//! Operations: busy, failed, hidden, awaited and repeated ones.

use std::time::Duration;

use fakecloud::{CloudFault, Fault, On, Rule};
use serde_json::{Value, json};

use super::client::{delete, get, ip, post};
use super::{
    A, B, TAKES, UUID, add, addresses, cloud, config, done, instance, path, refused, remove,
};

#[tokio::test(start_paused = true)]
async fn a_busy_instance_or_address_is_not_ready() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = TAKES);
    remove(&cloud, 2).await;
    refused(&add(&cloud, 2, Some(B)).await, 400, "resourceNotReady");
    tokio::time::advance(TAKES).await;
    cloud.busy_address(ip(B), TAKES);
    refused(&add(&cloud, 2, Some(B)).await, 400, "resourceNotReady");
    let path = format!("{}/ip-198-51-100-102", addresses());
    refused(&delete(&cloud, &path).await, 400, "resourceNotReady");
    cloud.busy_machine(1, "reset", TAKES);
    refused(&remove(&cloud, 1).await, 400, "resourceNotReady");
    tokio::time::advance(TAKES).await;
    assert_eq!(add(&cloud, 2, Some(B)).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_failed_operation_is_done_with_an_error_and_without_effect() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = TAKES);
    let fails = || Rule::new(On::mutations(), Fault::Own(CloudFault::ActionErrors)).once();
    cloud.inject(fails());
    let made = post(&cloud, &addresses(), json!({"name": "web"})).await;
    tokio::time::advance(TAKES).await;
    assert_eq!(done(&cloud, &made).await["error"]["errors"][0]["code"], "INTERNAL_ERROR");
    assert_eq!(cloud.addresses().len(), 2);
    refused(&get(&cloud, &format!("{}/web", addresses())).await, 404, "notFound");
    cloud.inject(fails());
    let freed = remove(&cloud, 1).await;
    tokio::time::advance(TAKES).await;
    assert!(done(&cloud, &freed).await["error"]["errors"][0]["message"].is_string());
    assert_eq!(cloud.holder(ip(A)), Some(1));
    cloud.inject(Rule::new(On::mutations(), Fault::Own(CloudFault::ActionIgnored)).once());
    let freed = remove(&cloud, 1).await;
    tokio::time::advance(TAKES).await;
    assert_eq!(done(&cloud, &freed).await.get("error"), None);
    assert_eq!(cloud.holder(ip(A)), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_hidden_operation_is_not_found_at_first() {
    let cloud = cloud();
    cloud.set(|k| k.action_hidden = Duration::from_secs(2));
    let freed = remove(&cloud, 1).await;
    refused(&get(&cloud, &path(&freed.body)).await, 404, "notFound");
    tokio::time::advance(Duration::from_secs(2)).await;
    done(&cloud, &freed).await;
}

#[tokio::test(start_paused = true)]
async fn reads_lag_behind_and_changes_do_not() {
    let cloud = cloud();
    cloud.set(|k| k.read_lag = Duration::from_secs(3));
    remove(&cloud, 1).await;
    assert_eq!(config(&get(&cloud, &instance(1)).await.body)[0]["natIP"], A);
    assert_eq!(remove(&cloud, 1).await.body["status"], "DONE", "nothing is left to delete");
    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(config(&get(&cloud, &instance(1)).await.body), Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_wait_reads_the_operation_and_counts_as_a_read() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = TAKES);
    let freed = remove(&cloud, 1).await;
    let wait = format!("{}/wait", path(&freed.body));
    let mutations = cloud.mutations().len();
    assert_eq!(post(&cloud, &wait, Value::Null).await.body["status"], "PENDING");
    tokio::time::advance(TAKES).await;
    assert_eq!(post(&cloud, &wait, Value::Null).await.body["status"], "DONE");
    assert_eq!(cloud.mutations().len(), mutations);
    let elsewhere = wait.replace("zones/us-central1-b", "zones/us-central1-a");
    refused(&post(&cloud, &elsewhere, Value::Null).await, 404, "notFound");
    let made = post(&cloud, &addresses(), json!({"name": "web"})).await;
    let wait = format!("{}/wait", path(&made.body));
    assert_eq!(post(&cloud, &wait, Value::Null).await.body["name"], made.body["name"]);
}

#[tokio::test(start_paused = true)]
async fn the_same_request_id_gives_the_same_operation() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = TAKES);
    let path = format!("{}?requestId={UUID}", addresses());
    let first = post(&cloud, &path, json!({"name": "web"})).await;
    assert_eq!(first.body["clientOperationId"], UUID);
    let second = post(&cloud, &path, json!({"name": "web"})).await;
    assert_eq!((second.status, &second.body["name"]), (200, &first.body["name"]));
    tokio::time::advance(TAKES).await;
    let third = post(&cloud, &path, json!({"name": "web"})).await;
    assert_eq!((&third.body["name"], &third.body["status"]), (&first.body["name"], &json!("DONE")));
    assert_eq!(cloud.addresses().len(), 3);
    let other = format!("{}/web?requestId={UUID}", addresses());
    refused(&delete(&cloud, &other).await, 400, "invalid");
    for bad in ["1", "00000000-0000-0000-0000-000000000000", "7f3c0d5e-0000-4000-8000-00000000000x"]
    {
        let path = format!("{}?requestId={bad}", addresses());
        refused(&post(&cloud, &path, json!({"name": "bad"})).await, 400, "invalid");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_request_without_its_answer_changes_nothing_twice() {
    let cloud = cloud();
    cloud.inject(Rule::new(On::mutations(), Fault::Own(CloudFault::Duplicated)).once());
    let path = format!("{}?requestId={UUID}", addresses());
    let made = post(&cloud, &path, json!({"name": "web"})).await;
    assert_eq!(made.status, 200);
    assert_eq!(cloud.addresses().len(), 3);
    assert_eq!(cloud.look(|state| state.operations().count()), 1);
}
