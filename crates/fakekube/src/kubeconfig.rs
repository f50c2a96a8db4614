//! The kubeconfig of a listening server.

use std::io;
use std::path::Path;

use fakehttp::Server;
use serde_json::json;

/// Writes a kubeconfig for a server to a file, with a context `fakekube` and the namespace
/// `default`, as JSON (a subset of YAML).
///
/// # Errors
///
/// If the file cannot be written.
pub fn write_kubeconfig(server: &Server, path: impl AsRef<Path>) -> io::Result<()> {
    let name = "fakekube";
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server.url()}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
        "current-context": name,
    });
    std::fs::write(path, format!("{config:#}\n"))
}
