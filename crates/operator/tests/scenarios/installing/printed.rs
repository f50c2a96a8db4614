//! The commands in our documentation, run as a user would run them.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::ListParams;

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

async fn definitions(arena: &Arena) -> usize {
    let crds: Api<CustomResourceDefinition> = Api::all(arena.client.clone());
    crds.list(&ListParams::default()).await.unwrap().items.len()
}

#[tokio::test]
async fn the_readmes_commands_install_it_and_take_it_away_without_the_definitions() {
    let Some(arena) = Arena::open_without_definitions(On::RealServer).await else { return };
    let readme = page("README.md");
    let (_, use_it) = readme.split_once("## Use it").unwrap();
    run(&arena, &blocks(use_it, "```console\n")[0].replace("$ ", "")).await;
    let deployments = arena.namespaced::<Deployment>();
    assert!(deployments.get_opt("pontoon").await.unwrap().is_some());

    let away = "kubectl delete -f deploy/workload.yaml -f deploy/rbac.yaml";
    assert!(use_it.contains(&format!("`{away}`")));
    run(&arena, away).await;
    assert!(deployments.get_opt("pontoon").await.unwrap().is_none());
    assert!(arena.namespaced::<ServiceAccount>().get_opt("pontoon").await.unwrap().is_none());
    assert_eq!(definitions(&arena).await, 3);
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
