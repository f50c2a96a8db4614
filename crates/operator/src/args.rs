//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::fronts::{predecessors, vip_predecessor};
use crate::leadership::{LEASE, OBSERVERS_LEASE, Predecessor, Predecessors, Sought, Timing};
use crate::pause::{self, Pausable};
use crate::run::{Mode, VipOptions};
#[cfg(feature = "sandbox")]
use crate::sandbox::SandboxArgs;

/// Keeps floating IPs on the right nodes.
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
    Run(RunArgs),
    /// Print the custom resource definitions.
    Crds,
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

    /// Address that serves /metrics, /healthz and /readyz; empty for none.
    #[arg(
        long,
        visible_alias = "metrics-bind-address",
        default_value = ":8080",
        value_name = "ADDRESS"
    )]
    pub metrics_bind_addr: String,

    /// Second address that serves /healthz and /readyz; empty for none.
    #[arg(long, default_value = "", value_name = "ADDRESS")]
    pub health_probe_bind_address: String,

    /// Act, or only observe: an observer reports planned changes in statuses and events, and writes
    /// nothing to clouds, DNS, nodes, or other parts of the objects.
    #[arg(long, value_enum, default_value_t = Mode::Active, value_name = "MODE")]
    pub mode: Mode,

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

    /// Further namespaces in which FLIPOP or ip-address-controller may be installed, besides
    /// `flipop`, `kube-system` and the operator's own. While one of them renews its Lease there, the
    /// operator only observes its objects.
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

    /// Hard deadline of each call to a cloud.
    #[arg(long, default_value = "5s", value_parser = duration, value_name = "TIME")]
    pub provider_timeout: Duration,

    /// Wait after the first failure of a call.
    #[arg(long, default_value = "1s", value_parser = duration, value_name = "TIME")]
    pub retry_initial: Duration,

    /// Longest wait between two attempts.
    #[arg(long, default_value = "5m", value_parser = duration, value_name = "TIME")]
    pub retry_max: Duration,

    /// VIPs of Clusters.
    #[command(flatten)]
    pub vips: VipArgs,
}

/// Options for VIPs of Clusters.
#[derive(Args, Clone, Debug)]
pub struct VipArgs {
    /// Give Clusters of Cluster API their VIPs. With `false` nothing of Cluster API is read.
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

    /// Whether and how Clusters get VIPs.
    pub fn vips(&self) -> VipOptions {
        let VipArgs { enable_reconciler: enabled, default_port: port, hold_vips: holds } =
            self.vips;
        VipOptions { enabled, port, holds }
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
        let off = vip_predecessor().filter(|_| !self.vips.enable_reconciler);
        predecessors().filter(|one| Some(*one) != off).map(sought).collect()
    }

    /// Refuses times that lead to a busy loop, or to no retry at all.
    ///
    /// # Errors
    /// The message names the flag.
    pub fn validate(&self) -> Result<(), String> {
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

/// The longest duration of a Lease: a leader that vanishes is replaced no sooner.
const LONGEST_LEASE: Duration = Duration::from_secs(3600);

/// A boolean, in every form that the predecessors' flags accept.
fn boolean(text: &str) -> Result<bool, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run_args(args: &[&str]) -> RunArgs {
        let all = ["pontoon", "run"].iter().chain(args);
        match Cli::try_parse_from(all).unwrap().command {
            Command::Run(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_predecessors_flags_are_understood() {
        let args = run_args(&["--debug", "--kubeconfig", "f", "--metrics-bind-addr", ""]);
        assert!(args.debug && args.metrics_bind_addr.is_empty());
        assert!(run_args(&["--debug=true"]).debug && run_args(&["--debug=1"]).debug);
        assert!(!run_args(&["--debug=false"]).debug && !run_args(&[]).debug);
        assert_eq!(run_args(&["--metrics-bind-address=:9"]).metrics_bind_addr, ":9");
        assert!(run_args(&["--leader-elect"]).leader_elect);
        assert!(!run_args(&["--leader-elect=false"]).leader_elect);
    }

    #[test]
    fn times_that_make_no_sense_are_refused_by_the_name_of_their_flag() {
        let refused = |args: &[&str]| run_args(args).validate().unwrap_err();
        assert!(refused(&["--retry-initial=0s"]).contains("--retry-initial"));
        assert!(refused(&["--provider-timeout=0s"]).contains("--provider-timeout"));
        assert!(refused(&["--retry-initial=10m", "--retry-max=1s"]).contains("--retry-max"));
        assert_eq!(run_args(&[]).validate(), Ok(()));
        assert_eq!(run_args(&[]).timing(), Timing::default());
    }

    #[test]
    fn what_is_nearly_right_is_suggested() {
        let refused = |args: &[&str]| Cli::try_parse_from(args).unwrap_err().to_string();
        assert!(refused(&["pontoon", "sandbx"]).contains("'sandbox'"));
        assert!(refused(&["pontoon", "run", "--retry-inital=1s"]).contains("'--retry-initial'"));
    }

    #[test]
    fn predecessors_are_looked_for_where_they_are_documented_and_where_the_flag_says() {
        let namespaces = |args: &[&str]| {
            let mut all = run_args(args).predecessors();
            let flipop = all.iter().position(|one| one.predecessor.namespace == "flipop");
            Vec::from_iter(all.remove(flipop.unwrap()).namespaces)
        };
        assert_eq!(namespaces(&[]), ["flipop"]);
        assert_eq!(namespaces(&["--predecessor-namespaces="]), ["flipop"]);
        let args = ["--predecessor-namespaces=net, edge,", "--predecessor-namespaces", "flipop"];
        assert_eq!(namespaces(&args), ["edge", "flipop", "net"]);
        let refused = ["pontoon", "run", "--predecessor-namespaces=Net_1"];
        let error = Cli::try_parse_from(refused).unwrap_err().to_string();
        assert!(error.contains("separated by commas"), "{error}");
    }

    #[test]
    fn the_lease_of_ip_address_controller_has_the_name_that_its_users_gave_it_and_flipops_its_own()
    {
        let leases = |args: &[&str]| {
            let mut args = run_args(args);
            args.vips.enable_reconciler = false;
            let all = args.predecessors().into_iter();
            all.map(|one| one.lease).collect::<Vec<_>>()
        };
        let flipop = "floating-ip-pool-controller-leader-election";
        assert_eq!(leases(&[]), [flipop, "ip-address-controller-leader"]);
        let flag = "--ip-address-controller-lease-name";
        assert_eq!(leases(&[flag, ""]), [flipop, "ip-address-controller-leader"]);
        assert_eq!(leases(&[flag, "sip.leader-2"]), [flipop, "sip.leader-2"]);
        let refused = |name: &str| {
            let args = ["pontoon", "run", flag, name];
            Cli::try_parse_from(args).unwrap_err().to_string()
        };
        for name in ["Leader", "a/b", "a b", ".a", "a-"] {
            assert!(refused(name).contains("small letters, digits"), "{name}");
        }
        for name in [flipop, "pontoon", "pontoon-observe"] {
            assert!(refused(name).contains("of another controller"), "{name}");
        }
    }

    #[test]
    fn the_duration_of_a_lease_may_be_a_number_of_seconds_as_ip_address_controllers() {
        let lease = |text: &str| {
            run_args(&["--leader-elect-lease-duration", text]).leader_elect_lease_duration.as_secs()
        };
        assert_eq!((lease("60"), lease("60s"), lease("1m"), lease("")), (60, 60, 60, 15));
        for text in ["soon", "-1", "3601", "9e9h"] {
            let args = ["pontoon", "run", &format!("--leader-elect-lease-duration={text}")];
            let error = Cli::try_parse_from(args).unwrap_err().to_string();
            assert!(error.contains("LEASE_DURATION=60"), "{error}");
        }
        let short = run_args(&["--leader-elect-lease-duration=5"]);
        let error = short.timing().validate(short.provider_timeout).unwrap_err().to_string();
        assert!(error.contains("--leader-elect-lease-duration"), "{error}");
    }

    #[test]
    fn spans_are_read_with_their_unit() {
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert!(duration("5").is_err() && duration("s").is_err());
    }
}
