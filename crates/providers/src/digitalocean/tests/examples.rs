//! The examples of DigitalOcean's specification. Skipped without a local copy.

use super::*;

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn spec() -> Option<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/specs/digitalocean.json");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {path} is not here");
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

fn example(spec: &Value, name: &str) -> Value {
    spec["components"]["examples"][name]["value"].clone()
}

fn of_response(spec: &Value, name: &str) -> Value {
    let schema = &spec["components"]["responses"][name]["content"]["application/json"]["schema"];
    schema["example"].clone()
}

#[tokio::test]
async fn every_example_of_an_answer_is_understood() {
    let Some(spec) = spec() else { return };
    let script = Script::default()
        .then(200, of_response(&spec, "reserved_ip_list"))
        .then(200, of_response(&spec, "reserved_ipv6_list"))
        .then(200, json!({ "droplets": [] }))
        .then(200, example(&spec, "reserved_ip_assigned"))
        .then(200, example(&spec, "reserved_ip_reserved"))
        .then(201, of_response(&spec, "reserved_ip_action"))
        .then(201, of_response(&spec, "reserved_ipv6_action"))
        .then(202, example(&spec, "reserved_ip_assigning"))
        .then(202, example(&spec, "reserved_ip_reserving"))
        .then(201, example(&spec, "reserved_ipv6_reserved"));
    let provider = script.open();
    let found =
        provider.list(&ListRequest::of(Families { v4: true, v6: true })).await.unwrap().addresses;
    assert_eq!(found.len(), 3);
    let held = provider.read(ip()).await.unwrap().unwrap();
    assert_eq!(held.holder, Some(droplet(3_164_444)));
    assert_eq!(provider.read(ip()).await.unwrap().unwrap().holder, None);
    for ip in [ip(), ip6()] {
        assert_eq!(provider.assign(ip, &droplet(7)).await.unwrap(), Accepted::Done);
    }
    let mut request = CreateRequest {
        family: Family::V4,
        region: "nyc3".into(),
        machine: Some(droplet(7)),
        mark: None,
    };
    let placed = provider.create(&request).await.unwrap().placement;
    assert_eq!(placed, Some(Accepted::Pending(OperationId("1088924622".into()))));
    request.machine = None;
    assert_eq!(provider.create(&request).await.unwrap().placement, None);
    request.family = Family::V6;
    assert!(provider.create(&request).await.unwrap().ip.is_ipv6());
}
