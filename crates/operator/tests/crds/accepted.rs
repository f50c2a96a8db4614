//! Objects that the API server stores.

use std::io::Write;
use std::net::IpAddr;
use std::process::Stdio;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use pontoon::fronts::{Controllers, crds, crds_yaml};
use serde_json::json;

use crate::{ours, pool, record_set, try_create};

#[tokio::test]
async fn our_definitions_are_accepted_and_established() {
    let Some((_, client)) = ours().await else { return };
    let api: Api<CustomResourceDefinition> = Api::all(client);
    for crd in crds() {
        let stored = api.get(crd.metadata.name.as_deref().unwrap()).await.unwrap();
        assert_eq!(stored.spec.versions, crd.spec.versions);
        let problems: Vec<_> = stored
            .status
            .and_then(|status| status.conditions)
            .into_iter()
            .flatten()
            .filter(|condition| condition.status != "True")
            .collect();
        assert!(problems.is_empty(), "{problems:?}");
    }
}

#[tokio::test]
async fn kubectl_applies_the_yaml() {
    let Some((plane, _)) = ours().await else { return };
    let said = applied(
        plane,
        &["--server-side", "--force-conflicts"],
        &crds_yaml(&Controllers::default()),
    );
    assert_eq!(said.lines().count(), crds().len(), "{said}");
}

/// The manifests of FLIPOP's README, field for field.
const MANIFESTS: &str = concat!(
    include_str!("../flipop_manifests/pool.yaml"),
    "---\n",
    include_str!("../flipop_manifests/record_set.yaml"),
);

#[tokio::test]
async fn the_manifests_of_the_predecessors_readme_apply_without_an_unknown_field() {
    let Some((plane, _)) = ours().await else { return };
    let said = applied(plane, &["--validate=strict"], MANIFESTS);
    assert_eq!(
        said,
        "floatingippool.flipop.digitalocean.com/ingress-pool created\n\
         nodednsrecordset.flipop.digitalocean.com/ingress-nodes created\n"
    );
}

#[tokio::test]
async fn a_record_set_names_its_provider_in_either_place_in_both_or_in_none() {
    let Some((_, client)) = ours().await else { return };
    let record = json!({"zone": "example.com", "recordName": "nodes"});
    let placed = json!({"zone": "example.com", "recordName": "nodes", "provider": "cloudflare"});
    for spec in [
        json!({"dnsRecordSet": record}),
        json!({"dnsRecordSet": placed}),
        json!({"dnsRecordSet": record, "provider": "cloudflare"}),
        json!({"dnsRecordSet": placed, "provider": "cloudflare"}),
    ] {
        assert_eq!(
            try_create(&client, &record_set("either", spec.clone())).await,
            Ok(()),
            "{spec}"
        );
    }
}

#[tokio::test]
async fn the_api_server_takes_for_an_address_what_rust_does() {
    let Some((_, client)) = ours().await else { return };
    for text in [
        "0.0.0.0",
        "192.0.2.1",
        "255.255.255.255",
        "256.0.0.1",
        "01.2.3.4",
        "1.2.3",
        "1.2.3.4.",
        "1.2.3.4.5",
        "",
        "::",
        "::1",
        "1::",
        "2001:db8::1",
        "2001:DB8::A",
        "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8",
        "1:2::4:5:6:7:8",
        "1:2:3::5:6:7:8",
        "1::8",
        "1:2:3:4:5:6::8",
        "1:2:3:4:5:6:7:8:9",
        "1::2::3",
        ":1",
        "1:",
        ":::",
        "12345::",
        "g::",
        "1:2:3:4:5:6:7",
        "fe80::1%eth0",
        " 192.0.2.1",
        "192.0.2.1/32",
        "not-an-ip",
    ] {
        let object = pool("address", json!({"provider": "digitalocean", "ips": [text]}));
        let stored = try_create(&client, &object).await;
        assert_eq!(stored.is_ok(), text.parse::<IpAddr>().is_ok(), "{text:?}: {stored:?}");
    }
}

#[tokio::test]
async fn every_form_of_label_selector_is_accepted() {
    let Some((_, client)) = ours().await else { return };
    for selector in [
        "",
        " ",
        "a",
        "!a",
        "! a",
        "a=b",
        "a==b",
        "a!=b",
        "a=",
        "a = b , c != d",
        "a in (b)",
        "a in (b, c)",
        "a in(b,)",
        "a notin (b,c)",
        "a>1",
        "a < -2",
        "example.com/a_b.c-d=E_f.g-h",
        "a=b,c!=d,e in (x,y),!f",
        "in in (in)",
        "a\t=\nb",
    ] {
        let matching = json!({"nodeLabel": selector, "podLabel": selector});
        let spec = json!({"provider": "digitalocean", "ips": ["192.0.2.1"], "match": matching});
        let object = pool("selector", spec);
        assert_eq!(try_create(&client, &object).await, Ok(()), "{selector:?}");
    }
}

#[tokio::test]
async fn the_largest_objects_do_not_run_out_of_the_budget_for_rules() {
    let Some((_, client)) = ours().await else { return };
    let ips: Vec<_> =
        (0..256).map(|n| format!("2001:db8:1234:5678:9abc:def0:1234:{n:04x}")).collect();
    let selector = vec!["example.com/role in (a,b)"; 157].join(",");
    let tolerations = vec![json!({"operator": "Exists", "effect": "NoSchedule"}); 256];
    let matching = json!({"nodeLabel": selector, "podLabel": selector, "tolerations": tolerations});
    let mut object =
        pool("large", json!({"provider": "digitalocean", "ips": ips, "match": matching}));
    assert_eq!(try_create(&client, &object).await, Ok(()));

    object["spec"]["ips"][255] = object["spec"]["ips"][254].clone();
    let said = try_create(&client, &object).await.unwrap_err();
    assert!(said.ends_with(":00fe\" is listed more than once"), "{said}");
}

/// The output of `kubectl apply` for a manifest.
pub fn applied(plane: &control_plane::ControlPlane, options: &[&str], manifest: &str) -> String {
    let mut kubectl = plane.kubectl();
    kubectl
        .arg("apply")
        .args(options)
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = kubectl.spawn().unwrap();
    child.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}
