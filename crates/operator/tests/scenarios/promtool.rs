//! Prometheus' own tool, if available.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs promtool with this input. Without promtool the skip is reported, on CI as a failure.
pub async fn promtool(args: &[&str], input: &str) -> Option<Output> {
    let args: Vec<_> = args.iter().map(|&one| one.to_owned()).collect();
    let input = input.to_owned();
    let done = tokio::task::spawn_blocking(move || run(&args, &input)).await.unwrap();
    match done {
        Ok(output) => Some(output),
        Err(missing) => {
            skip(&missing);
            None
        }
    }
}

/// Standard output and standard error.
pub fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn run(args: &[String], input: &str) -> Result<Output, String> {
    let fetch = concat!(env!("CARGO_MANIFEST_DIR"), "/../../promtool/fetch");
    let fetched = Command::new(fetch).output().map_err(|error| format!("{fetch}: {error}"))?;
    if !fetched.status.success() {
        return Err(String::from_utf8_lossy(&fetched.stderr).trim().to_owned());
    }
    let promtool = String::from_utf8_lossy(&fetched.stdout).trim().to_owned();
    let mut command = Command::new(&promtool);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{promtool}: {error}"))?;
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ok(child.wait_with_output().unwrap())
}

/// Reports a skip to standard error directly, because the test harness hides the output of passing
/// tests. On CI a skip is a failure.
fn skip(missing: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
    let line = format!("SKIPPED: {missing}: promtool was NOT asked\n");
    drop(std::io::stderr().write_all(line.as_bytes()));
}
