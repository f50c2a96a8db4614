//! The vendors' own clients as judges: the scripts in `tests/sdk` drive the emulators over
//! loopback.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test, helpers included")]

mod client;

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::time::Duration;

use fakecloud::FakeCloud;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk");

#[tokio::test]
async fn digitalocean_s_own_client_finds_nothing_odd() {
    let cloud = client::fresh();
    cloud
        .machine(1, "one", "nyc3")
        .machine(2, "two", "nyc3")
        .machine(3, "three", "fra1")
        .set(|k| k.action_time = Duration::from_millis(150));
    drives(cloud, "drive_digitalocean.py", "pydo/0.44").await;
}

#[tokio::test]
async fn cloudflare_s_own_client_finds_nothing_odd() {
    let cloud = client::fresh();
    cloud.domain("example.com").domain("example.org");
    drives(cloud, "drive_cloudflare.py", "Cloudflare/Python 5.9").await;
}

#[tokio::test]
async fn gcp_s_own_client_finds_nothing_odd() {
    let cloud = client::fresh();
    cloud
        .machine(1, "one", "us-central1")
        .machine(2, "two", "us-central1")
        .machine(3, "three", "europe-west1")
        .set(|k| k.action_time = Duration::from_millis(150));
    // The client's own name is in another header.
    drives(cloud, "drive_gcp.py", "python-requests/2.34").await;
}

/// Runs a script against a cloud, and checks the caller's `User-Agent`.
async fn drives(cloud: FakeCloud, script: &str, agent: &str) {
    // Made by the first test; the other tests wait.
    static MADE: LazyLock<Result<PathBuf, String>> = LazyLock::new(environment);
    let python = match tokio::task::spawn_blocking(|| MADE.clone()).await.unwrap() {
        Ok(python) => python,
        Err(missing) => return skip(&missing),
    };
    cloud.token("secret");
    let server = cloud.serve(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let mut command = Command::new(python);
    command.arg(format!("{SCRIPTS}/{script}")).arg(server.url());
    // A proxy in the environment must not intercept loopback.
    command.env("NO_PROXY", "*");
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "ok");
    let agents = cloud.log().into_iter().filter_map(|e| e.user_agent);
    assert!(agents.into_iter().all(|given| given.contains(agent)), "not all calls are {agent}'s");
}

/// Writes past the test harness, which hides the output of passing tests; with `CI=true` a skip
/// fails.
fn skip(missing: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
    let line = format!("SKIPPED: {missing}: the vendor's own client was NOT tried");
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// The Python of an environment with the scripts' requirements: made once, kept outside the clone.
fn environment() -> Result<PathBuf, String> {
    let requirements = format!("{SCRIPTS}/requirements.txt");
    let wanted = std::fs::read_to_string(&requirements).unwrap();
    let version = run(Command::new("python3").arg("--version"))?;
    let name = format!("{:016x}", hash(&format!("{version}\n{wanted}")));
    let folder = cache()?.join("pontoon/python");
    let ready = folder.join(&name);
    let python = |environment: &Path| environment.join("bin/python");
    if !python(&ready).exists() {
        // Made in a temporary folder and renamed when complete, so that other processes never see a
        // partial environment.
        let aside = folder.join(format!("{name}.{}", std::process::id()));
        let made = make(&aside, &requirements);
        if made.is_ok() && std::fs::rename(&aside, &ready).is_ok() {
            return Ok(python(&ready));
        }
        let _ = std::fs::remove_dir_all(&aside);
        // Another process may have been quicker.
        if !python(&ready).exists() {
            return Err(made.err().unwrap_or_else(|| format!("cannot make {}", ready.display())));
        }
    }
    Ok(python(&ready))
}

fn make(environment: &Path, requirements: &str) -> Result<(), String> {
    std::fs::create_dir_all(environment).map_err(|error| error.to_string())?;
    run(Command::new("python3").args(["-m", "venv"]).arg(environment))?;
    let pip = ["-m", "pip", "install", "--quiet", "--no-deps", "-r", requirements];
    run(Command::new(environment.join("bin/python")).args(pip))?;
    Ok(())
}

fn cache() -> Result<PathBuf, String> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("PONTOON_CACHE")
        .or_else(|| set("XDG_CACHE_HOME"))
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")))
        .ok_or_else(|| "no HOME for a cache".to_owned())
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", said(&output)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// FNV-1a, stable across runs and platforms.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
