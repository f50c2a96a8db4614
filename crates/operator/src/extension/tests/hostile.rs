use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{API, Stage, extension, limits};

const HANDLER: &str = "vip-allocator-before-cluster-create";

fn path() -> String {
    format!("/{API}/beforeclustercreate/{HANDLER}")
}

/// A failure with words, at status 200, and the same words the second time.
async fn refused(stage: &Stage, body: &[u8]) -> String {
    let (status, answer) = stage.send("POST", &path(), body).await;
    assert_eq!((status, answer["status"].as_str()), (200, Some("Failure")), "{answer}");
    assert_eq!(stage.send("POST", &path(), body).await.1, answer);
    answer["message"].as_str().unwrap().to_owned()
}

fn request(fields: Value) -> Vec<u8> {
    let mut request = json!({"apiVersion": API, "kind": "BeforeClusterCreateRequest"});
    request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    request.to_string().into_bytes()
}

#[tokio::test]
async fn garbage_is_refused_in_words() {
    let stage = Stage::open().await;
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    for body in [b"".as_slice(), b"\xff\xfe", b"{", b"<xml/>", deep.as_bytes()] {
        let message = refused(&stage, body).await;
        assert!(message.starts_with("the request cannot be read as JSON"), "{message}");
    }
    for body in [b"7".as_slice(), b"null", b"[]", b"\"x\""] {
        assert_eq!(refused(&stage, body).await, "the request is not a JSON object");
    }
}

#[tokio::test]
async fn a_request_of_another_hook_or_version_or_without_fields_is_refused_by_the_fields_name() {
    let stage = Stage::open().await;
    for (fields, expected) in [
        (
            json!({"kind": "DiscoveryRequest"}),
            "kind of the request is \"DiscoveryRequest\", not BeforeClusterCreateRequest",
        ),
        (json!({"kind": 7}), "kind of the request is missing; write BeforeClusterCreateRequest"),
        (
            json!({"apiVersion": "v1"}),
            "apiVersion of the request is \"v1\", not hooks.runtime.cluster.x-k8s.io/v1alpha1",
        ),
        (json!({}), "cluster of the request is missing"),
        (json!({"cluster": "x"}), "cluster of the request is missing"),
        (json!({"cluster": {}}), "cluster.metadata.name is missing"),
        (
            json!({"cluster": {"kind": "Pod", "metadata": {"name": "a"}}}),
            "cluster.kind is \"Pod\", not Cluster",
        ),
        (
            json!({"cluster": {"apiVersion": "v1", "metadata": {"name": "a"}}}),
            "cluster.apiVersion is \"v1\", not of cluster.x-k8s.io",
        ),
    ] {
        assert_eq!(refused(&stage, &request(fields)).await, expected);
    }
    for cluster in [json!({"metadata": 7}), json!({"metadata": {"name": ["a"]}})] {
        let message = refused(&stage, &request(json!({"cluster": cluster}))).await;
        assert!(message.starts_with("cluster of the request cannot be read"), "{message}");
    }
    let message = refused(&stage, &request(json!({"kind": "é".repeat(9_000)}))).await;
    assert!(message.len() < 300, "{message}");
}

#[tokio::test]
async fn a_cluster_with_odd_values_is_held_back_and_breaks_nothing() {
    let stage = Stage::open().await;
    let spec = json!({"topology": {"classRef": {"name": "c"}, "variables": {"clusterVip": 1}},
        "controlPlaneEndpoint": ["192.0.2.1"], "paused": "yes"});
    let answer = stage.gate(json!({"metadata": {"name": "a"}, "spec": spec})).await;
    assert_eq!((&answer["status"], &answer["retryAfterSeconds"]), (&json!("Success"), &json!(2)));
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused_and_one_at_the_limit_is_read() {
    let stage = Stage::open().await;
    let most = limits().body;
    let blank = |length| vec![b' '; length];
    assert_eq!(
        refused(&stage, &blank(most + 1)).await,
        format!("the request is larger than {most} bytes")
    );
    assert!(refused(&stage, &blank(20 * most)).await.contains("larger than"));
    assert!(refused(&stage, &blank(most)).await.contains("as JSON"));
}

#[tokio::test]
async fn slow_clients_do_not_keep_others_waiting() {
    let stage = Stage::open().await;
    // Silent before the handshake, within the head, and within the body.
    let mut slow = Vec::new();
    for _ in 0..3 {
        slow.push(tokio::net::TcpStream::connect(stage.address).await.unwrap());
    }
    let mut head = stage.pair.connect(stage.address).await.unwrap();
    head.write_all(b"POST / HT").await.unwrap();
    let mut body = stage.pair.connect(stage.address).await.unwrap();
    let begun = format!("POST {} HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{{", path());
    body.write_all(begun.as_bytes()).await.unwrap();
    assert_eq!(stage.send("GET", "/", b"").await.0, 200);
}

#[tokio::test]
async fn a_silent_client_is_cut_off_and_makes_room_for_the_next() {
    let limits = super::Limits { connections: 1, time: Duration::from_millis(300), ..limits() };
    let stage = Stage::with(extension(), limits).await;
    let mut silent = tokio::net::TcpStream::connect(stage.address).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), silent.read(&mut [0; 8])).await;
    assert!(matches!(ended, Ok(Ok(0) | Err(_))), "{ended:?}");
    assert_eq!(stage.send("GET", "/", b"").await.0, 200);
}

#[tokio::test]
async fn a_client_without_tls_or_with_an_old_version_gets_nothing() {
    let stage = Stage::open().await;
    // TLS 1.0: a ClientHello of version 3.1 without the extension for newer ones.
    let mut hello = vec![0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 1];
    hello.extend([7; 32]);
    hello.extend([0, 0, 2, 0, 0x2f, 1, 0]);
    for first in [b"GET / HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(), hello] {
        let mut plain = tokio::net::TcpStream::connect(stage.address).await.unwrap();
        plain.write_all(&first).await.unwrap();
        let mut answer = Vec::new();
        // A reset is as good as an end.
        drop(plain.read_to_end(&mut answer).await);
        // At most an alert: 7 bytes.
        assert!(answer.len() <= 7 && !answer.starts_with(b"HTTP"), "{answer:?}");
    }
    assert_eq!(stage.send("GET", "/", b"").await.0, 200);
}
