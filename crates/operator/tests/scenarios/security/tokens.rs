//! Tokens in files: replaced, late and lost, without a restart.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

const IP: &str = "198.51.100.1";

async fn two_nodes(on: On) -> Option<(Arena, PathBuf)> {
    let arena = Arena::open(on).await?;
    arena.cloud.reserve(IP.parse::<IpAddr>().unwrap(), "nyc3");
    for (node, droplet) in [("a", 1), ("b", 2)] {
        arena.serving_node(node, droplet).await;
    }
    arena.pool("ingress", json!({"ips": [IP]})).await;
    let path = arena.folder().join("token");
    Some((arena, path))
}

fn start(arena: &Arena, path: &Path) -> Replica {
    let file = format!("DIGITALOCEAN_ACCESS_TOKEN_FILE={}", path.display());
    Replica::start(arena, "only", &["DIGITALOCEAN_ACCESS_TOKEN=", &file])
}

/// Puts a token into the file at once, as the kubelet does.
fn put(path: &Path, token: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, token).unwrap();
    std::fs::rename(new, path).unwrap();
}

async fn logged(replica: &Replica, words: &str) {
    eventually(words, || async {
        let log = replica.log();
        if log.contains(words) { Ok(()) } else { Err("not logged") }
    })
    .await;
}

async fn a_revoked_token_that_is_replaced_in_its_file_works_without_a_restart(on: On) {
    let Some((arena, path)) = two_nodes(on).await else { return };
    put(&path, "canary-token-1\n");
    arena.cloud.token("canary-token-1");
    let replica = start(&arena, &path);
    arena.ready("ingress").await;

    arena.cloud.token("canary-token-2");
    arena.set_ready("a", false).await;
    let told = arena.reason("ingress", "Stalled", "True", "CredentialsRefused").await;
    assert!(told.contains("in a file it counts within seconds"), "{told}");
    assert_eq!(arena.droplet_of(IP), Some(1));
    put(&path, "canary-token-2");
    arena.held_by(IP, Some(2)).await;
    arena.ready("ingress").await;
    logged(&replica, "the file has another token").await;
}

async fn a_token_that_comes_late_is_used_and_one_that_goes_is_used_on(on: On) {
    let Some((arena, path)) = two_nodes(on).await else { return };
    let replica = start(&arena, &path);
    let told = arena.reason("ingress", "Stalled", "True", "CredentialsMissing").await;
    assert!(told.contains(path.to_str().unwrap()), "{told}");
    assert!(told.contains("DIGITALOCEAN_ACCESS_TOKEN_FILE names, does not exist"), "{told}");
    put(&path, "canary token");
    arena.reason("ingress", "Stalled", "True", "CredentialsUnusable").await;
    assert!(arena.cloud.log().is_empty());
    put(&path, "canary-token");
    arena.ready("ingress").await;
    arena.held_by(IP, Some(1)).await;

    std::fs::remove_file(&path).unwrap();
    logged(&replica, "the file with the token cannot be used; the last token stays in use").await;
    arena.set_ready("a", false).await;
    arena.held_by(IP, Some(2)).await;
    arena.ready("ingress").await;
}

on_both! {
    a_revoked_token_that_is_replaced_in_its_file_works_without_a_restart,
    a_token_that_comes_late_is_used_and_one_that_goes_is_used_on,
}
