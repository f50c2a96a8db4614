//! Ends a plane whose owner was killed, interrupted, aborted, or left through `exit`.
//!
//! Two small processes stand beside the plane. Only the owner holds the other end of the pipe on
//! their stdin, and the kernel closes that end however the owner dies.
//!
//! ```text
//! owner ──pipe──> janitor   own process group   on end of file: SIGKILL the plane's group,
//!   │                                           delete the folder
//!   ├────pipe──> anchor     leads the plane's process group
//!   └──────────> etcd, kube-apiserver, ...      members of the anchor's group
//! ```
//!
//! - The janitor is outside the group, else its `kill` would end the janitor too.
//! - The anchor exists before any component and is reaped after the last, so the janitor
//!   knows the group's number in time, and the kernel cannot reuse that number too early.
//! - Neither is in the test's own group, so Ctrl-C reaches the test alone.
//! - The pipes are close-on-exec. A starting component holds them until its `exec` and joins the
//!   group before, so the janitor cannot miss a component.
//!
//! `PR_SET_PDEATHSIG` does not help: the signal fires when the *thread* that started the child
//! ends, and a test's thread ends before the process.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::Error;
use crate::component::ended_within;

/// Script of the janitor. `$1` is the process group, `$2` the folder. `rm` is repeated because a
/// dying process may still create a file behind it. Both dash and bash accept this form of `kill`.
const JANITOR: &str = r#"
trap '' INT TERM HUP
read -r _
kill -s KILL -- "-$1"
tries=0
until rm -rf -- "$2" || [ "$tries" -ge 100 ]; do
  tries=$((tries + 1))
  sleep 0.05
done
"#;

/// How long `Drop` waits for the janitor, which needs milliseconds.
const JANITOR_LIMIT: Duration = Duration::from_secs(10);

/// A folder and a process group that outlive neither this value nor this process.
pub(crate) struct Leash {
    janitor: Child,
    anchor: Child,
    group: i32,
    folder: TempDir,
}

impl Leash {
    /// Makes the folder and an empty group. The janitor watches both from here on.
    pub(crate) fn new() -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix("control-plane-")
            .tempdir()
            .map_err(Error::io("making a temporary folder"))?;
        let mut anchor = beside_the_test(&mut Command::new("cat"))
            .map_err(Error::io("starting the anchor `cat`"))?;
        match group_and_janitor(&anchor, folder.path()) {
            Ok((group, janitor)) => Ok(Self { janitor, anchor, group, folder }),
            Err(error) => {
                end(&mut anchor);
                Err(Error::io("starting the janitor `sh`")(error))
            }
        }
    }

    /// The plane's folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The plane's process group, for [`CommandExt::process_group`].
    pub(crate) fn group(&self) -> i32 {
        self.group
    }
}

impl Drop for Leash {
    /// Runs the janitor and waits for its end. A killed test and a passing test clean up on the
    /// same path, so every run exercises the janitor.
    fn drop(&mut self) {
        drop(self.janitor.stdin.take());
        if !ended_within(&mut self.janitor, JANITOR_LIMIT) {
            end(&mut self.janitor);
        }
        end(&mut self.anchor);
    }
}

fn group_and_janitor(anchor: &Child, folder: &Path) -> io::Result<(i32, Child)> {
    let group = i32::try_from(anchor.id()).map_err(io::Error::other)?;
    let mut janitor = Command::new("sh");
    janitor.args(["-c", JANITOR, "control-plane-janitor"]);
    janitor.arg(group.to_string()).arg(folder);
    Ok((group, beside_the_test(&mut janitor)?))
}

/// Starts a process that leads its own group and reads end of file on stdin when the test's process
/// ends. Our outputs are not inherited: their readers would wait for the process.
fn beside_the_test(command: &mut Command) -> io::Result<Child> {
    command
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

fn end(child: &mut Child) {
    // `kill` fails only for a child that has ended and is reaped already.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_the_leash_ends_its_group_and_deletes_its_folder() {
        let leash = Leash::new().unwrap();
        let folder = leash.folder().to_owned();
        std::fs::write(folder.join("file"), "text").unwrap();
        let mut member =
            Command::new("sleep").arg("600").process_group(leash.group()).spawn().unwrap();

        drop(leash);

        assert!(ended_within(&mut member, Duration::from_secs(10)));
        assert!(!folder.exists());
    }
}
