//! Waiting and watching.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::both::{Both, named, run};
use crate::mask::masked;

const POOL: &str = "\
apiVersion: flipop.digitalocean.com/v1alpha1
kind: FloatingIPPool
metadata:
  name: ingress
spec:
  provider: digitalocean
  ips: [192.0.2.1]
";

const READY: &str = r#"{"status":{"conditions":[{"type":"Ready","status":"True","reason":"R","message":"m","lastTransitionTime":"2024-01-01T00:00:00Z"}]}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wait_answers_when_it_is_so() {
    let Some(both) = Both::start("waits-for").await else { return };
    let both = both.with_definitions();
    both.good_with(&["create", "-f", "-"], POOL);
    both.same(&["wait", "--for=condition=Ready", "fippool/ingress", "--timeout=1s"]);
    let waiting = ["wait", "--for=condition=Ready", "fippool/ingress", "--timeout=20s"];
    let status =
        ["patch", "fippool", "ingress", "--subresource=status", "--type=merge", "-p", READY];
    meanwhile(&both, &waiting, &status);
    both.good(&[
        "wait",
        "--for=jsonpath={.spec.provider}=digitalocean",
        "fippool",
        "--all",
        "--timeout=5s",
    ]);
    meanwhile(
        &both,
        &["wait", "--for=delete", "fippool/ingress", "--timeout=20s"],
        &["delete", "fippool", "ingress"],
    );
    both.good(&["wait", "--for=delete", "fippool/ingress", "--timeout=1s"]);
    both.same(&["wait", "--for=condition=Ready", "fippool/ingress", "--timeout=1s"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finalizer_holds_an_object_until_it_is_gone() {
    let Some(both) = Both::start("waits-finalizer").await else { return };
    let map =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, finalizers: [example.com/x]}\n";
    both.good_with(&["create", "-f", "-"], map);
    both.good(&["delete", "cm", "held", "--wait=false"]);
    both.same(&["delete", "cm", "held", "--timeout=1s"]);
    both.good(&["get", "cm", "held", "-o", "yaml"]);
    let release =
        ["patch", "cm", "held", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#];
    meanwhile(&both, &["wait", "--for=delete", "cm/held", "--timeout=20s"], &release);
    both.same(&["get", "cm", "held"]);
}

/// Runs a command that waits while another one makes come true what it waits for.
#[track_caller]
fn meanwhile(both: &Both, waiting: &[&str], change: &[&str]) {
    let on = |kubectl: fn(&Both) -> std::process::Command| {
        thread::scope(|scope| {
            let waits = scope.spawn(|| run(kubectl(both), waiting, ""));
            thread::sleep(Duration::from_millis(700));
            let changed = run(kubectl(both), change, "");
            (waits.join().unwrap(), changed)
        })
    };
    let (real, fake) = (on(Both::real), on(Both::faked));
    assert_eq!(real, fake);
    assert_eq!(fake.0.code, Some(0), "{fake:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watching_prints_changes_as_they_come() {
    let Some(both) = Both::start("waits-watch").await else { return };
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen}\n";
    both.good_with(&["create", "-f", "-"], map);
    for form in [
        &["get", "cm", "-w"][..],
        &["get", "cm", "-w", "-o", "name"],
        &["get", "cm", "--watch-only", "--output-watch-events"],
    ] {
        let [real, fake] = [both.real(), both.faked()].map(|mut kubectl| {
            kubectl.args(form).stdout(Stdio::piped()).stderr(Stdio::piped());
            kubectl.spawn().unwrap()
        });
        thread::sleep(Duration::from_millis(1500));
        both.good(&["label", "cm", "seen", "a=b"]);
        both.good_with(&["create", "-f", "-"], &named("v1", "ConfigMap", "new"));
        both.good(&["delete", "cm", "new"]);
        both.good(&["label", "cm", "seen", "a-"]);
        thread::sleep(Duration::from_millis(700));
        let [real, fake] = [real, fake].map(|mut child| {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            masked(&String::from_utf8(output.stdout).unwrap())
        });
        assert_eq!(real, fake, "{form:?}");
        assert!(real.contains("new"), "{real}");
    }
}
