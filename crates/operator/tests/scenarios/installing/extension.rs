//! `deploy/capi/extension`: the runtime extension's manifests agree with each other, with the binary, and
//! with the definitions of Cluster API.

use clap::Parser;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use pontoon::args::{Cli, Command, RunArgs};
use serde_json::Value;

use super::printed::{blocks, page, run};
use super::{objects_of, root};
use crate::arena::{Arena, On, Recording, on_both};
use crate::upgrade::others_definition;

const FOLDER: &str = "deploy/capi/extension";

/// The Deployment that the patch is for.
fn deployment() -> Value {
    let all = objects_of("deploy/capi/addon-components.yaml");
    all.into_iter().find(|one| one["kind"] == "Deployment").unwrap()
}

fn container() -> Value {
    deployment()["spec"]["template"]["spec"]["containers"][0].take()
}

fn arguments() -> Vec<String> {
    serde_json::from_value(container()["args"].take()).unwrap()
}

/// The object of a kind with this name.
fn object(kind: &str, name: &str) -> Value {
    let all = objects_of(format!("{FOLDER}/server.yaml"));
    let is_it = |one: &&Value| one["kind"] == kind && one["metadata"]["name"] == name;
    all.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} {name}")).clone()
}

fn registration(version: &str) -> Value {
    let mut all = objects_of(format!("{FOLDER}/register/{version}.yaml"));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The value that the patch adds at a path.
fn added(path: &str) -> Value {
    let text = std::fs::read_to_string(root().join(FOLDER).join("deployment.patch")).unwrap();
    let patch: Vec<Value> = serde_saphyr::from_str(&text).unwrap();
    assert!(patch.iter().all(|one| one["op"] == "add"), "nothing is taken away");
    let one = patch.iter().find(|one| one["path"] == path);
    one.unwrap_or_else(|| panic!("no {path}"))["value"].clone()
}

fn patched_args() -> RunArgs {
    let flag = added("/spec/template/spec/containers/0/args/-");
    let mut given = vec!["pontoon".to_owned()];
    given.extend(arguments());
    given.push(flag.as_str().unwrap().to_owned());
    match Cli::try_parse_from(given).unwrap().command {
        Command::Run(args) => *args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_patched_deployment_serves_the_extension_where_the_service_leads_to() {
    let args = patched_args().extension;
    assert!(args.enable_runtime_extension);
    let service = object("Service", "pontoon-runtime-extension");
    assert_eq!(service["spec"]["ports"][0]["targetPort"], args.runtime_extension_port);
    let deployment = deployment();
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(&service["spec"]["selector"], labels);
}

#[test]
fn the_certificate_is_mounted_where_the_operator_looks_and_is_not_needed_for_the_pod_to_start() {
    let (container, args) = (container(), patched_args().extension);
    let pod = deployment()["spec"]["template"]["spec"].take();
    assert!(container["volumeMounts"].is_null() && pod["volumes"].is_null(), "the patch adds them");
    let mount = added("/spec/template/spec/containers/0/volumeMounts")[0].take();
    assert_eq!(mount["mountPath"], args.runtime_extension_cert_dir.to_str().unwrap());
    let volume = added("/spec/template/spec/volumes")[0].take();
    assert_eq!(volume["name"], mount["name"]);
    let certificate = object("Certificate", "pontoon-runtime-extension");
    assert_eq!(volume["secret"]["secretName"], certificate["spec"]["secretName"]);
    assert_eq!(volume["secret"]["optional"], true);
}

#[test]
fn cluster_api_reaches_the_service_by_a_name_of_the_certificate_and_trusts_its_authority() {
    let certificate = object("Certificate", "pontoon-runtime-extension");
    for version in ["v1beta2", "v1alpha1"] {
        let registered = registration(version);
        let service = &registered["spec"]["clientConfig"]["service"];
        let (name, namespace) = (&service["name"], &service["namespace"]);
        let found = object("Service", name.as_str().unwrap());
        assert_eq!(&found["metadata"]["namespace"], namespace);
        assert_eq!(found["spec"]["ports"][0]["port"], service["port"]);
        let host = format!("{}.{}.svc", name.as_str().unwrap(), namespace.as_str().unwrap());
        assert!(certificate["spec"]["dnsNames"].as_array().unwrap().contains(&host.into()));
        let authority = &registered["metadata"]["annotations"]["runtime.cluster.x-k8s.io/inject-ca-from-secret"];
        let secret = certificate["spec"]["secretName"].as_str().unwrap();
        assert_eq!(*authority, format!("{}/{secret}", namespace.as_str().unwrap()));
    }
}

#[tokio::test]
async fn kubectl_patches_the_deployment_as_the_page_says() {
    let on = On::Recorded(Recording::default());
    let Some(arena) = Arena::open_without_definitions(on).await else { return };
    let page = page("docs/runtime-extension.md");
    let commands = blocks(&page, "```console\n").remove(0);
    let patch = commands.lines().find(|line| line.contains("kubectl patch")).unwrap();
    run(&arena, "kubectl apply -f deploy/capi/addon-components.yaml").await;
    run(&arena, &patch.replace("$ ", "")).await;
    let deployments: Api<Deployment> = Api::namespaced(arena.client.clone(), "pontoon-system");
    let patched = deployments.get("pontoon").await.unwrap();
    let pod = patched.spec.unwrap().template.spec.unwrap();
    let given = pod.containers[0].args.clone().unwrap();
    assert_eq!(given.last().unwrap(), "--enable-runtime-extension=true");
    assert_eq!(given[..given.len() - 1], arguments());
    assert_eq!(pod.volumes.unwrap().len(), 1);
}

async fn cluster_api_accepts_the_registration(on: On) {
    let Some(arena) = Arena::open_without_definitions(on).await else { return };
    for (generation, version) in [("v1beta1", "v1alpha1"), ("v1beta2", "v1beta2")] {
        let file = "runtime.cluster.x-k8s.io_extensionconfigs.yaml";
        let Some(definition) = others_definition(generation, file) else { return };
        arena.define(vec![serde_saphyr::from_str(&definition).unwrap()]).await;
        let kind = GroupVersionKind::gvk("runtime.cluster.x-k8s.io", version, "ExtensionConfig");
        let resource = ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> = Api::all_with(arena.client.clone(), &resource);
        let mut object = registration(version);
        object["metadata"]["name"] = version.into();
        let object = serde_json::from_value(object).unwrap();
        let params = PostParams::default();
        let stored = api.create(&params, &object).await.unwrap();
        assert_eq!(stored.data["spec"], object.data["spec"], "nothing is pruned");
    }
}

on_both! {
    cluster_api_accepts_the_registration,
}
