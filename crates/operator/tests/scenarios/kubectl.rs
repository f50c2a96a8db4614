//! Stock kubectl, if available.

use std::process::{Command, Output};

use control_plane::Assets;

use crate::arena::{ApiServer, Arena};

impl Arena {
    /// Runs stock kubectl, if available. Uses another thread, because this thread may be serving
    /// the API.
    pub async fn kubectl(&self, args: &[&str]) -> Option<Output> {
        let mut kubectl = self.kubectl_command()?;
        kubectl.args(args);
        Some(tokio::task::spawn_blocking(move || kubectl.output()).await.unwrap().unwrap())
    }

    fn kubectl_command(&self) -> Option<Command> {
        match &self.server {
            ApiServer::Real { plane, .. } => Some(plane.kubectl()),
            ApiServer::Fake { folder, .. } => match control_plane::assets() {
                Assets::Found(assets) => {
                    let mut kubectl = Command::new(assets.join("kubectl"));
                    kubectl.env("KUBECONFIG", self.kubeconfig()).env("HOME", folder.path());
                    Some(kubectl)
                }
                Assets::Missing(_) => None,
            },
        }
    }

    /// Runs a shell script as a user would, with kubectl in the path.
    pub async fn shell(&self, script: &str) -> Option<Output> {
        let kubectl = self.kubectl_command()?;
        let folder = std::path::Path::new(kubectl.get_program()).parent()?;
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.args(["-euc", script]).env("PATH", format!("{}:{path}", folder.display()));
        shell.env("KUBECONFIG", self.kubeconfig()).env("HOME", self.folder());
        Some(tokio::task::spawn_blocking(move || shell.output()).await.unwrap().unwrap())
    }
}
