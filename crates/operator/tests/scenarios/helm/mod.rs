//! The chart in `charts/pontoon`, as a user meets it: by helm, on a real API server.
//!
//! | must hold | here |
//! |---|---|
//! | install, apply and wait give a working pool; uninstall and upgrade change nothing in the clouds | `release` |
//! | definitions that kubectl has applied can be taken over | `adoption` |
//! | unknown values are refused, each known one is described | `values` |
//! | rendered objects agree with each other, with the binary and with an API server | `rendered` |
//!
//! There is no kubelet: `kubelet` starts the operator's process as the Deployment says.

mod adoption;
mod kubelet;
mod release;
mod rendered;
mod values;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::arena::{Arena, On};
use crate::installing::root;

/// The namespace of the release, as in our documentation.
pub const RELEASE_NAMESPACE: &str = "pontoon-system";

/// The path of helm. Without helm the skip is reported, on CI as a failure.
pub fn helm() -> Option<PathBuf> {
    let fetched = Command::new(root().join("helm/fetch")).output().unwrap();
    if fetched.status.success() {
        return Some(String::from_utf8(fetched.stdout).unwrap().trim().into());
    }
    let missing = String::from_utf8_lossy(&fetched.stderr).trim().to_owned();
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
    // The test harness hides the output of passing tests.
    let line = format!("SKIPPED: {missing}: the chart was NOT installed\n");
    drop(std::io::stderr().write_all(line.as_bytes()));
    None
}

/// The objects that the chart renders with these arguments of `helm template`; `None` without helm.
pub fn rendered(args: &[&str]) -> Option<Vec<Value>> {
    let done = template(args)?;
    assert!(done.status.success(), "{done:?}");
    let text = String::from_utf8(done.stdout).unwrap();
    Some(serde_saphyr::from_multiple(&text).unwrap())
}

fn template(args: &[&str]) -> Option<Output> {
    let mut command = Command::new(helm()?);
    command.args(["template", "pontoon", "charts/pontoon", "-n", RELEASE_NAMESPACE]);
    Some(command.args(args).current_dir(root()).output().unwrap())
}

/// A real API server without definitions, and helm.
struct Stage {
    arena: Arena,
    helm: PathBuf,
}

impl Stage {
    async fn open() -> Option<Self> {
        let helm = helm()?;
        let arena = Arena::open_without_definitions(On::RealServer).await?;
        Some(Self { arena, helm })
    }

    /// Runs commands in the root of the repository, with helm and kubectl in the path.
    async fn shell(&self, commands: &str) -> Output {
        let folder = self.helm.parent().unwrap().display();
        let script = format!("PATH='{folder}':$PATH\ncd '{}'\n{commands}", root().display());
        self.arena.shell(&script).await.unwrap()
    }

    /// Runs commands that must succeed; returns what they print.
    async fn run(&self, commands: &str) -> String {
        let done = self.shell(commands).await;
        assert!(done.status.success(), "{commands}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// Runs commands that must fail; returns the message.
    async fn refused(&self, commands: &str) -> String {
        let done = self.shell(commands).await;
        assert!(!done.status.success(), "{commands}: {done:?}");
        String::from_utf8(done.stderr).unwrap()
    }

    /// Flags of helm that lead the operator to the emulated cloud.
    fn to_the_cloud(&self) -> String {
        let file = self.arena.folder().join("cloud.yaml");
        let url = self.arena.cloud_url();
        let values = format!("extraEnv: [{{name: DIGITALOCEAN_API_URL, value: '{url}'}}]\n");
        std::fs::write(&file, values).unwrap();
        format!("-f '{}'", file.display())
    }
}
