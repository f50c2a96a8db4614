//! Listings of addresses and instances.

use fakecloud::{CloudFault, Fault, On, Rule};
use serde_json::Value;

use super::client::{self, get, ip};
use super::{A, B, PROJECT, addresses, cloud, refused};

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
