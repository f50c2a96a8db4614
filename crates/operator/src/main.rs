//! The `pontoon` binary: parses its arguments, sets up logging and clients, runs the command.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::CommandFactory;
use clap_complete::{Shell as Completed, generate};
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use pontoon::args::{Cli, Command, LogFormat, LogLevel, RunArgs, Shell};
use pontoon::connect::{Requests, connect};
use pontoon::env::Env;
use pontoon::extension;
use pontoon::fronts;
use pontoon::leadership::Timing;
use pontoon::panicking::end_the_process_on_panic;
use pontoon::pause::{self, Pausable};
use pontoon::policy::PolicyFile;
use pontoon::report::metrics::Metrics;
use pontoon::report::object_series::ReplicaLabels;
use pontoon::run::{self, Options, Surroundings};
use pontoon::serve::{self, Health, Pages};
use pontoon_providers::{Clock, Settings, doubled, vendors};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let result = match Cli::of_process().command {
        Command::Crds(args) => print(&fronts::crds_yaml(&args.controllers())),
        Command::Run(args) => start(*args),
        Command::Pause(args) => {
            on_one_thread(annotate(args.kubeconfig, args.object, Some(args.reason)))
        }
        Command::Resume(args) => on_one_thread(annotate(args.kubeconfig, args.object, None)),
        #[cfg(feature = "sandbox")]
        Command::Sandbox(args) => {
            if args.debug {
                log(LogLevel::Debug, LogFormat::Auto);
            }
            on_one_thread(pontoon::sandbox::sandbox(args))
        }
        Command::Completion(args) => complete(args.shell),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // A write to a closed standard error fails, and nothing can be done about the failure.
            drop(writeln!(std::io::stderr(), "pontoon: {problem}"));
            ExitCode::FAILURE
        }
    }
}

fn print(text: &str) -> Result<(), String> {
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())
}

fn complete(shell: Shell) -> Result<(), String> {
    let shell = match shell {
        Shell::Bash => Completed::Bash,
        Shell::Zsh => Completed::Zsh,
        Shell::Fish => Completed::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "pontoon", &mut script);
    std::io::stdout().write_all(&script).map_err(|error| error.to_string())
}

fn start(args: RunArgs) -> Result<(), String> {
    let timing = args.timing();
    args.validate()?;
    timing.validate(args.provider_timeout).map_err(|error| error.to_string())?;
    log(args.log_level(), args.log_format());
    end_the_process_on_panic();
    // Fails if a provider is already installed, which is fine.
    drop(rustls::crypto::ring::default_provider().install_default());
    on_one_thread(operate(args, timing))
}

/// One thread is enough: planning takes microseconds, and the rest is waiting.
fn on_one_thread(work: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(work)
}

async fn operate(args: RunArgs, timing: Timing) -> Result<(), String> {
    one_source_each(args.provider_timeout)?;
    let policy = args.policy.as_deref().map(PolicyFile::open).transpose()?;
    let env = Env::real();
    let config = kube_config(args.kubeconfig.as_deref()).await?;
    let options = Options {
        namespace: lease_namespace(&config),
        name: replica_name(),
        pod: variable("POD_UID"),
        predecessors: args.predecessors(),
        leader_elect: args.leader_elect,
        mode: args.mode,
        timing,
        provider_timeout: args.provider_timeout,
        retry_initial: args.retry_initial,
        retry_max: args.retry_max,
        controllers: args.controllers(),
        vips: args.vips(),
        policy,
    };
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        server = %config.cluster_url,
        mode = ?options.mode,
        controllers = %options.controllers,
        credentials = credentials(&variable),
        replica = options.name,
        "pontoon starts"
    );
    let renewal = Requests::Leases(options.timing.renew_deadline);
    let client = connect(config.clone(), Requests::Any).map_err(|error| error.to_string())?;
    let leases = connect(config, renewal).map_err(|error| error.to_string())?;
    let labels = ReplicaLabels {
        cluster: variable("CLUSTER_NAME"),
        pod: options.name.clone(),
        version: variable("CONTROLLER_VERSION"),
    };
    let metrics = Metrics::of(&labels, &options.controllers)
        .and_then(|metrics| metrics.with_process(env.now()));
    let metrics = metrics.map_err(|error| error.to_string())?;
    let health = Health::new(env.clone());
    serve_pages(&args, &metrics, &health).await?;
    let board = extension::start(&args.extension, &options).await?;
    let surroundings = Surroundings {
        client,
        leases,
        transport: Box::new(pontoon_providers::https),
        variable: Box::new(variable),
        env,
        metrics,
        health,
        board,
        stop: stop_on_signal()?,
    };
    run::run(options, surroundings).await;
    Ok(())
}

/// Serves metrics and health wherever the user wants them.
async fn serve_pages(args: &RunArgs, metrics: &Metrics, health: &Health) -> Result<(), String> {
    // The port of ip-address-controller, in addition.
    let port = variable("METRICS_PORT").map(|port| format!(":{port}"));
    let [all, probes] = args.addresses();
    for (name, address, pages) in [
        ("--metrics-bind-addr", all, Pages::All),
        ("--health-probe-bind-address", probes, Pages::Health),
        ("METRICS_PORT", port.as_deref(), Pages::All),
    ] {
        if let Some(address) = address {
            let listener = serve::listen(address).await;
            let listener = listener.map_err(|error| format!("{name}: {error}"))?;
            tracing::info!(address, ?pages, "serving");
            tokio::spawn(serve::serve(listener, pages, health.clone(), metrics.clone()));
        }
    }
    Ok(())
}

/// Refuses a token that is given both in a variable and in a file: the two may differ.
fn one_source_each(timeout: Duration) -> Result<(), String> {
    let clock = Clock::new(SystemTime::now);
    match doubled(&Settings { variable: &variable, timeout, clock }).first() {
        Some(token) => Err(format!("{} and {} are both set: keep one", token.value, token.file)),
        None => Ok(()),
    }
}

/// The providers with credentials in the environment.
fn credentials(variable: &dyn Fn(&str) -> Option<String>) -> String {
    let is_set = |name: &&str| variable(name).is_some();
    let found = vendors().filter(|vendor| vendor.credential.variables().iter().any(is_set));
    let found: Vec<_> = found.map(|vendor| vendor.name).collect();
    if found.is_empty() { "none".to_owned() } else { found.join(", ") }
}

async fn annotate(
    kubeconfig: Option<PathBuf>,
    object: Pausable,
    reason: Option<String>,
) -> Result<(), String> {
    // Fails if a provider is already installed, which is fine.
    drop(rustls::crypto::ring::default_provider().install_default());
    let config = kube_config(kubeconfig.as_deref()).await?;
    let server = config.cluster_url.to_string();
    let client = connect(config, Requests::Any).map_err(|error| error.to_string())?;
    pause::annotate(client, &object, reason.as_deref(), &server).await?;
    let done = if reason.is_some() { "paused" } else { "resumed" };
    writeln!(std::io::stdout(), "{object} {done}").map_err(|error| error.to_string())
}

async fn kube_config(file: Option<&Path>) -> Result<Config, String> {
    match file {
        Some(file) => {
            let kubeconfig = Kubeconfig::read_from(file)
                .map_err(|error| format!("{}: {error}", file.display()))?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .map_err(|error| format!("{}: {error}", file.display()))
        }
        None => Config::infer().await.map_err(|error| {
            format!("found no cluster ({error}); run in a pod, or give --kubeconfig FILE")
        }),
    }
}

/// The pod's own namespace, else `POD_NAMESPACE`, else `default`.
fn lease_namespace(config: &Config) -> String {
    let in_cluster = std::env::var("KUBERNETES_SERVICE_HOST").is_ok();
    let pod = in_cluster.then(|| config.default_namespace.clone());
    pod.or_else(|| variable("POD_NAMESPACE")).unwrap_or_else(|| "default".to_owned())
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn replica_name() -> String {
    let host = || std::fs::read_to_string("/etc/hostname").ok().map(|name| name.trim().to_owned());
    variable("POD_NAME").or_else(|| variable("HOSTNAME")).or_else(host).unwrap_or_default()
}

fn stop_on_signal() -> Result<tokio::sync::watch::Receiver<bool>, String> {
    let (to, stop) = tokio::sync::watch::channel(false);
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
        to.send_replace(true);
        // Keep the channel open: a replica whose channel closes would see no signal.
        std::future::pending::<()>().await;
    });
    Ok(stop)
}

fn log(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Debug => "info,pontoon=debug",
        // Errors of the libraries are logged by our own code, in our own words.
        LogLevel::Info => "info,kube_client=error",
        LogLevel::Error => "error",
        LogLevel::Off => "off",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let in_words = match format {
        LogFormat::Auto => std::io::stderr().is_terminal(),
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    if in_words {
        let colours = std::io::stderr().is_terminal();
        log.with_target(false).with_ansi(colours).init();
    } else {
        log.json().flatten_event(true).with_current_span(false).init();
    }
}
