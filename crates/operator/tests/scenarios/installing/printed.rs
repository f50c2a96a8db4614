//! The commands in our documentation, run as a user would run them.

use k8s_openapi::api::apps::v1::Deployment;

use super::root;
use crate::arena::{Arena, On};

pub fn page(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}

/// The code blocks of a page that start with `fence`.
pub fn blocks(page: &str, fence: &str) -> Vec<String> {
    let block = |rest: &str| rest.split_once("```").unwrap().0.to_owned();
    page.split(fence).skip(1).map(block).collect()
}

pub async fn run(arena: &Arena, commands: &str) {
    let done = arena.shell(&format!("cd '{}'\n{commands}", root().display())).await.unwrap();
    assert!(done.status.success(), "{commands}: {done:?}");
}

#[tokio::test]
async fn the_commands_of_the_migration_work_where_the_predecessor_is_installed() {
    let Some(arena) = Arena::open_without_definitions(On::RealServer).await else { return };
    run(&arena, "kubectl -n flipop create deployment flipop --image=flipop").await;
    let page = page("docs/migration-from-flipop.md");
    let commands = blocks(&page, "```sh\n");
    assert_eq!(commands.len(), 4, "install, stop FLIPOP, only observe, the way back");
    for block in &commands {
        run(&arena, block).await;
    }
    let deployments = arena.namespaced::<Deployment>();
    let theirs = deployments.get("flipop").await.unwrap();
    assert_eq!(theirs.spec.unwrap().replicas, Some(0));
    let ours = deployments.get("pontoon").await.unwrap();
    let observing = ours.spec.unwrap().template.spec.unwrap().containers[0].args.clone();
    assert_eq!(observing.unwrap(), ["run", "--mode=observe"]);
}
