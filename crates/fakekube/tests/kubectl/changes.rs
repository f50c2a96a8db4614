//! Writing: create, apply, diff, edit, patch, replace, label, delete.

use crate::both::{Both, named, run};

const POOL: &str = "\
apiVersion: flipop.digitalocean.com/v1alpha1
kind: FloatingIPPool
metadata:
  name: ingress
spec:
  provider: digitalocean
  region: nyc3
  ips: [192.0.2.1]
";

const MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {a: one, b: two}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_is_applied_again_and_again() {
    let Some(both) = Both::start("changes-apply").await else { return };
    let both = both.with_definitions();
    both.good_with(&["apply", "-f", "-"], POOL);
    both.good_with(&["apply", "-f", "-"], POOL);
    both.good_with(&["apply", "-f", "-"], &POOL.replace("nyc3", "ams3"));
    both.good_with(&["apply", "-f", "-"], &POOL.replace("  region: nyc3\n", ""));
    both.good(&["get", "fippool", "ingress", "-o", "yaml"]);
    both.good_with(&["apply", "-f", "-", "--dry-run=server"], &POOL.replace("nyc3", "sfo3"));
    both.good_with(&["apply", "-f", "-", "--dry-run=client"], POOL);
    both.good_with(&["apply", "-f", "-", "-o", "yaml"], POOL);
    both.good(&["apply", "view-last-applied", "fippool", "ingress"]);
    both.good_with(&["delete", "-f", "-"], POOL);
    both.same_with(&["delete", "-f", "-"], POOL);
    both.good_with(&["delete", "-f", "-", "--ignore-not-found"], POOL);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn built_in_kinds_are_applied_and_compared() {
    let Some(both) = Both::start("changes-diff").await else { return };
    both.good_with(&["apply", "-f", "-"], MAP);
    both.same_with(&["diff", "-f", "-"], MAP);
    both.same_with(&["diff", "-f", "-"], &MAP.replace("two", "three"));
    both.good_with(&["apply", "-f", "-"], &MAP.replace("b: two", "c: three"));
    both.good(&["get", "cm", "settings", "-o", "yaml"]);
    both.good_with(
        &["apply", "-f", "-", "--prune", "-l", "app=web", "--prune-allowlist=core/v1/ConfigMap"],
        MAP,
    );
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: a, image: 'i:1'}\n  - {name: b, image: 'i:1'}\n";
    both.good_with(&["apply", "-f", "-"], pod);
    both.good_with(
        &["apply", "-f", "-"],
        &pod.replace("name: a, image: 'i:1'", "name: a, image: 'i:2'"),
    );
    both.good(&["get", "pod", "p", "-o", "yaml"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_is_compared_before_it_is_applied() {
    let Some(both) = Both::start("changes-pool-diff").await else { return };
    let both = both.with_definitions();
    both.same_with(&["diff", "-f", "-"], POOL);
    both.good_with(&["apply", "-f", "-"], POOL);
    both.same_with(&["diff", "-f", "-"], POOL);
    both.same_with(&["diff", "-f", "-"], &POOL.replace("192.0.2.1", "192.0.2.9"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_editor_changes_an_object() {
    let Some(both) = Both::start("changes-edit").await else { return };
    let both = both.with_definitions();
    both.good_with(&["apply", "-f", "-"], POOL);
    both.good_with(&["create", "-f", "-"], MAP);
    let edited = |editor: &str, what: &[&str], told: &str| {
        let [real, fake] = [both.real(), both.faked()].map(|mut kubectl| {
            kubectl.env("EDITOR", editor).env("KUBE_EDITOR", editor);
            run(kubectl, &[&["edit"], what].concat(), "")
        });
        assert_eq!(real, fake);
        assert!(format!("{}{}", real.out, real.err).contains(told), "{real:?}");
    };
    edited("sed -i s/nyc3/ams3/", &["fippool", "ingress"], "ingress edited");
    edited("true", &["fippool", "ingress"], "no changes made");
    edited("sed -i s/two/three/", &["cm", "settings"], "settings edited");
    both.good(&["get", "fippool,cm", "-o", "yaml"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patches_of_every_type() {
    let Some(both) = Both::start("changes-patch").await else { return };
    let both = both.with_definitions();
    both.good_with(&["create", "-f", "-"], POOL);
    both.good_with(&["create", "-f", "-"], MAP);
    for args in [
        &["fippool", "ingress", "--type=merge", "-p", r#"{"spec":{"region":"ams3"}}"#][..],
        &["fippool", "ingress", "--type=merge", "-p", r#"{"spec":{"region":"ams3"}}"#],
        &[
            "fippool",
            "ingress",
            "--type=json",
            "-p",
            r#"[{"op":"add","path":"/spec/ips/-","value":"192.0.2.5"}]"#,
        ],
        &[
            "fippool",
            "ingress",
            "--type=json",
            "-p",
            r#"[{"op":"test","path":"/spec/region","value":"x"}]"#,
        ],
        &["fippool", "ingress", "--type=json", "-p", r#"[{"op":"remove","path":"/spec/none"}]"#],
        &["fippool", "ingress", "-p", r#"{"spec":{"region":"x"}}"#],
        &["fippool", "ingress", "--type=merge", "-p", r#"{"spec":{"ips":["x"]}}"#],
        &["fippool", "ingress", "--type=merge", "-p", r#"{"spec":{"odd":1}}"#],
        &["cm", "settings", "-p", r#"{"data":{"a":null,"c":"three"}}"#],
        &["cm", "settings", "-p", r#"{"metadata":{"finalizers":["example.com/a"]}}"#],
        &["cm", "settings", "-p", r#"{"metadata":{"finalizers":["example.com/b"]}}"#],
        &[
            "cm",
            "settings",
            "-p",
            r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/a","example.com/b"]}}"#,
        ],
        &[
            "cm",
            "settings",
            "--type=json",
            "-p",
            r#"[{"op":"replace","path":"/data/b","value":"2"}]"#,
        ],
        &["cm", "none", "-p", "{}"],
        &["cm", "settings", "-p", "{"],
    ] {
        both.same(&[&["patch"], args].concat());
    }
    both.good(&["get", "fippool,cm", "-o", "yaml"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_are_made_and_deleted() {
    let Some(both) = Both::start("changes-create").await else { return };
    let objects = [("ConfigMap", "made"), ("Secret", "made"), ("ServiceAccount", "made")];
    let manifest: String = objects.iter().map(|(kind, name)| named("v1", kind, name)).collect();
    both.good_with(&["create", "-f", "-"], &manifest);
    both.same_with(&["create", "-f", "-"], &manifest);
    both.good_with(
        &["create", "-f", "-", "--dry-run=server", "-o", "yaml"],
        &manifest.replace("made", "dry"),
    );
    both.good_with(&["create", "-f", "-"], &named("v1", "Namespace", "changes-create-two"));
    both.good(&["run", "made", "--image=example.com/i", "--restart=Never"]);
    both.good(&["get", "cm,secret,sa,pod", "-o", "yaml"]);
    both.good(&["delete", "cm,secret", "made"]);
    both.good(&["delete", "sa", "--all"]);
    both.good(&["delete", "namespace", "changes-create-two", "--wait=false"]);
    both.good_with(
        &["create", "-f", "-"],
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: made-}\n",
    );
}

/// kubectl's own generators send protobuf.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_makes_objects_by_itself() {
    let Some(both) = Both::start("changes-protobuf").await else { return };
    both.good(&["create", "namespace", "changes-protobuf-two"]);
    both.same(&["create", "namespace", "changes-protobuf-two"]);
    both.good(&["create", "configmap", "made", "--from-literal=a=b", "--from-literal=c="]);
    both.good(&["create", "secret", "generic", "made", "--from-literal=token=x"]);
    both.good(&["create", "serviceaccount", "made"]);
    both.same(&["create", "serviceaccount", "not_a_name"]);
    both.good(&["create", "cm", "dry", "--from-literal=a=b", "--dry-run=server", "-o", "yaml"]);
    both.good(&[
        "get",
        "cm/made",
        "secret/made",
        "sa/made",
        "ns/changes-protobuf-two",
        "-o",
        "yaml",
    ]);
    both.good(&["delete", "namespace", "changes-protobuf-two", "--wait=false"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_are_replaced() {
    let Some(both) = Both::start("changes-replace").await else { return };
    both.same_with(&["replace", "-f", "-"], MAP);
    both.good_with(&["create", "-f", "-"], MAP);
    both.good_with(&["replace", "-f", "-"], &MAP.replace("two", "three"));
    both.good_with(&["replace", "--force", "-f", "-"], &MAP.replace("two", "four"));
    both.good(&["get", "cm", "settings", "-o", "yaml"]);
    both.same_with(
        &["replace", "-f", "-"],
        &MAP.replace("app: web}", "app: web}, resourceVersion: '1'"),
    );
    both.good(&["label", "cm", "settings", "app=db", "--overwrite"]);
    both.good(&["annotate", "cm", "--all", "note=x"]);
    both.good(&["delete", "cm", "-l", "app=db"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_are_applied_on_the_server() {
    let Some(both) = Both::start("changes-ssa").await else { return };
    let both = both.with_definitions();
    let apply = ["apply", "--server-side", "-f", "-"];
    both.good_with(&apply, MAP);
    both.good_with(&apply, MAP);
    both.good_with(&apply, POOL);
    both.good_with(&apply, &POOL.replace("nyc3", "ams3"));
    both.same_with(&apply, &POOL.replace("region", "regoin"));
    let other = [&apply[..], &["--field-manager=other"]].concat();
    both.same_with(&other, &MAP.replace("two", "three"));
    both.good_with(&[&other[..], &["--force-conflicts"]].concat(), &MAP.replace("two", "three"));
    both.same_with(&apply, MAP);
    both.good_with(&apply, &MAP.replace(", b: two", ""));
    both.good(&["get", "cm/settings", "-o", "yaml"]);
    both.good(&["get", "fippool/ingress", "-o", "yaml", "--show-managed-fields"]);
    // A server-side apply takes over the fields of a client-side apply.
    let two = MAP.replace("settings", "older");
    both.good_with(&["apply", "-f", "-"], &two);
    both.good_with(&apply, &two.replace("b: two", "c: three"));
    both.good(&["get", "cm/older", "-o", "yaml"]);
    both.good(&["apply", "--server-side", "--force-conflicts", "-f", crate::both::DEFINITIONS]);
}
