//! Each folder agrees with the chart, the binary, the predecessor's names and an API server.

use std::collections::BTreeSet;

use control_plane::ControlPlane;
use pontoon::args::{Cli, Command, RunArgs};
use pontoon::fronts;
use serde_json::{Value, json};

use super::{FOLDERS, replaced};
use crate::arena::{Arena, On};
use crate::helm::RELEASE_NAMESPACE;
use crate::installing::{Folder, objects_of, root};
use crate::permissions::chart::Chart;
use crate::permissions::rights::{Right, rights_in};

fn read(folder: Folder) -> RunArgs {
    match Cli::read(["pontoon".to_owned()].into_iter().chain(folder.arguments())).unwrap().command {
        Command::Run(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn controllers(folder: Folder) -> String {
    read(folder).controllers().to_string()
}

#[test]
fn each_folder_serves_the_kinds_of_its_predecessor_alone() {
    let served = FOLDERS.map(|(folder, _)| controllers(folder));
    assert_eq!(served, ["floatingippools,nodednsrecordsets", "netipallocations", "clusters"]);
    for (folder, _) in FOLDERS {
        let args = read(folder);
        args.validate().unwrap();
        assert!(args.leader_elect && folder.one("Deployment")["spec"]["replicas"] == 2);
    }
}

#[test]
fn the_definitions_are_those_of_the_served_kinds() {
    for (folder, _) in FOLDERS {
        let file = root().join(folder.0).join("crds.yaml");
        let served = read(folder).controllers();
        let defined = served.fronts().any(|front| front.definition().is_some());
        let committed = std::fs::read_to_string(&file).ok();
        let stale = format!(
            "{0}/crds.yaml is stale; run: cargo run -p pontoon -- crds --controllers={served} > \
             {0}/crds.yaml",
            folder.0
        );
        assert!(committed == defined.then(|| fronts::crds_yaml(&served)), "{stale}");
    }
}

/// The rights of the operator's account, with its own namespace under one name.
fn rights(objects: &[Value], own: &str) -> BTreeSet<Right> {
    let plain = |mut right: Right| {
        assert!(right.namespace.as_deref().is_none_or(|one| one == own), "{right:?}");
        right.namespace = right.namespace.map(|_| "own".to_owned());
        right
    };
    rights_in(objects).into_iter().map(plain).collect()
}

#[test]
fn the_rights_are_those_of_the_chart_for_the_same_controllers() {
    for (folder, _) in FOLDERS {
        let served = controllers(folder);
        let Some(chart) = Chart::of(&served.split(',').collect::<Vec<_>>(), &[]) else { return };
        let ours = rights(&folder.objects(), &folder.namespace());
        let charts = rights(&chart.objects, RELEASE_NAMESPACE);
        let differing: Vec<_> = ours.symmetric_difference(&charts).collect();
        assert!(differing.is_empty(), "{}: {differing:#?}", folder.0);
    }
}

/// Names, labels, ports, the image, arguments, variables and the volume of the certificate differ; nothing else.
#[test]
fn the_pod_is_that_of_the_chart() {
    let Some(chart) = Chart::of(&[], &[]) else { return };
    let plain = |deployment: &Value| {
        let mut pod = deployment["spec"]["template"]["spec"].clone();
        let (container, fields) = (pod["containers"][0].take(), pod.as_object_mut().unwrap());
        for differs in ["serviceAccountName", "topologySpreadConstraints", "volumes", "containers"]
        {
            fields.remove(differs);
        }
        let mut container = container;
        for differs in ["name", "image", "command", "args", "env", "ports", "volumeMounts"] {
            container.as_object_mut().unwrap().remove(differs);
        }
        for probe in ["livenessProbe", "readinessProbe"] {
            container[probe]["httpGet"]["port"].take();
        }
        [pod, container]
    };
    let theirs = chart.objects.iter().find(|one| one["kind"] == "Deployment").unwrap();
    for (folder, _) in FOLDERS {
        assert_eq!(plain(&folder.one("Deployment")), plain(theirs), "{}", folder.0);
    }
}

#[test]
fn whatever_selects_pods_selects_those_of_the_deployment_and_every_binding_names_its_account() {
    for (folder, _) in FOLDERS {
        let deployment = folder.one("Deployment");
        let pod = &deployment["spec"]["template"];
        let selects = |selector: &Value| {
            let labels = selector.as_object().unwrap();
            assert!(!labels.is_empty());
            assert!(labels.iter().all(|(key, value)| pod["metadata"]["labels"][key] == *value));
        };
        selects(&deployment["spec"]["selector"]["matchLabels"]);
        selects(&pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"]);
        selects(&folder.one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"]);
        let named: BTreeSet<_> = ports(&pod["spec"]["containers"][0], "name").collect();
        for object in folder.objects() {
            if object["kind"] == "Service" {
                selects(&object["spec"]["selector"]);
                assert!(named.contains(&object["spec"]["ports"][0]["targetPort"].to_string()));
            }
            for subject in object["subjects"].as_array().into_iter().flatten() {
                assert_eq!(subject["name"], pod["spec"]["serviceAccountName"]);
                assert_eq!(subject["namespace"], folder.namespace());
            }
        }
        for probe in ["livenessProbe", "readinessProbe"] {
            let port = &pod["spec"]["containers"][0][probe]["httpGet"]["port"];
            assert!(named.contains(&port.to_string()), "{probe}");
        }
    }
}

fn ports<'c>(container: &'c Value, field: &'c str) -> impl Iterator<Item = String> + 'c {
    container["ports"].as_array().unwrap().iter().map(move |port| port[field].to_string())
}

#[test]
fn the_ports_are_those_that_the_operator_listens_on() {
    for (folder, _) in FOLDERS {
        let (args, container) = (read(folder), folder.container());
        let mut listens: BTreeSet<_> =
            args.addresses().into_iter().flatten().map(|one| one.replace(':', "")).collect();
        let of = |name: &str| {
            let all = container["env"].as_array().unwrap();
            all.iter().find(|one| one["name"] == name).map(|one| one["value"].as_str().unwrap())
        };
        listens.extend(of("METRICS_PORT").map(ToOwned::to_owned));
        let extension = args.extension.runtime_extension_port.to_string();
        let shown: BTreeSet<_> =
            ports(&container, "containerPort").filter(|port| *port != extension).collect();
        assert_eq!(shown, listens, "{}", folder.0);
    }
}

/// A selector cannot be changed, and other objects refer to these names.
#[test]
fn names_labels_and_ports_are_the_predecessors() {
    for (folder, theirs) in FOLDERS {
        let theirs: Vec<Value> = serde_saphyr::from_multiple(theirs).unwrap();
        for one in
            theirs.iter().filter(|one| one["kind"] == "Deployment" || one["kind"] == "Service")
        {
            let name = &one["metadata"]["name"];
            let ours = folder.objects();
            let same =
                |ours: &&Value| ours["kind"] == one["kind"] && ours["metadata"]["name"] == *name;
            let ours = ours.iter().find(same).unwrap_or_else(|| panic!("no {name}"));
            assert_eq!(ours["spec"]["selector"], one["spec"]["selector"], "{name}");
            assert_eq!(ours["spec"]["clusterIP"], one["spec"]["clusterIP"], "{name}");
            let pods = [ours, one].map(|one| &one["spec"]["template"]["spec"]);
            assert_eq!(pods[0]["serviceAccountName"], pods[1]["serviceAccountName"]);
            let names = pods.map(|pod| pod["containers"][0]["name"].clone());
            assert_eq!(names[0], names[1], "the same container, whose fields are replaced");
        }
    }
}

#[tokio::test]
async fn an_empty_cluster_takes_each_folder_strictly_and_each_can_be_applied_again() {
    let Some(plane) = ControlPlane::borrow().await.unwrap() else { return };
    for (folder, _) in FOLDERS {
        if folder.namespace() == "capi-system" {
            folder.kubectl(&plane, &["create", "namespace", "capi-system"]);
        }
        for way in [&["--server-side"][..], &[]] {
            let strict = [&["apply", "--validate=strict", "-f", folder.0], way].concat();
            // A strict server refuses a manifest whose Namespace is not there.
            let said = folder.kubectl(&plane, &strict);
            assert_eq!(said.lines().count(), folder.objects().len(), "{said}");
        }
        folder.kubectl(&plane, &["diff", "-f", folder.0]);
    }
}

#[tokio::test]
async fn applied_over_its_predecessor_each_folder_leaves_nothing_of_it_in_the_deployment() {
    for (folder, _) in FOLDERS {
        let Some(arena) = Arena::open_without_definitions(On::RealServer).await else { return };
        if folder.namespace() == "capi-system" {
            folder.kubectl(arena.plane(), &["create", "namespace", "capi-system"]);
        }
        let [before, after] = replaced(&arena, folder).await;
        assert_eq!(before.metadata.uid, after.metadata.uid, "{}: the same Deployment", folder.0);
        assert!(before.metadata.generation < after.metadata.generation, "its pods are replaced");
        let ours = folder.one("Deployment");
        let stored = serde_json::to_value(&after).unwrap();
        let (stored, ours) =
            (&stored["spec"]["template"]["spec"], &ours["spec"]["template"]["spec"]);
        for field in ["command", "args", "env", "resources", "ports", "volumeMounts"] {
            let [mut stored, mut ours] =
                [stored, ours].map(|pod| pod["containers"][0][field].clone());
            for port in
                [&mut stored, &mut ours].into_iter().filter_map(|one| one.as_array_mut()).flatten()
            {
                port.as_object_mut().map(|port| port.remove("protocol"));
            }
            assert_eq!(without_defaults(stored), ours, "{}: {field}", folder.0);
        }
        assert_eq!(stored["containers"].as_array().unwrap().len(), 1);
        assert_eq!(stored["priorityClassName"], ours["priorityClassName"]);
    }
}

/// Fields that the API server adds to references in variables.
fn without_defaults(mut value: Value) -> Value {
    for one in value.as_array_mut().into_iter().flatten() {
        if let Some(reference) =
            one.pointer_mut("/valueFrom/fieldRef").and_then(Value::as_object_mut)
        {
            reference.remove("apiVersion");
        }
    }
    value
}

/// A namespace of another project is not ours to make, and its definitions are not either.
#[test]
fn nothing_of_another_project_is_in_a_folder() {
    for (folder, _) in FOLDERS {
        let made = |kind: &str| folder.objects().iter().filter(|one| one["kind"] == kind).count();
        let ours = usize::from(folder.namespace() == "flipop");
        assert_eq!(made("Namespace"), ours, "{}", folder.0);
    }
    let flipop = objects_of("deploy/compat/flipop/namespace.yaml");
    assert_eq!(flipop[0]["metadata"], json!({"name": "flipop"}));
}
