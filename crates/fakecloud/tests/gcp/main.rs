//! Google Compute Engine's emulated API, over the in-process service.
#![allow(clippy::unwrap_used, reason = "a test, helpers included")]

#[path = "../client/mod.rs"]
mod client;

mod access_configs;
mod listing;
mod operations;
mod refusing;
mod reserving;
mod seeing;

use std::time::Duration;

use client::{Answer, get, ip, post};
use fakecloud::FakeCloud;
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
