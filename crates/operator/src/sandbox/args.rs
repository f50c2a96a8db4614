//! The options of the sandbox.

use std::path::PathBuf;

use clap::Args;
use pontoon_core::model::Subject;

use super::Load;
use super::scene::Scene;
use crate::fronts::Controllers;
use crate::run::VipOptions;

/// Options of `sandbox`.
#[derive(Args, Clone, Debug)]
pub struct SandboxArgs {
    /// Google Cloud instead of DigitalOcean: an allocation for a Deployment that is drained.
    #[arg(long, conflicts_with = "pools")]
    pub gcp: bool,

    /// A management cluster of Cluster API instead of nodes: Clusters get VIPs.
    #[arg(long, conflicts_with_all = ["gcp", "nodes", "pools", "ips"])]
    pub capi: bool,

    /// With --capi: keep the address of a Cluster that is deleted in the foreground until its
    /// machines are gone.
    #[arg(long, requires = "capi")]
    pub hold_vips: bool,

    /// Number of nodes; 3 if not given, or 4 with --gcp. At each provider, if your objects name
    /// several.
    #[arg(long, value_name = "N")]
    pub nodes: Option<u64>,

    /// Number of pools.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub pools: u64,

    /// Number of addresses per pool, or of the allocation.
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub ips: u64,

    /// Manifests to apply: files, folders, or - for standard input. With a pool, an allocation or a
    /// Cluster among them, the sandbox creates none of its own.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Commands from a file instead of keys. The command `help` lists them.
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,

    /// Port of the API server; 0 for a free port.
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub port: u16,

    /// File for the kubeconfig; by default in the folder for temporary files.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Log the operator's actions to standard error.
    #[arg(long)]
    pub debug: bool,
}

impl SandboxArgs {
    /// What the sandbox begins with.
    pub fn scene(&self) -> Scene {
        match self {
            Self { capi: true, .. } => Scene::Management,
            Self { gcp: true, .. } => Scene::Workload,
            _ => Scene::Ingress,
        }
    }

    /// The kinds that are served: Clusters only in a management cluster.
    pub fn controllers(&self) -> Controllers {
        let all = Controllers::default();
        if self.capi { all } else { all.without(Subject::Vips) }
    }

    /// How Clusters get VIPs.
    pub fn vips(&self) -> VipOptions {
        VipOptions { holds: self.hold_vips, ..VipOptions::default() }
    }

    /// The size of the sandbox: nodes, pools, and addresses for each pool.
    pub fn load(&self) -> Load {
        let nodes = self.nodes.unwrap_or_else(|| self.scene().nodes());
        Load { nodes, pools: self.pools, ips: self.ips }
    }
}
