//! Refused requests: permissions, rate limits, credentials, nonsense.

use std::time::Duration;

use fakecloud::{Answer as Forced, Fault, On, RateLimit, Rule};
use serde_json::{Value, json};

use super::client::{Answer, delete, get, post, send, send_as};
use super::{B, LINK, PROJECT, add, addresses, cloud, instance, path, refused, remove};

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_named_and_the_others_are_still_there() {
    let cloud = cloud();
    let deny = |name: &str| {
        let name = name.to_owned();
        cloud.set(move |k| k.denied = [name].into());
    };
    deny("compute.addresses.list");
    for path in [addresses(), format!("{PROJECT}/aggregated/addresses")] {
        let message = refused(&get(&cloud, &path).await, 403, "forbidden");
        assert_eq!(
            message,
            "Required 'compute.addresses.list' permission for 'projects/test-project'"
        );
    }
    let one = format!("{}/ip-198-51-100-101", addresses());
    assert_eq!(get(&cloud, &one).await.status, 200);
    deny("compute.addresses.get");
    let message = refused(&get(&cloud, &one).await, 403, "forbidden");
    assert!(
        message
            .ends_with("'projects/test-project/regions/us-central1/addresses/ip-198-51-100-101'")
    );
    deny("compute.addresses.create");
    refused(&post(&cloud, &addresses(), json!({"name": "web"})).await, 403, "forbidden");
    deny("compute.addresses.delete");
    refused(&delete(&cloud, &one).await, 403, "forbidden");
    deny("compute.instances.deleteAccessConfig");
    let message = refused(&remove(&cloud, 1).await, 403, "forbidden");
    assert!(message.ends_with("'projects/test-project/zones/us-central1-b/instances/m-1'"));
    deny("compute.zoneOperations.get");
    let freed = remove(&cloud, 1).await;
    refused(&get(&cloud, &path(&freed.body)).await, 403, "forbidden");
    deny("compute.instances.addAccessConfig");
    refused(&add(&cloud, 1, None).await, 403, "forbidden");
    deny("compute.instances.list");
    refused(&get(&cloud, &format!("{PROJECT}/aggregated/instances")).await, 403, "forbidden");
    deny("compute.regionOperations.get");
    let made = post(&cloud, &addresses(), json!({"name": "web"})).await;
    refused(&get(&cloud, &path(&made.body)).await, 403, "forbidden");
    cloud.set(|k| {
        k.denied.clear();
        k.machine_read = false;
    });
    refused(&get(&cloud, &instance(1)).await, 403, "forbidden");
    assert_eq!(get(&cloud, &one).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_a_403_without_headers() {
    let cloud = cloud();
    let limited = |answer: Answer| {
        refused(&answer, 403, "rateLimitExceeded");
        assert_eq!(answer.body["error"]["errors"][0]["domain"], "usageLimits");
        let told = ["retry-after", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
        assert!(told.iter().all(|name| answer.header(name).is_empty()));
    };
    cloud.throttle_for(Duration::from_secs(3));
    limited(get(&cloud, &instance(1)).await);
    tokio::time::advance(Duration::from_secs(3)).await;
    cloud.set(|k| k.rate = Some(RateLimit { limit: 1, ..RateLimit::default() }));
    assert_eq!(get(&cloud, &instance(1)).await.status, 200);
    limited(get(&cloud, &instance(1)).await);
    cloud.set(|k| k.rate = None);
    cloud.inject(Rule::new(On::any(), Fault::Answer(Forced::status(429))).once());
    limited(get(&cloud, &instance(1)).await);
}

#[tokio::test(start_paused = true)]
async fn credentials_and_faults_are_answered_in_the_vendor_s_envelope() {
    let cloud = cloud();
    cloud.token("secret");
    for authorization in [None, Some("Bearer wrong"), Some("Basic secret")] {
        let answer =
            send_as(&cloud, "GET", &instance(1), Value::Null, authorization).await.unwrap();
        refused(&answer, 401, "authError");
        assert_eq!(answer.body["error"]["status"], "UNAUTHENTICATED");
    }
    for (status, reason) in
        [(403, "forbidden"), (404, "notFound"), (500, "backendError"), (503, "backendError")]
    {
        cloud.inject(Rule::new(On::any(), Fault::Answer(Forced::status(status))).once());
        refused(&get(&cloud, &instance(1)).await, status, reason);
    }
    let odd = send(&cloud, "PATCH", &instance(1), json!({})).await.unwrap();
    refused(&odd, 501, "notImplemented");
}

#[tokio::test(start_paused = true)]
async fn requests_that_the_vendor_does_not_understand_are_refused() {
    let cloud = cloud();
    let at = |rest: &str| format!("{}/{rest}", instance(2));
    for (path, body, reason) in [
        (at("addAccessConfig"), json!({}), "required"),
        (at("addAccessConfig?networkInterface=nic7"), json!({}), "invalid"),
        (at("addAccessConfig?networkInterface=nic0"), json!({"ip": B}), "badRequest"),
        (at("addAccessConfig?networkInterface=nic0"), json!({"natIP": 7}), "badRequest"),
        (at("addAccessConfig?networkInterface=nic0"), json!([]), "parseError"),
        (at("addAccessConfig?networkInterface=nic0"), json!({"type": "DIRECT_IPV6"}), "invalid"),
        (at("addAccessConfig?networkInterface=nic0&ip=1"), json!({}), "badRequest"),
        (at("deleteAccessConfig?networkInterface=nic0"), Value::Null, "required"),
        (addresses(), json!({}), "invalid"),
        (addresses(), json!({"name": "Web"}), "invalid"),
        (addresses(), json!({"name": "web", "addressType": "INTERNAL"}), "invalid"),
    ] {
        refused(&post(&cloud, &path, body).await, 400, reason);
    }
    assert!(cloud.log().iter().all(|exchange| !exchange.changed));
}

#[tokio::test(start_paused = true)]
async fn zones_and_regions_exist_if_their_names_can_be() {
    let cloud = cloud();
    let zone = get(&cloud, &format!("{PROJECT}/zones/us-central1-b")).await.body;
    assert_eq!((&zone["kind"], &zone["status"]), (&json!("compute#zone"), &json!("UP")));
    assert_eq!(zone["region"], format!("{LINK}/regions/us-central1"));
    let region = get(&cloud, &format!("{PROJECT}/regions/us-central1")).await.body;
    assert_eq!(region["kind"], "compute#region");
    assert_eq!(region["zones"][1], format!("{LINK}/zones/us-central1-b"));
    for path in ["zones/moon", "regions/moon", "zones/us-central1"] {
        refused(&get(&cloud, &format!("{PROJECT}/{path}")).await, 404, "notFound");
    }
}
