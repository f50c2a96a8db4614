//! Manifests, binary and image agree.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use k8s_openapi::api::coordination::v1::Lease;
use pontoon::args::{Cli, Command, RunArgs};
use pontoon::clouds::Clouds;
use pontoon::run::Mode;
use pontoon_providers::layers::Gate;
use pontoon_providers::{Clock, https};
use serde_json::Value;

use super::{POD_UID, arguments, container, environment, root, shipped};
use crate::arena::{Arena, On, eventually};
use crate::replica::Replica;

/// The container's arguments, parsed by the binary's parser.
fn run_args() -> RunArgs {
    read(arguments())
}

fn read(arguments: Vec<String>) -> RunArgs {
    let given = ["pontoon".to_owned()].into_iter().chain(arguments);
    match Cli::read(given).unwrap().command {
        Command::Run(args) => *args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_binary_understands_the_arguments_and_two_replicas_elect_a_leader() {
    let args = run_args();
    args.validate().unwrap();
    args.timing().validate(args.provider_timeout).unwrap();
    assert!(args.leader_elect && shipped("Deployment")["spec"]["replicas"].as_u64() > Some(1));
}

#[test]
fn the_port_is_the_one_that_the_operator_listens_on() {
    let container = container();
    let port = &container["ports"][0];
    assert_eq!(run_args().metrics_bind_addr, format!(":{}", port["containerPort"]));
    assert_eq!(shipped("Service")["spec"]["ports"][0]["targetPort"], port["name"]);
    for probe in ["livenessProbe", "readinessProbe"] {
        assert_eq!(container[probe]["httpGet"]["port"], port["name"], "{probe}");
    }
}

#[test]
fn whatever_selects_pods_selects_those_of_the_deployment() {
    let deployment = shipped("Deployment");
    let pod = &deployment["spec"]["template"];
    let labels = &pod["metadata"]["labels"];
    let spread = &pod["spec"]["topologySpreadConstraints"][0]["labelSelector"];
    assert_eq!(&deployment["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(&spread["matchLabels"], labels);
    assert_eq!(&shipped("PodDisruptionBudget")["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(&shipped("Service")["spec"]["selector"], labels);
}

/// An operator that waits five minutes for another node is no failover.
#[test]
fn the_pod_is_scheduled_before_others_and_leaves_a_lost_node_after_30_seconds() {
    let pod = shipped("Deployment")["spec"]["template"]["spec"].take();
    assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    let leaves = |taint: &str| {
        let tolerations = pod["tolerations"].as_array().unwrap();
        let one = tolerations.iter().find(|one| one["key"] == taint).unwrap();
        assert_eq!((&one["effect"], &one["operator"]), (&"NoExecute".into(), &"Exists".into()));
        one["tolerationSeconds"].as_u64()
    };
    assert_eq!(leaves("node.kubernetes.io/unreachable"), Some(30));
    assert_eq!(leaves("node.kubernetes.io/not-ready"), Some(30));
}

/// The predecessor's Deployment must not adopt our pods.
#[test]
fn nothing_has_a_name_or_a_label_of_the_predecessors_workload() {
    for object in super::objects().iter().filter(|object| object["kind"] != "Namespace") {
        assert_ne!(object["metadata"]["name"], "flipop", "{}", object["kind"]);
    }
    assert!(shipped("Deployment")["spec"]["template"]["metadata"]["labels"]["app"].is_null());
}

#[test]
fn tokens_are_read_from_the_variables_that_the_container_has() {
    let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let variable = |name: &str| {
        asked.lock().unwrap().insert(name.to_owned());
        None
    };
    let clock = Clock::new(SystemTime::now);
    drop(Clouds::open(&variable, Duration::from_secs(5), &clock, &https(&Gate::open())));
    let asked = asked.lock().unwrap();
    let container = container();
    let variables = container["env"].as_array().unwrap();
    for secret in variables.iter().filter(|one| !one["valueFrom"]["secretKeyRef"].is_null()) {
        assert!(asked.contains(secret["name"].as_str().unwrap()), "{secret} is none of {asked:?}");
    }
}

/// Tests the remaining variables, and the pages of the probes, by running the binary.
#[tokio::test]
async fn the_pod_answers_its_probes_and_its_lease_is_beside_it_and_held_in_its_name() {
    let Some(arena) = Arena::open(On::FakeKube).await else { return };
    let variables = environment(&arena, "pontoon-7d4b9").await;
    let variables: Vec<_> = variables.iter().map(String::as_str).collect();
    let replica = Replica::start(&arena, "pod", &variables);
    let container = container();
    for probe in ["livenessProbe", "readinessProbe"] {
        let path = container[probe]["httpGet"]["path"].as_str().unwrap();
        eventually(&format!("{probe}: {path}"), || async {
            let page = replica.page(path).await.unwrap_or_default();
            if page.starts_with("HTTP/1.1 200 ") { Ok(()) } else { Err(page) }
        })
        .await;
    }
    replica.leads().await;
    let lease = arena.namespaced::<Lease>().get("pontoon").await.unwrap();
    let holder = lease.spec.unwrap().holder_identity.unwrap();
    assert!(holder.starts_with(&format!("pontoon-7d4b9_{POD_UID}_")), "{holder}");
}

#[tokio::test]
async fn the_first_line_of_the_log_says_what_starts_where_and_with_which_credentials() {
    let Some(arena) = Arena::open(On::FakeKube).await else { return };
    let first = async |replica: &Replica| {
        eventually("a line", || async {
            let log = replica.log();
            log.split_once('\n').map(|(line, _)| line.to_owned()).ok_or(log)
        })
        .await
    };
    let replica = Replica::start(&arena, "pod", &["CLOUDFLARE_TOKEN=", "--mode=observe"]);
    let line = first(&replica).await;
    let said: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(said["message"], "pontoon starts");
    assert_eq!(said["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&said["mode"], &said["replica"]), (&"Observe".into(), &"pod".into()));
    assert_eq!(said["credentials"], "digitalocean, gcp");
    let server = said["server"].as_str().unwrap();
    assert!(server.starts_with("http") && server.contains("127.0.0.1:"), "{line}");

    let replica = Replica::start(&arena, "words", &["--log-format=text"]);
    let line = first(&replica).await;
    assert!(line.contains(" INFO pontoon starts version="), "{line}");
    assert!(line.contains("credentials=\"digitalocean, cloudflare, gcp\""), "{line}");
}

#[test]
fn the_image_is_this_version_built_with_our_rust_and_runs_as_the_pods_user() {
    assert_eq!(container()["image"], concat!("pontoon:", env!("CARGO_PKG_VERSION")));
    let file = std::fs::read_to_string(root().join("Containerfile")).unwrap();
    let holds = |line: &str| assert!(file.lines().any(|one| one == line), "no line {line:?}");
    holds(concat!("FROM rust:", env!("CARGO_PKG_RUST_VERSION"), "-alpine AS build"));
    let user = shipped("Deployment")["spec"]["template"]["spec"]["securityContext"].take();
    holds(&format!("USER {}:{}", user["runAsUser"], user["runAsGroup"]));
    holds(&format!("EXPOSE {}", container()["ports"][0]["containerPort"]));
    assert_eq!(container()["command"], Value::Null, "the image knows its binary");
    holds("ENTRYPOINT [\"/pontoon\"]");
    holds("FROM scratch");
    assert!(file.contains("RUSTFLAGS=\"-C target-feature=+crt-static\""), "scratch has no loader");
    let named = concat!("-t pontoon:", env!("CARGO_PKG_VERSION"), " ");
    assert_eq!(file.matches(named).count(), 2, "the commands at its top");
    assert!(std::fs::read_to_string(root().join("README.md")).unwrap().contains(named));
}

/// The command is printed in the migration guide.
#[test]
fn the_command_that_makes_it_only_observe_does_that() {
    let page = std::fs::read_to_string(root().join("docs/migration-from-flipop.md")).unwrap();
    let command = page.lines().find(|line| line.starts_with("sed ")).unwrap();
    let edit = command.strip_suffix(" | kubectl apply -f -").unwrap();
    let done = std::process::Command::new("sh").args(["-c", edit]).current_dir(root()).output();
    let objects: Vec<Value> =
        serde_saphyr::from_multiple(&String::from_utf8(done.unwrap().stdout).unwrap()).unwrap();
    let args = &objects[0]["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(args, &serde_json::json!(["run", "--mode=observe"]));
    assert_eq!(read(serde_json::from_value(args.clone()).unwrap()).mode, Mode::Observe);
}
