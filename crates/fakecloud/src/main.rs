//! A cloud on a loopback port, for other processes: `fakecloud --port 0 --latency-ms 100`. Prints
//! the URL, then serves until interrupted. Other processes seed and control the cloud below
//! `/_fake/` (see the `admin` module).

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use fakecloud::{FakeCloud, Recording};
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "\
usage: fakecloud [--port N] [--latency-ms N] [--action-ms N] [--token T] [--region R] [--machines N] [--addresses N] [--keep N]

  --port        the loopback port; 0 (default) picks a free one
  --latency-ms  from the arrival of a request to its effect
  --action-ms   how long an action is in progress
  --token       the only bearer token that is accepted (default: any)
  --region      the region of machines and addresses to begin with (default nyc3)
  --machines    how many machines to begin with, ids from 1
  --addresses   how many free reserved IPs to begin with
  --keep        how many exchanges to keep (default 10000)
";

/// Parsed command line.
struct Options {
    port: u16,
    latency: Duration,
    action: Duration,
    token: Option<String>,
    region: String,
    machines: u64,
    addresses: u32,
    keep: usize,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            port: 0,
            latency: Duration::ZERO,
            action: Duration::ZERO,
            token: None,
            region: "nyc3".to_owned(),
            machines: 0,
            addresses: 0,
            keep: 10_000,
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--port" => options.port = number(&name, &value)?,
                "--latency-ms" => options.latency = Duration::from_millis(number(&name, &value)?),
                "--action-ms" => options.action = Duration::from_millis(number(&name, &value)?),
                "--token" => options.token = Some(value),
                "--region" => options.region = value,
                "--machines" => options.machines = number(&name, &value)?,
                "--addresses" => options.addresses = number(&name, &value)?,
                "--keep" => options.keep = number(&name, &value)?,
                _ => return Err(format!("unknown option {name}")),
            }
        }
        Ok(options)
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name}: {value} is not a number that fits"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => run(options).await.map_err(|error| error.to_string()),
        Err(error) => Err(format!("{error}\n{USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "fakecloud: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> std::io::Result<()> {
    let now = Timestamp::try_from(SystemTime::now()).map_err(std::io::Error::other)?;
    let cloud = FakeCloud::starting_at(now);
    cloud.recording(Recording::Last(options.keep)).set(|knobs| {
        knobs.latency_before = options.latency;
        knobs.action_time = options.action;
        knobs.token = options.token;
    });
    for id in 1..=options.machines {
        cloud.machine(id, &format!("node-{id}"), &options.region);
    }
    for nth in 0..options.addresses {
        // Addresses from 203.0.113.1 on, possibly beyond the documentation range.
        cloud.reserve(Ipv4Addr::from(0xcb00_7101 + nth), &options.region);
    }
    let server = cloud.serve(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port))).await?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminated.recv() => Ok(()),
    }
}
