//! Serving over TCP, with real sockets on loopback and the real clock.

#![allow(clippy::unwrap_used, reason = "a test, helpers included")]

mod client;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use client::ip;
use fakecloud::{FakeCloud, Fault, Loss, On, Rule, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

const ANY_PORT: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

async fn serving() -> (FakeCloud, Server) {
    let cloud = client::fresh();
    cloud.machine(1, "one", "nyc3").reserve(ip("198.51.100.101"), "nyc3");
    let server = cloud.serve(SocketAddr::from(ANY_PORT)).await.unwrap();
    (cloud, server)
}

/// Sends a request on a new connection and returns everything received.
async fn raw(server: &Server, method: &str, path: &str, body: &str) -> std::io::Result<String> {
    raw_to(server.addr(), method, path, body).await
}

async fn raw_to(addr: SocketAddr, method: &str, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(addr).await?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer t\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

fn json_of(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

#[tokio::test]
async fn it_answers_over_a_socket_with_links_to_itself() {
    let (cloud, server) = serving().await;
    cloud.reserve(ip("198.51.100.102"), "nyc3");
    let answer = raw(&server, "GET", "/v2/reserved_ips?per_page=1", "").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\r\ndate: Mon, 21 Sep 2026"), "{answer}");
    let next = format!("{}/v2/reserved_ips?page=2&per_page=1", server.url());
    assert_eq!(json_of(&answer)["links"]["pages"]["next"], next);
}

#[tokio::test]
async fn a_lost_answer_closes_the_connection_without_a_byte() {
    let (cloud, server) = serving().await;
    cloud.inject(Rule::new(On::mutations(), Fault::LostAfter).once());
    let body = r#"{"type":"assign","droplet_id":1}"#;
    let answer = raw(&server, "POST", "/v2/reserved_ips/198.51.100.101/actions", body).await;
    // Closed or reset: no answer either way.
    assert_eq!(answer.unwrap_or_default(), "");
    assert_eq!(cloud.holder(ip("198.51.100.101")), Some(1));
    assert_eq!(cloud.log()[0].lost, Some(Loss::AfterEffect));
}

#[tokio::test]
async fn a_hundred_connections_at_once_wait_together_and_not_in_line() {
    let (cloud, server) = serving().await;
    // Answers take longer than this test, so all requests must be in progress at once.
    cloud.set(|k| k.latency_before = Duration::from_secs(3_600));
    let server = Arc::new(server);
    let mut calls = JoinSet::new();
    for _ in 0..100 {
        let server = Arc::clone(&server);
        calls.spawn(async move { raw(&server, "GET", "/v2/account", "").await });
    }
    let inside = timeout(Duration::from_secs(60), cloud.wait_for_arrivals(100)).await;
    assert!(inside.is_ok(), "only {} arrived", cloud.counts().0);
}

#[tokio::test]
async fn dropping_the_server_closes_the_port_and_lets_begun_requests_finish() {
    let (cloud, server) = serving().await;
    cloud.set(|k| k.latency_before = Duration::from_millis(50));
    let addr = server.addr();
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let body = r#"{"type":"assign","droplet_id":1}"#;
    let request = format!(
        "POST /v2/reserved_ips/198.51.100.101/actions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer t\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    cloud.wait_for_arrivals(1).await;
    drop(server);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    assert_eq!(answer, "");
    cloud.wait_for(|s| s.holder(ip("198.51.100.101")) == Some(1)).await;
    assert!(TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn it_serves_loopback_only() {
    let cloud = client::fresh();
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    assert!(cloud.serve(everywhere).await.is_err());
}

#[tokio::test]
async fn other_processes_seed_and_steer_it() {
    let (cloud, server) = serving().await;
    let ask = async |method: &str, path: &str, body: Value| -> Value {
        json_of(&raw(&server, method, path, &body.to_string()).await.unwrap())
    };
    ask(
        "POST",
        "/_fake/machines",
        json!({"id": 7, "name": "seven", "region": "fra1", "tags": ["a"]}),
    )
    .await;
    ask("POST", "/_fake/addresses", json!({"ip": "203.0.113.7", "machine": 7})).await;
    ask("POST", "/_fake/addresses", json!({"ip": "203.0.113.8", "region": "fra1"})).await;
    assert_eq!(cloud.holder(ip("203.0.113.7")), Some(7));
    ask("POST", "/_fake/moves", json!({"ip": "203.0.113.7", "machine": null})).await;
    ask("DELETE", "/_fake/addresses/203.0.113.8", Value::Null).await;
    ask(
        "POST",
        "/_fake/records",
        json!({"domain": "example.com", "type": "A", "name": "@", "data": "192.0.2.1"}),
    )
    .await;
    let knobs =
        ask("PATCH", "/_fake/knobs", json!({"action_time_ms": 1500, "address_limit": 9})).await;
    assert_eq!((&knobs["action_time_ms"], &knobs["latency_before_ms"]), (&json!(1500), &json!(0)));
    assert_eq!(cloud.knobs().action_time, Duration::from_millis(1500));
    let wrong = ask("PATCH", "/_fake/knobs", json!({"acton_time_ms": 1})).await;
    assert!(wrong["error"].is_string());
    let rule = json!({"on": {"method": "GET"}, "fault": {"answer": {"status": 503}}, "times": 1});
    ask("POST", "/_fake/faults", rule).await;
    let answer = raw(&server, "GET", "/v2/account", "").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"));
    ask("POST", "/_fake/throttle", json!({"ms": 60_000})).await;
    assert!(raw(&server, "GET", "/v2/account", "").await.unwrap().starts_with("HTTP/1.1 429"));
    ask("DELETE", "/_fake/faults", Value::Null).await;
    assert!(raw(&server, "GET", "/v2/account", "").await.unwrap().starts_with("HTTP/1.1 200"));
    let log = ask("GET", "/_fake/log", Value::Null).await;
    assert_eq!(log.as_array().unwrap().len(), 3);
    let state = ask("GET", "/_fake/state", Value::Null).await;
    assert_eq!(state["addresses"].as_array().unwrap().len(), 2);
    assert_eq!(state["machines"][1]["name"], "seven");
    assert_eq!(state["machines"][1]["private"], false);
    assert_eq!(state["machines"][1]["egress"], json!(cloud.egress(7)));
    let hidden = json!({"id": 8, "name": "eight", "region": "fra1", "private": true, "nics": 2});
    ask("POST", "/_fake/machines", hidden).await;
    assert_eq!(cloud.egress(8), None);
    assert_eq!(cloud.look(|state| state.machine(8).map(|m| m.interfaces.len())), Some(2));
    let zone = &state["domains"][0];
    assert_eq!(zone["id"], cloud.zone_id("example.com"));
    assert_eq!(zone["records"][0]["data"], "192.0.2.1");
    let record = format!("/_fake/records/example.com/{}", zone["records"][0]["id"]);
    assert_eq!(ask("DELETE", &record, Value::Null).await, json!({}));
    assert!(ask("DELETE", &record, Value::Null).await["error"].is_string());
    ask("DELETE", "/_fake/machines/7", Value::Null).await;
    assert!(ask("DELETE", "/_fake/machines/7", Value::Null).await["error"].is_string());
}

#[tokio::test]
async fn the_binary_prints_its_url_and_serves_until_it_is_ended() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fakecloud"))
        .args(["--port", "0", "--machines", "2", "--addresses", "3", "--action-ms", "10"])
        .args(["--region", "us-central1"])
        .env_remove("PONTOON_EXCHANGES")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let addr = line.trim().strip_prefix("http://").unwrap().parse().unwrap();
    let state = raw_to(addr, "GET", "/_fake/state", "").await;
    child.kill().unwrap();
    child.wait().unwrap();
    let state = json_of(&state.unwrap());
    assert_eq!(state["machines"].as_array().unwrap().len(), 2);
    assert_eq!(state["addresses"][2]["ip"], "203.0.113.3");
    assert_eq!(state["machines"][0]["region"], "us-central1");
}
