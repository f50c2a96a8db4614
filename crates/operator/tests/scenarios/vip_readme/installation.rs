//! The commands of our migration page, where the predecessor is installed.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;

use super::stage::{Generation, Management};
use crate::arena::On;
use crate::installing::VIPS;
use crate::installing::printed::{blocks, page, run};
use crate::predecessor::{Predecessor, VIPS_NAMESPACE};

#[tokio::test]
async fn the_commands_of_our_migration_page_work_where_the_predecessor_is_installed() {
    let Some(management) = Management::furnished(On::RealServer, Generation::V1Beta1).await else {
        return;
    };
    drop(Predecessor::capi_vip_allocator(&management).await);
    run(&management, "kubectl apply -f crates/operator/tests/vip_manifests/installation.yaml")
        .await;
    let page = page("docs/migration-from-capi-vip-allocator.md");
    let commands = blocks(&page, "```sh\n");
    assert_eq!(commands.len(), 4, "replace, the Lease, delete the roles, the way back");
    for block in &commands {
        run(&management, block).await;
    }
    let deployments: Api<Deployment> = Api::namespaced(management.client.clone(), VIPS_NAMESPACE);
    let found = deployments.get("capi-vip-allocator-controller-manager").await.unwrap();
    let found = found.spec.unwrap();
    assert_eq!(found.replicas, Some(0));
    let args = found.template.spec.unwrap().containers[0].args.clone();
    assert_eq!(args.unwrap(), VIPS.arguments());
}
