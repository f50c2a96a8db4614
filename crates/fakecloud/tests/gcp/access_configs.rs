//! Access configs: how addresses get to instances and leave them.

use serde_json::{Value, json};

use super::client::{get, ip, post};
use super::{
    A, B, LINK, TAKES, add, addresses, cloud, config, done, instance, read, refused, remove,
    remove_named,
};

#[tokio::test(start_paused = true)]
async fn an_instance_shows_its_ephemeral_address_as_an_access_config() {
    let cloud = cloud();
    let shown = get(&cloud, &instance(2)).await.body;
    assert_eq!(shown["kind"], "compute#instance");
    assert_eq!(shown["id"], "4200000000000000002");
    assert_eq!((&shown["name"], &shown["status"]), (&json!("m-2"), &json!("RUNNING")));
    assert_eq!(shown["selfLink"], format!("{LINK}/zones/us-central1-b/instances/m-2"));
    assert_eq!(shown["zone"], format!("{LINK}/zones/us-central1-b"));
    assert_eq!(shown["networkInterfaces"][0]["name"], "nic0");
    let own = cloud.own_address(2).unwrap();
    assert_eq!(
        config(&shown),
        json!([{
            "kind": "compute#accessConfig", "type": "ONE_TO_ONE_NAT", "name": "External NAT",
            "natIP": own, "networkTier": "PREMIUM",
        }])
    );
    assert!(cloud.addresses().iter().all(|address| address.ip != own));
    assert_eq!(cloud.egress(2), Some(own));
    let holder = get(&cloud, &instance(1)).await.body;
    assert_eq!(config(&holder)[0]["natIP"], A);
    assert_eq!((cloud.own_address(1), cloud.egress(1)), (None, Some(ip(A))));
}

#[tokio::test(start_paused = true)]
async fn a_move_takes_three_operations_because_every_interface_has_one_access_config() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = TAKES);
    let full = add(&cloud, 2, Some(B)).await;
    assert_eq!(refused(&full, 400, "badRequest"), "At most one access config currently supported.");

    let freed = remove(&cloud, 1).await;
    assert_eq!(freed.body["status"], "PENDING");
    assert_eq!(freed.body["operationType"], "deleteAccessConfig");
    assert_eq!(freed.body["zone"], format!("{LINK}/zones/us-central1-b"));
    assert_eq!(freed.body["targetLink"], format!("{LINK}/zones/us-central1-b/instances/m-1"));
    assert_eq!(cloud.holder(ip(A)), Some(1));
    tokio::time::advance(TAKES / 2).await;
    assert_eq!(read(&cloud, &freed).await["status"], "RUNNING");
    tokio::time::advance(TAKES / 2).await;
    assert_eq!(done(&cloud, &freed).await["endTime"], "2026-09-21T14:13:25.000+00:00");
    assert_eq!((cloud.holder(ip(A)), cloud.egress(1)), (None, None));
    assert_eq!(config(&get(&cloud, &instance(1)).await.body), Value::Null);

    let cleared = remove(&cloud, 2).await;
    tokio::time::advance(TAKES).await;
    done(&cloud, &cleared).await;
    assert_eq!(cloud.egress(2), None);

    let added = add(&cloud, 2, Some(A)).await;
    tokio::time::advance(TAKES).await;
    assert_eq!(done(&cloud, &added).await.get("error"), None);
    assert_eq!((cloud.holder(ip(A)), cloud.egress(2)), (Some(2), Some(ip(A))));
    let shown = get(&cloud, &format!("{}/ip-198-51-100-101", addresses())).await.body;
    assert_eq!(shown["status"], "IN_USE");
    assert_eq!(shown["users"], json!([format!("{LINK}/zones/us-central1-b/instances/m-2")]));
}

#[tokio::test(start_paused = true)]
async fn an_access_config_without_an_address_gets_a_new_ephemeral_one() {
    let cloud = cloud();
    let before = cloud.own_address(2).unwrap();
    remove(&cloud, 2).await;
    assert_eq!(cloud.egress(2), None);
    let restored = add(&cloud, 2, None).await;
    assert_eq!(done(&cloud, &restored).await["operationType"], "addAccessConfig");
    let after = cloud.own_address(2).unwrap();
    assert_ne!(before, after);
    assert_eq!(config(&get(&cloud, &instance(2)).await.body)[0]["natIP"], json!(after));
    let taken = refused(&add(&cloud, 1, Some(&before.to_string())).await, 400, "invalid");
    assert!(taken.contains("was not found in region 'us-central1'"), "{taken}");
}

#[tokio::test(start_paused = true)]
async fn an_address_in_use_cannot_be_added_elsewhere_and_the_operation_says_so() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = TAKES);
    cloud.without_own_address(2);
    let added = add(&cloud, 2, Some(A)).await;
    assert_eq!((added.status, &added.body["status"]), (200, &json!("PENDING")));
    tokio::time::advance(TAKES).await;
    let failed = done(&cloud, &added).await;
    assert_eq!(failed["error"]["errors"][0]["code"], "IP_IN_USE_BY_ANOTHER_RESOURCE");
    assert_eq!(failed["httpErrorStatusCode"], 400);
    assert_eq!((cloud.holder(ip(A)), cloud.egress(2)), (Some(1), None));
}

#[tokio::test(start_paused = true)]
async fn an_address_that_a_person_takes_meanwhile_is_in_use_when_the_operation_ends() {
    let cloud = cloud();
    cloud.without_own_address(2).set(|k| k.action_time = TAKES);
    let added = add(&cloud, 2, Some(B)).await;
    cloud.human_moves(ip(B), Some(1));
    tokio::time::advance(TAKES).await;
    let failed = done(&cloud, &added).await;
    assert_eq!(failed["error"]["errors"][0]["code"], "IP_IN_USE_BY_ANOTHER_RESOURCE");
    assert_eq!(cloud.holder(ip(B)), Some(1));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_address_or_one_of_another_region_is_invalid() {
    let cloud = cloud();
    cloud.without_own_address(3).without_own_address(2);
    for (number, address) in [(3, B), (2, "203.0.113.9"), (2, "nonsense"), (2, "2001:db8::1")] {
        let message = refused(&add(&cloud, number, Some(address)).await, 400, "invalid");
        assert!(message.contains("was not found in region"), "{message}");
    }
    assert!(cloud.log().iter().all(|exchange| !exchange.changed));
}

#[tokio::test(start_paused = true)]
async fn deleting_an_access_config_of_another_name_is_done_at_once_and_does_nothing() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = TAKES);
    let answer = remove_named(&cloud, 1, "external-nat").await;
    assert_eq!((answer.status, &answer.body["status"]), (200, &json!("DONE")));
    assert_eq!(answer.body.get("error"), None);
    done(&cloud, &answer).await;
    tokio::time::advance(TAKES).await;
    assert_eq!(cloud.holder(ip(A)), Some(1));
    // An access config is deleted by the name that it was added with.
    remove(&cloud, 2).await;
    tokio::time::advance(TAKES).await;
    let path = format!("{}/addAccessConfig?networkInterface=nic0", instance(2));
    post(&cloud, &path, json!({"name": "ours", "natIP": B})).await;
    tokio::time::advance(TAKES).await;
    assert_eq!(config(&get(&cloud, &instance(2)).await.body)[0]["name"], "ours");
    assert_eq!(remove(&cloud, 2).await.body["status"], "DONE");
    assert_eq!(remove_named(&cloud, 2, "ours").await.body["status"], "PENDING");
    tokio::time::advance(TAKES).await;
    assert_eq!(cloud.holder(ip(B)), None);
}

#[tokio::test(start_paused = true)]
async fn only_the_ptr_record_of_an_access_config_can_be_updated() {
    let cloud = cloud();
    let path = format!("{}/updateAccessConfig?networkInterface=nic0", instance(1));
    let named = |body: Value| post(&cloud, &path, body);
    let message =
        refused(&named(json!({"name": "External NAT", "natIP": B})).await, 400, "invalid");
    assert!(message.contains("resource.natIP"), "{message}");
    refused(&named(json!({"name": "other"})).await, 400, "invalid");
    let pointer = json!({
        "name": "External NAT", "natIP": A, "setPublicPtr": true,
        "publicPtrDomainName": "a.example.com.",
    });
    let updated = named(pointer).await;
    assert_eq!(done(&cloud, &updated).await["operationType"], "updateAccessConfig");
    let shown = config(&get(&cloud, &instance(1)).await.body);
    assert_eq!(shown[0]["publicPtrDomainName"], "a.example.com.");
    assert_eq!(shown[0]["natIP"], A);
}

#[tokio::test(start_paused = true)]
async fn every_interface_has_an_access_config_of_its_own() {
    let cloud = cloud();
    cloud.nics(1, 2);
    let path = format!("{}/addAccessConfig?networkInterface=nic1", instance(1));
    let added = post(&cloud, &path, json!({"natIP": B})).await;
    done(&cloud, &added).await;
    let shown = get(&cloud, &instance(1)).await.body;
    let at = |nic: usize| shown["networkInterfaces"][nic]["accessConfigs"][0]["natIP"].clone();
    assert_eq!((at(0), at(1)), (json!(A), json!(B)));
    assert_eq!(cloud.egress(1), Some(ip(A)));
    remove(&cloud, 1).await;
    assert_eq!((cloud.holder(ip(A)), cloud.holder(ip(B))), (None, Some(1)));
    cloud.nics(1, 1);
    assert_eq!(cloud.holder(ip(B)), None);
}
