use fakekube::FakeKube;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
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
use crate::management;
use crate::observe::schema::{Schema, Schemas};
use crate::observe::version;

/// An API server that knows Clusters.
async fn api_server() -> Client {
    let client = Client::new(FakeKube::new(1).service(), "default");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in management::definitions().unwrap() {
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    client
}

async fn create(client: &Client, kind: &Kind, version: &str, name: &str) -> DynamicObject {
    let api_version = if kind.group.is_empty() { version } else { "cluster.x-k8s.io/v1beta2" };
    let object = json!({
        "apiVersion": api_version, "kind": kind.name,
        "metadata": {"name": name, "namespace": "default"},
    });
    let object = serde_json::from_value(object).unwrap();
    api(client, kind, version).create(&PostParams::default(), &object).await.unwrap()
}

fn api(client: &Client, kind: &Kind, version: &str) -> Api<DynamicObject> {
    objects_in(client.clone(), kind, version, "default")
}

#[tokio::test]
async fn a_holder_is_deleted_only_if_the_api_server_no_longer_has_its_cluster() {
    let client = api_server().await;
    let mut schemas = Schemas::default();
    schemas.set(&CLUSTER, Schema::Theirs(&GENERATIONS[0]));
    let cluster = create(&client, &CLUSTER, "v1beta2", "x").await.metadata;
    create(&client, &CLUSTER, "v1beta2", "y").await;
    let held = create(&client, &HOLDER, HOLDER.version, "vip-cp-x").await.metadata;
    let drop = VipAction::DropHolder {
        cluster: ObjectKey { kind: &CLUSTER, namespace: "default".into(), name: "x".into() },
        job: Job::first(Role::ControlPlane),
        holder: Version {
            name: ObjectName::new("default", "vip-cp-x"),
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
