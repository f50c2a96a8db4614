//! Google Compute Engine's emulated API, over the in-process service.
#![allow(clippy::unwrap_used, reason = "a test, helpers included")]

mod client;

use std::time::Duration;

use bytes::Bytes;
use client::{Answer, delete, get, ip, post, send, send_as};
use fakecloud::{
    Answer as Forced, CloudFault, FakeCloud, Fault, On, OperationStatus, Purpose, RateLimit, Rule,
};
use http::Request;
use serde_json::{Value, json};

const A: &str = "198.51.100.101";
const B: &str = "198.51.100.102";
const PROJECT: &str = "/compute/v1/projects/test-project";
const LINK: &str = "https://www.googleapis.com/compute/v1/projects/test-project";
const UUID: &str = "7f3c0d5e-0000-4000-8000-000000000001";
const TAKES: Duration = Duration::from_secs(5);

/// Instances m-1 and m-2 in us-central1-b, m-3 in europe-west1-b; address A on m-1, B free.
fn cloud() -> FakeCloud {
    let cloud = client::fresh();
    cloud
        .machine(1, "one", "us-central1")
        .machine(2, "two", "us-central1")
        .machine(3, "three", "europe-west1")
        .reserve_on(ip(A), 1)
        .reserve(ip(B), "us-central1");
    cloud
}

fn instance(number: u64) -> String {
    let region = if number == 3 { "europe-west1" } else { "us-central1" };
    format!("{PROJECT}/zones/{region}-b/instances/m-{number}")
}

fn addresses() -> String {
    format!("{PROJECT}/regions/us-central1/addresses")
}

async fn add(cloud: &FakeCloud, number: u64, nat_ip: Option<&str>) -> Answer {
    let path = format!("{}/addAccessConfig?networkInterface=nic0", instance(number));
    let mut body = json!({"name": "External NAT", "type": "ONE_TO_ONE_NAT"});
    if let Some(ip) = nat_ip {
        body["natIP"] = json!(ip);
    }
    post(cloud, &path, body).await
}

async fn remove(cloud: &FakeCloud, number: u64) -> Answer {
    remove_named(cloud, number, "External%20NAT").await
}

async fn remove_named(cloud: &FakeCloud, number: u64, name: &str) -> Answer {
    let query = format!("networkInterface=nic0&accessConfig={name}");
    post(cloud, &format!("{}/deleteAccessConfig?{query}", instance(number)), Value::Null).await
}

/// The path of an operation's link.
fn path(operation: &Value) -> String {
    operation["selfLink"]
        .as_str()
        .unwrap()
        .strip_prefix("https://www.googleapis.com")
        .unwrap()
        .into()
}

async fn read(cloud: &FakeCloud, operation: &Answer) -> Value {
    assert_eq!(operation.status, 200, "{:?}", operation.body);
    get(cloud, &path(&operation.body)).await.body
}

/// The state of an operation that must be done.
async fn done(cloud: &FakeCloud, operation: &Answer) -> Value {
    let now = read(cloud, operation).await;
    assert_eq!((&now["status"], &now["progress"]), (&json!("DONE"), &json!(100)));
    now
}

/// Checks the envelope of an error.
fn refused(answer: &Answer, status: u16, reason: &str) -> String {
    let error = &answer.body["error"];
    assert_eq!((answer.status, &error["code"]), (status, &json!(status)), "{error}");
    assert_eq!(error["errors"][0]["reason"], reason, "{error}");
    assert_eq!(error["errors"][0]["message"], error["message"]);
    assert!(error["errors"][0]["domain"].is_string() && error["status"].is_string());
    error["message"].as_str().unwrap().to_owned()
}

fn config(instance: &Value) -> Value {
    instance["networkInterfaces"][0]["accessConfigs"].clone()
}

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
    assert_eq!((made.status, &made.body["status"]), (200, &json!("DONE")));
    assert_eq!(cloud.addresses().len(), 3);
    assert_eq!(cloud.look(|state| state.operations().count()), 1);
}

#[tokio::test(start_paused = true)]
async fn addresses_are_listed_by_region_and_for_all_regions() {
    let cloud = cloud();
    cloud.reserve(ip("203.0.113.1"), "europe-west1").reserve(ip("2001:db8::1"), "us-central1");
    let listed = get(&cloud, &addresses()).await.body;
    assert_eq!(listed["kind"], "compute#addressList");
    assert_eq!(listed["id"], "projects/test-project/regions/us-central1/addresses");
    let names = |items: &Value| -> Vec<String> {
        let items = items.as_array().unwrap().iter();
        items.map(|item| item["address"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&listed["items"]), [A, B]);
    let all = get(&cloud, &format!("{PROJECT}/aggregated/addresses")).await.body;
    assert_eq!(all["kind"], "compute#addressAggregatedList");
    assert_eq!(names(&all["items"]["regions/us-central1"]["addresses"]), [A, B]);
    assert_eq!(names(&all["items"]["regions/europe-west1"]["addresses"]), ["203.0.113.1"]);
    assert_eq!(all["items"]["global"]["warning"]["code"], "NO_RESULTS_ON_PAGE");
    let empty = get(&cloud, &addresses().replace("us-central1", "asia-east1")).await.body;
    assert_eq!(empty.get("items"), None);
    let unknown = get(&cloud, &addresses().replace("us-central1", "nowhere")).await;
    refused(&unknown, 400, "invalid");
}

#[tokio::test(start_paused = true)]
async fn instances_are_listed_by_zone_and_for_all_zones() {
    let cloud = cloud();
    let listed = get(&cloud, &format!("{PROJECT}/zones/us-central1-b/instances")).await.body;
    assert_eq!(listed["kind"], "compute#instanceList");
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    let none = get(&cloud, &format!("{PROJECT}/zones/us-central1-a/instances")).await.body;
    assert_eq!(none.get("items"), None);
    let path = format!("{PROJECT}/aggregated/instances?filter=name%20%3D%20m-3");
    let all = get(&cloud, &path).await.body;
    assert_eq!(all["items"]["zones/europe-west1-b"]["instances"][0]["name"], "m-3");
    assert!(all["items"]["zones/us-central1-b"]["warning"].is_object());
    let elsewhere = format!("{PROJECT}/zones/us-central1-a/instances/m-1");
    refused(&get(&cloud, &elsewhere).await, 404, "notFound");
    let unknown = format!("{PROJECT}/zones/moon/instances/m-1");
    refused(&get(&cloud, &unknown).await, 400, "invalid");
}

#[tokio::test(start_paused = true)]
async fn listings_come_page_by_page() {
    let cloud = client::fresh();
    for last in 1..=5 {
        cloud.reserve(ip(&format!("192.0.2.{last}")), "us-central1");
    }
    for base in [addresses(), format!("{PROJECT}/aggregated/addresses")] {
        let (mut found, mut token, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let page = get(&cloud, &format!("{base}?maxResults=2&pageToken={token}")).await.body;
            let items = match page["items"].as_array() {
                Some(items) => items.clone(),
                None => {
                    page["items"]["regions/us-central1"]["addresses"].as_array().unwrap().clone()
                }
            };
            found.extend(items.into_iter().map(|item| item["address"].clone()));
            pages += 1;
            match page["nextPageToken"].as_str() {
                Some(next) => token = next.to_owned(),
                None => break,
            }
        }
        assert_eq!((found.len(), pages), (5, 3));
    }
    cloud.inject(Rule::new(On::reads(), Fault::Own(CloudFault::PageGap)));
    let first = get(&cloud, &format!("{}?maxResults=2", addresses())).await.body;
    let token = first["nextPageToken"].as_str().unwrap();
    let second = get(&cloud, &format!("{}?maxResults=2&pageToken={token}", addresses())).await.body;
    assert_eq!(second["items"][0]["address"], "192.0.2.4", "192.0.2.3 fell into the gap");
    for bad in ["maxResults=501", "maxResults=-1", "pageToken=x", "orderBy=status"] {
        refused(&get(&cloud, &format!("{}?{bad}", addresses())).await, 400, "invalid");
    }
}

#[tokio::test(start_paused = true)]
async fn filters_are_applied_and_others_refused() {
    let cloud = cloud();
    for (filter, count) in [
        (format!("address = \"{A}\""), 1),
        (format!("address eq {B}"), 1),
        ("addressType = \"EXTERNAL\"".to_owned(), 2),
        ("(addressType = \"EXTERNAL\") AND (name = \"ip-198-51-100-101\")".to_owned(), 1),
        ("status = RESERVED".to_owned(), 1),
        ("name = nobody".to_owned(), 0),
    ] {
        let query: String = form_urlencoded::byte_serialize(filter.as_bytes()).collect();
        let listed = get(&cloud, &format!("{}?filter={query}", addresses())).await.body;
        assert_eq!(listed["items"].as_array().map_or(0, Vec::len), count, "{filter}");
    }
    for filter in ["nonsense%20%3D%201", "name%3A*", "%28"] {
        let answer = get(&cloud, &format!("{}?filter={filter}", addresses())).await;
        let message = refused(&answer, 400, "invalid");
        assert!(message.ends_with("Invalid list filter expression."), "{message}");
    }
}

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

#[tokio::test(start_paused = true)]
async fn provider_ids_lead_to_instances_and_back() {
    let cloud = cloud();
    let id = fakecloud::provider_id("gcp", 1);
    assert_eq!(id, "gce://test-project/us-central1-b/m-1");
    assert_eq!(fakecloud::machine_of(&id), Some(1));
    assert_eq!(cloud.provider_id("gcp", 3), "gce://test-project/europe-west1-b/m-3");
    assert_eq!(cloud.provider_id("digitalocean", 3), fakecloud::provider_id("digitalocean", 3));
    for odd in ["gce://p/z/node", "gce://p/z/m-1/x", "gce://m-1", "m-1"] {
        assert_eq!(fakecloud::machine_of(odd), None, "{odd}");
    }
    // Machines of foreign regions are in the default region, and all answer to the user's name.
    cloud.machine(4, "four", "nyc3").reserve(ip("203.0.113.4"), "nyc3");
    let named = get(&cloud, &instance(4).replace("m-4", "four")).await;
    assert_eq!((named.status, &named.body["name"]), (200, &json!("m-4")));
    remove(&cloud, 4).await;
    assert_eq!(add(&cloud, 4, Some("203.0.113.4")).await.status, 200);
    assert_eq!(cloud.holder(ip("203.0.113.4")), Some(4));
    let numbered = instance(2).replace("m-2", "4200000000000000002");
    assert_eq!(get(&cloud, &numbered).await.body["name"], "m-2");
    let elsewhere = instance(2).replace("test-project", "another-project");
    let shown = get(&cloud, &elsewhere).await.body;
    assert!(shown["selfLink"].as_str().unwrap().contains("/projects/another-project/"));
}

#[tokio::test(start_paused = true)]
async fn people_leave_machines_with_an_address_of_their_own() {
    let cloud = cloud();
    cloud.human_moves(ip(A), Some(2));
    assert_eq!((cloud.egress(2), cloud.own_address(2)), (Some(ip(A)), None));
    assert!(cloud.own_address(1).is_some());
    cloud.human_moves(ip(A), None);
    assert!(cloud.own_address(2).is_some());
    cloud.without_own_address(1).human_moves(ip(A), Some(1));
    cloud.human_moves(ip(A), None);
    assert_eq!(cloud.egress(1), None, "private by design");
    let operations: Vec<_> =
        cloud.look(|state| state.operations().map(|o| (o.id, o.status)).collect());
    assert!(operations.iter().all(|(_, status)| *status == OperationStatus::Completed));
    let (id, _) = operations[0];
    let zone = format!("{PROJECT}/zones/us-central1-b/operations/operation-{id}");
    assert_eq!(get(&cloud, &zone).await.body["operationType"], "addAccessConfig");
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

#[tokio::test(start_paused = true)]
async fn calls_tell_their_purpose_and_the_state_tells_the_rest() {
    let cloud = cloud();
    let request = |method: &str, path: &str, body: Value| {
        let uri = format!("http://127.0.0.1{path}");
        let body = Bytes::from(if body.is_null() { String::new() } else { body.to_string() });
        Request::builder().method(method).uri(uri).body(body).unwrap()
    };
    let told =
        |method: &str, path: &str, body: Value| fakecloud::asked(&request(method, path, body));
    let all = format!("{PROJECT}/aggregated/addresses");
    for (method, path, purpose) in [
        ("GET", all.clone(), Purpose::List),
        ("GET", format!("{all}?filter=addressType%3DEXTERNAL"), Purpose::List),
        ("GET", format!("{all}?filter=address%3D{A}"), Purpose::ReadAddress),
        ("GET", format!("{}/ip-198-51-100-101", addresses()), Purpose::ReadAddress),
        ("POST", addresses(), Purpose::CreateIn),
        ("DELETE", format!("{}/ip-198-51-100-101", addresses()), Purpose::Release),
        ("GET", instance(1), Purpose::SeeMachines),
        ("GET", format!("{PROJECT}/zones/us-central1-b"), Purpose::SeeMachines),
        ("GET", format!("{PROJECT}/zones/us-central1-b/operations/o"), Purpose::ReadOperation),
        (
            "POST",
            format!("{PROJECT}/regions/us-central1/operations/o/wait"),
            Purpose::ReadOperation,
        ),
        ("POST", format!("{}/deleteAccessConfig", instance(1)), Purpose::Unassign),
    ] {
        assert_eq!(told(method, &path, Value::Null).purpose, purpose, "{path}");
    }
    assert_eq!(told("GET", &format!("{all}?filter=address%3D{A}"), Value::Null).ip, Some(ip(A)));
    let released = told("DELETE", &format!("{}/ip-198-51-100-101", addresses()), Value::Null);
    assert_eq!(released.ip, Some(ip(A)));
    let add = format!("{}/addAccessConfig?networkInterface=nic0", instance(2));
    let assign = told("POST", &add, json!({"natIP": B}));
    assert_eq!(
        (assign.purpose, assign.ip, assign.machine),
        (Purpose::Assign, Some(ip(B)), Some(2))
    );
    let restore = told("POST", &add, json!({}));
    assert_eq!(
        (restore.purpose, restore.ip, restore.machine),
        (Purpose::RestoreOwn, None, Some(2))
    );
    let query = "deleteAccessConfig?networkInterface=nic0&accessConfig=External%20NAT";
    let known = |number| {
        cloud.asked(&request("POST", &format!("{}/{query}", instance(number)), Value::Null))
    };
    assert_eq!((known(1).purpose, known(1).ip), (Purpose::Unassign, Some(ip(A))));
    assert_eq!((known(2).purpose, known(2).machine), (Purpose::DropOwn, Some(2)));
    for purpose in [Purpose::DropOwn, Purpose::RestoreOwn] {
        assert!(purpose.changes() && !Purpose::ALL.contains(&purpose));
    }
}
