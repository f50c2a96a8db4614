use fakekube::FakeKube;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use pontoon_core::action::{FailureKind, Version, VipAction};
use pontoon_core::model::{Kind, ObjectKey};
use pontoon_core::vips::model::{Job, ObjectName, Role};
use serde_json::json;

use super::super::sources::HOLDER;
use super::super::write::write;
use super::super::{CLUSTER, GENERATIONS};
use crate::api::objects_in;
use crate::observe::schema::{Schema, Schemas};
use crate::observe::version;

async fn create(client: &Client, kind: &Kind, version: &str, name: &str) -> DynamicObject {
    let api_version = if kind.group.is_empty() { version } else { "cluster.x-k8s.io/v1beta2" };
    let object = json!({
        "apiVersion": api_version, "kind": kind.name,
        "metadata": {"name": name, "namespace": "infra"},
    });
    let object = serde_json::from_value(object).unwrap();
    api(client, kind, version).create(&PostParams::default(), &object).await.unwrap()
}

fn api(client: &Client, kind: &Kind, version: &str) -> Api<DynamicObject> {
    objects_in(client.clone(), kind, version, "infra")
}

#[tokio::test]
async fn a_holder_is_deleted_only_if_the_api_server_no_longer_has_its_cluster() {
    let client = Client::new(FakeKube::new(1).service(), "default");
    let mut schemas = Schemas::default();
    schemas.set(&CLUSTER, Schema::Theirs(&GENERATIONS[0]));
    let cluster = create(&client, &CLUSTER, "v1beta2", "x").await.metadata;
    create(&client, &CLUSTER, "v1beta2", "y").await;
    let held = create(&client, &HOLDER, HOLDER.version, "vip-cp-x").await.metadata;
    let drop = VipAction::DropHolder {
        cluster: ObjectKey { kind: &CLUSTER, namespace: "infra".into(), name: "x".into() },
        job: Job::first(Role::ControlPlane),
        holder: Version {
            name: ObjectName::new("infra", "vip-cp-x"),
            uid: held.uid.unwrap().as_str().into(),
            version: version(held.resource_version.as_deref()),
        },
        gone: vec![cluster.uid.unwrap().as_str().into()],
    };
    let failure = write(client.clone(), &drop, &schemas).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Conflict);
    let holders = api(&client, &HOLDER, HOLDER.version);
    assert!(holders.get_opt("vip-cp-x").await.unwrap().is_some());

    let clusters = api(&client, &CLUSTER, "v1beta2");
    clusters.delete("x", &DeleteParams::default()).await.unwrap();
    write(client, &drop, &schemas).await.unwrap();
    assert!(holders.get_opt("vip-cp-x").await.unwrap().is_none());
}
