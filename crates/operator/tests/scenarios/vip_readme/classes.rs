//! The page's ClusterClasses, on a real API server.

use serde_json::Value;

use super::stage::{Generation, Management, class as corrected, printed};
use crate::arena::On;

const CLASSES: &str = include_str!("../../vip_manifests/classes.yaml");

fn class(name: &str) -> Value {
    let all: Vec<Value> = serde_saphyr::from_multiple(CLASSES).unwrap();
    all.into_iter().find(|one| one["metadata"]["name"] == name).unwrap()
}

/// The page prints two patches without `matchResources`, and a variable without `required`: every API
/// server asks for both.
#[tokio::test]
async fn the_classes_of_the_page_are_accepted_except_for_those_that_lack_a_required_field() {
    for generation in [Generation::V1Beta1, Generation::V1Beta2] {
        let Some(management) = Management::open(On::RealServer, generation).await else { return };
        for accepted in ["infrastructure-patch", "rke2-proxmox-class"] {
            management.apply(class(accepted)).await.unwrap();
        }
        let refused = management.apply(class("control-plane-patches")).await.unwrap_err();
        assert!(refused.to_string().contains("matchResources: Required value"), "{refused}");
        let refused = management.apply(printed("ClusterClass")).await.unwrap_err();
        assert!(refused.to_string().contains("variables[1].required: Required"), "{refused}");
        management.apply(corrected()).await.unwrap();
    }
}
