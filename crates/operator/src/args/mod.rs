//! The command line.

mod go_style;
#[cfg(test)]
mod tests;
mod zap;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use pontoon_core::model::{Kind, Subject};

use crate::extension::ExtensionArgs;
use crate::fronts::{Controllers, predecessors};
use crate::leadership::{
    LEASE, LONGEST_LEASE, OBSERVERS_LEASE, Predecessor, Predecessors, Sought, Timing,
};
use crate::pause::{self, Pausable};
use crate::run::{Mode, VipOptions};
#[cfg(feature = "sandbox")]
use crate::sandbox::SandboxArgs;
pub use zap::ZapArgs;

/// Keeps floating IP addresses on healthy nodes and DNS names true, and gives Clusters of Cluster API
/// their VIPs.
#[derive(Debug, Parser)]
#[command(name = "pontoon", version, about, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operator, in a cluster or from outside with --kubeconfig.
    Run(Box<RunArgs>),
    /// Print the custom resource definitions.
    Crds(ControllerArgs),
    /// Pause one object until `resume`: planned changes are reported, not made.
    Pause(PauseArgs),
    /// Resume a paused object.
    Resume(ResumeArgs),
    /// Run without a cluster and a cloud: an API server, a cloud and the operator in one process.
    #[cfg(feature = "sandbox")]
    Sandbox(SandboxArgs),
    /// Print a completion script for a shell.
    Completion(CompletionArgs),
}

impl Cli {
    /// The command line of this process. Ends the process if it cannot be understood.
    pub fn of_process() -> Self {
        Self::parse_from(go_style::understood(std::env::args_os()))
    }

    /// The command line with these arguments, of which the first is the program.
    ///
    /// # Errors
    /// The message names the argument.
    pub fn read<T: Into<OsString>>(args: impl IntoIterator<Item = T>) -> Result<Self, clap::Error> {
        Self::try_parse_from(go_style::understood(args.into_iter().map(Into::into)))
    }
}

/// Options of `completion`.
#[derive(Args, Clone, Debug)]
pub struct CompletionArgs {
    /// The shell, e.g. `source <(pontoon completion bash)` for bash.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// A shell that can be completed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

/// Which log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Reads and plans too.
    Debug,
    /// What is done and what goes wrong.
    Info,
    /// What goes wrong.
    Error,
    /// Nothing.
    Off,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// Readable lines.
    Text,
    /// One JSON object per line.
    Json,
}

/// Options of `pause`.
#[derive(Args, Clone, Debug)]
pub struct PauseArgs {
    /// The object, by kind, namespace and name.
    #[arg(value_name = "OBJECT", help = format!("The object: {}", pause::forms()))]
    pub object: Pausable,

    /// The reason, shown in the object's conditions and events.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,

    /// The kubeconfig file; by default $KUBECONFIG, ~/.kube/config, or the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
}

/// Options of `resume`.
#[derive(Args, Clone, Debug)]
pub struct ResumeArgs {
    /// The object, by kind, namespace and name.
    #[arg(value_name = "OBJECT", help = format!("The object: {}", pause::forms()))]
    pub object: Pausable,

    /// The kubeconfig file; by default $KUBECONFIG, ~/.kube/config, or the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
}

/// Options of `run`.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    /// The kubeconfig file; by default $KUBECONFIG, ~/.kube/config, or the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Log reads and plans too.
    #[arg(
        long,
        default_value_t = false,
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = boolean,
        value_name = "BOOL"
    )]
    pub debug: bool,

    /// Format of log lines: text, JSON, or text on a terminal and JSON elsewhere.
    #[arg(long, value_enum, default_value_t = LogFormat::Auto, value_name = "FORMAT")]
    pub log_format: LogFormat,

    /// Address that serves /metrics, /healthz and /readyz; empty or 0 for none.
    #[arg(
        long,
        visible_alias = "metrics-bind-address",
        default_value = ":8080",
        value_name = "ADDRESS"
    )]
    pub metrics_bind_addr: String,

    /// Second address that serves /healthz and /readyz; empty or 0 for none. Without a command, as
    /// capi-vip-allocator is started, the default is its `:8081`.
    #[arg(long, default_value = "", value_name = "ADDRESS")]
    pub health_probe_bind_address: String,

    /// Act, or only observe: an observer reports planned changes in statuses and events, and writes
    /// nothing to clouds, DNS, nodes, or other parts of the objects.
    #[arg(long, value_enum, default_value_t = Mode::Active, value_name = "MODE")]
    pub mode: Mode,

    /// The kinds to serve.
    #[command(flatten)]
    pub served: ControllerArgs,

    /// Elect a leader among the replicas. With `false` there must be only one replica.
    #[arg(
        long,
        default_value_t = true,
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        default_missing_value = "true",
        value_parser = boolean,
        value_name = "BOOL"
    )]
    pub leader_elect: bool,

    /// Further namespaces in which FLIPOP, ip-address-controller or capi-vip-allocator may be
    /// installed, besides `flipop`, `kube-system`, `capi-system` and the operator's own. While one of
    /// them renews its Lease there, the operator only observes its objects.
    #[arg(
        long,
        env = "PREDECESSOR_NAMESPACES",
        value_delimiter = ',',
        value_parser = namespace,
        value_name = "NAMES"
    )]
    pub predecessor_namespaces: Vec<String>,

    /// Name of ip-address-controller's Lease, if not ip-address-controller-leader. While that
    /// controller renews its Lease, the operator only observes allocations. Afterwards the leader
    /// holds the Lease. The operator's own Lease is always `pontoon`.
    #[arg(long, env = "LEASE_NAME", value_parser = lease_name, value_name = "NAME")]
    pub ip_address_controller_lease_name: Option<String>,

    /// Time after which another replica may replace a silent leader, an hour at most. A number
    /// without a unit means seconds, as ip-address-controller's variable. A predecessor's Lease is
    /// believed for its own duration, up to a minute or this time if longer.
    #[arg(
        long,
        env = "LEASE_DURATION",
        default_value = "15s",
        value_parser = lease_duration,
        value_name = "TIME"
    )]
    pub leader_elect_lease_duration: Duration,

    /// Time after which a leader that cannot renew its Lease steps down.
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "TIME")]
    pub leader_elect_renew_deadline: Duration,

    /// Interval at which a leader renews its Lease.
    #[arg(long, default_value = "2s", value_parser = duration, value_name = "TIME")]
    pub leader_elect_retry_period: Duration,

    /// Hard deadline of each call to a provider or DNS host.
    #[arg(long, default_value = "5s", value_parser = duration, value_name = "TIME")]
    pub provider_timeout: Duration,

    /// Wait after the first failure of a call.
    #[arg(long, default_value = "1s", value_parser = duration, value_name = "TIME")]
    pub retry_initial: Duration,

    /// Longest wait between two attempts.
    #[arg(long, default_value = "5m", value_parser = duration, value_name = "TIME")]
    pub retry_max: Duration,

    /// File with a policy, in YAML or JSON: which namespaces may use which providers, addresses and
    /// zones. Without it every object may use everything. The file is read again when it changes.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,

    /// VIPs of Clusters.
    #[command(flatten)]
    pub vips: VipArgs,

    /// Logging, as capi-vip-allocator's users set it.
    #[command(flatten)]
    pub zap: ZapArgs,

    /// The runtime extension of Cluster API.
    #[command(flatten)]
    pub extension: ExtensionArgs,
}

/// The choice of kinds.
#[derive(Args, Clone, Debug)]
pub struct ControllerArgs {
    /// The chosen kinds; empty for all.
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = Controllers::named,
        value_name = "NAMES",
        help = format!(
            "Only these kinds, of {}; by default all. The operator serves a kind once the cluster defines \
             it, and reads, writes and counts nothing of other kinds",
            Controllers::names()
        )
    )]
    controllers: Vec<&'static Kind>,
}

impl ControllerArgs {
    /// The chosen kinds.
    pub fn controllers(&self) -> Controllers {
        match &*self.controllers {
            [] => Controllers::default(),
            kinds => kinds.iter().copied().collect(),
        }
    }
}

/// Options for VIPs of Clusters.
#[derive(Args, Clone, Debug)]
pub struct VipArgs {
    /// Give Clusters of Cluster API their VIPs. With `false` nothing of Cluster API is read, as without
    /// Clusters among the controllers.
    #[arg(
        long,
        default_value_t = true,
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = boolean,
        value_name = "BOOL"
    )]
    pub enable_reconciler: bool,

    /// Port of a Cluster's endpoint, if its user names none.
    #[arg(
        long,
        default_value_t = 6443,
        value_parser = clap::value_parser!(u16).range(1..),
        value_name = "PORT"
    )]
    pub default_port: u16,

    /// Keep the address of a Cluster that is deleted in the foreground until its machines are gone,
    /// by a ConfigMap beside each claim.
    #[arg(
        long,
        default_value_t = false,
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = boolean,
        value_name = "BOOL"
    )]
    pub hold_vips: bool,

    /// Give VIPs to Clusters of this namespace alone; by default to those of all namespaces. Other
    /// objects are served everywhere.
    #[arg(long, default_value = "", value_parser = namespace, value_name = "NAME")]
    pub namespace: String,
}

impl RunArgs {
    /// The election's periods.
    pub fn timing(&self) -> Timing {
        Timing {
            lease: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
            ..Timing::default()
        }
    }

    /// The kinds that are served.
    pub fn controllers(&self) -> Controllers {
        let chosen = self.served.controllers();
        if self.vips.enable_reconciler { chosen } else { chosen.without(Subject::Vips) }
    }

    /// How Clusters get VIPs.
    pub fn vips(&self) -> VipOptions {
        let VipArgs { default_port: port, hold_vips: holds, .. } = self.vips;
        let namespace = Some(self.vips.namespace.clone()).filter(|name| !name.is_empty());
        VipOptions { port, holds, namespace }
    }

    /// The addresses to serve all pages on, and the health pages alone.
    pub fn addresses(&self) -> [Option<&str>; 2] {
        let used = |address: &&str| !address.is_empty() && *address != "0";
        [&self.metrics_bind_addr, &self.health_probe_bind_address]
            .map(|address| Some(&**address).filter(used))
    }

    /// Which log lines are written.
    pub fn log_level(&self) -> LogLevel {
        self.zap.level().unwrap_or(if self.debug { LogLevel::Debug } else { LogLevel::Info })
    }

    /// How log lines look. The flag of our own comes first.
    pub fn log_format(&self) -> LogFormat {
        match self.log_format {
            LogFormat::Auto => self.zap.format(),
            chosen => chosen,
        }
    }

    /// The predecessors, the names of their Leases, and the namespaces in which each may be
    /// installed, besides our own: the namespace of its installation guide, and those of the flag.
    pub fn predecessors(&self) -> Predecessors {
        let flag = || self.predecessor_namespaces.iter().filter(|name| !name.is_empty()).cloned();
        let places = |one: &Predecessor| flag().chain([one.namespace.to_owned()]).collect();
        let chosen = self.ip_address_controller_lease_name.as_ref().filter(|name| !name.is_empty());
        let sought = |one: &'static Predecessor| {
            let usual = Sought::usual(one, places(one));
            let chosen = chosen.filter(|_| one.renamable).cloned();
            Sought { lease: chosen.unwrap_or(usual.lease), ..usual }
        };
        self.controllers().predecessors().map(sought).collect()
    }

    /// Refuses times that lead to a busy loop, or to no retry at all, and a choice of no controller.
    ///
    /// # Errors
    /// The message names the flag.
    pub fn validate(&self) -> Result<(), String> {
        if self.controllers().is_empty() {
            return Err(
                "--controllers and --enable-reconciler=false leave no kind to serve".to_owned()
            );
        }
        if self.provider_timeout < SHORTEST {
            return Err(format!("--provider-timeout must be at least {SHORTEST:?}"));
        }
        if self.retry_initial < SHORTEST {
            return Err(format!("--retry-initial must be at least {SHORTEST:?}"));
        }
        if self.retry_max < self.retry_initial {
            return Err("--retry-max must not be less than --retry-initial".to_owned());
        }
        Ok(())
    }
}

/// The shortest deadline or wait.
const SHORTEST: Duration = Duration::from_millis(100);

/// The name of a namespace, or empty: a list may be empty or end with a comma.
fn namespace(text: &str) -> Result<String, String> {
    let name = text.trim();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.len() > 63 || !name.chars().all(fits) {
        return Err("write names of namespaces, separated by commas".to_owned());
    }
    Ok(name.to_owned())
}

/// The name of a predecessor's Lease, or empty for the usual one.
fn lease_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let edge = |c: char| c == '-' || c == '.';
    if name.len() > 253 || !name.chars().all(fits) || name.starts_with(edge) || name.ends_with(edge)
    {
        let problem = "LEASE_NAME is the name of ip-address-controller's Lease: small letters, digits, \
                       hyphens and dots";
        return Err(problem.to_owned());
    }
    let fixed = predecessors().filter(|one| !one.renamable).map(|one| one.lease);
    if [LEASE, OBSERVERS_LEASE].into_iter().chain(fixed).any(|taken| taken == name) {
        let problem = "LEASE_NAME is the name of ip-address-controller's Lease, and this is the Lease of \
                       another controller";
        return Err(problem.to_owned());
    }
    Ok(name.to_owned())
}

/// The duration of a Lease: a duration, or a number of seconds; the default if empty.
fn lease_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Timing::default().lease);
    }
    let seconds = text.parse().ok().map(Duration::from_secs);
    let lasts = seconds.or_else(|| duration(text).ok()).filter(|lasts| *lasts <= LONGEST_LEASE);
    lasts.ok_or_else(|| {
        "write a number of seconds (LEASE_DURATION=60), or a number and a unit: 15s, 1m; an hour at \
         most"
            .to_owned()
    })
}

/// A boolean, in every form that the predecessors' flags accept.
pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

/// A duration as `5s`, `500ms`, `2m` or `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("write a number and a unit: 500ms, 5s, 2m or 1h".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| format!("\"{number}\" is not a number"))?;
    Duration::try_from_secs_f64(number * scale).map_err(|error| error.to_string())
}
