//! The commands of our migration page, where the predecessor is installed.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;

use super::stage::{Generation, Management};
use crate::arena::On;
use crate::installing::printed::{blocks, page, run};
use crate::predecessor::{Predecessor, VIPS_NAMESPACE};

/// The predecessor's Deployment, as far as its page names it.
const THEIRS: &str = "capi-vip-allocator-controller-manager";

#[tokio::test]
async fn the_commands_of_our_migration_page_work_where_the_predecessor_is_installed() {
    let Some(management) = Management::furnished(On::RealServer, Generation::V1Beta1).await else {
        return;
    };
    drop(Predecessor::capi_vip_allocator(&management).await);
    run(&management, &format!("kubectl -n capi-system create deployment {THEIRS} --image=i")).await;
    let page = page("docs/migration-from-capi-vip-allocator.md");
    let commands = blocks(&page, "```sh\n");
    assert_eq!(commands.len(), 4, "install, stop the predecessor, the Lease, the way back");
    let replicas = async |namespace: &str, name: &str| {
        let deployments: Api<Deployment> = Api::namespaced(management.client.clone(), namespace);
        deployments.get(name).await.unwrap().spec.unwrap().replicas
    };
    for block in &commands[..3] {
        run(&management, block).await;
    }
    assert_eq!(replicas(VIPS_NAMESPACE, THEIRS).await, Some(0));
    assert_eq!(replicas("pontoon-system", "pontoon").await, Some(2));
    run(&management, &commands[3]).await;
    assert_eq!(replicas(VIPS_NAMESPACE, THEIRS).await, Some(1));
    assert_eq!(replicas("pontoon-system", "pontoon").await, Some(0));
}
