//! The commands in our documentation, run as a user would run them.

use k8s_openapi::api::apps::v1::Deployment;

use super::{FLIPOP, root};
use crate::arena::{Arena, On};
use crate::helm::helm;

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
    let Some(helm) = helm() else { return };
    let Some(arena) = Arena::open_without_definitions(On::RealServer).await else { return };
    run(&arena, "kubectl apply -f crates/operator/tests/flipop_manifests/installation.yaml").await;
    let page = page("docs/migration-from-flipop.md");
    let commands = blocks(&page, "```sh\n");
    assert_eq!(commands.len(), 6, "look, no longer, replace, delete roles, two of the way back");
    let deployments = arena.namespaced::<Deployment>();
    let args = async |name: &str| {
        let found = deployments.get(name).await.unwrap().spec.unwrap();
        (found.template.spec.unwrap().containers[0].args.clone().unwrap(), found.replicas)
    };
    let path = format!("PATH='{}':$PATH\n", helm.parent().unwrap().display());
    run(&arena, &format!("{path}{}", commands[0])).await;
    assert!(args("pontoon").await.0.contains(&"--mode=observe".to_owned()));
    assert_eq!(args("flipop").await.0, ["--debug"], "FLIPOP goes on");
    run(&arena, &format!("{path}{}", commands[1])).await;
    for block in &commands[2..5] {
        run(&arena, block).await;
    }
    assert_eq!(args("flipop").await, (FLIPOP.arguments(), Some(0)));
    run(&arena, &commands[5]).await;
}
