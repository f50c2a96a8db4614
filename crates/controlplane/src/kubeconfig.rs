//! Kubeconfig files for kubectl, for the operator and for our own client.

use std::fs;
use std::path::Path;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

use crate::Error;
use crate::apiserver;

/// Writes a kubeconfig for the plane in `folder` whose user holds `token`. It names the
/// server's certificate by path, so it may be written before the server makes that file.
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

/// Reads what [`write`] wrote. Fails while the server's certificate does not exist.
pub(crate) async fn read(path: &Path) -> Result<Config, Error> {
    let kubeconfig = Kubeconfig::read_from(path)?;
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    // kube takes HTTPS_PROXY even for loopback, where no proxy leads.
    config.proxy_url = None;
    Ok(config)
}
