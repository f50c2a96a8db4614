//! Kubeconfig files for kubectl, for the operator and for our own client.

use std::fs;
use std::path::Path;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

use crate::Error;
use crate::apiserver;

/// Writes a kubeconfig for the plane in `folder`, for a user with `token`. The file names the
/// server's certificate by path, so the certificate need not exist yet.
pub(crate) fn write(
    path: &Path,
    folder: &Path,
    port: u16,
    user: &str,
    token: &str,
) -> Result<(), Error> {
    let server = format!("https://127.0.0.1:{port}");
    let cluster = json!({
        "server": server,
        "certificate-authority": apiserver::certificate(folder),
    });
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "plane", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": user}}],
        "current-context": "plane",
    });
    // JSON is YAML.
    fs::write(path, config.to_string()).map_err(Error::io(format!("writing {}", path.display())))
}

/// Reads a file of [`write`]. Fails while the server's certificate does not exist.
pub(crate) async fn read(path: &Path) -> Result<Config, Error> {
    let kubeconfig = Kubeconfig::read_from(path)?;
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    // kube applies HTTPS_PROXY to loopback too, and a proxy cannot reach the plane.
    config.proxy_url = None;
    Ok(config)
}
