//! Planes leave no process and no file behind, however their test ends.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::WatchParams;
use rustix::process::Signal;

use crate::victim::{self, Role, Victim};
use crate::{assert_nothing_remains, processes_of};

#[tokio::test]
async fn dropping_a_plane_on_a_current_thread_runtime_leaves_nothing_behind() {
    let Some(plane) = ControlPlane::start().await.unwrap() else {
        return;
    };
    let folder = plane.folder().to_owned();
    assert_eq!(processes_of(&folder).len(), 3, "etcd, kube-apiserver, janitor");

    drop(plane);

    // No waiting here, because the drop itself waits.
    assert_eq!(processes_of(&folder), Vec::<String>::new());
    assert!(!folder.exists());
}

#[tokio::test]
async fn an_open_watch_does_not_hold_up_the_drop() {
    let Some(plane) = ControlPlane::start().await.unwrap() else {
        return;
    };
    let folder = plane.folder().to_owned();
    let nodes: Api<Node> = Api::all(plane.client().unwrap());
    let _watch = nodes.watch(&WatchParams::default(), "0").await.unwrap();
    let before = Instant::now();

    drop(plane);

    let took = before.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_nothing_remains(&folder);
}

#[tokio::test]
async fn a_panicking_test_leaves_nothing_behind() {
    let (sender, folder) = tokio::sync::oneshot::channel::<PathBuf>();
    let test = tokio::spawn(async move {
        if let Some(plane) = ControlPlane::start().await.unwrap() {
            sender.send(plane.folder().to_owned()).unwrap();
            panic!("on purpose");
        }
    });
    let Ok(folder) = folder.await else {
        return;
    };

    assert!(test.await.unwrap_err().is_panic());

    assert_nothing_remains(&folder);
}

#[test]
fn a_start_that_is_given_up_leaves_nothing_behind() {
    // A separate process and temporary folder, where each file is the plane's.
    let folder = tempfile::tempdir().unwrap();
    let mut test = victim::command("victim::gives_up_a_start");

    let output = test.env("TMPDIR", folder.path()).output().unwrap();

    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn a_test_process_killed_with_sigkill_leaves_nothing_behind() {
    signalled_process_leaves_nothing_behind(Signal::KILL);
}

#[test]
fn a_test_process_told_to_end_leaves_nothing_behind() {
    // Not SIGINT: background processes of a shell ignore SIGINT.
    signalled_process_leaves_nothing_behind(Signal::TERM);
}

fn signalled_process_leaves_nothing_behind(signal: Signal) {
    let Some(mut victim) = Victim::start(Role::Waits) else {
        return;
    };
    let processes = processes_of(victim.folder());
    assert_eq!(processes.len(), 3, "etcd, kube-apiserver, janitor");

    victim.signal(signal);

    assert!(!victim.wait().success());
    assert_nothing_remains(victim.folder());
}

#[test]
fn a_shared_plane_ends_with_the_test_process() {
    let Some(mut victim) = Victim::start(Role::Exits) else {
        return;
    };

    assert!(victim.wait().success());

    assert_nothing_remains(victim.folder());
}
