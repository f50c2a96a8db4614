//! etcd: flags, and the check for readiness.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::component::Component;
use crate::leash::Leash;
use crate::ready::{LIMIT, until_ready};

/// Path of etcd's client socket, in the plane's folder. A socket cannot collide on a port, and only
/// users with access to the folder can bypass RBAC through the store.
pub(crate) fn socket(folder: &Path) -> PathBuf {
    folder.join("etcd.sock")
}

/// Starts etcd and returns when etcd accepts connections.
pub(crate) async fn start(assets: &Path, leash: &Leash) -> Result<Component, Error> {
    let mut etcd = Component::start("etcd", assets, leash, &flags(leash.folder()))?;
    let socket = socket(leash.folder());
    until_ready(&mut etcd, LIMIT, async || UnixStream::connect(&socket)).await?;
    Ok(etcd)
}

fn flags(folder: &Path) -> Vec<String> {
    vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        // The data dies with the plane.
        "--unsafe-no-fsync".into(),
        format!("--listen-client-urls=unix://{}", socket(folder).display()),
        // Required beside the flag above. Unused, because the cluster has a single member.
        "--advertise-client-urls=http://localhost:2379".into(),
        // Relative to the working folder: etcd accepts no absolute path for peers.
        "--listen-peer-urls=unix://etcd-peer.sock".into(),
    ]
}
