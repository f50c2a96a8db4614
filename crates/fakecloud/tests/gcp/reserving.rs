//! Reservations of addresses, and their end.

use serde_json::json;

use super::client::{delete, get, post};
use super::{LINK, TAKES, addresses, cloud, done, refused};

#[tokio::test(start_paused = true)]
async fn a_reserved_address_is_reserving_until_its_operation_is_done() {
    let cloud = cloud();
    cloud.set(|k| k.action_time = TAKES);
    let body = json!({"name": "web", "description": "ours", "addressType": "EXTERNAL"});
    let made = post(&cloud, &addresses(), body.clone()).await;
    assert_eq!((made.status, &made.body["operationType"]), (200, &json!("insert")));
    assert_eq!(made.body["targetLink"], format!("{LINK}/regions/us-central1/addresses/web"));
    assert_eq!(made.body["region"], format!("{LINK}/regions/us-central1"));
    let web = format!("{}/web", addresses());
    assert_eq!(get(&cloud, &web).await.body["status"], "RESERVING");
    assert_eq!(cloud.addresses().len(), 2);
    tokio::time::advance(TAKES).await;
    done(&cloud, &made).await;
    let shown = get(&cloud, &web).await.body;
    assert_eq!((&shown["status"], &shown["description"]), (&json!("RESERVED"), &json!("ours")));
    assert_eq!(
        (&shown["kind"], &shown["addressType"]),
        (&json!("compute#address"), &json!("EXTERNAL"))
    );
    assert!(shown["id"].as_str().unwrap().parse::<u64>().is_ok());
    assert_eq!(shown.get("users"), None);
    let again = refused(&post(&cloud, &addresses(), body).await, 409, "alreadyExists");
    assert!(again.contains("'projects/test-project/regions/us-central1/addresses/web'"));

    let gone = delete(&cloud, &web).await;
    assert_eq!(gone.body["operationType"], "delete");
    tokio::time::advance(TAKES).await;
    done(&cloud, &gone).await;
    refused(&get(&cloud, &web).await, 404, "notFound");
}

#[tokio::test(start_paused = true)]
async fn an_address_in_use_cannot_be_deleted() {
    let cloud = cloud();
    let path = format!("{}/ip-198-51-100-101", addresses());
    let message = refused(&delete(&cloud, &path).await, 400, "resourceInUseByAnotherResource");
    assert!(message.contains("instances/m-1"), "{message}");
    assert_eq!(cloud.addresses().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_reservation_above_the_quota_is_refused() {
    let cloud = cloud();
    cloud.set(|k| {
        k.address_limit = 3;
        k.action_time = TAKES;
    });
    assert_eq!(post(&cloud, &addresses(), json!({"name": "third"})).await.status, 200);
    let answer = post(&cloud, &addresses(), json!({"name": "fourth"})).await;
    let message = refused(&answer, 403, "quotaExceeded");
    assert_eq!(message, "Quota 'STATIC_ADDRESSES' exceeded.  Limit: 3.0 in region us-central1.");
}
