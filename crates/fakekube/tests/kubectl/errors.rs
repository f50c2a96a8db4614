//! kubectl's error messages.

use crate::both::{Both, named, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_pools_are_refused_in_the_same_words() {
    let Some(both) = Both::start("errors-pools").await else { return };
    let both = both.with_definitions();
    let head = "apiVersion: flipop.digitalocean.com/v1alpha1\nkind: FloatingIPPool\n";
    for rest in [
        "metadata: {name: p}\nspec: {provider: digitalocean, ips: [x]}\n",
        "metadata: {name: p}\nspec: {provider: unknown, ips: [192.0.2.1]}\n",
        "metadata: {name: p}\nspec: {provider: digitalocean}\n",
        "metadata: {name: p}\nspec: {provider: digitalocean, desiredIPs: 2}\n",
        "metadata: {name: p}\nspec: {provider: digitalocean, ips: [192.0.2.1, 192.0.2.1]}\n",
        "metadata: {name: p}\nspec: {provider: digitalocean, ips: 192.0.2.1}\n",
        "metadata: {name: p}\nspec: {provider: digitalocean, ips: [192.0.2.1], odd: 1}\n",
        "metadata: {name: p}\nspec: {provider: digitalocean, ips: [192.0.2.1], match: {nodeLabel: '=='}}\n",
        "metadata: {name: p}\nspec: {ips: [192.0.2.1]}\n",
        "metadata: {name: Upper}\nspec: {provider: digitalocean, ips: [192.0.2.1]}\n",
        "metadata: {name: p, labels: {'bad key': x}}\nspec: {provider: digitalocean, ips: [192.0.2.1]}\n",
        "metadata: {}\nspec: {provider: digitalocean, ips: [192.0.2.1]}\n",
    ] {
        both.same_with(&["create", "-f", "-"], &format!("{head}{rest}"));
        both.same_with(&["apply", "-f", "-"], &format!("{head}{rest}"));
    }
    let unknown = format!(
        "{head}metadata: {{name: q}}\nspec: {{provider: digitalocean, ips: [192.0.2.1], odd: 1}}\n"
    );
    both.good_with(&["create", "--validate=warn", "-f", "-"], &unknown);
    both.good_with(&["apply", "--validate=ignore", "-f", "-"], &unknown);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_manifests_of_built_in_kinds_are_refused_in_the_same_words() {
    let Some(both) = Both::start("errors-built-in").await else { return };
    for manifest in [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Upper}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {'bad key': x}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nodd: 1\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, odd: 1}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: '-'}}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: A, image: i}]}\n",
        "apiVersion: v1\nkind: Node\nmetadata: {name: a-bad-node}\nspec: {taints: [{key: a, effect: Odd}]}\n",
        "kind: ConfigMap\nmetadata: {name: a}\n",
        "apiVersion: v1\nmetadata: {name: a}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: elsewhere}\n",
        "not yaml: [",
    ] {
        both.same_with(&["create", "-f", "-"], manifest);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_not_found_in_the_same_words() {
    let Some(both) = Both::start("errors-missing").await else { return };
    for args in [
        &["get", "cm", "none"][..],
        &["get", "nothing"],
        &["get", "cm/none", "secret/none"],
        &["delete", "cm", "none"],
        &["describe", "cm", "none"],
        &["get", "pods", "-n", "no-such-namespace"],
        &["label", "cm", "none", "a=b"],
        &["edit", "cm", "none"],
        &["get", "cm", "-o", "no-such-form"],
        &["get", "crd", "nothing.example.com"],
        &["delete", "node", "no-such-node"],
    ] {
        both.same(args);
    }
}

/// kubectl looks for an unknown kind in OpenAPI v2. fakekube lacks OpenAPI v2, so kubectl refuses
/// the kind with other words.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_kind_is_refused_in_other_words() {
    let Some(both) = Both::start("errors-kind").await else { return };
    for manifest in [named("v2", "ConfigMap", "a"), named("v1", "Nothing", "a")] {
        let printed = run(both.faked(), &["create", "-f", "-"], &manifest);
        assert_eq!(printed.code, Some(1), "{printed:?}");
        both.same_with(&["create", "--validate=false", "-f", "-"], &manifest);
    }
}
