//! Waiting and watching.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::both::{Both, PATIENCE, named, run};
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

/// Runs a waiting command, and then a second command that fulfils its condition.
#[track_caller]
fn meanwhile(both: &Both, waiting: &[&str], change: &[&str]) {
    let on = |kubectl: fn(&Both) -> Command| {
        let mut waits = Watching::start(kubectl(both), waiting);
        waits.begun(0);
        let changed = run(kubectl(both), change, "");
        (waits.lines(1), waits.process.wait().unwrap().code(), changed)
    };
    let (real, fake) = (on(Both::real), on(Both::faked));
    assert_eq!(real, fake);
    assert_eq!(fake.1, Some(0), "{fake:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watching_prints_changes_as_they_come() {
    let Some(both) = Both::start("waits-watch").await else { return };
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen}\n";
    both.good_with(&["create", "-f", "-"], map);
    // The numbers count the lines before the first change, and those after the last one. Without
    // a first object, the header is printed with the first change.
    for (form, first, all) in [
        (&["get", "cm", "-w"][..], 2, 6),
        (&["get", "cm", "-w", "-o", "name"], 1, 5),
        (&["get", "cm", "--watch-only", "--output-watch-events"], 0, 5),
    ] {
        let watching = [both.real(), both.faked()].map(|kubectl| Watching::start(kubectl, form));
        let seen = watching.each_ref().map(|one| one.begun(first));
        both.good(&["label", "cm", "seen", "a=b"]);
        both.good_with(&["create", "-f", "-"], &named("v1", "ConfigMap", "new"));
        both.good(&["delete", "cm", "new"]);
        both.good(&["label", "cm", "seen", "a-"]);
        let [real, fake] = watching.each_ref().map(|one| one.lines(all));
        assert_eq!(seen[0], seen[1], "{form:?}");
        assert_eq!(real, fake, "{form:?}");
        assert!(real.contains("new"), "{real}");
    }
}

/// A watching `kubectl` with its output so far.
struct Watching {
    process: Child,
    out: Arc<Mutex<String>>,
    log: Arc<Mutex<String>>,
}

impl Watching {
    fn start(mut kubectl: Command, form: &[&str]) -> Self {
        // At this level kubectl logs the server's answer to the watch.
        kubectl.args(form).arg("-v=6").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = kubectl.spawn().unwrap();
        let out = collect(process.stdout.take().unwrap());
        let log = collect(process.stderr.take().unwrap());
        Self { process, out, log }
    }

    /// Waits for the start of the watch and `first` lines of output; returns the number of lines.
    fn begun(&self, first: usize) -> usize {
        let printed = || complete_lines(&self.out.lock().unwrap());
        wait(|| self.log.lock().unwrap().contains("watch=true") && printed() >= first);
        printed()
    }

    /// Waits for `count` lines of output; returns the masked output.
    fn lines(&self, count: usize) -> String {
        wait(|| complete_lines(&self.out.lock().unwrap()) >= count);
        masked(&self.out.lock().unwrap())
    }
}

/// The number of lines that are printed to their end.
fn complete_lines(out: &str) -> usize {
    out.matches('\n').count()
}

impl Drop for Watching {
    fn drop(&mut self) {
        // Errors of an already ended process are ignored.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn collect(from: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let to = Arc::clone(&text);
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let mut text = to.lock().unwrap();
            text.push_str(&line);
            text.push('\n');
        }
    });
    text
}

#[track_caller]
fn wait(until: impl Fn() -> bool) {
    let started = Instant::now();
    while !until() {
        assert!(started.elapsed() < PATIENCE, "it never came to that");
        thread::sleep(Duration::from_millis(20));
    }
}
