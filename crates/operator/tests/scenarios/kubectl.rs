//! Stock kubectl, where there is one.

use std::process::{Command, Output};

use control_plane::Assets;

use crate::arena::{ApiServer, Arena};

impl Arena {
    /// What stock kubectl says, where there is one. Not on this thread: it may be the one
    /// that serves.
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

    /// Runs a script as a person would who copied it, with kubectl at hand.
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
