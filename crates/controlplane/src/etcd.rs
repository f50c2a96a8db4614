//! etcd: the flags, and when it serves.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::component::Component;
use crate::leash::Leash;
use crate::ready::{LIMIT, until_ready};

/// Where etcd listens. A socket in the plane's folder: no port to collide on, and nobody who
/// may not read the folder gets past RBAC through the store.
pub(crate) fn socket(folder: &Path) -> PathBuf {
    folder.join("etcd.sock")
}

/// Starts etcd and returns when it takes connections.
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
        // Required beside the flag above, and told to nobody: there is one member.
        "--advertise-client-urls=http://localhost:2379".into(),
        // Relative to the working folder; for peers etcd takes no path.
        "--listen-peer-urls=unix://etcd-peer.sock".into(),
    ]
}
