//! Runs the same kubectl command on two servers.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use control_plane::ControlPlane;
use fakekube::{FakeKube, Server};
use jiff::Timestamp;
use tempfile::TempDir;

use crate::mask::masked;

/// Path of the operator's own definitions.
pub const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds.yaml");

/// Time limit for both servers to print the same.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Both servers, with a namespace for the test on each.
pub struct Both {
    plane: &'static ControlPlane,
    fake: FakeKube,
    _server: Server,
    folder: TempDir,
    namespace: String,
}

/// The masked output of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Both {
    /// Starts fakekube, and uses the shared real server. `None` without a real server; the test
    /// should then end.
    pub async fn start(namespace: &str) -> Option<Self> {
        let plane = ControlPlane::shared().await.unwrap()?;
        let fake = FakeKube::starting_at(7, Timestamp::now());
        fake.track_managers();
        let server = fake.serve(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        fakekube::write_kubeconfig(&server, folder.path().join("kubeconfig")).unwrap();
        let both = Self { plane, fake, _server: server, folder, namespace: namespace.to_owned() };
        both.good_with(&["create", "-f", "-"], &named("v1", "Namespace", namespace));
        Some(both)
    }

    /// Installs our definitions on both servers.
    pub fn with_definitions(self) -> Self {
        // Two tests that create the same definitions at once would fail.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        for kubectl in [self.real(), self.faked()] {
            let printed = run(kubectl, &["apply", "--server-side=false", "-f", DEFINITIONS], "");
            assert_eq!(printed.code, Some(0), "{printed:?}");
        }
        drop(turn);
        let established = ["wait", "--for=condition=Established", "-f", DEFINITIONS];
        for kubectl in [self.real(), self.faked()] {
            assert_eq!(run(kubectl, &established, "").code, Some(0));
        }
        self.until_same(&["explain", "fippool.spec.ips"]);
        self
    }

    /// kubectl on the real server.
    pub fn real(&self) -> Command {
        let mut kubectl = self.plane.kubectl();
        kubectl.env("KUBECACHEDIR", self.folder.path().join("real-cache"));
        self.prepared(kubectl)
    }

    /// kubectl on fakekube.
    pub fn faked(&self) -> Command {
        let mut kubectl = self.plane.kubectl();
        kubectl
            .env("KUBECONFIG", self.folder.path().join("kubeconfig"))
            .env("KUBECACHEDIR", self.folder.path().join("cache"));
        self.prepared(kubectl)
    }

    fn prepared(&self, mut kubectl: Command) -> Command {
        kubectl.args(["--namespace", &self.namespace]);
        // Stock kubectl waits forever, and no test may hang.
        kubectl.args(["--request-timeout", "30s"]);
        kubectl
    }

    /// Runs a command on both servers; asserts equal output and returns it.
    #[track_caller]
    pub fn same(&self, args: &[&str]) -> Printed {
        self.same_with(args, "")
    }

    /// As [`same`](Self::same), with a manifest on standard input.
    #[track_caller]
    pub fn same_with(&self, args: &[&str], stdin: &str) -> Printed {
        let (real, fake) = self.run_on_both(args, stdin);
        self.compare(args, &real, &fake);
        fake
    }

    /// As [`same`](Self::same), and asserts success.
    #[track_caller]
    pub fn good(&self, args: &[&str]) -> String {
        self.good_with(args, "")
    }

    /// As [`same_with`](Self::same_with), and asserts success.
    #[track_caller]
    pub fn good_with(&self, args: &[&str], stdin: &str) -> String {
        let printed = self.same_with(args, stdin);
        assert_eq!(printed.code, Some(0), "kubectl {args:?}: {printed:?}");
        printed.out
    }

    /// Repeats a command on both servers until the output is equal, because the real server acts
    /// with a delay.
    #[track_caller]
    pub fn until_same(&self, args: &[&str]) {
        let start = Instant::now();
        loop {
            let (real, fake) = self.run_on_both(args, "");
            if real == fake {
                return;
            }
            if start.elapsed() > PATIENCE {
                self.compare(args, &real, &fake);
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn run_on_both(&self, args: &[&str], stdin: &str) -> (Printed, Printed) {
        thread::scope(|scope| {
            let real = scope.spawn(|| run(self.real(), args, stdin));
            let fake = run(self.faked(), args, stdin);
            (real.join().unwrap(), fake)
        })
    }

    #[track_caller]
    fn compare(&self, args: &[&str], real: &Printed, fake: &Printed) {
        assert!(
            real == fake,
            "kubectl {}\n--- real\n{}--- fakekube\n{}--- not known to fakekube: {:?}\n",
            args.join(" "),
            real.text(),
            fake.text(),
            self.fake.unknown_requests(),
        );
    }
}

/// A manifest with only a name.
pub fn named(version: &str, kind: &str, name: &str) -> String {
    format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\n---\n")
}

impl Printed {
    fn text(&self) -> String {
        format!("{}{}(exit code {:?})\n", self.out, self.err, self.code)
    }
}

/// Runs a command to its end.
pub fn run(mut kubectl: Command, args: &[&str], stdin: &str) -> Printed {
    kubectl.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = kubectl.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| masked(&String::from_utf8(bytes).unwrap());
    Printed { code: status.code(), out: text(stdout), err: text(stderr) }
}
