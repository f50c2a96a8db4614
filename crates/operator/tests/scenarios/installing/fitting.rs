//! Manifests, binary and image agree.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use k8s_openapi::api::coordination::v1::Lease;
use pontoon::clouds::{Clouds, Means};
use pontoon_providers::layers::Gate;
use pontoon_providers::{Clock, https};
use serde_json::Value;

use super::{ALLOCATIONS, FLIPOP, POD_UID, VIPS, objects_of, root};
use crate::arena::{Arena, On, eventually};
use crate::replica::Replica;

/// An operator that waits five minutes for another node is no failover.
#[test]
fn the_pod_is_scheduled_before_others_and_leaves_a_lost_node_after_30_seconds() {
    let folders = [FLIPOP, ALLOCATIONS, VIPS].map(|folder| folder.one("Deployment"));
    let plain = objects_of("deploy/pontoon.yaml").into_iter();
    let plain = plain.filter(|object| object["kind"] == "Deployment");
    for mut deployment in folders.into_iter().chain(plain) {
        let pod = deployment["spec"]["template"]["spec"].take();
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
}

#[test]
fn tokens_are_read_from_the_variables_that_the_container_has() {
    let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let variable = Box::new(move |name: &str| {
        noted.lock().unwrap().insert(name.to_owned());
        None
    });
    let (clock, transport) = (Clock::new(SystemTime::now), https(&Gate::open()));
    drop(Clouds::open(Means { variable, timeout: Duration::from_secs(5), clock, transport }));
    let asked = asked.lock().unwrap();
    let container = FLIPOP.container();
    let variables = container["env"].as_array().unwrap();
    for secret in variables.iter().filter(|one| !one["valueFrom"]["secretKeyRef"].is_null()) {
        assert!(asked.contains(secret["name"].as_str().unwrap()), "{secret} is none of {asked:?}");
    }
}

/// Tests the remaining variables, and the pages of the probes, by running the binary.
#[tokio::test]
async fn the_pod_answers_its_probes_and_its_lease_is_beside_it_and_held_in_its_name() {
    let Some(arena) = Arena::open(On::FakeKube).await else { return };
    let variables = FLIPOP.environment(&arena, "pontoon-7d4b9").await;
    let variables: Vec<_> = variables.iter().map(String::as_str).collect();
    let replica = Replica::start(&arena, "pod", &variables);
    let container = FLIPOP.container();
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
    assert_eq!(FLIPOP.container()["image"], concat!("pontoon:", env!("CARGO_PKG_VERSION")));
    let file = std::fs::read_to_string(root().join("Containerfile")).unwrap();
    let holds = |line: &str| assert!(file.lines().any(|one| one == line), "no line {line:?}");
    holds(concat!("FROM rust:", env!("CARGO_PKG_RUST_VERSION"), "-bookworm AS build"));
    let user = FLIPOP.one("Deployment")["spec"]["template"]["spec"]["securityContext"].take();
    holds(&format!("USER {}:{}", user["runAsUser"], user["runAsGroup"]));
    holds(&format!("EXPOSE {}", FLIPOP.container()["ports"][0]["containerPort"]));
    let command: Vec<String> =
        serde_json::from_value(FLIPOP.container()["command"].take()).unwrap();
    holds(&format!("ENTRYPOINT {command:?}"));
    holds("FROM scratch");
    // As `image/build` does, whose image is unpacked and run in `image`.
    holds("RUN binary=\"$(image/binary)\" && image/root \"$binary\" /image");
    holds("COPY --from=build /image/ /");
    let named = concat!("-t pontoon:", env!("CARGO_PKG_VERSION"), " ");
    assert_eq!(file.matches(named).count(), 2, "the commands at its top");
    assert!(std::fs::read_to_string(root().join("README.md")).unwrap().contains(named));
}
