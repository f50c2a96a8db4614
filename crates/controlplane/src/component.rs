//! A process of the plane: starts in the leash's group with its own log file, and stops when
//! dropped.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Error;
use crate::leash::Leash;

/// Longest time from SIGTERM to the end of a component. Short, because an API server with an open
/// watch waits a minute for its client, and no data of a test plane is worth keeping.
const GRACE: Duration = Duration::from_secs(2);

/// Interval between two checks of a process.
const LOOK: Duration = Duration::from_millis(10);

/// Number of log lines in an error.
const LOG_LINES: usize = 25;

/// Settings of Go's garbage collector: a quarter of an API server's processor time by default, less
/// for some memory.
const COLLECTS_LESS_OFTEN: [(&str, &str); 2] = [("GOGC", "400"), ("GOMEMLIMIT", "700MiB")];

/// A running process of the plane. `Drop` sends SIGTERM, then SIGKILL, and reaps the process.
pub(crate) struct Component {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Component {
    /// Starts `assets/name` in the leash's folder and group.
    ///
    /// The environment of the test must not change the component: `ETCD_*` variables, for example,
    /// are flags to etcd.
    pub(crate) fn start(
        name: &'static str,
        assets: &Path,
        leash: &Leash,
        flags: &[String],
    ) -> Result<Self, Error> {
        let (log, output) =
            new_log(leash.folder(), name).map_err(Error::io(format!("creating {name}'s log")))?;
        let errors = output.try_clone().map_err(Error::io(format!("sharing {name}'s log")))?;
        let program = assets.join(name);
        let child = Command::new(&program)
            .args(flags)
            .env_clear()
            .envs(COLLECTS_LESS_OFTEN)
            .current_dir(leash.folder())
            .process_group(leash.group())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(Error::io(format!("starting {}", program.display())))?;
        Ok(Self { name, child, log })
    }

    /// The program's name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// An error if the process has ended.
    pub(crate) fn still_runs(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.exited(status)),
            Err(error) => Err(Error::io(format!("waiting for {}", self.name))(error)),
        }
    }

    /// Suspends the process, or lets it go on. An idle API server costs two hundredths of a core.
    pub(crate) fn freeze(&self, frozen: bool) {
        let signal = if frozen { Signal::STOP } else { Signal::CONT };
        // A process that has ended is noticed by `still_runs`.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// The last lines of the process's log.
    pub(crate) fn log_tail(&self) -> String {
        match fs::read(&self.log) {
            Ok(log) => last_lines(&String::from_utf8_lossy(&log)),
            Err(error) => format!("({}: {error})", self.log.display()),
        }
    }

    fn exited(&self, status: ExitStatus) -> Error {
        Error::Exited { component: self.name, status, log: self.log_tail() }
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        self.freeze(false);
        // Blocking on purpose: a destructor cannot await, and a current-thread runtime in shutdown
        // does not run new tasks.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        if !ended_within(&mut self.child, GRACE) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Waits for a child and reaps it. False if the child still runs after `limit`.
pub(crate) fn ended_within(child: &mut Child, limit: Duration) -> bool {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if start.elapsed() < limit => thread::sleep(LOOK),
            Ok(None) => return false,
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}

/// Creates `name.log`, or a numbered file if the program was started before.
fn new_log(folder: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    let mut log = folder.join(format!("{name}.log"));
    let mut number = 1;
    loop {
        match File::create_new(&log) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                number += 1;
                log = folder.join(format!("{name}-{number}.log"));
            }
            outcome => return Ok((log, outcome?)),
        }
    }
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let start = lines.len().saturating_sub(LOG_LINES);
    lines.get(start..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_that_ignores_sigterm_is_killed() {
        let leash = Leash::new().unwrap();
        let deaf = "trap '' TERM; echo ready; while :; do sleep 1; done";
        let component =
            Component::start("sh", Path::new("/bin"), &leash, &["-c".into(), deaf.into()]).unwrap();
        let start = Instant::now();
        while component.log_tail() != "ready" {
            assert!(start.elapsed() < Duration::from_secs(10), "no shell");
            thread::sleep(LOOK);
        }
        let before = Instant::now();

        drop(component);

        let took = before.elapsed();
        assert!(took >= GRACE && took < GRACE * 4, "{took:?}");
    }

    #[test]
    fn an_early_end_shows_the_end_of_the_log() {
        let leash = Leash::new().unwrap();
        let noisy = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i; done; exit 3";
        let mut component =
            Component::start("sh", Path::new("/bin"), &leash, &["-c".into(), noisy.into()])
                .unwrap();
        let start = Instant::now();
        let error = loop {
            assert!(start.elapsed() < Duration::from_secs(10), "it does not end");
            if let Err(error) = component.still_runs() {
                break error.to_string();
            }
        };

        assert!(error.contains("exit status: 3"), "{error}");
        assert!(error.ends_with("line 99\nline 100"), "{error}");
        assert!(!error.contains("line 50\n"), "{error}");
    }
}
