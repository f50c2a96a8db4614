//! The rights of the chart, held against the requests of the operator, for all controllers and for each alone.
//! Only the real API server has RBAC.
//!
//! | here | |
//! |---|---|
//! | `rights` | the rights of roles, and the requests of the audit log that use them |
//! | `chart` | the chart's objects |
//! | `enough` | every right is used, and every request has one |
//! | `pools`, `record_sets`, `allocations`, `clusters` | what uses the rights of each controller |
//! | `trimmed` | what is told when a right is missing |

mod allocations;
pub mod chart;
mod clusters;
mod enough;
mod pools;
mod record_sets;
pub mod rights;
mod trimmed;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use pontoon::api::PAUSED_ANNOTATION;
use serde_json::json;

use crate::arena::eventually;

/// Pauses an object and lets it go on, twice: an event that comes again is a patch.
async fn pauses_twice(objects: &Api<DynamicObject>, name: &str) {
    for _ in 0..2 {
        for (text, paused) in [("true", true), ("false", false)] {
            let patch = json!({"metadata": {"annotations": {PAUSED_ANNOTATION: text}}});
            let params = PatchParams::default();
            objects.patch(name, &params, &Patch::Merge(patch)).await.unwrap();
            eventually(&format!("{name} paused: {text}"), || async {
                let object = objects.get(name).await.unwrap();
                let conditions = object.data["status"]["conditions"].as_array().cloned();
                let mut all = conditions.iter().flatten();
                let says = all.any(|one| one["type"] == "Ready" && one["reason"] == "Paused");
                if says == paused { Ok(()) } else { Err(conditions) }
            })
            .await;
        }
    }
}

/// The kind of a type, for objects in any shape.
fn kind_of<K: kube::Resource<DynamicType = ()>>() -> ApiResource {
    ApiResource::erase::<K>(&())
}
