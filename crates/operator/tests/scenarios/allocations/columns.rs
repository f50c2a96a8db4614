//! What stock kubectl shows of allocations.

use serde_json::json;

use super::stage::{IP, IPS, stage};
use crate::arena::{Arena, On};

/// The lines that kubectl prints, each as its columns; `None` without kubectl.
async fn shown(arena: &Arena, args: &[&str]) -> Option<Vec<Vec<String>>> {
    let output = arena.kubectl(args).await?;
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    // Columns are three spaces apart; a message has single spaces.
    let columns = |line: &str| {
        let parts = line.split("   ").map(str::trim).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    Some(text.lines().map(columns).collect())
}

async fn allocations_are_listed_by_their_short_name_with_their_state(on: On) {
    let Some(arena) = stage(on, &["a"]).await else { return };
    arena.allocation("edge", json!({})).await;
    arena.allocation("sip", json!({"reservedIPs": [IPS[1]]})).await;
    let _replica = arena.replica("only");
    arena.tells("edge", "Ready", "AllAssigned").await;
    arena.tells("sip", "Ready", "NoFreeNode").await;

    let Some(lines) = shown(&arena, &["get", "nia"]).await else { return };
    assert_eq!(lines[0], ["NAME", "READY", "ATTACHED", "MESSAGE", "AGE"]);
    let message = "1 address on 1 of 1 eligible node";
    assert_eq!(lines[1][..4], ["edge", "True", "1/1", message]);
    assert_eq!(lines[2][..3], ["sip", "False", "0/1"]);
    assert!(lines[2][3].starts_with("0 of 1 in place; "), "{lines:#?}");

    let wide = shown(&arena, &["get", "nia", "edge", "-o", "wide"]).await.unwrap();
    assert_eq!(wide[0][5..], ["IPS", "PROVIDER"]);
    assert_eq!(wide[1][5..], [format!("[\"{IP}\"]"), "digitalocean".to_owned()]);
}

#[tokio::test]
async fn on_fakekube_allocations_are_listed_by_their_short_name_with_their_state() {
    allocations_are_listed_by_their_short_name_with_their_state(On::FakeKube).await;
}

/// Without a replay on the API server in memory: ages in tables differ.
#[tokio::test]
async fn on_kube_apiserver_allocations_are_listed_by_their_short_name_with_their_state() {
    allocations_are_listed_by_their_short_name_with_their_state(On::RealServer).await;
}
