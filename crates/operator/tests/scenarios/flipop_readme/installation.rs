//! The README's installation: its commands, with our folder in place of FLIPOP's.

use serde_json::json;

use super::stage::{LISTED, cluster_without_definitions, pool};
use crate::arena::{Arena, On, eventually};
use crate::installing::{FLIPOP, root};
use crate::upgrade::predecessors_definition;

/// As printed in the README, except for the folder and the token. The namespace already exists.
const COMMANDS: &str = r#"
kubectl create secret generic flipop -n flipop --from-literal=DIGITALOCEAN_ACCESS_TOKEN="canary-token"
kubectl apply -n flipop -f deploy/compat/flipop
"#;

async fn shell(arena: &Arena, commands: &str) {
    let script = format!("cd '{}'\n{commands}", root().display());
    let done = arena.shell(&script).await.unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Waits until the server has applied the shipped role.
async fn role_is_in_force(arena: &Arena) {
    let may = "kubectl auth can-i list nodes --as=system:serviceaccount:flipop:flipop";
    eventually(may, || async {
        let answer = arena.shell(may).await.unwrap();
        if answer.status.success() { Ok(()) } else { Err(answer) }
    })
    .await;
}

async fn the_pages_pool_is_served(arena: &Arena) {
    role_is_in_force(arena).await;
    let replica = FLIPOP.pod(arena).await;
    arena.manifest(pool(json!({"desiredIPs": null}))).await;
    arena.ready("ingress-pool").await;
    arena.marked("a", Some(LISTED[0])).await;
    arena.listed("hello", "A", &LISTED).await;
    let log = replica.log();
    assert!(!log.to_lowercase().contains("forbidden"), "{log}");
}

#[tokio::test]
async fn after_the_pages_commands_a_pool_is_served() {
    let Some(arena) = cluster_without_definitions(On::RealServer, &["a", "b"]).await else {
        return;
    };
    shell(&arena, COMMANDS).await;
    the_pages_pool_is_served(&arena).await;
}

#[tokio::test]
async fn over_the_predecessors_own_installation_the_last_command_is_enough() {
    let Some(pools) = predecessors_definition("flipop.floatingippool.crd.yaml") else { return };
    let Some(sets) = predecessors_definition("flipop.nodednsrecordset.crd.yaml") else { return };
    let Some(arena) = cluster_without_definitions(On::RealServer, &["a", "b"]).await else {
        return;
    };
    let folder = arena.folder().join("k8s");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("pools.yaml"), pools).unwrap();
    std::fs::write(folder.join("sets.yaml"), sets).unwrap();
    shell(
        &arena,
        &COMMANDS.replace("-f deploy/compat/flipop", &format!("-f {}", folder.display())),
    )
    .await;

    shell(&arena, "kubectl apply --server-side --dry-run=server -f deploy/compat/flipop").await;
    shell(&arena, COMMANDS.lines().last().unwrap()).await;
    shell(&arena, "kubectl diff -f deploy/compat/flipop").await;
    the_pages_pool_is_served(&arena).await;
}
