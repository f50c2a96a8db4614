//! A replica of the operator: the real binary in a child process.

use std::fs::File;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use fakecloud::Access;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::arena::{Arena, eventually};

/// A running replica, killed when dropped.
pub struct Replica {
    process: Child,
    port: u16,
    log: PathBuf,
}

/// How a replica is started.
pub struct Start<'a> {
    /// The name of its pod.
    pub name: &'a str,
    /// Where its log is written.
    pub folder: &'a Path,
    pub kubeconfig: &'a Path,
    /// The process group that the replica joins, to end with the group.
    pub group: Option<i32>,
    /// Further arguments and variables (`NAME=value`).
    pub extra: &'a [&'a str],
}

impl Replica {
    /// Starts a replica, with further arguments and variables (`NAME=value`) in `extra`.
    pub fn start(arena: &Arena, name: &str, extra: &[&str]) -> Self {
        let url = arena.cloud_url();
        let access =
            Access { url: &url, secret: "canary-token", project: None, user_agent: Some(name) };
        let (folder, kubeconfig) = (arena.folder(), &*arena.kubeconfig());
        let start = Start { name, folder, kubeconfig, group: None, extra };
        Self::with(start, |command| {
            command.envs(fakecloud::environment(&access));
        })
    }

    /// Starts a replica without a cloud.
    pub fn spawn(start: Start<'_>) -> Self {
        Self::with(start, |_| {})
    }

    fn with(start: Start<'_>, surround: impl FnOnce(&mut Command)) -> Self {
        let Start { name, folder, kubeconfig, group, extra } = start;
        let mut command = Command::new(env!("CARGO_BIN_EXE_pontoon"));
        command.args(["run", "--debug"]).env("POD_NAME", name);
        surround(&mut command);
        if let Some(group) = group {
            command.process_group(group);
        }
        for one in extra {
            match one.split_once('=').filter(|_| !one.starts_with('-')) {
                Some((variable, "")) => command.env_remove(variable),
                Some((variable, value)) => command.env(variable, value),
                None => command.arg(one),
            };
        }
        if !extra.contains(&"--kubeconfig") {
            command.arg("--kubeconfig").arg(kubeconfig);
        }
        Self::by(command, name, folder)
    }

    /// Starts a replica by this command, with its log in the folder.
    pub fn by(mut command: Command, name: &str, folder: &Path) -> Self {
        let port = free_port();
        let log = folder.join(format!("{name}-{port}.log"));
        command
            .arg(format!("--metrics-bind-addr=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap());
        Self { process: command.spawn().unwrap(), port, log }
    }

    /// The port of its HTTP server.
    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.id().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// `kill -9`, and waits for the end of the process.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// SIGTERM; returns the time until the end of the process.
    pub async fn terminate(mut self) -> Duration {
        let started = Instant::now();
        self.signal(Signal::TERM);
        eventually("the replica ends", || {
            let ended = self.process.try_wait().unwrap();
            async move { ended.ok_or("still running") }
        })
        .await;
        started.elapsed()
    }

    /// A page of the replica's HTTP server: status line and body.
    pub async fn page(&self, path: &str) -> Option<String> {
        page(self.port, path).await
    }

    /// Waits until a metric has this value.
    pub async fn metric(&self, metric: &str, value: &str) {
        let line = format!("{metric} {value}");
        eventually(&line, || async {
            let page = self.page("/metrics").await.unwrap_or_default();
            if page.lines().any(|one| one == line) { Ok(()) } else { Err(page) }
        })
        .await;
    }

    /// Waits until the replica leads.
    pub async fn leads(&self) {
        self.metric("pontoon_leader", "1").await;
    }

    /// The replica's whole log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        // Fails if the process has already ended, which is fine.
        drop(self.process.kill());
        drop(self.process.wait());
        if std::thread::panicking() {
            eprintln!("--- {}\n{}", self.log.display(), self.log());
        } else {
            assert!(!self.log().contains("canary-token"), "the token is in the log");
        }
    }
}

/// A page of a port of this machine: status line and body.
pub async fn page(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

/// A port below the range that the system hands out, so that no other process gets the same port.
/// `SCENARIO_PORTS`, the first port, separates concurrent scenario processes.
pub fn free_port() -> u16 {
    static NEXT: LazyLock<AtomicU16> = LazyLock::new(|| {
        let first = std::env::var("SCENARIO_PORTS").ok().and_then(|first| first.parse().ok());
        AtomicU16::new(first.unwrap_or(20_000))
    });
    loop {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
