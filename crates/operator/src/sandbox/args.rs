//! The options of the sandbox.

use std::path::PathBuf;

use clap::Args;

use super::Load;

/// Options of `sandbox`.
#[derive(Args, Clone, Debug)]
pub struct SandboxArgs {
    /// Number of nodes.
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub nodes: u64,

    /// Number of pools.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub pools: u64,

    /// Number of addresses per pool.
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub ips: u64,

    /// Manifests to apply: files, folders, or - for standard input. With a FloatingIPPool among
    /// them, the sandbox creates no pool of its own.
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
    /// The size of the sandbox: nodes, pools, and addresses for each pool.
    pub fn load(&self) -> Load {
        Load { nodes: self.nodes, pools: self.pools, ips: self.ips }
    }
}
