//! A second process of this test binary with its own plane, for tests of the plane's cleanup when
//! its process ends.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use control_plane::{Assets, ControlPlane, assets};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::processes_of;

/// Set for the second process only, so that `--ignored` does not run its part as a test. The value
/// is the role.
const ROLE: &str = "CONTROL_PLANE_TEST_VICTIM";

/// Behaviour of the second process once its plane serves.
#[derive(Clone, Copy)]
pub enum Role {
    /// Waits for a signal.
    Waits,
    /// Ends as every test binary does, with a shared plane still running.
    Exits,
}

/// The second process, with a plane that serves.
pub struct Victim {
    child: Child,
    folder: PathBuf,
    // Kept open, because a test binary that cannot print fails.
    _output: BufReader<ChildStdout>,
}

impl Victim {
    /// Starts the second process, or returns `None` where planes are skipped.
    pub fn start(role: Role) -> Option<Self> {
        let mut child = command("victim::holds_a_plane")
            .env(ROLE, role.name())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the second process");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let folder = (&mut output)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.split_once("folder=").map(|(_, folder)| folder.into()));
        let Some(folder) = folder else {
            assert!(child.wait().expect("its end").success());
            return None;
        };
        Some(Self { child, folder, _output: output })
    }

    /// Folder of the second process's plane.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Signals the whole process group, as a terminal does on Ctrl-C.
    pub fn signal(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.child), signal).expect("it runs");
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }
}

/// Command that runs only the named test of this test binary.
pub fn command(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", test, "--ignored", "--nocapture"]).env(ROLE, "").process_group(0);
    command
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Exits => "exits",
        }
    }
}

#[tokio::test]
#[ignore = "not a test: the second process of others"]
async fn holds_a_plane() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let Some(plane) = ControlPlane::shared().await.unwrap() else {
        return;
    };
    writeln!(std::io::stdout(), "folder={}", plane.folder().display()).unwrap();
    if role == Role::Waits.name() {
        std::future::pending::<()>().await;
    }
}

#[tokio::test]
#[ignore = "not a test: the second process of others"]
async fn asks_for_a_plane() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let plane = ControlPlane::start().await.expect("a plane or a skip");
    assert!(plane.is_none(), "it must have no binaries");
}

#[tokio::test]
#[ignore = "not a test: the second process of others"]
async fn gives_up_a_start() {
    if std::env::var_os(ROLE).is_none() || matches!(assets(), Assets::Missing(_)) {
        return;
    }
    let temporary = std::env::temp_dir();
    let both_run = async {
        while processes_of(&temporary).len() < 3 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };

    tokio::select! {
        _ = ControlPlane::start() => panic!("it started before it could be given up"),
        () = both_run => {}
    }

    assert_eq!(processes_of(&temporary), Vec::<String>::new());
    let left = std::fs::read_dir(&temporary).unwrap().count();
    assert_eq!(left, 0, "files remain");
}
