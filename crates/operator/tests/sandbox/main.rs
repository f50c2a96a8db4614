//! The sandbox from a newcomer's view: the binary, a script, stock kubectl.

// Test helpers may panic, like tests.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod clusters;
mod draining;
mod monitoring;

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use control_plane::Assets;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Time limit of every wait.
const LIMIT: Duration = Duration::from_secs(60);

fn sandbox(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pontoon"));
    command.arg("sandbox").args(args);
    command
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn scripted(script: &str, args: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let script = file(folder.path(), "script", script);
    sandbox(args).arg("--script").arg(script).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A running sandbox, with its output line by line.
struct Running {
    process: Child,
    commands: ChildStdin,
    lines: Receiver<String>,
    heard: RefCell<Vec<String>>,
    /// The folder of its kubeconfig: a killed sandbox leaves the file behind.
    _folder: TempDir,
}

impl Running {
    fn start(args: &[&str]) -> Self {
        Self::run(sandbox(args))
    }

    fn run(mut command: Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        command.env("TMPDIR", folder.path());
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let commands = process.stdin.take().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let (to, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if to.send(line).is_err() {
                    return;
                }
            }
        });
        Self { process, commands, lines, heard: RefCell::default(), _folder: folder }
    }

    /// Waits for a line that contains `words`.
    fn hear(&self, words: &str) -> String {
        let mut heard = self.heard.borrow_mut();
        loop {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => heard.push(line),
                Err(_) => panic!("never heard {words:?}, only {heard:#?}"),
            }
            if let Some(line) = heard.last().filter(|line| line.contains(words)) {
                return line.clone();
            }
        }
    }

    fn kubeconfig(&self) -> PathBuf {
        self.hear("export KUBECONFIG=").split_once('=').unwrap().1.into()
    }

    fn say(&mut self, command: &str) {
        writeln!(self.commands, "{command}").unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails if the process has already ended, which is fine.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Runs stock kubectl with a kubeconfig; without kubectl returns `None` with a message.
fn kubectl(kubeconfig: &Path, args: &[&str]) -> Option<String> {
    let assets = match control_plane::assets() {
        Assets::Found(assets) => assets,
        Assets::Missing(why) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "no kubectl: {why}");
            eprintln!("SKIPPED: the sandbox with stock kubectl: {why}");
            return None;
        }
    };
    let output = Command::new(assets.join("kubectl"))
        .env("KUBECONFIG", kubeconfig)
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "kubectl {args:?}: {}", text(&output.stderr));
    Some(text(&output.stdout))
}

#[test]
fn a_script_kills_a_node_and_the_address_moves() {
    let output = scripted("wait\nkill node-1  # the first\nwait\nstatus\n", &[]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    assert!(told.contains("198.51.100.1 moved node-1 → node-3 in "), "{told}");
    // The watch of pods may be faster than the watch of nodes, so either may be the cause.
    let causes = [" ms: node-1 is not ready", " ms: no ready pod on node-1 matches"];
    assert!(causes.iter().any(|cause| told.contains(cause)), "{told}");
    assert!(told.contains("2 addresses on 2 of 2 eligible nodes"), "{told}");
    assert!(told.contains("ingress.example.com    A     198.51.100.1 198.51.100.2"), "{told}");
}

#[test]
fn the_status_says_what_ails_each_node() {
    let output = scripted("wait\ncordon node-3\nstatus\n", &[]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    assert!(told.contains("node-1       well      198.51.100.1"), "{told}");
    assert!(told.contains("node-3       cordoned"), "{told}");
}

#[test]
fn each_shell_gets_a_completion_that_knows_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_pontoon")).args(["completion", shell]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{shell}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains("sandbox"), "{shell}");
    }
}

/// A page over HTTP/1.1: head and body.
fn page(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

#[test]
fn the_page_of_metrics_that_the_banner_names_is_there() {
    let mut running = Running::start(&[]);
    let line = running.hear("/metrics");
    running.say("wait");
    running.say("status");
    running.hear("2 addresses on 2 of ");
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    let metrics = page(url);
    assert!(metrics.starts_with("HTTP/1.1 200 "), "{metrics}");
    assert!(metrics.contains("\npontoon_leader 1\n"), "{metrics}");
    let root = page(url.strip_suffix("metrics").unwrap());
    assert!(root.starts_with("HTTP/1.1 200 ") && root.contains("\n/metrics\n"), "{root}");
}

#[test]
fn trouble_at_the_cloud_moves_nothing_until_it_is_over() {
    let script =
        "wait\nfail\nkill node-2\nstatus\nfail\nwait\nthrottle 1s\nheal\nwait\nadd\nstatus\n";
    let output = scripted(script, &[]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    assert!(told.contains("the cloud answers 503 to everything"), "{told}");
    assert!(told.contains("198.51.100.2 moved node-2 → node-3"), "{told}");
    assert!(told.contains("node-4 joins"), "{told}");
}

#[test]
fn stock_kubectl_watches_an_address_move() {
    let mut running = Running::start(&[]);
    let kubeconfig = running.kubeconfig();
    let pool = "floatingippool/ingress";
    let wait = ["wait", "--for=condition=Ready", pool, "-n", "ingress", "--timeout=30s"];
    let Some(told) = kubectl(&kubeconfig, &wait) else { return };
    assert!(told.contains("condition met"), "{told}");

    running.say("kill node-1");
    running.hear("moved node-1 → node-3");
    let mark = "jsonpath={.metadata.annotations.flipop\\.digitalocean\\.com/ipv4-reserved-ip}";
    let until = format!("--for={mark}=198.51.100.1");
    kubectl(&kubeconfig, &["wait", &until, "node/node-3", "--timeout=30s"]);
    let table = kubectl(&kubeconfig, &["get", "fippool", "-A"]).unwrap();
    assert!(table.contains("NAMESPACE   NAME      READY   ASSIGNED"), "{table}");
    let events = kubectl(&kubeconfig, &["events", "-n", "ingress"]).unwrap();
    assert!(events.contains("moved node-1 → node-3"), "{events}");
    let nodes = kubectl(&kubeconfig, &["get", "nodes"]).unwrap();
    assert!(nodes.contains("NotReady"), "{nodes}");
}

/// Repeats a kubectl command until its output fits.
fn until(kubeconfig: &Path, args: &[&str], fits: impl Fn(&str) -> bool) -> String {
    let begun = std::time::Instant::now();
    loop {
        let printed = kubectl(kubeconfig, args).unwrap();
        if fits(&printed) {
            return printed;
        }
        assert!(begun.elapsed() < LIMIT, "kubectl {args:?} still prints {printed}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_first_things_that_a_new_user_tries_work() {
    let mut running = Running::start(&[]);
    let kubeconfig = running.kubeconfig();
    running.hear("/metrics");
    let wait =
        ["wait", "--for=condition=Ready", "fippool/ingress", "-n", "ingress", "--timeout=30s"];
    if kubectl(&kubeconfig, &wait).is_none() {
        return;
    }
    let good = |args: &[&str]| kubectl(&kubeconfig, args).unwrap();
    good(&["create", "namespace", "mine"]);
    good(&["create", "secret", "generic", "token", "-n", "mine", "--from-literal=a=b"]);
    good(&["create", "configmap", "settings", "-n", "mine", "--from-literal=a=b"]);
    good(&["create", "serviceaccount", "me", "-n", "mine"]);
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds.yaml");
    let deploy = deploy.to_str().unwrap();
    good(&["apply", "--server-side", "--force-conflicts", "-f", deploy]);
    let described = good(&["describe", "node", "node-1"]);
    assert!(described.contains("nginx-node-1") && !described.contains("-92233720"), "{described}");
    assert!(!described.contains("0001"), "{described}");

    let drained = good(&["drain", "node-1", "--timeout=30s"]);
    assert!(drained.contains("node/node-1 drained"), "{drained}");
    running.hear("moved node-1 → node-3");
    let taints = ["get", "node", "node-1", "-o", "jsonpath={.spec.taints[*].key}"];
    until(&kubeconfig, &taints, |printed| printed.contains("unschedulable"));
    good(&["uncordon", "node-1"]);
    until(&kubeconfig, &taints, str::is_empty);
    let pods = ["get", "pods", "-n", "ingress", "-o", "wide"];
    let running_pods = |printed: &str| printed.matches("Running").count();
    until(&kubeconfig, &pods, |printed| running_pods(printed) == 3);
    good(&["delete", "pod", "nginx-node-2", "-n", "ingress", "--timeout=30s"]);
    until(&kubeconfig, &pods, |printed| running_pods(printed) == 3);
    good(&["delete", "node", "node-3"]);
    until(&kubeconfig, &pods, |printed| !printed.contains("node-3"));

    good(&["delete", "crd", "floatingippools.flipop.digitalocean.com"]);
    running.say("status");
    running.hear("FloatingIPPool is not defined any more");
    running.say("heal");
    running.hear("nothing to heal");
    let heard = running.heard.borrow();
    assert!(!heard.iter().any(|line| line.contains("does not have")), "{heard:#?}");
}

#[test]
fn what_befalls_the_operator_costs_nothing() {
    let output = scripted("wait\ncrash\nfreeze\nwait\nstatus\n", &[]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    assert!(told.contains("after the crash: 0 moved, 0 calls, 0 dropped"), "{told}");
    assert!(told.contains(" sandbox-b leads"), "{told}");
    assert!(told.contains("after the freeze: 0 moved, 0 calls, 0 dropped"), "{told}");
}

#[test]
fn an_address_that_somebody_moves_is_told_of_with_what_came_of_it() {
    let output = scripted("wait\nmove\nstatus\n", &[]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    assert!(told.contains("somebody moves 198.51.100.1 to node-3 at the cloud"), "{told}");
    assert!(told.contains("after the move by hand: 0 moved, 0 calls, 0 dropped"), "{told}");
    assert!(told.contains("node-3       well      198.51.100.1"), "{told}");
}

#[test]
fn healing_everything_at_once_moves_nothing_back_and_forth() {
    let script = "wait\nkill node-1\nwait\nkill node-2\nkill node-3\nheal\nwait\nstatus\n";
    let output = scripted(script, &[]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    assert_eq!(told.matches(" moved ").count(), 1, "{told}");
    let (cause, effect) = (told.find("node-1 is killed"), told.find("moved node-1"));
    assert!(cause < effect, "{told}");
}

#[test]
fn manifests_come_from_standard_input_too_and_the_banner_counts_what_is_there() {
    let pool = "apiVersion: flipop.digitalocean.com/v1alpha1\nkind: FloatingIPPool\n\
                metadata: {name: a}\nspec: {provider: digitalocean, ips: [192.0.2.1]}\n";
    let folder = tempfile::tempdir().unwrap();
    let script = file(folder.path(), "script", "wait 20s\n");
    let mut command = sandbox(&["-f", "-", "--script", script.to_str().unwrap()]);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(pool.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("emulated cloud (3 nodes, 1 address)"), "{told}");
    assert!(told.contains("192.0.2.1 assigned to node-1"), "{told}");
}

#[test]
fn the_predecessors_manifests_run_and_the_addresses_and_zones_that_they_name_exist() {
    let folder = tempfile::tempdir().unwrap();
    let pool = include_str!("../flipop_manifests/pool.yaml");
    let record_set = include_str!("../flipop_manifests/record_set.yaml");
    // Unchanged, except for the cool-off, which would delay the third address.
    let pool = pool.replace("assignmentCoolOffSeconds: 20", "assignmentCoolOffSeconds: 1");
    let manifest = file(folder.path(), "both.yaml", &format!("{pool}---\n{record_set}"));
    let output = scripted("wait\nstatus\n", &["-f", manifest.to_str().unwrap()]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    assert!(told.contains("192.168.1.1 assigned to node-1"), "{told}");
    assert!(told.contains("192.168.2.1 assigned to node-2"), "{told}");
    assert!(told.contains("3 addresses on 3 of 3 eligible nodes"), "{told}");
    assert!(told.contains("hello.example.com      A     192.168.1.1 192.168.2.1 "), "{told}");
    assert!(told.contains("nodes.example.com      A     192.168.1.1 192.168.2.1 "), "{told}");
}

#[test]
fn the_manifests_of_our_own_readme_run_too() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let blocks = readme.split("```yaml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let manifests = blocks.collect::<Vec<_>>().join("---\n");
    // Unchanged, except for the cool-off, which would delay the second address.
    let pause = "assignmentCoolOffSeconds: 20";
    assert!(manifests.contains(pause));
    let folder = tempfile::tempdir().unwrap();
    let manifest = file(folder.path(), "readme.yaml", &manifests.replace(pause, ""));
    let output = scripted("wait\nstatus\n", &["-f", manifest.to_str().unwrap()]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    assert!(told.contains("2 addresses on 2 of 3 eligible nodes"), "{told}");
    assert!(told.contains("hello.example.com      A     198.51.100.1 203.0.113.7"), "{told}");
    let nodes = "nodes.example.com      A     203.0.113.1 203.0.113.2 203.0.113.3";
    assert!(told.contains(nodes), "{told}");
}

#[test]
fn ctrl_c_ends_it_and_leaves_nothing_behind() {
    let mut running = Running::start(&[]);
    let kubeconfig = running.kubeconfig();
    assert!(kubeconfig.exists());
    let pid = Pid::from_raw(running.process.id().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert!(running.process.wait().unwrap().success());
    assert!(!kubeconfig.exists());
}

#[test]
fn what_cannot_be_used_is_said_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let bad = file(folder.path(), "bad.yaml", "a: [1\n");
    let bad = bad.to_str().unwrap();
    let kindless = file(folder.path(), "kindless.yaml", "apiVersion: v1\n");
    let unknown = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n";
    let unknown = file(folder.path(), "unknown.yaml", unknown);
    let refused = "apiVersion: flipop.digitalocean.com/v1alpha1\nkind: FloatingIPPool\n\
                   metadata: {name: a}\nspec: {provider: digitalocaen, ips: [192.0.2.1]}\n";
    let refused = file(folder.path(), "refused.yaml", refused);
    let typo = "apiVersion: flipop.digitalocean.com/v1alpha1\nkind: FloatingIPPool\n\
                metadata: {name: a}\nspec: {provider: digitalocean, desiredIps: 3}\n";
    let typo = file(folder.path(), "typo.yaml", typo);
    let empty = file(folder.path(), "empty.yaml", "# nothing\n");
    let impossible = "kill node-1\nkill node-2\nkill node-3\nwait 1s\n";
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let cases = [
        (scripted("", &["--port", &port]), "choose another --port"),
        (scripted("", &["-f", "/nowhere/a.yaml"]), "cannot read /nowhere/a.yaml"),
        (scripted("", &["-f", bad]), "is not YAML"),
        (scripted("", &["-f", kindless.to_str().unwrap()]), "an object has no kind"),
        (scripted("", &["-f", unknown.to_str().unwrap()]), "does not know the kind Thing"),
        (scripted("", &["-f", refused.to_str().unwrap()]), "is not a known provider"),
        (scripted("", &["-f", typo.to_str().unwrap()]), "unknown field \"spec.desiredIps\""),
        (scripted("", &["-f", empty.to_str().unwrap()]), "empty.yaml holds no object"),
        (scripted(impossible, &[]), "not ready after 1s"),
        (scripted("wait\nexplode\n", &[]), "line 2: \"explode\" is not a command"),
        (scripted("kill node-9\n", &[]), "there is no node \"node-9\""),
    ];
    for (output, words) in cases {
        let problem = text(&output.stderr);
        assert!(!output.status.success(), "{words}");
        assert!(problem.contains(words), "wanted {words:?} in {problem}");
    }
}

#[test]
fn an_api_server_that_cannot_be_reached_is_named() {
    let folder = tempfile::tempdir().unwrap();
    // A port without a listener.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let config = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
         clusters: [{{name: a, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
         users: [{{name: a, user: {{}}}}]\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n"
    );
    let config = file(folder.path(), "config", &config);
    let output = Command::new(env!("CARGO_BIN_EXE_pontoon"))
        .args(["pause", "floatingippool/a/b", "--reason", "x", "--kubeconfig"])
        .arg(config)
        .output()
        .unwrap();
    let problem = text(&output.stderr);
    assert!(!output.status.success());
    assert!(problem.contains(&format!("the API server at http://127.0.0.1:{port}")), "{problem}");
    assert!(problem.contains("refused"), "{problem}");
}
