//! Planes that several tests use in turn. A single test, because the list of returned planes is
//! global to the process.

use control_plane::{ControlPlane, Loan};
use k8s_openapi::api::core::v1::{Namespace, Node};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::wait_until;

async fn create<K>(client: &Client, object: Value)
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let object: K = serde_json::from_value(object).unwrap();
    Api::<K>::all(client.clone()).create(&PostParams::default(), &object).await.unwrap();
}

/// Creates a node, a namespace, a definition and an object of the definition.
async fn use_it(plane: &ControlPlane, version: &str) {
    let client = plane.client().unwrap();
    create::<Node>(&client, json!({"metadata": {"name": "a"}})).await;
    create::<Namespace>(&client, json!({"metadata": {"name": "flipop"}})).await;
    let schema = json!({"openAPIV3Schema":
        {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = json!({"metadata": {"name": "things.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [{"name": version, "served": true, "storage": true, "schema": schema}],
    }});
    create::<CustomResourceDefinition>(&client, definition).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    await_condition(definitions, "things.example.com", is_crd_established()).await.unwrap();
    let thing = serde_json::from_value(json!({"apiVersion": format!("example.com/{version}"),
        "kind": "Thing", "metadata": {"name": "a"}}));
    let things: Api<DynamicObject> = Api::namespaced_with(client, "flipop", &things(version));
    assert_eq!(things.list(&ListParams::default()).await.unwrap().items.len(), 0, "{version}");
    things.create(&PostParams::default(), &thing.unwrap()).await.unwrap();
}

fn things(version: &str) -> ApiResource {
    ApiResource {
        group: "example.com".into(),
        version: version.into(),
        api_version: format!("example.com/{version}"),
        kind: "Thing".into(),
        plural: "things".into(),
    }
}

async fn borrowed() -> Option<Loan> {
    ControlPlane::borrow_recording().await.unwrap()
}

#[tokio::test]
async fn a_plane_is_lent_again_and_shows_nothing_of_the_test_before() {
    let Some(plane) = borrowed().await else { return };
    let folder = plane.folder().to_owned();
    use_it(&plane, "v1").await;
    drop(plane);

    for version in ["v2", "v1"] {
        let plane = borrowed().await.unwrap();

        assert_eq!(plane.folder(), folder, "the same again");
        let asked = plane.audit_log().unwrap();
        assert!(asked.iter().all(|entry| entry.user != "admin"), "{asked:#?}");
        let client = plane.client().unwrap();
        let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default()).await.unwrap();
        assert_eq!(nodes.items.len(), 0);
        let groups = client.list_api_groups().await.unwrap().groups;
        assert!(groups.iter().all(|group| group.name != "example.com"));
        use_it(&plane, version).await;
        let made = || {
            let log = plane.audit_log().unwrap();
            log.iter().filter(|one| one.user == "admin" && one.verb == "create").count()
        };
        wait_until("what this test has made is logged", || made() == 4);
    }

    let plane = borrowed().await.unwrap();
    let class = json!({"metadata": {"name": "a"}, "value": 1});
    create::<PriorityClass>(&plane.client().unwrap(), class).await;
    drop(plane);
    assert_ne!(borrowed().await.unwrap().folder(), folder, "what cannot be wiped is given up");
}
