//! Secrets are shown nowhere: not in logs of any level and form, events, statuses, metrics or pages.

use std::net::IpAddr;

use fakecloud::{Answer, Fault, On as Calls, Rule};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use pontoon::fronts::net_ip_allocation::NetIPAllocation;
use pontoon::fronts::node_dns_record_set::NodeDNSRecordSet;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::arena::{Arena, On};
use crate::replica::Replica;

/// Every secret of these scenarios contains this word.
const CANARY: &str = "canary";

const IP: &str = "198.51.100.1";

/// A pool with a name at Cloudflare, records of nodes at DigitalOcean, and an allocation at Google.
async fn stage() -> Arena {
    let arena = Arena::open(On::FakeKube).await.unwrap();
    arena.cloud.reserve(IP.parse::<IpAddr>().unwrap(), "nyc3");
    arena.cloud.reserve("198.51.100.7".parse::<IpAddr>().unwrap(), "us-central1");
    arena.cloud.domain("example.com");
    arena.serving_node("a", 1).await;
    arena.report("a", &[("ExternalIP", "203.0.113.1")]).await;
    arena.google_node("g", 7).await;
    let record = json!({"provider": "cloudflare", "zone": "example.com", "recordName": "www"});
    arena.pool("ingress", json!({"ips": [IP], "dnsRecordSet": record})).await;
    let record = json!({"zone": "example.com", "recordName": "nodes"});
    arena.record_set("nodes", json!({"dnsRecordSet": record})).await;
    let cloud = json!({"provider": "gcp", "region": "us-central1"});
    let spec = json!({"reservedIPs": ["198.51.100.7"], "cloud": cloud, "workloadRef": null});
    arena.allocation("edge", spec).await;
    arena
}

/// Looks for the word wherever the operator says something.
async fn is_shown_nowhere(arena: &Arena, replica: &Replica) {
    let mut said = vec![("the log", replica.log())];
    for path in ["/", "/metrics", "/healthz", "/readyz"] {
        said.push((path, replica.page(path).await.unwrap()));
    }
    let all = ListParams::default();
    let client = || arena.client.clone();
    let events = Api::<Event>::all(client()).list(&all).await.unwrap().items;
    said.push(("events", serde_json::to_string(&events).unwrap()));
    let pools = Api::<FloatingIPPool>::all(client()).list(&all).await.unwrap().items;
    said.push(("pools", serde_json::to_string(&pools).unwrap()));
    let sets = Api::<NodeDNSRecordSet>::all(client()).list(&all).await.unwrap().items;
    said.push(("record sets", serde_json::to_string(&sets).unwrap()));
    let allocations = Api::<NetIPAllocation>::all(client()).list(&all).await.unwrap().items;
    said.push(("allocations", serde_json::to_string(&allocations).unwrap()));
    let nodes = Api::<Node>::all(client()).list(&all).await.unwrap().items;
    said.push(("nodes", serde_json::to_string(&nodes).unwrap()));
    let comments = arena.cloud.records("example.com");
    said.push(("records", format!("{comments:?}")));
    for (place, text) in said {
        let shown = text.lines().find(|line| line.contains(CANARY));
        assert_eq!(shown, None, "in {place}");
    }
}

/// Answers of many sorts that quote the request's `Authorization` header, for each provider.
fn echo_the_token(arena: &Arena) {
    let quote = "you sent Authorization: Bearer canary-token";
    for calls in ["/v2/**", "/client/v4/**", "/compute/v1/**"] {
        for (number, status) in [401, 403, 422, 500, 409, 302, 200, 404, 401].iter().enumerate() {
            let answer = Answer::status(*status).header("x-echo", quote);
            let answer = match number % 3 {
                0 => answer.message(quote),
                1 => answer.raw("application/json", &format!("{{\"message\": \"{quote}\"")),
                _ => answer.raw("text/html", quote).header("location", "http://canary-token.test/"),
            };
            let rule = Rule::new(Calls::path(calls), Fault::Answer(answer));
            arena.cloud.inject(rule.once());
        }
    }
}

const TRACE: &str = "RUST_LOG=trace";

#[tokio::test]
async fn a_provider_that_echoes_the_token_does_not_get_it_shown() {
    for format in ["--log-format=json", "--log-format=text"] {
        let arena = stage().await;
        arena.cloud.token("canary-token");
        echo_the_token(&arena);
        let quick = ["--retry-max=1s", "--retry-initial=100ms", "--leader-elect=false"];
        let extra = [&[TRACE, format][..], &quick].concat();
        let replica = Replica::start(&arena, "only", &extra);
        arena.ready("ingress").await;
        arena.attached("edge", "198.51.100.7", "g").await;
        arena.record_state("nodes", "active").await;
        is_shown_nowhere(&arena, &replica).await;
        // A token that is refused for good.
        arena.cloud.token("another");
        arena.set_ready("a", false).await;
        arena.event("ingress", "CredentialsRefused").await;
        is_shown_nowhere(&arena, &replica).await;
        assert!(replica.log().contains("TRACE"), "the log has every line");
    }
}

#[tokio::test]
async fn a_password_in_the_url_of_an_endpoint_is_refused_and_not_shown() {
    let arena = stage().await;
    let urls = ["DIGITALOCEAN", "CLOUDFLARE", "GCP"]
        .map(|vendor| format!("{vendor}_API_URL=https://me:canary-password@127.0.0.1:1"));
    let extra = [TRACE, "--log-format=text", "--leader-elect=false", &urls[0], &urls[1], &urls[2]];
    let replica = Replica::start(&arena, "only", &extra);
    arena.reason("ingress", "Stalled", "True", "CredentialsUnusable").await;
    arena.tells("edge", "Stalled", "CredentialsUnusable").await;
    arena.record_state("nodes", "error").await;
    is_shown_nowhere(&arena, &replica).await;
}

/// A proxy that refuses every connection, and echoes what it was sent.
async fn echoing_proxy() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://me:canary-password@{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = vec![0; 4096];
            let length = stream.read(&mut buffer).await.unwrap_or(0);
            let sent = String::from_utf8_lossy(&buffer[..length]).replace("\r\n", " ");
            let answer = format!(
                "HTTP/1.1 407 me:canary-password\r\nx-echo: {sent}\r\ncontent-length: 0\r\n\r\n"
            );
            drop(stream.write_all(answer.as_bytes()).await);
        }
    });
    url
}

#[tokio::test]
async fn neither_the_password_of_a_proxy_nor_a_key_in_a_file_is_shown() {
    let arena = stage().await;
    let key = arena.folder().join("key.json");
    let account = json!({
        "type": "service_account", "project_id": "p", "private_key_id": "canary-key-id",
        "private_key": "-----BEGIN PRIVATE KEY-----\ncanary-key\n-----END PRIVATE KEY-----\n",
        "client_email": "me@p.test", "client_id": "1",
        "token_uri": format!("{}/canary-token", arena.cloud_url()),
    });
    std::fs::write(&key, account.to_string()).unwrap();
    let proxy = format!("HTTPS_PROXY={}", echoing_proxy().await);
    let key = format!("GOOGLE_APPLICATION_CREDENTIALS={}", key.display());
    let extra = [
        TRACE,
        "NO_PROXY=127.0.0.1",
        "--log-format=text",
        "--leader-elect=false",
        "DIGITALOCEAN_API_URL=",
        "CLOUDFLARE_API_URL=",
        "GCP_ACCESS_TOKEN=",
        &proxy,
        &key,
    ];
    let replica = Replica::start(&arena, "only", &extra);
    arena.tells("edge", "Stalled", "CredentialsRefused").await;
    arena.reason("ingress", "Reconciling", "True", "CloudUnavailable").await;
    is_shown_nowhere(&arena, &replica).await;
}
